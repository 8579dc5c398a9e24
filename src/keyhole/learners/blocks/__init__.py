"""Pure mathematics: arrays in, arrays out. No input or output, no Problem."""

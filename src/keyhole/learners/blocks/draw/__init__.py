"""Drawing and reading: keyed randomness, subsets, sorting, reading a row."""

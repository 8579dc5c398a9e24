"""The compiled parts of the Dantzig program."""

"""The Dantzig program: solved, certified, along a path."""

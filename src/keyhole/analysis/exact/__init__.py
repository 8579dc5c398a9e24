"""Exact search: best subsets, sparse eigenvalues, weak supermodularity."""

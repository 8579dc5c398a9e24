"""Compiled code: C in `c/`, built by `compiler`, loaded by `library`, called by `functions`."""

"""Compiled inner loops: the only folder that imports numba, itself imported when first used."""

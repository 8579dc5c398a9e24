"""Measured comparisons. Nothing here is asserted: ratios within one run are printed."""

"""Fitting: VAW, online Newton, lasso, forward selection, greedy steps, truncation."""

"""Estimators for scikit-learn and river; each file needs the extra of its name."""

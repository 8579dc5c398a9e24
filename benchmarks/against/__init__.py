"""AutoLearner of this checkout against that of another: same streams, same seeds, one table."""

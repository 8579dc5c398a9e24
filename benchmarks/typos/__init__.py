"""What typos cost AutoLearner, and what it loses where extremes are real: here and in another tree."""

"""What typos cost AutoLearner, and what it loses where extremes are real."""

"""How much of what AutoLearner loses at the beginning had to be lost."""

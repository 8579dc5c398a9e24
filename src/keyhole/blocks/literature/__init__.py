"""Learners from the literature: their state and their rounds."""

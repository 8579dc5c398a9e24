"""Learners as files: states, how they become bytes, and back."""

"""Learners over HTTP: a store, and who may do what with it."""

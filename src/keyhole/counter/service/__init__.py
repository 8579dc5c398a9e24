"""Learners over HTTP: the store behind a door that knows who may do what."""

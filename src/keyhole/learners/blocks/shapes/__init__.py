"""Shapes: curves of single features and small trees, fitted to what a prediction missed."""

"""Blocks that learners are made of: pure mathematics, arrays in and arrays out."""

"""Saving learners: their states as files, how these become bytes, and back; sums of shards."""

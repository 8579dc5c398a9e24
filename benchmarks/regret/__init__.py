"""Regret of every learner on every setting with the same reads, as docs/benchmarks.md."""

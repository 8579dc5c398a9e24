"""Compiled code: the decorators, the cache on disk, the intrinsics."""

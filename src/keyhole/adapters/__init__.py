"""Keyhole in the clothes of other libraries, one per file; each needs the extra of its name."""

"""The version of the package, written into every state file."""

__version__ = "0.1.0"

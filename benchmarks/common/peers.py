"""Other packages, if they are installed: `make bench` installs them, nothing else needs them."""

from __future__ import annotations

import importlib
import warnings
from typing import Any


def optional(name: str) -> Any:
    """The module of that name, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError:
        return None

"""Advice on what to spend: budget curves, what so many features or so much money explain.

The public names are listed in `__init__.pyi`; each is loaded when it is first used.
"""

from keyhole._lazy import load_names_on_first_use

__all__ = load_names_on_first_use(__name__, __file__)

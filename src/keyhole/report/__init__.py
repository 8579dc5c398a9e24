"""Reports: one run as a record, as pictures, as a page that opens anywhere.

The public names are listed in `__init__.pyi`; each is loaded when it is first used.
"""

from keyhole._lazy import load_names_on_first_use

__all__ = load_names_on_first_use(__name__, __file__)

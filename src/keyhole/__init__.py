"""Learning through a keyhole: online linear regression that may read a few features per example.

The public names are listed in `__init__.pyi`; each is loaded when it is first used.
"""

from keyhole._lazy import load_names_on_first_use
from keyhole.version import __version__ as __version__

__all__ = load_names_on_first_use(__name__, __file__)

"""Learning through a keyhole: online linear regression that may read a few features per example."""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from keyhole.version import __version__ as __version__

if TYPE_CHECKING:
    from keyhole.public import *  # noqa: F403
    from keyhole.public import __all__ as __all__
else:

    class _Package(ModuleType):
        """Loads the public names when the first of them is asked for.

        So `keyhole --help` and `keyhole --version` need not wait for numpy.
        """

        def __getattr__(self, name):
            if name in ("learners", "report", "state", "streams", "testing", "theory"):
                return importlib.import_module(f"keyhole.{name}")
            try:
                return getattr(importlib.import_module("keyhole.public"), name)
            except AttributeError:
                raise AttributeError(f"module 'keyhole' has no attribute {name!r}") from None

        def __setattr__(self, name, value):
            # Importing a module sets it on its package; but `keyhole.hindsight` is the function.
            if name != "hindsight":
                super().__setattr__(name, value)

        def __dir__(self):
            return [*vars(self), *importlib.import_module("keyhole.public").__all__]

    sys.modules[__name__].__class__ = _Package

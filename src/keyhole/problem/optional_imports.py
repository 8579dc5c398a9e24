"""Optional packages, imported when first used, with an error that says which extra brings them."""

from __future__ import annotations

import importlib
from typing import Any

from keyhole.errors import MissingExtraError


def extra(module: str, extra: str) -> Any:
    """The module of that name, or the error that says which extra of keyhole brings it.

    What comes back is Any on purpose: several of these packages have no types, and this is the one
    place where that is let in.

    >>> extra("json", "files").dumps([1])
    '[1]'
    >>> extra("no_such_package", "files")
    Traceback (most recent call last):
    keyhole.errors.MissingExtraError: no_such_package is needed here and is not installed: pip
    install 'keyhole[files]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # it is there, and something it needs is not: not for us to explain
        raise MissingExtraError(
            f"{package} is needed here and is not installed: pip install 'keyhole[{extra}]'"
        ) from None

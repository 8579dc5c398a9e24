"""Forms as they are sent: read whole, whatever is in them is text or a file."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import FormData, UploadFile

from keyhole.errors import DataError

FIELDS = 20_000  # of a form at most: a ticket may have thousands of features
KEY = re.compile(r"[0-9A-Za-z_-]{8,64}")
INCOMPLETE = "this form is incomplete: open the page again and send it from there"


async def _read(request: Request) -> AsyncIterator[FormData]:
    try:
        form = await request.form(max_files=4, max_fields=FIELDS)
    except ValueError as error:  # of python-multipart: starlette before 1.0 does not refuse it
        raise DataError(INCOMPLETE) from error
    try:
        yield form
    finally:
        await form.close()


Form = Annotated[FormData, Depends(_read)]


def new_key() -> str:
    """A new idempotency key, for one form: sent twice, it is answered as it was the first time."""
    return secrets.token_urlsafe(16)


def key_of(form: FormData) -> str:
    """The idempotency key of a form."""
    key = text(form, "form")
    if not KEY.fullmatch(key):
        raise DataError(INCOMPLETE)
    return key


def text(form: FormData, name: str) -> str:
    """What is in a field; nothing if it is not there."""
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def upload(form: FormData, name: str) -> UploadFile | None:
    """The file that was chosen, if any."""
    value = form.get(name)
    return value if isinstance(value, UploadFile) and value.filename else None

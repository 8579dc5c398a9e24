"""Forms that pages send: their fields and uploads, and the new learner that a form describes."""

from __future__ import annotations

import csv
import io
import json
import re
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from starlette.datastructures import FormData, UploadFile

from keyhole.errors import DataError, DoubtError, ProblemError, shortened
from keyhole.learners.doubts import Doubt
from keyhole.learners.registry import LEARNERS
from keyhole.problem import BlockStream, Problem
from keyhole.problem.price_file import read_prices
from keyhole.streams.files import read
from keyhole.streams.source_file import KNOWN_MAGICS

T = TypeVar("T")
MAX_FORM_FIELDS = 20_000  # of a form at most: a ticket may have thousands of features
KEY_PATTERN = re.compile(r"[0-9A-Za-z_-]{8,64}")
INCOMPLETE = "this form is incomplete: open the page again and send it from there"


async def _read(request: Request) -> AsyncIterator[FormData]:
    try:
        form = await request.form(max_files=4, max_fields=MAX_FORM_FIELDS)
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
    if not KEY_PATTERN.fullmatch(key):
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


def confirmation(doubts: Iterable[Doubt]) -> str:
    """What a form sends along to confirm these doubts, and no others."""
    return json.dumps([[doubt.name, doubt.value] for doubt in doubts])


def confirms(form: FormData, name: str, doubts: Sequence[Doubt]) -> bool:
    """Whether a form confirms all of these doubts."""
    try:
        given = json.loads(text(form, name))
        known = {(name, value) for name, value in given}
    except (ValueError, TypeError, RecursionError):
        return False
    return all((doubt.name, doubt.value) in known for doubt in doubts)


def once_confirmed(form: FormData, name: str, call: Callable[[bool], T]) -> T:
    """What a call gives that is told whether doubts are confirmed, by this field of a form."""
    try:
        return call(False)
    except DoubtError as error:
        if not confirms(form, name, error.doubts):
            raise
    return call(True)


MAX_UPLOAD_BYTES = 50_000_000  # of a file that is uploaded
LEARNER_CHOICES = [name for name, row in LEARNERS.items() if row.group in ("recommended", "paper")]


@dataclass(frozen=True, slots=True)
class Columns:
    """The features of a file: their names, by column, and its rows if they are to be studied."""

    names: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] | None
    rows: BlockStream | None


def read_new_learner(form: FormData, folder: Path, most: int | None = None) -> dict[str, Any]:
    """What a form asks for, as `Store.create` takes it; files are put into the folder.

    ProblemError for more than `most` features: from the first line, if that has so many.
    """
    table = upload(form, "table")
    if table is None:
        raise DataError("choose a CSV file: its first line names the features")
    target = text(form, "target").strip()
    study = text(form, "study") == "yes"
    if study and not target:
        raise DataError("name the column of the label, or do not learn from the rows of the file")
    decimal = "," if text(form, "decimal") == "comma" else "."
    path = _kept(table, folder / "table.csv")
    found = columns(path, target, study=study, decimal=decimal, most=most)
    refuse_too_wide(len(found.names), most)
    return {
        "name": text(form, "name").strip(),
        "problem": _problem(form, found, target, folder),
        "learner": text(form, "learner") or "auto",
        "seed": _whole("random seed", text(form, "seed") or "0"),
        "units": _units(text(form, "units")),
        "yes_no": text(form, "yes_no") == "yes",
        "history": found.rows,
    }


def refuse_too_wide(d: int, most: int | None) -> None:
    """ProblemError for more features than the service takes: memory grows with their square."""
    if most is not None and d > most:
        raise ProblemError(
            f"the file has {d:,} features, and a learner made here may have {most:,}: "
            "make it with `keyhole create`"
        )


def columns(
    path: Path, target: str, *, study: bool, decimal: str = ".", most: int | None = None
) -> Columns:
    """The features of a CSV file, which may be nothing but a line of names."""
    try:
        lines = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("the file is not UTF-8: save it as CSV in UTF-8") from None
    head = next((line for line in lines.splitlines() if line.strip()), "")
    if not head:
        raise DataError("the file is empty: its first line names the features")
    separator = max(",;\t", key=head.count)
    named = re.sub(r'"[^"]*"', "", head).count(separator) + 1
    refuse_too_wide(named - bool(target), most)  # before anything is made of so many
    if lines.strip() != head.strip():
        stream = read(path, target=target or None, separator=separator, decimal=decimal)
        names = stream.names or tuple(f"x{j}" for j in range(stream.d))  # of sparse rows
        return Columns(names, stream.groups, stream if study else None)
    if study:
        raise DataError("the file has no rows to learn from: add some, or name the features only")
    try:
        cells = [cell.strip() for cell in next(csv.reader(io.StringIO(head), delimiter=separator))]
    except csv.Error as error:  # a name of more than 131,072 characters, for one
        raise DataError(f"the first line of the file cannot be read: {error}") from None
    if target and target not in cells:
        raise DataError(f"the file has no column {shortened(target)}: it has {shortened(cells)}")
    return Columns(tuple(name for name in cells if name != target), None, None)


def _problem(form: FormData, found: Columns, target: str, folder: Path) -> Problem:
    names, sparsity = found.names, _whole("sparsity", text(form, "sparsity"))
    budget = text(form, "budget").strip().replace(",", ".")
    prices = upload(form, "prices")
    if prices is None:
        return Problem(len(names), sparsity, _whole("budget", budget), names)
    table = read_prices(_kept(prices, folder / "prices.csv"))
    fitted = table.fitted(names, found.groups, ignored=[target] if target else [])
    return Problem(len(names), sparsity, budget, names, prices=fitted)


def _kept(file: UploadFile, path: Path) -> Path:
    if (file.size or 0) > MAX_UPLOAD_BYTES:
        raise DataError(
            f"the file is larger than {MAX_UPLOAD_BYTES // 1_000_000} MB: send some of its rows"
        )
    if file.file.read(8).startswith(KNOWN_MAGICS):  # whatever it is called
        raise DataError("the file is no text: save it as CSV in UTF-8")
    file.file.seek(0)
    with path.open("wb") as target:
        shutil.copyfileobj(file.file, target)
    return path


def _whole(what: str, given: str) -> int:
    try:
        return int(given.strip())
    except ValueError:
        raise ProblemError(f"{what} must be a whole number, got {shortened(given)}") from None


def _units(given: str) -> dict[str, str]:
    """Units, one line each: `crp = mg/l`."""
    units: dict[str, str] = {}
    for line in filter(str.strip, given.splitlines()):
        name, _, unit = line.rpartition("=")
        if not name.strip() or not unit.strip():
            raise DataError(f"units: a line such as 'crp = mg/l' is wanted, got {shortened(line)}")
        units[name.strip()] = unit.strip()
    return units

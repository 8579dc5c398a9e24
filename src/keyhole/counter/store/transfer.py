"""Transfer of a learner between stores: export to a file, and import from it."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from keyhole.counter.store import tables
from keyhole.counter.store.database import Connection, LearnerDamagedError
from keyhole.counter.store.records import Event
from keyhole.counter.store.replay import PLATFORM, load_learner
from keyhole.counter.store.tables import EVENT_COLUMNS, LearnerTableRow, Projection
from keyhole.errors import ConflictError, DataError, StoreDamagedError, StoreError
from keyhole.problem.atomic_file import whole_file
from keyhole.saving.api import from_bytes
from keyhole.version import __version__

FILE_FORMAT = 1
SNAPSHOT_COLUMNS = "seq, at, digest, version, platform, sha256"


def export(connection: Connection, row: LearnerTableRow, path: str) -> None:
    """Write a learner to a file; the last snapshot should be level with the log."""
    sql = f"SELECT {SNAPSHOT_COLUMNS}, state FROM kh_snapshot WHERE learner = ? ORDER BY seq"
    kept = connection.rows(sql, (row.id,))
    about = {"format": FILE_FORMAT, "keyhole": __version__, "platform": PLATFORM, "name": row.name}
    chosen = {"first": kept[0], "last": kept[-1]}
    columns = SNAPSHOT_COLUMNS.split(", ")
    notes = {which: dict(zip(columns, found, strict=False)) for which, found in chosen.items()}
    events = "".join(
        json.dumps([getattr(event, name) for name in EVENT_COLUMNS.split(", ")]) + "\n"
        for event in tables.events(connection, row.id, 0, row.seq)
    )
    with whole_file(Path(path), StoreError) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("learner.json", json.dumps({**about, **notes}))
        archive.writestr("events.jsonl", events)
        for which, found in chosen.items():
            archive.writestr(f"{which}.npz", bytes(found[-1]))


class ExportedLearner:
    """A learner that `export` wrote, read and checked; DataError if the file is anything else."""

    def __init__(self, path: str) -> None:
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror or error}") from None
        try:
            self._read(data)
        except (StoreDamagedError, DataError) as error:
            raise DataError(f"{path}: {error}") from None
        except Exception as error:  # a file is data: whatever it leads to is its fault
            what = f"{type(error).__name__}: {error}"
            raise DataError(f"{path} is not what export writes ({what})") from None

    def _read(self, data: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            packed = any(info.compress_type != zipfile.ZIP_STORED for info in infos)
            if packed or sum(info.file_size for info in infos) > len(data):
                raise DataError("it is compressed, which export does not do")
            member = {info.filename: archive.read(info) for info in infos}
        about: dict[str, Any] = json.loads(member["learner.json"])
        if about["format"] != FILE_FORMAT:
            raise DataError(f"its format is {about['format']!r}, this keyhole reads {FILE_FORMAT}")
        self.name = str(about["name"])
        self.events = [Event(*json.loads(line)) for line in member["events.jsonl"].splitlines()]
        self.snapshots = []
        for which in ("first", "last"):
            notes, state = about[which], member[f"{which}.npz"]
            if hashlib.sha256(state).hexdigest() != notes["sha256"]:
                raise DataError(f"its {which} snapshot is damaged: the checksum is wrong")
            from_bytes(state)
            self.snapshots.append([*(notes[name] for name in SNAPSHOT_COLUMNS.split(", ")), state])
        self._refuse_other_log()

    def _refuse_other_log(self) -> None:
        digest, ends = "", {seq: digest for seq, _, digest, *_ in self.snapshots}
        for number, event in enumerate(self.events, start=1):
            digest = tables.chained(digest, event)
            if event.seq != number or event.digest != digest or ends.pop(number, digest) != digest:
                raise DataError(f"event {number} was changed after it was written")
        first = json.loads(self.events[0].body)
        if ends or self.events[0].kind != "created" or first["sha256"] != self.snapshots[0][5]:
            raise DataError("its snapshots are not of its log")

    def keep(self, connection: Connection, name: str) -> None:
        """Write the learner into a store, in a transaction that is open."""
        try:
            made = self._rows(name)
        except LearnerDamagedError as error:
            raise DataError(str(error)) from None
        tables.add_learner(connection, made.row)
        for id in made.tickets:
            if tables.find_ticket_row(connection, "id = ?", (id,)) is not None:
                raise ConflictError(f"ticket {id} is in the store already, under another learner")
        tables.add_events(connection, made.row.id, self.events)
        rows = (replace(ticket, learner=made.row.id) for ticket in made.tickets.values())
        tables.add_tickets(connection, rows)
        for values in {values[0]: values for values in self.snapshots}.values():
            marks = ", ".join("?" for _ in values)
            columns = f"learner, {SNAPSHOT_COLUMNS}, state"
            connection.run(
                f"INSERT INTO kh_snapshot ({columns}) VALUES (?, {marks})", (made.row.id, *values)
            )
        load_learner(connection, made.row)  # it is served, or it is not taken in

    def _rows(self, name: str) -> Projection:
        """What its log makes of it; a LearnerDamagedError if that cannot be."""
        first = self.events[0]
        with tables.damage_of("its log"):
            about = json.loads(first.body)
            for only_in_the_log in ("version", "sha256"):
                about.pop(only_in_the_log, None)
            made = Projection(
                LearnerTableRow(0, name, json.dumps(about), first.at, 0, ""),
                map(tables.readable_event, self.events),
            )
            made.row.info()
        return made

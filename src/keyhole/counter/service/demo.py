"""Demo of the HTTP service: a simulated clinic that knows every patient's values and label."""

from __future__ import annotations

import math
import threading
import time

from keyhole.counter.store import Store, StoredTicket
from keyhole.errors import KeyholeError, UnknownTicketError
from keyhole.problem import Problem
from keyhole.streams import ArrayStream
from keyhole.streams.clinic import CLINIC_BUDGET, clinic, clinic_prices

DEMO_LEARNER = "clinic"
PATIENTS = 4000
SPARSITY = 4
STUDIED_BEFORE = 400  # patients of old records, all tests known: the learner studies them first
PLAYED_BEFORE = 200  # patients who were here before, so that there is something to see
BATCH_SIZE = 10  # patients who are here at the same time
ADMIT_EVERY = 20.0  # seconds from one patient of the hospital's own to the next
HOSPITAL = "the hospital"  # who asks, fills and tells for these
UNITS = {
    "age_years": "years",
    "waist_cm": "cm",
    "systolic_bp": "mmHg",
    "diastolic_bp": "mmHg",
    "heart_rate": "per minute",
    "respiratory_rate": "per minute",
    "temperature_c": "°C",
    "oxygen_saturation": "%",
    "crp_mg_l": "mg/l",
    "creatinine_mg_dl": "mg/dl",
    "haemoglobin_g_dl": "g/dl",
    "albumin_g_l": "g/l",
    "glucose_mg_dl": "mg/dl",
}


class Demo:
    """Knows the patient of every ticket: the round says which one it is, again and again.

    The hospital has patients of its own, who come and go home by themselves. Tickets that somebody
    else asked for are left alone: their values and labels are for whoever asked to type.

    Parameters
    ----------
    store
        Where the clinic is; it is made if it is not there.
    delay
        After how many seconds a patient of the hospital's own goes home and the label is told.
    history
        How many patients the learner of a new clinic studies first.
    played
        How many patients a new clinic had since.

    Examples
    --------
    >>> import tempfile
    >>> import keyhole as kh
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = kh.Store(folder.name + "/keyhole.db")
    >>> demo = Demo(store, learner="fixed", history=0, played=0)
    >>> [ticket] = store.ask("clinic")
    >>> demo.values(ticket.id)["age_years"], round(demo.label(ticket.id), 1)
    (62.0, 13.5)
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        store: Store,
        *,
        delay: float = 60.0,
        learner: str = "auto",
        history: int = STUDIED_BEFORE,
        played: int = PLAYED_BEFORE,
    ) -> None:
        self._store, self._delay = store, delay
        self._stream, _ = clinic(PATIENTS)
        self._names = self._stream.names or ()
        self._labels = [y for _, y in self._stream]
        self._rows = [x for x, _ in self._stream]
        self._stop = threading.Event()
        self._here: dict[str, float] = {}  # the hospital's own tickets, and when they were filled
        if DEMO_LEARNER not in store.names():
            self._open_clinic(learner, history, played)
        self._studied = store.info(DEMO_LEARNER).history

    def values(self, ticket: str) -> dict[str, float]:
        """What the tests of a ticket show for its patient; what failed is left out."""
        found = self._store.ticket(ticket)
        row = self._rows[self._patient(found)]
        values = {name: float(row[self._names.index(name)]) for name in found.names}
        return {name: value for name, value in values.items() if not math.isnan(value)}

    def label(self, ticket: str) -> float:
        """How many days the patient of a ticket stays in hospital."""
        return self._labels[self._patient(self._store.ticket(ticket))]

    def begin(self) -> None:
        """From now on, patients of the hospital's own come and go."""
        threading.Thread(target=self._live, name="keyhole demo", daemon=True).start()

    def stop(self) -> None:
        """No patient comes or goes from now on."""
        self._stop.set()

    def admit(self, count: int = 1) -> None:
        """Patients of the hospital's own come, and are tested."""
        tickets = self._store.ask(DEMO_LEARNER, count, who=HOSPITAL)
        rows = {ticket.id: self.values(ticket.id) for ticket in tickets}
        self._store.fill_many(DEMO_LEARNER, rows, confirm=True, who=HOSPITAL)
        self._here |= dict.fromkeys(rows, time.monotonic())

    def go_home(self) -> int:
        """Tell the labels of the hospital's own that are due; how many there were."""
        now = time.monotonic()
        due = [id for id, since in self._here.items() if now - since >= self._delay]
        for id in due:
            del self._here[id]
        still = [id for id in due if self._store.ticket(id).state == "filled"]
        if still:
            labels = {id: self.label(id) for id in still}
            self._store.tell_many(DEMO_LEARNER, labels, confirm=True, who=HOSPITAL)
        return len(still)

    def _live(self) -> None:
        admitted = time.monotonic()
        while not self._stop.wait(min(1.0, self._delay)):
            try:
                self.go_home()
                if time.monotonic() - admitted >= ADMIT_EVERY:
                    admitted = time.monotonic()
                    self.admit()
            except KeyholeError:
                continue  # somebody told one of them first, or the store is busy: next time

    def _open_clinic(self, learner: str, history: int, played: int) -> None:
        names = self._names
        problem = Problem(len(names), SPARSITY, CLINIC_BUDGET, names, prices=clinic_prices())
        units = {name: unit for name, unit in UNITS.items() if name in names}
        records = ArrayStream(self._rows[:history], self._labels[:history]) if history else None
        self._store.create(
            *(DEMO_LEARNER, problem, learner), history=records, units=units, who="the demo"
        )
        self._studied = history
        delay, self._delay = self._delay, 0.0
        left = played
        while left > 0:
            here = min(BATCH_SIZE, left) if left < played else 1  # one first: then a mean is known
            self.admit(here)
            self.go_home()
            left -= here
        self._delay = delay

    def _patient(self, ticket: StoredTicket) -> int:
        if ticket.learner != DEMO_LEARNER:
            raise UnknownTicketError(
                f"the demo knows the patients of {DEMO_LEARNER!r}, not of {ticket.learner!r}"
            )
        return (self._studied + ticket.round - 1) % PATIENTS

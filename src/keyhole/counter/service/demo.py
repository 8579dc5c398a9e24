"""Demo of the HTTP service: a simulated clinic that knows every patient's values and label."""

from __future__ import annotations

import math
import threading

from keyhole.counter.store import Store, StoredTicket
from keyhole.errors import KeyholeError, UnknownTicketError
from keyhole.problem import Problem
from keyhole.streams.clinic import CLINIC_BUDGET, clinic, clinic_prices

DEMO_LEARNER = "clinic"
PATIENTS = 4000
SPARSITY = 4
PLAYED_BEFORE = 200  # patients who were here before, so that there is something to see
BATCH_SIZE = 50
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

    Parameters
    ----------
    store
        Where the clinic is; it is made if it is not there.
    delay
        After how many seconds in hospital a patient goes home and the label is told.

    Examples
    --------
    >>> import tempfile
    >>> import keyhole as kh
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = kh.Store(folder.name + "/keyhole.db")
    >>> demo = Demo(store, learner="fixed", played=0)
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
        played: int = PLAYED_BEFORE,
    ) -> None:
        self._store, self._delay = store, delay
        self._stream, _ = clinic(PATIENTS)
        self._names = self._stream.names or ()
        self._labels = [y for _, y in self._stream]
        self._rows = [x for x, _ in self._stream]
        self._stop = threading.Event()
        if DEMO_LEARNER not in store.names():
            self._open_clinic(learner, played)

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
        """From now on, tell the labels of tickets that were filled a while ago."""
        threading.Thread(target=self._tell, name="keyhole demo", daemon=True).start()

    def stop(self) -> None:
        """Tell no more."""
        self._stop.set()

    def go_home(self) -> int:
        """Tell the labels that are due; how many there were."""
        due = self._store.tickets(
            DEMO_LEARNER, state="filled", older_than=self._delay, limit=BATCH_SIZE
        )
        if due:
            labels = {ticket.id: self.label(ticket.id) for ticket in due}
            self._store.tell_many(DEMO_LEARNER, labels, confirm=True, who="the hospital")
        return len(due)

    def _tell(self) -> None:
        while not self._stop.wait(min(1.0, self._delay)):
            try:
                self.go_home()
            except KeyholeError:
                continue  # somebody told one of them first, or the store is busy: next time

    def _open_clinic(self, learner: str, played: int) -> None:
        names = self._names
        problem = Problem(len(names), SPARSITY, CLINIC_BUDGET, names, prices=clinic_prices())
        units = {name: unit for name, unit in UNITS.items() if name in names}
        self._store.create(DEMO_LEARNER, problem, learner, units=units, who="the demo")
        for first in range(0, played, BATCH_SIZE):
            count = min(BATCH_SIZE, played - first)
            tickets = self._store.ask(DEMO_LEARNER, count, who="the demo")
            rows = {ticket.id: self.values(ticket.id) for ticket in tickets}
            self._store.fill_many(DEMO_LEARNER, rows, confirm=True, who="the demo")
            labels = {ticket.id: self.label(ticket.id) for ticket in tickets}
            self._store.tell_many(DEMO_LEARNER, labels, confirm=True, who="the hospital")

    def _patient(self, ticket: StoredTicket) -> int:
        if ticket.learner != DEMO_LEARNER:
            raise UnknownTicketError(
                f"the demo knows the patients of {DEMO_LEARNER!r}, not of {ticket.learner!r}"
            )
        return (ticket.round - 1) % PATIENTS

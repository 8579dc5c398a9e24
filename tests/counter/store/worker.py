"""A process under load, to be killed: threads ask, fill, correct, tell, drop, note each reply."""

import math
import sys
from threading import Thread

import keyhole as kh


def note(*words: object) -> None:
    """One line to the parent, in one piece, after the reply and before the next request."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def work(store: kh.Store, name: str, number: int) -> None:
    """Rounds without end; what is acknowledged is said."""
    turn = 0
    while True:
        turn += 1
        [ticket] = store.ask(name, who=f"thread {number}")
        note("asked", ticket.id)
        row = [math.sin(ticket.round + j) for j in ticket.ticket.features.tolist()]
        if turn % 2:
            some = {int(ticket.ticket.features[0]): row[0]}
            note("filled", ticket.id, repr(store.fill(ticket.id, some).prediction), 1)
        served = store.fill(ticket.id, row).prediction
        note("filled", ticket.id, repr(served), len(row))
        if turn % 4 == 0:
            right = {int(ticket.ticket.features[0]): row[0] + 1.0}
            served = store.correct(ticket.id, values=right, why="typo").prediction
            note("corrected", ticket.id, repr(served))
        if turn % 5 == 0:
            store.drop(ticket.id)
            note("dropped", ticket.id)
        elif turn % 3:
            store.tell(ticket.id, math.cos(ticket.round))
            note("told", ticket.id, repr(math.cos(ticket.round)))


if __name__ == "__main__":
    counter = kh.Store(sys.argv[1])
    for number in range(int(sys.argv[3])):
        Thread(target=work, args=(counter, sys.argv[2], number), daemon=True).start()
    note("ready")
    sys.stdin.read()  # until the parent is gone

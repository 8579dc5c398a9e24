"""What `benchmarks.regret` plays: settings and players, as data.

A setting is a stream, what may be read of it, and how long it is played. A player is a learner of
the registry or a variant of one. Nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from keyhole.learners import LEARNERS
from keyhole.streams import AGNOSTIC_SUITE, REALIZABLE_SUITE

Units = Literal["own", "standard"]
ROUNDS, FEWER, LONG, ITO_ROUNDS = 2**13, 2**12, 2**16, 5000
WIDE = 500  # features beyond which FEWER rounds are played: those who read everything cost d^2


@dataclass(frozen=True, slots=True)
class Setting:
    """One stream and the game that is played on it.

    Parameters
    ----------
    name, group
        What tables call it, and the table it stands in.
    maker, arguments
        Who makes the rows (`streams.MAKERS`) and what with.
    d, k, budget, rounds
        The problem a learner is given, and how many rounds are played.
    comparator
        Most features of the model in hindsight; None: k.
    units
        "own": as the stream comes. "standard": features and label centred and divided by their
        standard deviations, which are found in hindsight and given to everyone.
    players
        Who plays; empty: everyone.
    one_instance
        Seeds differ in the learner and the order of rows at most, so that hindsight is the same.
    curve
        Hindsight is found for every power of two, to follow regret as it grows.
    """

    name: str
    group: str
    maker: str
    arguments: Mapping[str, str | int | bool] = field(hash=False)
    d: int
    k: int
    budget: int
    rounds: int
    comparator: int | None = None
    units: Units = "own"
    players: tuple[str, ...] = ()
    one_instance: bool = False
    curve: bool = False

    @property
    def features(self) -> int:
        """Most features of the model in hindsight."""
        return self.k if self.comparator is None else self.comparator


Kind = Literal["budget", "raw", "more"]


@dataclass(frozen=True, slots=True)
class Player:
    """Who plays.

    `learner` is the name in the registry, or that of a variant in `cell.VARIANTS`. `kind`
    is "budget" for those who read what the setting allows in the setting's units, "raw" for the
    same in the stream's own units, "more" for those who read or know more.
    """

    name: str
    learner: str
    kind: Kind = "budget"
    own: bool = False  # keyhole's own, as opposed to an algorithm as it was published


def _registered(group: str, kind: Kind = "budget") -> list[Player]:
    """The learners of a group of the registry."""
    return [Player(name, name, kind) for name, row in LEARNERS.items() if row.group == group]


PLAYERS: tuple[Player, ...] = (
    Player("auto", "auto", own=True),
    Player("auto-proper", "auto-proper", own=True),
    Player("dantzig-data", "dantzig-data", own=True),
    Player("online-greedy", "online-greedy", own=True),
    Player("dantzig", "dantzig"),
    Player("dantzig, printed", "dantzig-printed"),
    Player("online-greedy, printed", "online-greedy-printed"),
    *_registered("literature"),
    *reversed(_registered("baseline")),
    Player("auto, raw units", "auto", "raw", own=True),
    Player("oracle", "oracle", "more"),
    *_registered("reference", "more"),
)

GROUPS: dict[str, str] = {
    "agnostic": "Ten streams, sparse, dense, drifting, adversarial (`kh.streams.AGNOSTIC_SUITE`).",
    "realizable": "Eleven sparse linear streams with noise (`kh.streams.REALIZABLE_SUITE`).",
    "ito": (
        "The generator of Ito et al. 2018 (`kh.streams.linear_measurements`): d, k', k in the "
        "name; k features are read, learners are told k', regret is against the best model of k "
        "features, as in their tables."
    ),
    "files": "Files of real data, given by `--data`.",
    "growth": f"Streams of i.i.d. examples, {LONG:,} rounds: how regret grows.",
}

UNLIKE_UNIT_SIZE = ("S8", "S9")  # many scales; an intercept

ITO = ((10, 2, 4), (10, 2, 8), (10, 5, 8), (20, 2, 4), (20, 2, 8), (20, 5, 8), (20, 2, 12),
       (20, 5, 12))  # fmt: skip

GROWING = (("agnostic", "iid"), ("realizable", "S2"), ("realizable", "S6"), ("realizable", "S9"))


def _agnostic() -> list[Setting]:
    return [
        Setting(name, "agnostic", "agnostic", {"name": name}, p.d, p.k, p.reads, ROUNDS)
        for name, p in ((name, case.problem) for name, case in AGNOSTIC_SUITE.items())
    ]


def _realizable() -> list[Setting]:
    return [
        Setting(
            name,
            "realizable",
            "realizable",
            {"name": name},
            p.d,
            p.k,
            p.reads,
            FEWER if p.d > WIDE else ROUNDS,
            units="standard" if name in UNLIKE_UNIT_SIZE else "own",
        )
        for name, p in ((name, case.problem) for name, case in REALIZABLE_SUITE.items())
    ]


def _ito() -> list[Setting]:
    return [
        Setting(
            f"{d}, {few}, {k}",
            "ito",
            "measurements",
            {"d": d, "k": k},
            d,
            few,
            k,
            ITO_ROUNDS,
            comparator=k,
            units="standard",
        )
        for d, few, k in ITO
    ]


def _growth(settings: list[Setting]) -> list[Setting]:
    equal = tuple(player.name for player in PLAYERS if player.kind == "budget")
    known = {(s.group, s.name): s for s in settings}
    return [
        Setting(
            f"{s.name}, long",
            "growth",
            s.maker,
            s.arguments,
            s.d,
            s.k,
            s.budget,
            LONG,
            units=s.units,
            players=equal,
            curve=True,
        )
        for s in (known[key] for key in GROWING)
    ]


def simulated() -> list[Setting]:
    """Every setting that needs no file."""
    settings = [*_agnostic(), *_realizable(), *_ito()]
    return settings + _growth(settings)

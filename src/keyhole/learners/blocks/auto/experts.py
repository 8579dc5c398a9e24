"""The experts AutoLearner mixes: everything about a kind of expert stands in one row.

Another kind of expert is another row, given as `AutoParts(experts=...)`. Only a new way to choose
its features needs more: a word in `FEATURES` and a branch in `kh_start_runs` of core/c.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import Floats, Indices, ProblemError, nearest, positive_number

Features = Literal["kept", "best", "net", "everything", "nothing"]
Memory = Literal["each", "longest", "leading", "nothing"]
Size = Literal["typical", "peak"]

FEATURES: tuple[str, ...] = get_args(Features)
ON_KEPT, ON_BEST, ON_NET, ON_EVERYTHING, ON_NOTHING = range(len(FEATURES))
LEADING, NO_MEMORY = -2, -1  # in place of a memory's number


@dataclass(frozen=True, slots=True)
class ExpertKind:
    """One kind of expert: a VAW on some of the features that are read, started from a memory.

    Parameters
    ----------
    name
        What `explain` calls it; "{tau}" stands for the rounds its memory looks back.
    features
        What it uses beside the constant: the features its memory "kept"; the "best" k of those;
        those the safety "net" plays; "everything" that is read. "nothing": not even the constant,
        which is the mean of the labels. Without a memory, kept and best are the leading memory's.
    memory
        What it starts from: one expert for "each" memory; the "longest" memory; the "leading" one,
        whose kept features predicted best of late; or "nothing".
    ridge
        Of its VAW: how many examples that show a feature at its size speak for the weight 0.
    size
        Of a feature: "typical" is its root mean square; "peak" its largest value, which is
        cautious, because a feature that hardly moved so far may move.
    proper
        Whether proper mode hears it too: an expert on the best k of a memory, or on nothing.
    """

    name: str
    features: Features
    memory: Memory
    ridge: float = 1.0
    size: Size = "typical"
    proper: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name):
            raise ProblemError(f"name of an expert must be a non-empty string, got {self.name!r}")
        for what, value, words in (
            ("features", self.features, FEATURES),
            ("memory", self.memory, get_args(Memory)),
            ("size", self.size, get_args(Size)),
        ):
            if value not in words:
                raise ProblemError(
                    f"{what} of expert {self.name!r} must be one of {', '.join(words)}, "
                    f"got {value!r}{nearest(value, words)}"
                )
        object.__setattr__(
            self, "ridge", positive_number(f"ridge of expert {self.name!r}", self.ridge)
        )
        object.__setattr__(self, "proper", bool(self.proper))
        fixed = self.features == "best" and self.memory in ("each", "longest")
        if self.proper and not (fixed or self.features == "nothing"):
            raise ProblemError(
                f"proper mode plays one model of at most k features, so it cannot hear expert "
                f"{self.name!r} on {self.features!r} from {self.memory!r}: set proper=False, or "
                "use features='best' with memory 'each' or 'longest'"
            )


# The order is that of the saved losses: new kinds come last.
EXPERTS = (
    ExpertKind("memory of {tau}", "kept", "each"),
    ExpertKind("best k, memory of {tau}", "best", "each", size="peak", proper=True),
    ExpertKind("safety net with memory", "net", "longest"),
    ExpertKind("safety net", "net", "nothing"),  # Algorithm 2
    ExpertKind("mean of the labels", "nothing", "nothing", proper=True),
    ExpertKind("everything read", "everything", "leading", ridge=10.0),
)
_JUDGES, _MODELS = EXPERTS[:2]


class Expert(NamedTuple):
    """An expert: its kind, the number of its memory (or LEADING, NO_MEMORY), whether it is heard.

    One that is not heard hands in guesses that count for nothing.
    """

    name: str
    kind: ExpertKind
    memory: int
    heard: bool


def list_experts(
    kinds: Sequence[ExpertKind], taus: Sequence[float], *, proper: bool
) -> list[Expert]:
    """The experts of these kinds, in order, when memories look back so many rounds.

    Those on the kept features of each memory say which memory leads, and those on the best k are
    what `AutoLearner.model` chooses from: where their kind is left out they are there, unheard.

    >>> experts = list_experts(EXPERTS[1:5], [math.inf, 64.0], proper=True)
    >>> [expert.name for expert in experts if expert.heard]
    ['best k, memory of all rounds', 'best k, memory of 64 rounds', 'mean of the labels']
    >>> experts[-1]._replace(kind=None)
    Expert(name='memory of 64 rounds', kind=None, memory=1, heard=False)
    """
    return list(_listed(tuple(kinds), tuple(taus), proper))


@functools.lru_cache(64)  # learners are made by the thousand, mostly of the same parts
def _listed(
    kinds: tuple[ExpertKind, ...], taus: tuple[float, ...], proper: bool
) -> tuple[Expert, ...]:
    there = {(kind.features, kind.memory) for kind in kinds}
    needed = [kind for kind in (_JUDGES, _MODELS) if (kind.features, "each") not in there]
    result = []
    for kind in (*kinds, *needed):
        heard = kind not in needed and (kind.proper or not proper)
        for memory in _memories(kind, len(taus)):
            name = kind.name.replace("{tau}", memory_span(memory, taus))
            result.append(Expert(name, kind, memory, heard))
    names = [expert.name for expert in result]
    for name in names:
        if names.count(name) > 1:
            raise ProblemError(
                f"experts must have different names, {name!r} comes twice: a kind with an expert "
                "for each memory needs {tau} in its name"
            )
    if not any(expert.heard for expert in result):
        mode = "in proper mode (proper=True in its kind)" if proper else "at least"
        raise ProblemError(f"experts: one must be heard {mode}, got {len(kinds)} kinds")
    return tuple(result)


def _memories(kind: ExpertKind, memory_count: int) -> Sequence[int]:
    if kind.memory == "each":
        return range(memory_count)
    return [{"longest": 0, "leading": LEADING, "nothing": NO_MEMORY}[kind.memory]]


def memory_span(memory: int, taus: Sequence[float]) -> str:
    """What a memory remembers, in words."""
    if memory < 0:
        return "no rounds" if memory == NO_MEMORY else "the leader"
    return "all rounds" if math.isinf(taus[memory]) else f"{taus[memory]:g} rounds"


def expert_index(experts: Sequence[Expert], features: Features, memory: int) -> int:
    """Where the first expert on these features with this memory stands, -1 if there is none."""
    for e, expert in enumerate(experts):
        if expert.kind.features == features and expert.memory == memory:
            return e
    return -1


class ExpertTable(NamedTuple):
    """The experts for compiled code, an entry per expert; `judges` has one per memory.

    `features`: ON_KEPT, ON_BEST, ...; `memory`: its number, LEADING or NO_MEMORY; `judges`: the
    expert whose loss of late says how good a memory is.
    """

    features: Annotated[Indices, "experts"]
    memory: Annotated[Indices, "experts"]
    ridge: Annotated[Floats, "experts"]
    by_peak: Annotated[NDArray[np.bool_], "experts"]
    judges: Annotated[Indices, "memories"]


def table(experts: Sequence[Expert], memory_count: int) -> ExpertTable:
    """The experts as arrays."""
    kinds = [expert.kind for expert in experts]
    judges = [expert_index(experts, "kept", m) for m in range(memory_count)]
    return ExpertTable(
        np.array([FEATURES.index(kind.features) for kind in kinds], dtype=np.int64),
        np.array([expert.memory for expert in experts], dtype=np.int64),
        np.array([kind.ridge for kind in kinds]),
        np.array([kind.size == "peak" for kind in kinds]),
        np.array(judges, dtype=np.int64),
    )

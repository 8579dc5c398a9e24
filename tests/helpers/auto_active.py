"""The active set of AutoLearner by "The rules": who has a seat, what is looked at, who comes first.

Sums stay (d + 1) x (d + 1) here: a pair of which one rests is 0. `bug` is a mistake to make.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import keyhole as kh
from keyhole.learners.blocks.draw.philox import words
from keyhole.learners.blocks.draw.sampling import uniforms
from keyhole.problem import Floats
from tests.helpers.auto_pieces import Memory, Selection

BUGS = (
    "who leaves takes c along as it is",
    "the strongest leave",
    "pairs stay when one leaves",
    "by the longest memory alone",
    "what is looked at is drawn once",
    "first reads do not come first",
    "what rests is not looked at",
    "batches grow as ever",
    "what rests does not study",
    "all that is left of a label is the label",
    "what was used to predict is judged by what it left",
    "one row may decide",
    "what never changed is no evidence",
    "the past must be made up for",
)


class ActiveSet:
    """Seats, and the order in which features come up to be read for the first time."""

    def __init__(self, problem: kh.Problem, parts: kh.AutoParts, seed: int, bug: str) -> None:
        d, width = problem.d, problem.width
        m = max(256, 8 * width) if parts.active is None else parts.active
        self.d, self.width, self.seed, self.bug = d, width, seed, bug
        self.whole = m >= d
        self.who = [*range(d)] if self.whole else [-1] * m
        self.drawn = max(256, math.isqrt(d))
        stride = max(1, round(0.6180339887498949 * d))
        while math.gcd(stride, d) > 1:
            stride += 1
        first = int(uniforms(seed, 0, 1, purpose=2**20 + 3)[0] * d)
        self.order = [(first + i * stride) % d for i in range(d)]
        self.walked = 0
        self.evidence = np.zeros((d, 2))
        self.growth = parts.growth
        if not self.whole and bug != BUGS[7]:
            self.growth = max(parts.growth, 4 * d // width)

    @property
    def there(self) -> np.ndarray:
        """Which features have a seat."""
        return np.isin(np.arange(self.d), self.who)

    def admit(
        self,
        read: list[int],
        memories: list[Memory],
        found: Sequence[Selection],
        theirs: Sequence[int],
    ) -> None:
        """All that is read gets a seat. `theirs` are the learner's seats then: they break ties."""
        strength = np.zeros(self.d)
        pairs = list(zip(memories, found, strict=True))
        for memory, one in pairs[:1] if self.bug == BUGS[3] else pairs:
            for j in range(self.d):
                if one.D[j] > 0.05 and one.noise > 0.0:
                    square = one.r[j] ** 2 / one.D[j] * memory.n_j[j] / one.noise
                    strength[j] = max(strength[j], square)
        if self.bug == BUGS[1]:
            strength = -strength
        for one in found:
            strength[one.chosen] = 1e300
        strength[read] = math.inf
        weakest = np.argsort(
            [strength[j] if j >= 0 else -math.inf for j in self.who], kind="stable"
        )
        new = [j for j in read if j not in self.who]
        after = self.who.copy()
        for j, a in zip(new, weakest.tolist(), strict=False):
            after[a] = j
        mine, other = ([j for j in self.who if j not in some] for some in (after, theirs))
        gone, theirs_gone = np.sort(strength[mine]), np.sort(strength[other])
        if len(mine) == len(other) and np.allclose(gone, theirs_gone, rtol=1e-9, atol=0.0):
            after = list(theirs)
        for j in set(self.who) - set(after) - {-1}:
            for memory, one in zip(memories, found, strict=True):
                self._leave(memory, j, float(one.r[j]))
        self.who = after
        for memory in memories:
            memory.there = self.there

    def _leave(self, memory: Memory, j: int, r: float) -> None:
        d = self.d
        if memory.n > 0.0 and self.bug != BUGS[0]:
            most = math.sqrt(memory.Y / memory.n)
            r = min(max(r, -most), most)
            size = math.sqrt(memory.G[j, j] * memory.n_j[j])
            memory.c[j] = r * size + memory.G[j, d] * memory.c[d] / memory.n
        if self.bug != BUGS[2]:
            square, level = memory.G[j, j], memory.G[j, d]
            memory.G[j] = memory.G[:, j] = 0.0
            memory.G[j, j], memory.G[j, d], memory.G[d, j] = square, level, level

    def unread(self, values: list[list[float]]) -> list[int]:
        """The next `width` features that come up; -1 in place of those with values."""
        places = [self.order[(self.walked + i) % self.d] for i in range(self.width)]
        return [-1 if values[j] else j for j in places]

    def looked_at(self, number: int) -> list[int]:
        """Others at random, as they are drawn, then those with a seat, by seat; or all."""
        number = 1 if self.bug == BUGS[4] else number
        if self.whole:
            first = int(uniforms(self.seed, number, 1, purpose=2**20 + 2)[0] * self.d)
            first = 0 if self.bug == "what is looked at begins at 0" else first
            return [*range(first, self.d), *range(first)]
        there = [j for j in self.who if j >= 0]
        if self.bug == BUGS[6]:
            return there
        some = list[int]()
        for block in range((self.drawn + 3) // 4):
            for word in words(np.uint64(self.seed), number, 2**20 + 2, block):
                some.append(int(word) * self.d >> 32)
        return [*dict.fromkeys(j for j in some if j not in there), *there]

    def weigh(self, values: Floats, u: Floats, h: float, sizes: Floats, used: list[int]) -> None:
        """Rows of all features (NaN: not read), and what was left of their labels."""
        most = math.inf if self.bug == BUGS[11] else 3.0
        least = -math.inf if self.bug == BUGS[13] else -8.0
        for v, row in zip(u.clip(-most, most), values, strict=True):
            for j in np.flatnonzero(~np.isnan(row)).tolist():
                if j in used and self.bug != BUGS[10]:
                    continue
                z = min(max(row[j] / sizes[j], -most), most) if sizes[j] > 0.0 else math.nan
                for i, sign in enumerate((1.0, -1.0)):
                    far = (v - sign * math.sqrt(h) * z) ** 2 if sizes[j] > 0.0 else v * v + h
                    more = (v * v - far / (1.0 - h) - math.log(1.0 - h)) / 2.0
                    if sizes[j] == 0.0 and self.bug == BUGS[12]:
                        more = 0.0
                    self.evidence[j, i] = max(self.evidence[j, i] + more, least)

    def likelier(self, values: list[list[float]]) -> Floats:
        """By how much the reads of each are likelier if it adds something, rounded."""
        odds = np.logaddexp(*self.evidence.T) - math.log(2.0)
        odds = np.floor(2.0**20 * odds + 0.5) / 2.0**20
        return np.where([len(arrived) > 0 for arrived in values], odds, -1e300)

    def of_row(self, z: Floats) -> Floats:
        """Products of a complete row: pairs of which one rests are 0."""
        there = np.append(self.there, True)
        G = np.outer(z, z) * np.outer(there, there)
        if self.bug != BUGS[8]:
            G[-1], G[:, -1] = z, z
            np.fill_diagonal(G, z * z)
        return G

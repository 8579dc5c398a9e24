"""How far values reach: "Implausible values" of docs/algorithms/auto-rules.md, in Python.

`bug` is a mistake to make, for tests that must notice it.
"""

from __future__ import annotations

from dataclasses import dataclass

BUGS = (
    "far-out values are learnt",
    "nothing is ever believed",
    "doubts do not fade",
    "nothing is taken back",
    "labels do not move",
    "a wild label is only cut off",
    "a wild value is only cut off",
    "unusual values say nothing",
    "labels say nothing",
    "values that come again count",
)


@dataclass
class Reach:
    """Of one feature, or of the label; `far` is that of `AutoParts`."""

    far: float
    bug: str = ""
    low: float = 0.0
    high: float = 0.0
    next_low: float = 0.0
    next_high: float = 0.0
    q: float = 0.0
    above: bool = False
    n: float = 0.0

    def is_far_out(self, v: float) -> bool:
        margin = 0.75 * self.far * (self.high - self.low) * (1.0 + 8.0 / max(self.n, 1.0))
        beyond = margin > 0.0 and (v > self.high + margin or v < self.low - margin)
        return self.n >= 4 and beyond and self.bug != BUGS[0]

    def cut(self, v: float) -> float:
        return min(max(v, self.low), self.high)

    def note(self, v: float, *, believed: bool = False) -> str:
        """Whether a value "was wild", or values "moved"."""
        out, above, as_last = self.is_far_out(v), v > self.high, self.above
        t = self.q if self.bug == BUGS[2] else 0.8 * self.q
        again_there = self.n > 0 and v in (self.low, self.high) and self.bug != BUGS[9]
        self.n, self.q = self.n + (1.0 / 64.0 if again_there else 1.0), t + out
        self.above = above if out else self.above
        again = out and t >= 1.4 and self.bug != BUGS[1]
        if out and not again and not believed:
            return ""
        self._widen(v)
        if 4 <= self.n <= 8 and self.bug != BUGS[3] and self._take_back():
            return "was wild"
        return "moved" if again and above == as_last else ""

    def _widen(self, v: float) -> None:
        if self.n == 1:
            self.low = self.high = self.next_low = self.next_high = v
        elif self.n <= 2:
            self.low, self.high = min(self.low, v), max(self.high, v)
            self.next_low, self.next_high = self.high, self.low
        else:
            self.low, self.next_low = sorted([self.low, self.next_low, v])[:2]
            self.next_high, self.high = sorted([self.high, self.next_high, v])[1:]

    def _take_back(self) -> bool:
        wild, above, below = 5.0 * self.far, self.next_high - self.low, self.high - self.next_low
        if above > 0.0 and self.high - self.next_high > wild * above:
            self.high = self.next_high
            return True
        if below > 0.0 and self.next_low - self.low > wild * below:
            self.low = self.next_low
            return True
        return False

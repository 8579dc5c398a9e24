"""What `benchmarks.limit` measures: a Bayesian beside AutoLearner, with the same reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import keyhole as kh
from benchmarks.common import Row
from benchmarks.limit import clouds, lists
from benchmarks.limit.played import Played, play
from benchmarks.limit.state import Found
from keyhole.problem import Floats
from keyhole.streams import AGNOSTIC_SUITE, ArrayStream

SEARCH = 1.0  # seconds for the best k-sparse models; where they do not do, what was found counts


class Bayesian(NamedTuple):
    """What it is told beside the law of the stream, in words, and what makes its predictions.

    That returns them, those of someone who knows the rule, and the means of the labels.
    """

    told: str
    follow: Callable[[Played], tuple[Found, Floats, Floats]]


BAYESIANS: dict[str, Bayesian] = {
    "iid": Bayesian("nothing", lists.iid),
    "dense": Bayesian("nothing", clouds.dense),
    "nonlin": Bayesian("the three features of the curved part, and their values", lists.nonlin),
    "switch": Bayesian("the 24 features that ever matter, when the set changes, which comes",
                       clouds.switch),
    "drift": Bayesian("nothing", clouds.drift),
    "flip": Bayesian("nothing", clouds.flip),
    "depn": Bayesian("after each label, every feature, and the label before it is cut off",
                     clouds.depn),
    "needle": Bayesian("nothing", clouds.needle),
    "geo": Bayesian("nothing", lists.geo),
    "iid300": Bayesian("nothing", clouds.iid300),
}  # fmt: skip


def ends_up_to(n: int) -> list[int]:
    """The rounds at which losses are told: n / 16, n / 4, n."""
    return [n // 16, n // 4, n]


def run_limit(name: str, seed: int, n: int) -> Row:
    """Excess losses over the noise, and the regret of the noise alone, all by round.

    The excess of a prediction is its squared distance from the label's mean given all features, the
    rule and the past: in expectation, what it costs more than the noise.
    """
    played = play(name, n, seed)
    found, rule, mean = BAYESIANS[name].follow(played)
    ends = ends_up_to(n)
    stream = ArrayStream(played.X, played.y)
    best = kh.hindsight_curve(
        stream, AGNOSTIC_SUITE[name].problem.k, ends, seconds=SEARCH, intercept=False
    )
    noise = np.cumsum((played.y - mean) ** 2)
    row: Row = {"stream": name, "seed": seed, "rounds": ends}
    ways = {
        "AutoLearner": (played.y_hat - mean) ** 2,
        "Bayes": (found.y_hat - mean) ** 2,
        "expected": found.expected,
        "rule": (rule - mean) ** 2,
    }
    at = np.array(ends) - 1
    for way, squares in ways.items():
        row[way] = np.cumsum(squares)[at].tolist()
    for way, y_hat in (("AutoLearner", played.y_hat), ("Bayes", found.y_hat)):
        paid = np.cumsum((played.y - y_hat) ** 2)[at]
        row[f"{way}, regret"] = [float(p) - b.loss.high for p, b in zip(paid, best, strict=True)]
    row["noise"] = noise[at].tolist()
    return row

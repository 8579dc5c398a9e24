"""How learners are shown: one line for `repr`, a small table with the model for notebooks."""

from __future__ import annotations

from keyhole.problem import Learner
from keyhole.problem.display import Cell, counted, html_table
from keyhole.problem.sparse_model import sparse_model


def shown_learner(name: str, learner: Learner, seed: int, waiting: int) -> str:
    """What it is, for which problem, and how far it is.

    >>> import keyhole as kh
    >>> learner = kh.AutoLearner(kh.Problem(d=42, k=4, budget=8), seed=3)
    >>> ticket = learner.ask()
    >>> learner
    <AutoLearner d=42 k=4 budget=8 seed=3: 1 round asked, 1 label awaited>
    """
    p, asked = learner.problem, counted(learner.round, "round")
    about = f"{name} d={p.d} k={p.k} budget={p.budget:g} seed={seed}"
    return f"<{about}: {asked} asked, {counted(waiting, 'label')} awaited>"


def learner_table(name: str, learner: Learner) -> str:
    """The problem, the rounds and the model as it is now."""
    p, model = learner.problem, sparse_model(learner)
    rows: list[tuple[str, Cell]] = [
        ("features", p.d),
        ("features of a model (k)", p.k),
        ("budget of one example", p.budget),
        ("rounds asked", learner.round),
        ("intercept of the model", model.intercept),
    ]
    weights = zip(model.names, model.weights.tolist(), strict=True)
    rows += [(f"weight of {feature}", weight) for feature, weight in weights]
    return html_table(name, rows)

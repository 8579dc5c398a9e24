"""History: rows whose values are all known, taken in before or between rounds."""

from __future__ import annotations

from typing import Annotated

from keyhole.core.functions import c_function
from keyhole.learners.blocks.auto.batch import Batch
from keyhole.learners.blocks.auto.state import Auto
from keyhole.problem import Floats

FIRST = 2**40  # batches of history are numbered from here on: their draws are no one else's


@c_function("kh_study_auto", "X[rows,d] y[rows]", room="room+items", long=True)
def study_rows(
    auto: Auto, batch: Annotated[Batch, "read=width"], X: Floats, y: Floats, keep: float
) -> None:
    """Take in complete rows, one after the other; before each, older sums count `keep` times.

    Each row is first played as a round of its own would be: so experts, their mixture and the last
    layer are judged on rows they had not seen, and know by the first round how good they are. Then
    all of its values go into the longest memory. The memories that forget stay as they are: if the
    world has changed since, they find out.

    What experts lose here is charged to no one: history may mislead, and what the mixture promises
    is about rounds. `batch` is room to work in.
    """
    raise NotImplementedError

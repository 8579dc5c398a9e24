"""A learner that plays single rounds, whatever else it can."""

import keyhole as kh
from keyhole.problem import Floats


class OneByOne:
    """A learner without its `advance`."""

    def __init__(self, learner: kh.Learner) -> None:
        self.problem, self._learner = learner.problem, learner
        self.ask, self.predict = learner.ask, learner.predict
        self.tell, self.drop = learner.tell, learner.drop

    @property
    def round(self) -> int:
        return self._learner.round

    @property
    def weights(self) -> Floats:
        return self._learner.weights

    @property
    def intercept(self) -> float:
        return self._learner.intercept

"""Schemas of the HTTP API: pydantic models of what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from keyhole.counter.store.records import MAX_LINE_LENGTH, State

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True)]
Amount = Number | Annotated[str, Field(max_length=40)]  # money as people write it: "12.50"
ShortText = Annotated[str, Field(max_length=400)]
JsonValues = dict[ShortText, Number | None] | list[Number | None]
StateFilter = Literal["asked", "filled", "told", "dropped", "open", "closed"]
CONFIRM_FIELD = Field(
    False,
    strict=True,
    description="That values and labels far beyond what was seen are right; else they are a 409.",
)
Ends = tuple[Number | None, Number | None]
WHO_FIELD = Field("", max_length=MAX_LINE_LENGTH, description="Who does it; kept in the log.")


class _Body(BaseModel):
    """What is sent: a field that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid")


class DoubtReply(BaseModel):
    """A value, or the label (`name` is null), far beyond what was seen."""

    ticket: str
    name: str | None
    value: float
    low: float = Field(description="The least that was seen.")
    high: float = Field(description="The largest that was seen.")
    suggestion: float | None = Field(description="What may have been meant.")
    text: str


class Refusal(BaseModel):
    """What is said when a request is refused."""

    error: str = Field(description="What is wrong, and what to do about it.")
    kind: str = Field(description="The name of the error.")
    doubts: list[DoubtReply] = Field([], description="Of a DoubtError: what is implausible.")


class Panel(_Body):
    """Features that are bought together for one fee."""

    price: Amount
    features: list[ShortText | Whole]


class HistoryBody(_Body):
    """Old examples that are known in full, which the learner studies first."""

    rows: list[list[Number | None]] = Field(description="One list per example, null for absent.")
    labels: list[Number]
    half_life: Number | None = None


class NewLearner(_Body):
    """A learner to be made."""

    name: str = Field(max_length=100, description="Letters, digits, '.', '-' and '_'.")
    features: list[ShortText] | Whole = Field(description="Their names, or how many there are.")
    k: Whole = Field(description="Sparsity of the models it is compared with.")
    budget: Amount = Field(description="How many features per example, or money with prices.")
    learner: str = Field("auto", max_length=100, description="Its name: see `keyhole learners`.")
    seed: Whole = Field(0, ge=0, lt=2**63, description="Random seed.")
    prices: dict[ShortText, Amount] | list[Amount] | None = None
    panels: dict[ShortText, Panel] | None = None
    derived: dict[ShortText, list[ShortText | Whole]] | None = None
    units: dict[ShortText, ShortText] | None = Field(None, description="By feature, its unit.")
    limits: dict[ShortText, Ends] | None = Field(
        None, description="By feature, the least and the largest value it can have; null for none."
    )
    label_limits: Ends | None = None
    yes_no: bool = Field(
        False, strict=True, description="Labels are 0 or 1, and predictions probabilities of 1."
    )
    settings: dict[ShortText, Any] = Field(
        default_factory=dict, description="Arguments of the learner."
    )
    history: HistoryBody | None = None
    who: str = WHO_FIELD


class TermsBody(_Body):
    """Terms of these examples only, for learners that take them."""

    prices: dict[ShortText, Amount] | None = None
    without: list[ShortText | Whole] | None = None
    known: dict[ShortText, Number] | None = None
    budget: Amount | None = None


class Ask(_Body):
    """How many tickets, and on what terms."""

    count: Whole = Field(1, ge=1, le=1000)
    expires_in: Annotated[Number, Field(ge=0, le=1e10)] | None = Field(
        None,
        description="Seconds until they are marked as expired; later labels count all the same.",
    )
    terms: TermsBody | None = None
    steps: bool = Field(
        False, strict=True, description="Begin with what most examples need; `next` says more."
    )
    who: str = WHO_FIELD


class Next(_Body):
    """What to buy next; with values that came back, if they were not sent before."""

    stop_at: Annotated[Number, Field(gt=0)] | None = Field(
        None,
        description="Enough is known once the 90 % interval is at most so wide, or yes or no at "
        "least so probable.",
    )
    values: JsonValues | None = None
    confirm: bool = CONFIRM_FIELD
    who: str = WHO_FIELD


class Fill(_Body):
    """What came back for a ticket: by name, or in its order; null for what did not arrive.

    What arrives later is sent later, in any order: a value comes once, and is corrected then.
    """

    values: JsonValues
    confirm: bool = CONFIRM_FIELD
    who: str = WHO_FIELD


class FillMany(_Body):
    """What came back for several tickets, by id: all of it is taken, or on an error nothing."""

    values: dict[ShortText, JsonValues]
    confirm: bool = CONFIRM_FIELD
    who: str = WHO_FIELD


class Tell(_Body):
    """The label of a ticket; with the values, if they were not sent before."""

    label: Number
    values: JsonValues | None = None
    confirm: bool = CONFIRM_FIELD
    who: str = WHO_FIELD


class TellMany(_Body):
    """Labels by ticket id: all of them are taken, or on an error none."""

    labels: dict[ShortText, Number]
    confirm: bool = CONFIRM_FIELD
    who: str = WHO_FIELD


class Correct(_Body):
    """What a ticket should have been filled with or told: what is left out was right."""

    label: Number | None = None
    values: dict[ShortText, Number | None] | None = Field(
        None, description="By feature, the right value; null for one that never arrived."
    )
    why: str = Field("", max_length=MAX_LINE_LENGTH, description="Kept in the log.")
    confirm: bool = CONFIRM_FIELD
    who: str = WHO_FIELD


class Drop(_Body):
    """Nothing but who drops it."""

    who: str = WHO_FIELD


class Predict(_Body):
    """Values to predict from, for the ticket of a round; nothing is kept."""

    round: Whole = Field(ge=1, lt=2**63)
    values: JsonValues


class Issue(Predict):
    """Values of a round's ticket, which are kept, to predict an interval from."""

    coverage: Number = Field(0.9, description="The share of rounds in which it holds the label.")
    confirm: bool = CONFIRM_FIELD


class Item(BaseModel):
    """Something to order."""

    item: str
    price: float


class StepReply(BaseModel):
    """What to buy next, or that enough is known."""

    enough: bool
    features: list[str] = Field(description="To buy now; none if enough is known.")
    items: list[Item] = Field(description="What to order for them.")
    cost: float = Field(description="Beside what was paid.")
    reason: str


class TicketReply(BaseModel):
    """A ticket and all that has happened to it."""

    id: str
    learner: str
    round: int
    state: State
    features: list[str]
    numbers: list[int] = Field(description="Of the features, from 0.")
    units: dict[str, str]
    items: list[Item] = Field(description="What to order.")
    cost: float
    who: str
    asked_at: datetime
    expires_at: datetime | None
    filled_at: datetime | None
    closed_at: datetime | None
    corrected_at: datetime | None
    values: dict[str, float | None] | None
    awaited: list[str] = Field(description="Features whose values have not come yet.")
    prediction: float | None
    probability: float | None = Field(
        description="That the label is 1, where labels are yes or no: then there is no interval."
    )
    coverage: float | None = Field(description="Of the interval from `low` to `high`.")
    low: float | None
    high: float | None
    label: float | None
    step: StepReply | None = Field(
        description="What `next` said last, until values of it come; null if it was not asked."
    )
    ticket: dict[str, Any] | None = Field(
        None, description="As `kh.Ticket.to_json` writes it, if `whole` was asked for."
    )


class TicketsReply(BaseModel):
    """Tickets; `next`, if there may be more: the `after` of the next page."""

    tickets: list[TicketReply]
    next: str | None = None


class LearnerReply(BaseModel):
    """What there is to say about a learner."""

    name: str
    kind: str
    seed: int
    d: int
    k: int
    budget: float
    names: list[str] | None
    priced: bool
    units: dict[str, str]
    history: int
    rounds: int
    waiting: int
    filled: int
    told: int
    dropped: int
    open: int
    spent: float
    loss: float
    mean_loss: float | None
    created_at: datetime
    asked_at: datetime | None
    told_at: datetime | None
    events: int
    yes_no: bool


class LearnersReply(BaseModel):
    """The learners that the caller may see; of those that are damaged, what is wrong with them."""

    learners: list[LearnerReply]
    damaged: dict[str, str] = {}


class PricesReply(BaseModel):
    """Prices in whole units of the last decimal: items, and what each feature needs."""

    items: list[str]
    units: list[int]
    needs: list[list[int]]
    decimals: int


class LimitsReply(BaseModel):
    """What features, by number, and the label can be; null where there is no such end."""

    features: list[int]
    low: list[float | None]
    high: list[float | None]
    label: list[float | None]


class ProblemReply(BaseModel):
    """A problem, from which `kh.connect` makes the same one."""

    d: int
    k: int
    budget: float
    names: list[str] | None
    prices: PricesReply | None
    limits: LimitsReply | None = None


class Weight(BaseModel):
    """A feature of the model."""

    feature: str
    number: int
    weight: float


class ModelReply(BaseModel):
    """The current model: label = intercept + the sum of weight times value + what the past adds."""

    round: int
    intercept: float
    weights: list[Weight]
    past: dict[str, float]
    all_weights: list[float] | None = Field(None, description="If `whole` was asked for.")
    all_intercept: float | None = None


class ExplanationReply(BaseModel):
    """What is bought now and why; null for learners that cannot say."""

    text: str | None
    advice: str | None


class PredictionReply(BaseModel):
    """What is predicted."""

    prediction: float


class IntervalReply(PredictionReply):
    """Where the label will be; an end is null as long as no label was told."""

    coverage: float
    low: float | None
    high: float | None


class EventReply(BaseModel):
    """A line of the log."""

    seq: int
    kind: str
    ticket: str | None
    who: str
    at: datetime
    body: dict[str, Any]


class EventsReply(BaseModel):
    """Lines of the log; `next`, if there may be more: the `after` of the next page."""

    events: list[EventReply]
    next: int | None = None

"""What each memory of AutoLearner finds significant, and who gets a seat for it."""

from __future__ import annotations

import numpy as np

from keyhole.blocks.auto.state import ALL, UNREAD, Settings, Space, State
from keyhole.blocks.fit.forward import NEW, Room, select_into
from keyhole.blocks.jit.decorators import inner
from keyhole.blocks.sums.seats import CHOSEN, Known, admit, all_seated
from keyhole.problem import Floats, Indices


@inner
def room_of(space: Space, m: int) -> Room:
    """Where the selection of memory m writes."""
    return Room(space.chosen[m], space.gains[m], space.r[m], space.D[m], space.L, space.ready)


@inner
def select_all(s: Settings, state: State, most: int) -> None:
    """What each memory finds significant, `most` features at most."""
    for m in range(len(state.kept.tau)):
        found = select_into(state.kept, m, most, s.thresholds[m], room_of(state.space, m))
        state.space.picked[m], state.space.noise[m] = found
        name_chosen(state, m)


@inner
def name_chosen(state: State, m: int) -> None:
    """Selection chooses seats: the features that sit there."""
    chosen, who = state.space.chosen[m], state.kept.who
    for rank in range(state.space.picked[m]):
        chosen[rank] = who[chosen[rank]]


@inner
def seat(state: State, S: Indices) -> None:
    """Give all features S a seat, after a selection by every memory, which says who must leave."""
    if not all_seated(state.kept, S):
        admit(state.kept, S, Known(state.space.r, _strengths(state)))


@inner
def _strengths(state: State) -> Floats:
    # The largest square, over the memories, of how many standard errors a feature is from adding
    # nothing to what was chosen.
    kept, space = state.kept, state.space
    strength = np.zeros(len(kept.who))
    for m in range(len(kept.tau)):
        r, D, n, noise = space.r[m], space.D[m], kept.n[m], space.noise[m]
        if noise > 0.0:
            per_read = kept.scale[m] / noise
            for a in range(len(strength)):
                if D[a] > NEW:
                    square = r[a] * r[a] / D[a] * n[a] * per_read
                    if square > strength[a]:
                        strength[a] = min(square, 0.5 * CHOSEN)
    for m in range(len(kept.tau)):
        for rank in range(space.picked[m]):
            strength[kept.seat[space.chosen[m, rank]]] = CHOSEN
    return strength


@inner
def clear(space: Space) -> None:
    """No feature is marked."""
    if space.many[0] == ALL:
        space.why[:] = UNREAD
    else:
        for i in range(space.many[0]):
            space.why[space.marked[i]] = UNREAD
    space.many[0] = 0


@inner
def clear_all(space: Space) -> None:
    """No feature is marked, and marks need not be listed from here on."""
    space.why[:] = UNREAD
    space.many[0] = ALL


@inner
def mark(space: Space, j: int, why: int) -> bool:
    """Mark a feature that is UNREAD; whether it was."""
    if space.why[j] != UNREAD:
        return False
    space.why[j] = why
    space.marked[space.many[0]] = j
    space.many[0] += 1
    return True

"""The homotopy engine of the Dantzig program, compiled. Read it from the top down:

    engine       the entry points: `solve`, `solve_sparse`, `certify`; what they return
    program      what is asked (Program), what is guessed (Guess), both sides at a point (Lines)
    grow         the homotopy on a working set of coordinates, which grows until nothing is violated
    working_set  that set: what is in it, what should join it
    warm_start   the first working set and a basis on it, from the answer to a similar program
    lasso        from old weights to a basis near the answer
    repair       from that basis to the answer, by a few primal pivots
    table        the table those pivots are made in, never written down
    path_start   from any basis to the start of a path at s = 1; recomputing, against drift
    homotopy     along the path, from s = 1 to s = 0: events, rays, pivots
    inverse      the inverse of a basis, pivot by pivot
    basis        the state everything above works on, and the names of its rows
    rows         loops over rows of matrices that vectorise
    walk         the path over all thresholds, one breakpoint at a time (for `path.py`)

A cold start is the empty basis, a warm start one that is near the answer; `path_start.start_path`
makes either optimal at s = 1, `homotopy.follow` goes on from there.
"""

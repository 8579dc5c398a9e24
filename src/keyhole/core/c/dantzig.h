/* The homotopy engine of the Dantzig program. What the parts do, and why, is said at the top of
   blocks/dantzig/homotopy.py and path.py; dantzig_engine.c is the entry. */
#ifndef KH_DANTZIG_H
#define KH_DANTZIG_H
#include "kh.h"
#include <setjmp.h>

/* Sides, and rows of the arrays of a basis: see blocks/dantzig/path.py. */
enum { ROWS, COLUMNS };
enum { VALUE = 0, RATE = 2, MOVE = 4, BOUND = 6, BOUND_RATE = 8, SIGN = 10, CENTRE = 12 };
enum { LEFT = 13, PACE = 14, LINES = 15 };
enum { SPARE = 6, GAUGE = 7, FACTOR = 8, LEAD = 9, BASICS = 10 };
enum { LARGEST = 0, WIDER = 1 };
enum { NUMBER = 2, ORDER = 3, ACTIVES = 4 };
enum { SIZE = 0, STUCK = 1, STUCK_SIGN = 2 };
/* How a part of the homotopy ended. FULL: the basis wants room; PAUSED: call again, it goes on from there;
   NO_ROOM: call again with more, it begins anew. */
enum { REFUSED = -1, DONE = 0, RAY = 1, STALLED = 3, LIMIT = 4, TOO_WIDE = 5, FULL, PAUSED, NO_ROOM, GO_ON };
enum { BY_NOTHING = -1, BY_LINE = 0, BY_BASIC = 1, BY_OTHER_END = 2 };
enum { BEGINNING, LOOKING, GOING }; /* stages of a solve: what comes next */
enum { FIRST = 24 };                /* size of the first working set */

#define FEASIBLE 1e-11   /* violations below this (times the size of b, w, u or 1) are rounding */
#define PIVOT 1e-9       /* smaller pivots, relative to the numbers they come from, are rounding */
#define ACCURATE 1e-10   /* the basis equations must hold this well, relatively */
#define LEAST_BOUND 1e-6 /* bounds are loosened as if they were at least this times the size of b */
#define NEAR 0.9         /* what comes this close to its bound joins together with what violates it */
#define SPREAD 1e-4      /* irregularity of the loosening, against ties */

#define KH_BASIS(F) \
    F(floats, line) F(ints, place) F(floats, basic) F(ints, active) F(floats, inv) F(floats, spare)
KH_STRUCT(kh_basis, KH_BASIS)

/* Where a start is given and an answer is told, and memory for what is between them. */
#define KH_DANTZIG_ROOM(F) F(i64, work) F(bytes, memory) F(ints, places) F(floats, signs) F(floats, proof)
KH_STRUCT(kh_dantzig_room, KH_DANTZIG_ROOM)

/* A matrix in C order: symmetric, or a part of one with zeros behind it up to a round number. */
typedef struct {
    const f64 *at;
    i64 stride;
} dz_matrix;

/* min |w|_1 s.t. |b - G w| <= lam; G in one of the two types. */
typedef struct {
    const f64 *G;
    const float *single;
    i64 d;
    const f64 *b, *lam;
    f64 size;
} dz_program;

typedef struct {
    f64 *r, *q; /* b - G w, bounded by lam; G u, bounded by 1 */
} dz_lines;

typedef struct {
    i64 n;
    bool known; /* the weights of its columns */
    const i64 *columns, *rows;
    const f64 *column_signs, *row_signs, *weights;
} dz_guess;

typedef struct {
    bool joins;
    i64 which;
    f64 sign;
} dz_change;

typedef struct {
    f64 spread;
    bool straight;
} dz_loosening;

/* Where on the path: s, pivots made and allowed, how many of the last ones moved nothing; work
   (multiply-adds) that is left before a pause. */
typedef struct {
    f64 s;
    i64 made, pivots, waiting, work;
} dz_path;

/* Vectors of length d (and a little more) for whoever needs them; nothing is kept in them. */
typedef struct {
    f64 *load, *t, *v;
    i64 *index, *found;
} dz_scratch;

typedef struct {
    f64 row, weight, multiplier; /* what is rounding in each */
} dz_rounding;

/* A solve, as it is kept between two calls. */
typedef struct {
    dz_program program;
    dz_guess guess;
    dz_lines lines;
    dz_scratch scratch;
    kh_basis z;
    i64 *W;       /* the working set: coordinates W[:m] */
    bool *member; /* of d: whether a coordinate is in it */
    floats M;     /* G[W, W] in its upper left corner */
    f64 *w;
    i64 mode, pivots, made, stage, code, trouble, attempt;
    bool over_all, looked, followed; /* on all coordinates; the lines are up to date; pivots were made */
    f64 s;
    dz_loosening how;
    dz_path path;
    kh_room room;
    jmp_buf *no_room; /* where to go when there is too little */
} dz_solve;

static inline f64 *line_of(const kh_basis *z, i64 i) { return ROW(z->line, i); }
static inline f64 *basic_of(const kh_basis *z, i64 i) { return ROW(z->basic, i); }
static inline i64 *active_of(const kh_basis *z, i64 i) { return ROW(z->active, i); }
static inline i64 *place_of(const kh_basis *z, i64 side) { return ROW(z->place, side); }
static inline i64 size_of(const kh_basis *z) { return active_of(z, NUMBER)[SIZE]; }
static inline i64 room_of(const kh_basis *z) { return z->active.m; }
static inline i64 coordinates(const kh_basis *z) { return z->place.m; }

/* The next multiple of 16: loops of that length leave no rest to do one by one. */
static inline i64 rounded(i64 n) { return (n + 15) / 16 * 16; }

/* dantzig_rows.c */
f64 dz_largest(const f64 *x, i64 n);
f64 dz_excess(const f64 *x, const f64 *y, i64 n);
void dz_add_rows(const f64 *M, i64 stride, i64 m, const i64 *index, const f64 *weight, i64 n, f64 factor,
                 f64 *out);
void dz_add_rows_single(const float *M, i64 stride, i64 m, const i64 *index, const f64 *weight, i64 n,
                        f64 factor, f64 *out);
void dz_add_both(const f64 *G, i64 d, const i64 *index, const f64 *t, const f64 *v, i64 n, f64 *r, f64 *q);
void dz_add_both_single(const float *G, i64 d, const i64 *index, const f64 *t, const f64 *v, i64 n, f64 *r,
                        f64 *q);
void dz_combine(const f64 *L, i64 stride, i64 first, i64 last, const f64 *weight, i64 start, i64 stop,
                f64 *out);
void dz_rank_one(f64 *inv, i64 stride, i64 n, const f64 *x, const f64 *y);
void dz_add_scaled(f64 *out, f64 a, const f64 *x, i64 n);
void dz_multiply(const f64 *inv, i64 stride, i64 n, const f64 *v, f64 *out);

/* dantzig_inverse.c: the inverse after a change; x and y are the MOVE of the two sides. */
void dz_border(kh_basis *z, f64 pivot);
void dz_replace_row(kh_basis *z, i64 o);
void dz_replace_column(kh_basis *z, i64 p);
void dz_unborder(kh_basis *z, i64 p, i64 o);
bool dz_invert(dz_matrix M, kh_basis *z);

/* dantzig_basis.c */
i64 dz_lines_bytes(i64 m, i64 wide);
i64 dz_places_bytes(i64 room);
kh_basis dz_new_basis(i64 m, i64 wide, i64 room, kh_room *from);
void dz_new_lines(kh_basis *z, i64 m, i64 wide, kh_room *from);
void dz_more_room(kh_basis *z, i64 room, kh_room *from);
void dz_forget(kh_basis *z);
i64 dz_wrong_signs(const kh_basis *z);
void dz_basic_solution(const f64 *inv, i64 stride, i64 n, i64 side, const f64 *v, f64 *out);
f64 dz_ray(dz_matrix M, kh_basis *z, i64 side, dz_change change);

/* dantzig_homotopy.c */
f64 dz_next_event(const kh_basis *z, f64 size, i64 *side, bool *joins, i64 *which);
i64 dz_blocking(const kh_basis *z, i64 side, f64 s, f64 end, f64 hair, f64 big, i64 *which, f64 *sign);
bool dz_exchange(kh_basis *z, dz_change row, dz_change column);
i64 dz_follow(dz_matrix M, kh_basis *z, f64 size, dz_path *path);

/* dantzig_start.c */
f64 dz_jitter(i64 j);
f64 dz_recompute(dz_matrix M, kh_basis *z, f64 size, bool rate);
void dz_recompute_lines(dz_matrix M, kh_basis *z);
void dz_loosen(kh_basis *z, f64 s, f64 size, dz_loosening how);
bool dz_start_path(dz_matrix M, kh_basis *z, f64 size, dz_loosening how);

/* dantzig_set.c: the working set. Newcomers are written to scratch.found; how many is returned. */
void dz_add_G(const dz_program *p, const i64 *index, const f64 *weight, i64 n, f64 factor, f64 *out);
void dz_products(const dz_program *p, const i64 *W, const kh_basis *z, f64 s, dz_lines lines,
                 dz_scratch scratch);
bool dz_feasible(const dz_program *p, const f64 *r);
bool dz_holds(const dz_program *p, dz_lines lines);
void dz_loads(const dz_program *p, dz_lines lines, f64 wider_r, f64 wider_q, f64 *load);
i64 dz_newcomers(f64 *load, const bool *member, i64 d, i64 quota, f64 near, bool eager, i64 *found);
i64 dz_stopping(const dz_program *p, const i64 *W, const bool *member, const kh_basis *z, i64 quota,
                dz_scratch scratch);
i64 dz_join(i64 *W, i64 m, bool *member, const i64 *new, i64 count);
void dz_gather(const dz_program *p, const i64 *W, i64 old, i64 m, floats M);
void dz_fill(kh_basis *z, const dz_program *p, const i64 *W, i64 old);

/* dantzig_lasso.c */
bool dz_descend(dz_matrix M, kh_basis *z, f64 *w, i64 rounds);
void dz_take_support(kh_basis *z, const f64 *w);
bool dz_equal_sides(dz_matrix M, kh_basis *z, floats L);
void dz_unfold(floats L, i64 n, f64 *share, f64 *x);

/* dantzig_repair.c, with the table of dantzig_table.c */
bool dz_fits(const kh_basis *z, const i64 *W, const f64 *r, f64 size);
bool dz_tight(const kh_basis *z, const i64 *W, dz_lines lines, f64 size);
i64 dz_repair_bytes(i64 n, i64 m, i64 pivots);
i64 dz_repair(const dz_program *p, const i64 *W, dz_matrix M, kh_basis *z, dz_lines lines, dz_scratch scratch,
              i64 pivots, kh_room *room, bool *looked, bool *solved);

/* dantzig_grow.c, dantzig_warm.c: parts of a solve, which ask for room themselves. */
void dz_room_for(dz_solve *s, i64 bytes);
void dz_widen(dz_solve *s, i64 count);
void dz_resize(dz_solve *s, i64 m, i64 room);
void dz_adopt(kh_basis *z, const dz_guess *guess, const i64 *W, i64 *local);
bool dz_first_basis(dz_solve *s);
i64 dz_grow(dz_solve *s);
i64 dz_follow_to_end(dz_solve *s, dz_matrix M);
void dz_over_all_coordinates(dz_solve *s);
static inline dz_matrix working_matrix(const dz_solve *s) { return (dz_matrix){s->M.at, s->M.m}; }

#endif

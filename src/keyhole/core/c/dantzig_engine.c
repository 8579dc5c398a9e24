/* The Dantzig program: solved, in one call or several, and certified. */
#include "dantzig.h"

KH_LAYOUT(kh_dantzig_room, KH_DANTZIG_ROOM)

#define TOLERANCE 1e-8
#define ENORMOUS 1e30                     /* a threshold that never binds; infinity would make NaNs */
enum { SMALL = 48 };                      /* with fewer coordinates a working set does not pay */
enum { ANYHOW, STRAIGHT, SPARSE, AGAIN }; /* how it is to be solved; see blocks/dantzig/homotopy.py */
enum { WEIGHTS = 2 };                     /* row of the signs of a room */
enum { EXCESS, TOP, OBJECTIVE, WORTH, SCALE, DUALITY_GAP, LARGEST_B }; /* a proof */

/* lam by coordinate, finite; whether w = 0 violates anything; false: refused. */
static bool take_thresholds(const f64 *b, i64 d, const floats *lam, f64 *full, bool *over)
{
    bool good = true;
    *over = false;
    for (i64 j = 0; j < d; j++) {
        f64 x = fabs(b[j]), y = lam->at[lam->n == 1 ? 0 : j];
        good &= (x < INFINITY) & (y >= 0.0);
        *over |= x > y;
        full[j] = f_min(y, ENORMOUS);
    }
    return good;
}

static bool within(const i64 *index, i64 n, i64 d)
{
    bool good = true;
    for (i64 i = 0; i < n; i++) good &= 0 <= index[i] && index[i] < d;
    return good;
}

/* What a certificate needs, from the lines of a point. */
static void judge(const dz_program *p, dz_lines lines, i64 n, const f64 *w, const i64 *rows, i64 number,
                  const f64 *u, f64 *proof)
{
    f64 objective = 0.0, value = 0.0, scale = 1.0, over = dz_excess(lines.r, p->lam, p->d);
    if (over > TOLERANCE * p->size) {
        scale = 0.0;
        for (i64 j = 0; j < p->d; j++)
            if (p->lam[j] > 0.0) scale = f_max(scale, fabs(lines.r[j]) / p->lam[j]);
    }
    for (i64 i = 0; i < n; i++) objective += fabs(w[i]);
    for (i64 o = 0; o < number; o++) value += p->b[rows[o]] * u[o] - p->lam[rows[o]] * fabs(u[o]);
    /* objective + lam.|u| = b.u; below a millionth of that, objective is mostly rounding. */
    f64 terms = 2.0 * objective - value;
    for (i64 o = 0; o < number; o++) terms = f_max(terms, fabs(p->b[rows[o]] * u[o]));
    proof[EXCESS] = over, proof[TOP] = dz_largest(lines.q, p->d), proof[OBJECTIVE] = objective,
    proof[WORTH] = value;
    proof[SCALE] = scale, proof[LARGEST_B] = p->size;
    proof[DUALITY_GAP] = fabs(objective - value) / f_max(f_max(objective, 1e-6 * terms), 1e-300);
}

/* r = b - G w and q = G u on all coordinates. */
static void compute_lines(const dz_program *p, dz_lines lines, const i64 *columns, i64 n, const f64 *w,
                          const i64 *rows, i64 number, const f64 *u)
{
    memcpy(lines.r, p->b, sizeof(f64) * p->d);
    memset(lines.q, 0, sizeof(f64) * p->d);
    dz_add_G(p, columns, w, n, -1.0, lines.r);
    dz_add_G(p, rows, u, number, 1.0, lines.q);
}

static void certify(const f64 *G, const float *single, const floats *b, const floats *lam,
                    const ints *columns, const floats *w, const ints *rows, const floats *u, f64 *proof,
                    kh_room *room)
{
    i64 d = b->n, mark = room->used;
    dz_program p = {G, single, d, b->at, lam->at, dz_largest(b->at, d)};
    dz_lines lines = {TAKE(room, f64, d), TAKE(room, f64, d)};
    compute_lines(&p, lines, columns->at, columns->n, w->at, rows->at, rows->n, u->at);
    judge(&p, lines, columns->n, w->at, rows->at, rows->n, u->at, proof);
    room->used = mark;
}

KH_API void kh_certify_dantzig(floats *G, floats *b, floats *lam, ints *columns, floats *w, ints *rows,
                               floats *u, floats *proof, kh_room *room)
{
    certify(G->at, NULL, b, lam, columns, w, rows, u, proof->at, room);
}

KH_API void kh_certify_dantzig_single(singles *G, floats *b, floats *lam, ints *columns, floats *w,
                                      ints *rows, floats *u, floats *proof, kh_room *room)
{
    certify(NULL, G->at, b, lam, columns, w, rows, u, proof->at, room);
}

/* w, u and the basis in the caller's coordinates, and their proof. On a ray w is the last feasible one, and u
   the dual ray. known: the lines have been computed for these very w and u. */
static void write_answer(dz_solve *s, i64 code, bool known, kh_dantzig_room *room, floats *point)
{
    const kh_basis *z = &s->z;
    const i64 *W = s->over_all ? NULL : s->W;
    i64 n = size_of(z), d = s->program.d, number = n;
    i64 *columns = ROW(room->places, COLUMNS), *rows = ROW(room->places, ROWS);
    f64 *column_signs = ROW(room->signs, COLUMNS), *row_signs = ROW(room->signs, ROWS);
    const i64 *stuck = active_of(z, NUMBER);
    f64 *w = ROW(room->signs, WEIGHTS), *u = s->scratch.v;
    bool on_ray = code == RAY;
    for (i64 i = 0; i < n; i++) {
        i64 j = active_of(z, COLUMNS)[i], k = active_of(z, ROWS)[i];
        columns[i] = W ? W[j] : j, rows[i] = W ? W[k] : k;
        column_signs[i] = line_of(z, SIGN + COLUMNS)[j], row_signs[i] = line_of(z, SIGN + ROWS)[k];
        w[i] = basic_of(z, VALUE + COLUMNS)[i], u[i] = basic_of(z, VALUE + ROWS)[i];
        if (on_ray) w[i] += s->s * basic_of(z, RATE + COLUMNS)[i], u[i] = basic_of(z, MOVE + ROWS)[i];
    }
    if (on_ray && stuck[STUCK] >= 0) {
        rows[n] = W ? W[stuck[STUCK]] : stuck[STUCK];
        u[number++] = (f64)stuck[STUCK_SIGN];
    }
    if (!known) compute_lines(&s->program, s->lines, columns, n, w, rows, number, u);
    judge(&s->program, s->lines, n, w, rows, number, u, room->proof.at);
    memset(point->at, 0, sizeof(f64) * 2 * d);
    for (i64 i = 0; i < n; i++) AT2(*point, 0, columns[i]) = w[i];
    for (i64 i = 0; i < number; i++) AT2(*point, 1, rows[i]) = u[i];
}

/* The basis of the working set becomes one of all coordinates in their own order. */
void dz_over_all_coordinates(dz_solve *s)
{
    static const i64 carried[] = {VALUE, RATE, BOUND_RATE, SIGN};
    kh_basis old = s->z, *z = &s->z;
    i64 d = s->program.d, m = coordinates(&old);
    dz_room_for(s, dz_lines_bytes(d, d));
    dz_new_lines(z, d, d, &s->room);
    dz_fill(z, &s->program, NULL, 0);
    for (i64 side = 0; side < 2; side++) {
        for (int i = 0; i < 4; i++)
            for (i64 j = 0; j < m; j++)
                line_of(z, carried[i] + side)[s->W[j]] = line_of(&old, carried[i] + side)[j];
        for (i64 j = 0; j < m; j++) place_of(z, side)[s->W[j]] = place_of(&old, side)[j];
        for (i64 i = 0; i < size_of(z); i++) active_of(z, side)[i] = s->W[active_of(z, side)[i]];
    }
}

/* Everything that is kept, in the memory that was given; false if the question is refused. */
static bool begin(dz_solve *s, const floats *lam, bool *over)
{
    i64 d = s->program.d;
    dz_room_for(s, 8 * 11 * (d + 1) + 11 * (64 + KH_GAP) + dz_places_bytes(16) + dz_lines_bytes(0, 0));
    f64 *full = TAKE(&s->room, f64, d);
    s->lines = (dz_lines){TAKE(&s->room, f64, d), TAKE(&s->room, f64, d)};
    s->scratch = (dz_scratch){TAKE(&s->room, f64, d), TAKE(&s->room, f64, d + 1), TAKE(&s->room, f64, d + 1),
                              TAKE(&s->room, i64, d + 1), TAKE(&s->room, i64, d)};
    s->w = TAKE(&s->room, f64, d);
    s->W = TAKE(&s->room, i64, d);
    s->member = TAKE(&s->room, bool, d);
    s->z = dz_new_basis(0, 0, 0, &s->room);
    s->program.lam = full, s->program.size = dz_largest(s->program.b, d);
    s->s = 1.0, s->made = s->trouble = s->attempt = 0, s->code = DONE, s->stage = BEGINNING;
    s->over_all = s->looked = s->followed = false;
    bool good = take_thresholds(s->program.b, d, lam, full, over);
    return good && within(s->guess.columns, s->guess.n, d) && within(s->guess.rows, s->guess.n, d);
}

/* Few coordinates, or a straight path: all of them, from the guess if there is one. */
static void begin_over_all(dz_solve *s)
{
    i64 d = s->program.d, room = rounded(i_min(d + 1, i_max(16, 2 * s->guess.n)));
    dz_matrix G = {s->program.G, d};
    dz_room_for(s, dz_lines_bytes(d, d) + dz_places_bytes(room));
    s->z = dz_new_basis(d, d, room, &s->room);
    dz_fill(&s->z, &s->program, NULL, 0);
    if (s->mode != STRAIGHT) dz_adopt(&s->z, &s->guess, NULL, s->scratch.index);
    if (!(dz_invert(G, &s->z) && dz_start_path(G, &s->z, s->program.size, s->how))) {
        dz_forget(&s->z);
        dz_start_path(G, &s->z, s->program.size, s->how);
    }
}

/* Until it ends, or for a while: PAUSED. */
static i64 go_on(dz_solve *s)
{
    dz_matrix G = {s->program.G, s->program.d};
    bool on_set = s->mode == SPARSE || (s->mode == ANYHOW && s->program.d > SMALL);
    if (on_set && !s->over_all) {
        i64 code = dz_grow(s);
        if (code != TOO_WIDE || s->mode == SPARSE) return code;
        dz_over_all_coordinates(s);
        s->how = (dz_loosening){SPREAD, false};
        dz_recompute_lines(G, &s->z);
        dz_loosen(&s->z, s->s, s->program.size, s->how);
    } else if (!s->over_all) {
        begin_over_all(s);
    }
    if (!s->over_all) s->over_all = true, s->stage = LOOKING;
    return dz_follow_to_end(s, G);
}

/* From the beginning, or on from a pause. */
static i64 run(dz_solve *s, const floats *lam, bool again, kh_dantzig_room *room, floats *point)
{
    bool over = true;
    if (!again && !begin(s, lam, &over)) return REFUSED;
    i64 code = over ? go_on(s) : DONE;
    if (code != PAUSED) write_answer(s, code, over && code == DONE && !s->over_all, room, point);
    return code;
}

/* How it ended, pivots, size of the basis. NO_ROOM: call anew with more memory; PAUSED: AGAIN, with the same.
 */
static void solve(dz_program program, const floats *lam, i64 n, bool known, i64 pivots, i64 mode,
                  kh_dantzig_room *room, floats *point, i64 *code, i64 *made, i64 *size)
{
    dz_solve *s = (dz_solve *)(((uintptr_t)room->memory.at + 63) & ~(uintptr_t)63);
    char *base = (char *)s + (sizeof(dz_solve) + 63) / 64 * 64;
    jmp_buf no_room;
    s->no_room = &no_room;
    s->path.work = room->work;
    if (mode != AGAIN) {
        s->program = program, s->mode = mode, s->pivots = pivots;
        s->guess = (dz_guess){n,
                              known,
                              ROW(room->places, COLUMNS),
                              ROW(room->places, ROWS),
                              ROW(room->signs, COLUMNS),
                              ROW(room->signs, ROWS),
                              ROW(room->signs, WEIGHTS)};
        s->how = (dz_loosening){mode == STRAIGHT ? 1e-7 : SPREAD, mode == STRAIGHT};
        s->room = (kh_room){base, (char *)room->memory.at + room->memory.n - base, 0};
    }
    *made = *size = 0;
    *code = NO_ROOM;
    if (setjmp(no_room)) return;
    *code = run(s, lam, mode == AGAIN, room, point);
    if (*code != PAUSED && *code != REFUSED) *made = s->made, *size = size_of(&s->z);
}

KH_API void kh_solve_dantzig(floats *G, floats *b, floats *lam, i64 n, i64 known, i64 pivots, i64 mode,
                             kh_dantzig_room *room, floats *point, i64 *code, i64 *made, i64 *size)
{
    dz_program program = {G->at, NULL, b->n, b->at, NULL, 0.0};
    solve(program, lam, n, known, pivots, mode, room, point, code, made, size);
}

KH_API void kh_solve_dantzig_single(singles *G, floats *b, floats *lam, i64 n, i64 known, i64 pivots,
                                    i64 mode, kh_dantzig_room *room, floats *point, i64 *code, i64 *made,
                                    i64 *size)
{
    dz_program program = {NULL, G->at, b->n, b->at, NULL, 0.0};
    solve(program, lam, n, known, pivots, mode, room, point, code, made, size);
}

/* The first working set of the Dantzig program and a basis on it: a warm start, if one is at hand. */
#include "dantzig.h"

#define SOON 0.87    /* as NEAR, at a warm start: one look at all coordinates is to find all that is new */
enum { ROUNDS = 8 }; /* of coordinate descent; signs that have not settled by then are left to the pivots */

/* Take over the basis of `guess`, whose coordinates are all in the working set W (NULL: all of them). */
void dz_adopt(kh_basis *z, const dz_guess *guess, const i64 *W, i64 *local)
{
    for (i64 i = 0; i < coordinates(z); i++) local[W ? W[i] : i] = i;
    active_of(z, NUMBER)[SIZE] = guess->n;
    for (i64 i = 0; i < guess->n; i++) {
        i64 k = local[guess->rows[i]], j = local[guess->columns[i]];
        active_of(z, ROWS)[i] = k, place_of(z, ROWS)[k] = i, line_of(z, SIGN + ROWS)[k] = guess->row_signs[i];
        active_of(z, COLUMNS)[i] = j, place_of(z, COLUMNS)[j] = i;
        line_of(z, SIGN + COLUMNS)[j] = guess->column_signs[i];
    }
}

/* What violates its bounds at the lines that are known, or comes near, joins. */
static i64 look_for(dz_solve *s, i64 quota, f64 near)
{
    dz_loads(&s->program, s->lines, 0.0, 0.0, s->scratch.load);
    return dz_newcomers(s->scratch.load, s->member, s->program.d, quota, near, true, s->scratch.found);
}

/* Compute the rows at the weights w; what they violate, or soon will, joins. */
static void look_around(dz_solve *s, i64 quota)
{
    i64 number = 0, d = s->program.d;
    memcpy(s->lines.r, s->program.b, sizeof(f64) * d);
    memset(s->lines.q, 0, sizeof(f64) * d);
    for (i64 i = 0; i < coordinates(&s->z); i++)
        if (s->w[i] != 0.0) s->scratch.index[number] = s->W[i], s->scratch.t[number++] = s->w[i];
    dz_add_G(&s->program, s->scratch.index, s->scratch.t, number, -1.0, s->lines.r);
    dz_widen(s, look_for(s, quota, SOON));
}

/* The lasso's basis, of which so many signs are wrong, made the answer of the working set, if possible. */
static bool repaired(dz_solve *s, i64 wrong)
{
    i64 n = size_of(&s->z);
    bool solved;
    if (4 * wrong > n) { /* so much that repairing costs more than starting anew */
        dz_forget(&s->z);
        return false;
    }
    dz_unfold(s->z.inv, n, basic_of(&s->z, FACTOR), basic_of(&s->z, LEAD));
    i64 pivots = i_min(s->pivots, n + FIRST);
    dz_room_for(s, dz_repair_bytes(n, coordinates(&s->z), pivots));
    s->made = dz_repair(&s->program, s->W, working_matrix(s), &s->z, s->lines, s->scratch, pivots, &s->room,
                        &s->looked, &solved);
    if (!s->looked)
        dz_recompute(working_matrix(s), &s->z, s->program.size, false);
    else if (s->made > 0 && !solved)
        dz_widen(s, look_for(s, FIRST, NEAR));
    return solved;
}

/* The support of the lasso near the weights, repaired; whether that came to an end. A look at all coordinates
   costs much. So one comes when the old support has had a round of descent, to find what is new; the next one
   is meant to be the certificate, or else to find what the repair needs, and then the one after that is. */
static bool from_weights(dz_solve *s, bool *solved)
{
    i64 d = s->program.d, n = s->guess.n, m;
    memset(s->w, 0, sizeof(f64) * d);
    memcpy(s->w, s->guess.weights, sizeof(f64) * n);
    dz_descend(working_matrix(s), &s->z, s->w, 1);
    look_around(s, FIRST + n);
    m = coordinates(&s->z);
    dz_resize(s, m, m + FIRST);
    while (dz_descend(working_matrix(s), &s->z, s->w, ROUNDS)) {
        dz_take_support(&s->z, s->w);
        if (!dz_equal_sides(working_matrix(s), &s->z, s->z.inv)) break;
        dz_products(&s->program, s->W, &s->z, 0.0, s->lines, s->scratch);
        i64 wrong = dz_wrong_signs(&s->z);
        if (wrong == 0 && dz_holds(&s->program, s->lines)) {
            s->looked = *solved = true;
            return true;
        }
        i64 count = look_for(s, FIRST, NEAR);
        /* New rows change the lasso; new columns are for the pivots. */
        bool again = count > 0 && 2 * (m + count) <= d && !dz_feasible(&s->program, s->lines.r);
        dz_widen(s, count);
        m = coordinates(&s->z);
        dz_resize(s, m, m + 2);
        if (!again) {
            *solved = repaired(s, wrong);
            return true;
        }
        dz_forget(&s->z);
    }
    return false;
}

/* The first working set and a basis on it: from the weights, or else the one that is given; whether it is
   the answer. looked: the lines are up to date, and what they violate is in the working set. */
bool dz_first_basis(dz_solve *s)
{
    i64 d = s->program.d, n = s->guess.n, m;
    bool solved = false;
    memset(s->member, 0, d);
    m = dz_join(s->W, 0, s->member, s->guess.columns, n);
    m = dz_join(s->W, m, s->member, s->guess.rows, n);
    i64 side = rounded(m + 2 * FIRST);
    /* Weights need no inverse at first: room for one comes when it is known how much. */
    i64 room = rounded(i_max(s->guess.known ? 0 : 2 * n, 1));
    dz_room_for(s, 8 * side * side + 64 + KH_GAP + dz_lines_bytes(m, rounded(m)) + dz_places_bytes(room));
    s->M = (floats){TAKE(&s->room, f64, side * side), side, side, 1};
    dz_gather(&s->program, s->W, 0, m, s->M);
    s->z = dz_new_basis(m, rounded(m), room, &s->room);
    dz_fill(&s->z, &s->program, s->W, 0);
    if (s->guess.known && from_weights(s, &solved)) return solved;
    s->looked = false;
    dz_forget(&s->z);
    dz_adopt(&s->z, &s->guess, s->W, s->scratch.index);
    if (!dz_invert(working_matrix(s), &s->z)) dz_forget(&s->z);
    dz_recompute(working_matrix(s), &s->z, s->program.size, false);
    return false;
}

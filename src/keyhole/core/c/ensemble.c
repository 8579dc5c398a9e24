/* Several VAWs side by side on parts of the same features, each started from a memory; and one alone. */
#include "draw.h"
#include "fit.h"
#include "lanes.h"

KH_LAYOUT(kh_ensemble, KH_ENSEMBLE)
KH_LAYOUT(kh_start, KH_START)
#define TINY 1e-12 /* of a diagonal of 1: what a pivot is at least, should rounding make it less */
#define HUGE_SUM 1e300 /* beyond this, products overflow */

KH_WIDE KH_API void kh_invert(floats *A)
{
    i64 v = A->n;
    for (i64 k = 0; k < v; k++) {
        f64 *restrict lead = A->at + k * v, part = 1.0 / f_max(lead[k], TINY);
        for (i64 i = 0; i < v; i++) {
            if (i == k) continue;
            f64 *restrict row = A->at + i * v, factor = row[k] * part;
            for (i64 j = 0; j < v; j++) row[j] -= factor * lead[j];
            row[k] = -factor;
        }
        for (i64 j = 0; j < v; j++) lead[j] *= part;
        lead[k] = part;
    }
    for (i64 i = 0; i < v; i++)
        for (i64 j = 0; j < i; j++) A->at[j * v + i] = A->at[i * v + j];
}

void kh_start_from(kh_ensemble *runs, i64 e, floats *A, floats *b, floats *unit, kh_room *room)
{
    i64 mark = room->used, v = b->n, places = runs->place.m;
    f64 *root = TAKE(room, f64, v), *theta = ROW(runs->theta, e);
    KH_CHECK(v <= places && A->n == v && A->m == v && unit->n == v);
    for (i64 i = 0; i < v; i++) { /* with a diagonal of 1 the largest memory does not drown the ridge */
        f64 *row = A->at + i * v;
        root[i] = 1.0 / sqrt(row[i]);
        unit->at[i] *= root[i];
        b->at[i] *= root[i];
        for (i64 j = 0; j <= i; j++) {
            row[j] *= root[i] * root[j];
            A->at[j * v + i] = row[j];
        }
    }
    kh_invert(A);
    for (i64 i = 0; i < v; i++) {
        f64 total = 0.0, *restrict P = ROW(runs->P, e) + i * places;
        const f64 *restrict row = A->at + i * v, *restrict units = unit->at;
        for (i64 j = 0; j < v; j++) total += row[j] * b->at[j];
        for (i64 j = 0; j < v; j++) P[j] = row[j] * units[i] * units[j];
        theta[i] = total * units[i];
    }
    room->used = mark;
}

/* The sums of features that rest: their own, and with the constant. Of A the lower triangle. */
static void start_resting(kh_memories *kept, i64 source, ints *seats, i64 i, i64 f, floats *unit,
                          floats *A, f64 *b)
{
    i64 v = seats->n, many = kept->who.n;
    const f64 *sums = ROW(kept->rest, source) + KH_INDEX(f, kept->rest.m) * KH_REST_SUMS, *units = unit->at;
    f64 scale = kept->scale.at[source];
    A->at[i * v + i] = sums[KH_SQUARE] * scale * units[i] * units[i];
    b[i] = sums[KH_PRODUCT] * scale * units[i];
    for (i64 j = 0; j < v; j++)
        if (seats->at[j] == many)
            A->at[i_max(i, j) * v + i_min(i, j)] = sums[KH_LEVEL] * scale * units[i] * units[j];
}

KH_WIDE KH_API void kh_start_run(kh_ensemble *runs, i64 e, ints *features, kh_memories *kept, kh_start *origin,
                         kh_room *room)
{
    i64 mark = room->used, v = AT(runs->size, e), d = kept->seat.n, many = kept->who.n, w = many + 1;
    i64 source = i_max(origin->memory, 0), *place = ROW(runs->place, e);
    bool known = origin->memory >= 0;
    floats A = {TAKE(room, f64, v * v), v, v, 1}, unit = take_floats(room, v), b = take_floats(room, v);
    ints seats = take_ints(room, v);
    const f64 *G = ROW(kept->G, source), *c = ROW(kept->c, source), scale = AT(kept->scale, source);
    for (i64 i = 0; i < v; i++) {
        i64 f = AT(*features, place[i]), seat = f < d ? AT(kept->seat, f) : many;
        f64 size = f < d ? AT(origin->sizes, place[i]) : 1.0, *row = A.at + i * v;
        seats.at[i] = seat;
        unit.at[i] = size > 0.0 ? 1.0 / size : 0.0;
        b.at[i] = known && seat >= 0 ? c[seat] * scale * unit.at[i] : 0.0;
        for (i64 j = 0; j <= i; j++) {
            bool both = known && seat >= 0 && seats.at[j] >= 0;
            row[j] = both ? G[seat * w + seats.at[j]] * scale * unit.at[i] * unit.at[j] : 0.0;
        }
    }
    if (known)
        for (i64 i = 0; i < v; i++)
            if (seats.at[i] < 0)
                start_resting(kept, source, &seats, i, features->at[place[i]], &unit, &A, b.at);
    for (i64 i = 0; i < v; i++) A.at[i * v + i] += seats.at[i] == many ? 1.0 : origin->ridge;
    kh_start_from(runs, e, &A, &b, &unit, room);
    room->used = mark;
}

KH_WIDE KH_API void kh_guess_runs(kh_ensemble *runs, floats *x, floats *guesses)
{
    i64 w = runs->place.m;
    for (i64 e = 0; e < runs->size.n; e++) {
        i64 v = runs->size.at[e];
        const i64 *place = ROW(runs->place, e);
        const f64 *theta = ROW(runs->theta, e), *P = ROW(runs->P, e);
        f64 *restrict Px = ROW(runs->Px, e), along = 0.0, s = 1.0;
        for (i64 i = 0; i < v; i++) Px[i] = 0.0;
        kh_add_up(Px, P, v, w, x, place); /* P is symmetric: sums of its rows run along memory */
        for (i64 i = 0; i < v; i++) {
            s += x->at[place[i]] * Px[i];
            along += theta[i] * x->at[place[i]];
        }
        if (!(1.0 <= s && s < INFINITY)) {
            s = 1.0;
            for (i64 i = 0; i < v; i++) Px[i] = 0.0;
        }
        runs->along.at[e] = along;
        runs->s.at[e] = s;
        AT(*guesses, e) = along / s;
    }
}

KH_WIDE KH_API void kh_learn_runs(kh_ensemble *runs, f64 y)
{
    i64 w = runs->place.m;
    for (i64 e = 0; e < runs->size.n; e++) {
        i64 v = runs->size.at[e];
        f64 s = runs->s.at[e], step = (y - runs->along.at[e]) / s, *P = ROW(runs->P, e);
        const f64 *restrict Px = ROW(runs->Px, e);
        f64 *restrict theta = ROW(runs->theta, e);
        for (i64 i = 0; i < v; i++) {
            f64 part = Px[i] / s, *restrict row = P + i * w;
            theta[i] += Px[i] * step;
            for (i64 j = 0; j < v; j++) row[j] -= part * Px[j];
        }
    }
}

void kh_vaw_forward(floats *P, floats *theta, floats *x, floats *Px, f64 *along, f64 *s)
{
    i64 v = theta->n;
    f64 product = 0.0, whole = 1.0, size = 0.0;
    for (i64 a = 0; a < v; a++) {
        const f64 *row = ROW(*P, a);
        f64 total = 0.0;
        for (i64 b = 0; b < v; b++) total += row[b] * x->at[b];
        Px->at[a] = total;
        whole += x->at[a] * total;
        size = f_max(size, fabs(total));
        product += theta->at[a] * x->at[a];
    }
    if (!(fabs(product) < HUGE_SUM)) product = 0.0, whole = NAN;
    if (!(0.5 < whole && whole < HUGE_SUM && size < KH_LARGEST)) {
        for (i64 a = 0; a < Px->n; a++) Px->at[a] = 0.0;
        whole = 1.0;
    }
    *along = product;
    *s = whole;
}

void kh_vaw_learn(floats *P, floats *theta, floats *Px, f64 along, f64 s, f64 y)
{
    i64 v = theta->n;
    f64 step = (y - along) / s;
    const f64 *restrict p = Px->at;
    for (i64 a = 0; a < v; a++) {
        f64 *restrict row = ROW(*P, a), own = p[a];
        theta->at[a] += own * step;
        for (i64 b = 0; b < v; b++) row[b] -= own * p[b] / s;
    }
}

/* A mini-batch of Algorithm 2: the same features every round, VAW on some, sums over all. */
#include "draw.h"
#include "fit.h"
#include "greedy.h"

KH_LAYOUT(kh_vaws, KH_VAWS)

static bool oversized(floats *row, f64 y, ints *columns)
{
    if (fabs(y) > KH_LARGEST) return true;
    for (i64 a = 0; a < columns->n; a++)
        if (fabs(AT(*row, columns->at[a])) > KH_LARGEST) return true; /* NaN is absent and passes */
    return false;
}

i64 kh_first_oversized(floats *X, floats *y, ints *columns)
{
    for (i64 t = 0; t < X->n; t++) {
        floats row = floats_at(*X, t);
        if (oversized(&row, AT(*y, t), columns)) return t;
    }
    return -1;
}

/* The first x->n features as they count; where one is absent, its mean so far. */
static void gather(floats *row, ints *columns, kh_vaws *vaws, floats *x)
{
    for (i64 a = 0; a < x->n; a++) {
        i64 j = AT(vaws->features, a);
        x->at[a] = kh_taken(AT(*row, AT(*columns, a)));
        if (isnan(x->at[a]))
            x->at[a] = AT(vaws->arrived, j) > 0 ? AT(vaws->total, j) / (f64)vaws->arrived.at[j] : 0.0;
    }
}

KH_API f64 kh_aggregate(floats *guesses, floats *losses, f64 reach)
{
    if (guesses->n == 1) return guesses->at[0];
    if (!(reach > 0.0)) return 0.0;
    f64 scale = 2.0 * reach * reach, low = losses->at[0], below = 0.0, above = 0.0;
    for (i64 e = 1; e < losses->n; e++) low = f_min(low, losses->at[e]);
    for (i64 e = 0; e < guesses->n; e++) {
        f64 weight = kh_exp((low - AT(*losses, e)) / scale);
        f64 down = reach + guesses->at[e], up = reach - guesses->at[e];
        below += weight * kh_exp(-(down * down) / scale);
        above += weight * kh_exp(-(up * up) / scale);
    }
    /* Of the two sums, neither is 0: guesses lie within the reach and the best weight is 1. */
    return 0.5 * reach * (kh_log(above) - kh_log(below));
}

/* What the VAWs say about a row, and what learning its label needs. */
typedef struct {
    floats Px, along, s, guesses;
} said;

static said take_said(kh_vaws *vaws, kh_room *room)
{
    i64 E = vaws->theta.n, v = vaws->theta.m;
    floats Px = {TAKE(room, f64, E * v), E, v, 1};
    return (said){Px, take_floats(room, E), take_floats(room, E), take_floats(room, E)};
}

/* Each VAW's prediction, within the reach of the labels so far if there are several. */
static void guess(kh_vaws *vaws, floats x, f64 reach, said *out)
{
    x.n = vaws->theta.m;
    for (i64 e = 0; e < vaws->theta.n; e++) {
        floats P = floats_at(vaws->P, e), theta = floats_at(vaws->theta, e), Px = floats_at(out->Px, e);
        kh_vaw_forward(&P, &theta, &x, &Px, &out->along.at[e], &out->s.at[e]);
        f64 value = out->along.at[e] / out->s.at[e];
        out->guesses.at[e] = vaws->theta.n > 1 ? f_min(f_max(value, -reach), reach) : value;
    }
}

KH_API f64 kh_predict_row(kh_vaws *vaws, floats *values, f64 reach, kh_room *room)
{
    i64 mark = room->used;
    floats x = take_floats(room, vaws->theta.m);
    said out = take_said(vaws, room);
    gather(values, &vaws->columns, vaws, &x);
    guess(vaws, x, reach, &out);
    room->used = mark;
    return kh_aggregate(&out.guesses, &vaws->losses, reach);
}

static void learn(kh_vaws *vaws, f64 y, said *out)
{
    for (i64 e = 0; e < vaws->theta.n; e++) {
        floats P = floats_at(vaws->P, e), theta = floats_at(vaws->theta, e), Px = floats_at(out->Px, e);
        f64 error = y - out->guesses.at[e];
        AT(vaws->losses, e) += error * error;
        kh_vaw_learn(&P, &theta, &Px, out->along.at[e], out->s.at[e], y);
    }
}

/* The products of the first `rows` features with all later ones, and all squares. */
static void add_products(kh_vaws *vaws, floats *x, f64 y, i64 rows)
{
    const f64 *restrict row = x->at;
    for (i64 a = 0; a < x->n; a++) {
        f64 *restrict sums = ROW(vaws->G, a), value = row[a];
        AT(vaws->c, a) += value * y;
        i64 last = a < rows ? x->n : a + 1;
        for (i64 b = a; b < last; b++) sums[b] += value * row[b];
    }
}

static void note_arrived(floats *row, ints *columns, kh_vaws *vaws)
{
    for (i64 a = 0; a < columns->n; a++) {
        f64 value = kh_taken(AT(*row, AT(*columns, a)));
        if (isnan(value)) continue;
        AT(vaws->total, AT(vaws->features, a)) += value;
        AT(vaws->arrived, vaws->features.at[a])++;
    }
}

/* Predict and learn a row; the prediction. */
static f64 play(kh_vaws *vaws, floats *row, ints *columns, f64 y, i64 rows, f64 *yy, f64 *reach,
                floats *x, said *out)
{
    gather(row, columns, vaws, x);
    guess(vaws, *x, *reach, out);
    f64 prediction = kh_aggregate(&out->guesses, &vaws->losses, *reach);
    learn(vaws, y, out);
    add_products(vaws, x, y, rows);
    note_arrived(row, columns, vaws);
    *yy += y * y;
    *reach = f_max(*reach, fabs(y));
    return prediction;
}

KH_API void kh_learn_row(kh_vaws *vaws, floats *values, f64 y, i64 rows, f64 yy, f64 reach, f64 *new_yy,
                         f64 *new_reach, kh_room *room)
{
    i64 mark = room->used;
    floats x = take_floats(room, vaws->features.n);
    said out = take_said(vaws, room);
    *new_yy = yy, *new_reach = reach;
    play(vaws, values, &vaws->columns, y, rows, new_yy, new_reach, &x, &out);
    room->used = mark;
}

KH_API void kh_play_rows(kh_vaws *vaws, floats *X, floats *y, floats *predictions, i64 rows, f64 yy,
                         f64 reach, i64 *played, f64 *new_yy, f64 *new_reach, kh_room *room)
{
    i64 mark = room->used, t = 0;
    floats x = take_floats(room, vaws->features.n);
    said out = take_said(vaws, room);
    *new_yy = yy, *new_reach = reach;
    for (; t < y->n; t++) {
        floats row = floats_at(*X, t);
        if (oversized(&row, y->at[t], &vaws->features)) break;
        AT(*predictions, t) =
            play(vaws, &row, &vaws->features, y->at[t], rows, new_yy, new_reach, &x, &out);
    }
    *played = t;
    room->used = mark;
}

KH_API void kh_judge_slots(kh_vaws *vaws, ints *slots, f64 yy, i64 n, floats *levels, floats *gains,
                           kh_room *room)
{
    i64 mark = room->used, m = gains->m;
    floats found = {TAKE(room, f64, slots->n * m), slots->n, m, 1};
    kh_sweep(&vaws->G, &vaws->c, yy, slots, levels, &found, room);
    for (i64 i = 0; i < slots->n; i++) {
        AT(*levels, i) /= (f64)n;
        for (i64 a = 0; a < m; a++) AT2(*gains, i, AT(vaws->columns, a)) = AT2(found, i, a) / (f64)n;
    }
    room->used = mark;
}

/* Where two VAWs on V start: from a ridge alone, and from the ridge and all earlier rows. */
KH_API void kh_start_carried(ints *V, floats *G, floats *c, ints *reads, f64 ridge, floats *A, floats *b)
{
    for (i64 a = 0; a < V->n; a++) {
        i64 i = V->at[a];
        f64 square = AT2(*G, i, i) / (f64)i_max(AT(*reads, i), 1);
        f64 own = ridge * (square > 0.0 ? square : 1.0);
        for (i64 q = 0; q < V->n; q++) {
            i64 j = V->at[q];
            AT3(*A, 0, a, q) = a == q ? own : 0.0;
            AT3(*A, 1, a, q) = AT2(*G, i_min(i, j), i_max(i, j)) + AT3(*A, 0, a, q);
        }
        AT2(*b, 0, a) = 0.0;
        AT2(*b, 1, a) = AT(*c, i);
    }
}

KH_API void kh_pool(ints *features, floats *G, floats *c, floats *all_G, floats *all_c)
{
    for (i64 a = 0; a < features->n; a++) {
        i64 i = features->at[a];
        AT(*all_c, i) += AT(*c, a);
        for (i64 b = a; b < features->n; b++) {
            i64 j = features->at[b];
            AT2(*all_G, i_min(i, j), i_max(i, j)) += AT2(*G, a, b);
        }
    }
}

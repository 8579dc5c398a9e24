/* The perspective relaxation of a node: coordinate descent, and the bound that any point of it proves. */
#include "exact.h"

KH_LAYOUT(kh_split, KH_SPLIT)
KH_LAYOUT(kh_point, KH_POINT)

/* Sweeps of coordinate ascent on sum(weight d) + mu log det(G - diag(d)), one for each mu, of all their steps
   those from `first` up to `end`; P is the inverse of G - diag(d). */
KH_API KH_WIDE void kh_spread_diagonal(floats *P, floats *delta, floats *weight, floats *mus, f64 least,
                                       i64 first, i64 end, kh_room *room)
{
    i64 mark = room->used, d = delta->n;
    f64 *restrict row = TAKE(room, f64, d);
    for (i64 step = first; step < end; step++) {
        i64 j = step % d;
        f64 t = f_max(1.0 / AT2(*P, j, j) - AT(*mus, step / d) / AT(*weight, j), least - AT(*delta, j));
        if (t == 0.0) continue;
        delta->at[j] += t;
        memcpy(row, ROW(*P, j), 8 * (size_t)d);
        f64 scale = t / (1.0 - t * row[j]);
        for (i64 a = 0; a < d; a++) {
            f64 h = scale * row[a], *restrict into = P->at + a * d;
#pragma GCC unroll 4
            for (i64 b = 0; b < d; b++) into[b] += h * row[b];
        }
    }
    room->used = mark;
}

/* Coordinate descent on q'Rq - 2c'q + sum_j min_z (e_j q_j^2 / z_j + price_j z_j), where g = c - Rq and
   edge_j = sqrt(price_j / e_j) is the q_j at which z_j reaches 1. The largest move, and how many additions it
   took. If not `whole`, what is 0 stays so. */
KH_API KH_WIDE void kh_descend(kh_split *split, bytes *state, floats *edge, floats *q, floats *g, i64 whole,
                               f64 *moved, i64 *additions)
{
    i64 m = q->n, added = m;
    const f64 *restrict e = split->e.at, *restrict R = split->R.at, *restrict edges = edge->at;
    const int8_t *restrict states = state->at;
    f64 *restrict rest = g->at, *restrict at = q->at, most = 0.0;
    for (i64 j = 0; j < m; j++) {
        if (states[j] == OUT || (at[j] == 0.0 && !whole)) continue;
        const f64 *restrict row = R + j * m;
        f64 b = rest[j] + row[j] * at[j], new = b / (row[j] + e[j]); /* z_j = 1 */
        if (states[j] == OPEN && fabs(new) < edges[j]) {
            new = fabs(b) - e[j] * edges[j];
            new = new > 0.0 && row[j] > 1e-14 ? f_min(new / row[j], edges[j]) : 0.0;
            new = b > 0.0 ? new : -new;
        }
        f64 step = new - at[j];
        if (step != 0.0) {
            at[j] = new;
#pragma GCC unroll 4
            for (i64 a = 0; a < m; a++) rest[a] -= step * row[a];
            most = f_max(most, fabs(step) * sqrt(e[j]));
            added += m;
        }
    }
    *moved = most;
    *additions = added;
}

/* One sweep over all, then over what is not 0 until nothing moves much. */
KH_WIDE void kh_converge(kh_split *split, bytes *state, floats *price, floats *edge, floats *q, floats *g,
                         i64 *effort)
{
    f64 most = price->at[0], moved;
    i64 additions;
    const f64 *restrict prices = price->at, *restrict e = split->e.at;
    f64 *restrict edges = edge->at;
    for (i64 j = 0; j < price->n; j++) edges[j] = sqrt(prices[j] / e[j]);
    for (i64 j = 1; j < price->n; j++) most = f_max(most, prices[j]);
    for (i64 sweep = 0; sweep <= 20; sweep++) {
        kh_descend(split, state, edge, q, g, sweep == 0, &moved, &additions);
        *effort -= additions;
        if (moved * moved < 1e-8 * most) break;
    }
}

/* g = c - Rq; q is 0 for what is OUT. */
KH_WIDE void kh_remainder(kh_split *split, bytes *state, floats *q, floats *g, i64 *effort)
{
    i64 m = q->n;
    f64 *restrict rest = g->at;
    for (i64 j = 0; j < m; j++) rest[j] = split->c.at[j];
    for (i64 j = 0; j < m; j++) {
        if (state->at[j] == OUT) {
            q->at[j] = 0.0;
        } else if (q->at[j] != 0.0) {
            f64 h = q->at[j];
            const f64 *restrict row = split->R.at + j * m;
            for (i64 a = 0; a < m; a++) rest[a] -= h * row[a];
            *effort -= m;
        }
    }
}

/* Fills v with what each feature may bring: rss(S) >= base - sum of v over S for all S of the node. With
   `settled`, what is IN is taken off the base, and S is of the open ones.

   Why: w'Gw >= w'Rw + sum e w^2 on k-sparse w, and w'Rw >= 2q'Rw - q'Rq for every q (R is PSD). Minimise
   over w_S alone: 1 - q'Rq - sum_S (c - Rq)_j^2 / e_j. */
f64 kh_base(kh_split *split, bytes *state, floats *q, floats *g, floats *v, bool settled)
{
    f64 base = 1.0, size = 0.0;
    for (i64 j = 0; j < q->n; j++) {
        base -= q->at[j] * (split->c.at[j] - g->at[j]); /* Rq = c - g */
        size += fabs(q->at[j]);
        v->at[j] = state->at[j] == OUT ? 0.0 : g->at[j] * g->at[j] / split->e.at[j];
        if (settled && state->at[j] == IN) base -= v->at[j];
    }
    return base - 1e-15 * (f64)q->n * size * size; /* more than rounding can have taken from q'Rq */
}

/* The first m features of a point. */
kh_point kh_part_of(kh_point *whole, i64 m)
{
    kh_point part = *whole;
    KH_CHECK(m <= whole->q.n);
    part.state.n = part.q.n = part.v.n = part.z.n = part.rest.n = part.price.n = m;
    return part;
}

/* The item, or the feature, of which the relaxation is least decided: item i is m + i. */
i64 kh_branch_on(kh_item_market *market, kh_point *node, floats *c)
{
    i64 m = c->n, branch = -1;
    f64 widest = -1.0;
    for (i64 i = 0; i < node->paid.n; i++) {
        if (node->paid.at[i] != OPEN) continue;
        f64 most = 0.0, size = 0.0;
        for (i64 p = market->firsts.at[i]; p < market->firsts.at[i + 1]; p++) {
            i64 j = market->members.at[p];
            if (node->state.at[j] == OPEN) {
                most = f_max(most, node->z.at[j]);
                size += c->at[j] * c->at[j];
            }
        }
        f64 width = most * (1.0 - most) + 1e-9 * size;
        if (width > widest) {
            branch = m + i;
            widest = width;
        }
    }
    for (i64 j = 0; j < m; j++) {
        if (node->state.at[j] != OPEN) continue;
        f64 z = node->z.at[j], width = z * (1.0 - z) + 1e-9 * c->at[j] * c->at[j];
        if (width > widest) {
            branch = j;
            widest = width;
        }
    }
    return branch;
}

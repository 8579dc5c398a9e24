/* Nodes of the search for the best k features: their relaxation, and what it settles. */
#include "exact.h"

typedef struct {
    i64 begun, relaxing, step;
    f64 bound, slack, lam;                /* of the node */
    f64 base, found, best_lam, low, high; /* of the relaxation that is under way */
    floats q, g, v, edge, top;
} counting;

/* The sum of the r largest v over the open features; top[:r + 1] has them and the next one, falling. */
KH_API f64 kh_exact_largest(floats *v, bytes *state, i64 r, floats *top)
{
    f64 *most = top->at, total = 0.0;
    KH_CHECK(r < top->n);
    for (i64 p = 0; p <= r; p++) most[p] = 0.0;
    for (i64 j = 0; j < v->n; j++) {
        f64 x = v->at[j];
        if (state->at[j] != OPEN || !(x > most[r])) continue;
        i64 p = r;
        for (; p > 0 && most[p - 1] < x; p--) most[p] = most[p - 1];
        most[p] = x;
    }
    for (i64 p = 0; p < r; p++) total += most[p];
    return total;
}

/* Fills v; the two ends of: rss(S) >= base - sum_S v >= bound for all S here. */
KH_API void kh_dual(kh_split *split, bytes *state, i64 r, floats *q, floats *g, floats *v, floats *top,
                    f64 *base, f64 *bound)
{
    f64 forced = 0.0;
    *base = kh_base(split, state, q, g, v, false);
    for (i64 j = 0; j < v->n; j++)
        if (state->at[j] == IN) forced += v->at[j];
    *bound = *base - forced - kh_exact_largest(v, state, r, top);
}

static f64 share(kh_split *split, floats *q, i64 j, f64 lam)
{
    return f_min(1.0, fabs(q->at[j]) * sqrt(split->e.at[j] / lam));
}

/* Pushes the dual bound up by its primal; whether it is done. lam is the price of a feature: the relaxed
   number of features, sum z, falls as lam grows, and has to meet r. Whatever q comes out, the bound is
   valid; q and v of the node are left at the best one. */
static bool relax(kh_split *split, kh_point *node, i64 r, f64 goal, i64 rounds, counting *now, i64 *effort)
{
    i64 m = node->q.n;
    bytes *state = &node->state;
    if (!now->relaxing) {
        kh_remainder(split, state, &node->q, &now->g, effort);
        memcpy(now->q.at, node->q.at, 8 * (size_t)m);
        kh_dual(split, state, r, &now->q, &now->g, &node->v, &now->top, &now->base, &now->found);
        if (now->lam <= 0.0) now->lam = f_max(now->top.at[r - 1], 1e-14);
        now->low = 0.0;
        now->high = INFINITY;
        now->best_lam = now->lam;
        now->relaxing = 1;
        now->step = 0;
    }
    for (; now->step < rounds; now->step++) {
        if (*effort <= 0) return false;
        f64 lam = now->lam, base, new, gained = 0.0, z = 0.0;
        for (i64 j = 0; j < m; j++) node->price.at[j] = lam;
        kh_converge(split, state, &node->price, &now->edge, &now->q, &now->g, effort);
        kh_dual(split, state, r, &now->q, &now->g, &now->v, &now->top, &base, &new);
        if (new > now->found) {
            gained = new - now->found;
            now->base = base;
            now->found = new;
            now->best_lam = lam;
            memcpy(node->q.at, now->q.at, 8 * (size_t)m);
            memcpy(node->v.at, now->v.at, 8 * (size_t)m);
            if (new >= goal) break;
        }
        for (i64 j = 0; j < m; j++)
            if (state->at[j] == OPEN) z += share(split, &now->q, j, lam);
        if (now->step > 1 && fabs(z - (f64)r) < 0.02 && gained < 0.01 * (goal - now->found)) break;
        if (z > (f64)r)
            now->low = f_max(now->low, lam);
        else
            now->high = f_min(now->high, lam);
        f64 next = lam * f_min(4.0, f_max(0.25, z / (f64)r));
        if (!(now->low < next && next < now->high) && now->low > 0.0 && now->high < INFINITY)
            next = sqrt(now->low * now->high);
        if (next < 1e-15) break;
        /* The bracket was found with q only partly converged: never let it close for good. */
        now->low *= 0.9;
        now->high *= 1.1;
        now->lam = next;
    }
    now->relaxing = 0;
    now->lam = now->best_lam;
    return true;
}

/* Settles what every subset below `goal` must or must not have; whether q or r is touched. For such S,
   slack - sum of v over S's open part < goal. Forcing j in replaces the r-th largest v by v_j, forcing j out
   replaces v_j by the next one: if that reaches goal, no S is lost. */
KH_API bool kh_fix_count(kh_point *node, i64 r, f64 slack, f64 goal, floats *top)
{
    f64 total = kh_exact_largest(&node->v, &node->state, r, top);
    f64 last = AT(*top, r - 1), following = AT(*top, r);
    bool touched = false;
    for (i64 j = 0; j < node->v.n; j++) {
        f64 v = node->v.at[j];
        if (node->state.at[j] != OPEN) continue;
        if (v < last) {
            if (slack - (total - last + v) >= goal) {
                node->state.at[j] = OUT;
                touched |= node->q.at[j] != 0.0;
                node->q.at[j] = 0.0;
            }
        } else if (slack - (total - v + following) >= goal) {
            node->state.at[j] = IN;
            touched = true;
        }
    }
    return touched;
}

/* Writes what is IN, then the OPEN ones with the largest z to S, k at most; how many were written. */
KH_API void kh_exact_choose(kh_point *node, i64 k, ints *S, i64 *written, i64 *n_in, i64 *n_open,
                            kh_room *room)
{
    i64 mark = room->used, m = node->state.n, in = 0, open = 0;
    bool *taken = TAKE(room, bool, m);
    memset(taken, 0, (size_t)m);
    for (i64 j = 0; j < m; j++) {
        if (node->state.at[j] == IN) AT(*S, in++) = j;
        open += node->state.at[j] == OPEN;
    }
    i64 n = i_min(k, in + open);
    for (i64 p = in; p < n; p++) {
        i64 i = -1;
        for (i64 j = 0; j < m; j++)
            if (node->state.at[j] == OPEN && !taken[j] && (i < 0 || node->z.at[j] > node->z.at[i])) i = j;
        AT(*S, p) = i;
        taken[i] = true;
    }
    room->used = mark;
    *written = n;
    *n_in = in;
    *n_open = open;
}

KH_API void kh_settle_count(kh_split *split, i64 k, kh_point *whole, f64 lam, f64 goal, i64 rounds, ints *S,
                            floats *kept, i64 effort, i64 *done, f64 *bound, f64 *slack, f64 *last_lam,
                            i64 *branch, i64 *size, kh_room *room)
{
    i64 m = split->c.n, n_in, n_open;
    kh_point part = kh_part_of(whole, m), *node = &part;
    kh_room own = {(char *)kept->at, 8 * kept->n, 0};
    counting *now = TAKE(&own, counting, 1);
    now->q = take_floats(&own, m);
    now->g = take_floats(&own, m);
    now->v = take_floats(&own, m);
    now->edge = take_floats(&own, m);
    now->top = take_floats(&own, k + 1);
    if (!now->begun) {
        now->begun = 1;
        now->lam = lam;
        memset(node->z.at, 0, 8 * (size_t)m);
    }
    bool usable = true;
    for (i64 j = 0; j < m; j++) usable &= split->e.at[j] > 0.0;
    *branch = -1;
    *done = true;
    for (bool again = true; again;) {
        kh_exact_choose(node, k, S, size, &n_in, &n_open, room);
        bool single = *size == n_in || *size == n_in + n_open;
        if (!single && usable) {
            if (!relax(split, node, k - n_in, goal, rounds, now, &effort)) {
                *done = false;
                return;
            }
            now->slack = now->base;
            now->bound = f_max(now->bound, now->found);
            for (i64 j = 0; j < m; j++) {
                node->z.at[j] = share(split, &node->q, j, now->lam);
                if (node->state.at[j] == IN) now->slack -= node->v.at[j];
            }
            kh_exact_choose(node, k, S, size, &n_in, &n_open, room);
        }
        *slack = now->slack;
        *last_lam = now->lam;
        *bound = now->bound;
        if (single || (usable && now->bound >= goal)) {
            *bound = INFINITY;
            return;
        }
        again = usable && kh_fix_count(node, k - n_in, now->slack, goal, &now->top);
    }
    *branch = kh_branch_on(NULL, node, &split->c);
}

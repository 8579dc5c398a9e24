/* Banks of budgeted experts: probabilities, draws, and what a read loss is weighted by. */
#include "draw.h"
#include "greedy.h"

KH_API void kh_probabilities(floats *L, floats *eta, floats *p)
{
    for (i64 i = 0; i < L->n; i++) {
        const f64 *restrict losses = ROW(*L, i);
        f64 *restrict row = ROW(*p, i), rate = AT(*eta, i), low = losses[0], total = 0.0;
        for (i64 j = 1; j < L->m; j++) low = f_min(low, losses[j]);
        for (i64 j = 0; j < L->m; j++) {
            row[j] = kh_exp(-rate * (losses[j] - low));
            total += row[j];
        }
        for (i64 j = 0; j < L->m; j++) row[j] /= total;
    }
}

KH_API void kh_draw_experts(u64 seed, i64 round, floats *p, ints *j)
{
    for (i64 i = 0; i < j->n; i++) {
        floats row = floats_at(*p, i);
        AT(*j, i) = kh_categorical(kh_uniform(seed, round, 2 * i, 0), &row);
    }
}

KH_API void kh_draw_own_subsets(u64 seed, i64 round, floats *p, ints *sizes, ints *j, bools *member,
                                ints *space, kh_room *room)
{
    i64 mark = room->used, d = p->m;
    kh_draw_experts(seed, round, p, j);
    memset(member->at, 0, (size_t)(p->n * d) * sizeof(bool));
    for (i64 i = 0; i < j->n; i++) {
        ints alone = some_ints(&AT(*j, i), 1), rest = take_ints(room, AT(*sizes, i) - 1);
        kh_complement(seed, round, 2 * i + 1, d, &alone, &rest, space);
        AT2(*member, i, alone.at[0]) = true;
        for (i64 a = 0; a < rest.n; a++) AT2(*member, i, rest.at[a]) = true;
        room->used = mark;
    }
}

/* Ascending, each once. */
static i64 different(ints *j, i64 *V)
{
    i64 many = 0;
    for (i64 i = 0; i < j->n; i++) {
        i64 e = AT(*j, i), place = many;
        while (place > 0 && V[place - 1] >= e) place--;
        if (place < many && V[place] == e) continue;
        for (i64 q = many; q > place; q--) V[q] = V[q - 1];
        V[place] = e;
        many++;
    }
    return many;
}

KH_API i64 kh_draw_shared(u64 seed, i64 round, i64 d, ints *j, i64 budget, ints *S, kh_room *room)
{
    i64 mark = room->used;
    ints V = take_ints(room, j->n);
    V.n = different(j, V.at);
    ints rest = take_ints(room, budget - V.n);
    kh_few_outside(seed, round, 2 * j->n, d, &V, &rest, room);
    kh_merge(&V, &rest, S);
    room->used = mark;
    return V.n;
}

KH_API void kh_own_weights(floats *p, ints *sizes, i64 d, bools *member, floats *weight)
{
    for (i64 i = 0; i < p->n; i++) {
        f64 rest = (f64)(AT(*sizes, i) - 1) / (f64)i_max(d - 1, 1);
        for (i64 e = 0; e < p->m; e++) {
            f64 chance = AT2(*p, i, e);
            AT2(*weight, i, e) = AT2(*member, i, e) ? 1.0 / (chance + (1.0 - chance) * rest) : 0.0;
        }
    }
}

KH_API void kh_shared_weights(floats *p, ints *place, f64 f0, f64 f, floats *weight)
{
    i64 n = p->n;
    f64 share = f > 0.0 ? f0 / f : 0.0;
    for (i64 e = 0; e < p->m; e++) {
        i64 first = n; /* the first run that plays this expert; n if none does */
        for (i64 i = n - 1; i >= 0; i--)
            if (AT(*place, i) == e) first = i;
        f64 spared = 1.0, counts = first < n ? 1.0 : share;
        for (i64 i = n - 1; i >= 0; i--) {
            spared *= 1.0 - AT2(*p, i, e);
            f64 Q = first < i ? 1.0 : 1.0 - spared;
            AT2(*weight, i, e) = counts > 0.0 ? counts / (Q + (1.0 - Q) * f0) : 0.0;
        }
    }
}

/* The chance of an expert that is not played to be read all the same: 1 if everything is read. */
static f64 filled(i64 d, i64 budget, i64 played)
{
    return budget == d ? 1.0 : (f64)(budget - played) / (f64)(d - played);
}

KH_API void kh_draw_shared_reads(u64 seed, i64 round, floats *p, ints *j, ints *S, floats *p_S,
                                 floats *weight, kh_room *room)
{
    i64 n = p->n, d = p->m, budget = S->n, mark = room->used;
    kh_draw_experts(seed, round, p, j);
    i64 played = kh_draw_shared(seed, round, d, j, budget, S, room);
    ints place = take_ints(room, n);
    for (i64 i = 0; i < n; i++) {
        place.at[i] = 0;
        for (i64 a = 0; a < budget; a++) {
            place.at[i] += S->at[a] < j->at[i];
            AT2(*p_S, i, a) = AT2(*p, i, S->at[a]);
        }
    }
    kh_shared_weights(p_S, &place, filled(d, budget, n), filled(d, budget, played), weight);
    room->used = mark;
}

KH_API void kh_feed(ints *S, floats *p, floats *weight, floats *losses, floats *L, floats *squares,
                    floats *largest)
{
    for (i64 i = 0; i < p->n; i++)
        for (i64 a = 0; a < p->m; a++) {
            if (!(AT2(*weight, i, a) > 0.0)) continue; /* a loss that was not read is not looked at */
            f64 loss = AT2(*losses, i, a), l_hat = loss * AT2(*weight, i, a);
            AT2(*L, i, AT(*S, a)) += l_hat;
            AT(*squares, i) += AT2(*p, i, a) * l_hat * l_hat;
            AT(*largest, i) = f_max(AT(*largest, i), fabs(loss));
        }
}

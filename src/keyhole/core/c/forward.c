/* Forward selection from zero-imputed sums, with a significance stop; without prices and under a list. */
#include "fit.h"
#include "lanes.h"

KH_LAYOUT(kh_selection, KH_SELECTION)
KH_LAYOUT(kh_selecting, KH_SELECTING)

/* What a selection works on. unit: 1/sqrt(G_jj); rare: 1/sqrt(n_j); L: rows of the projection. */
typedef struct {
    i64 d, w, size;
    const f64 *G;
    f64 *r, *D, *L, *unit, *rare, scale, noise, second;
    bool *ready;
} steps;

/* r and D before anything is chosen, the constant aside; whether there is anything to explain. */
KH_WIDE static bool prepare(steps *s, kh_memories *kept, i64 memory, i64 most, kh_selecting *into)
{
    i64 d = into->r.n, w = d + 1;
    const f64 *G = ROW(kept->G, memory), *c = ROW(kept->c, memory), *n = ROW(kept->n, memory);
    f64 *restrict r = into->r.at, *restrict D = into->D.at, *restrict L = into->L.at;
    f64 *restrict unit = ROW(into->L, most + 1), *restrict rare = ROW(into->L, most + 2);
    f64 total = n[d], scale = AT(kept->scale, memory);
    bool *restrict ready = into->ready.at;
    KH_CHECK(d == kept->who.n && into->L.m == d && into->D.n == d && into->ready.n == d);
    *s = (steps){d, w, 0, G, r, D, L, unit, rare, scale, 0.0, 0.0, ready};
    if (!(total > 0.0)) {
        for (i64 j = 0; j < d; j++) r[j] = D[j] = 0.0;
        return false;
    }
    f64 level = c[d] / total, whole = sqrt(total);
    const f64 *restrict constant = G + d * w;
    for (i64 j = 0; j < d; j++) unit[j] = G[j * w + j]; /* far apart: nothing else waits for them */
    for (i64 j = 0; j < d; j++) {
        f64 own = unit[j];
        unit[j] = own > 0.0 ? 1.0 / sqrt(own) : 0.0;
        rare[j] = n[j] > 0.0 ? 1.0 / sqrt(n[j]) : 0.0;
        ready[j] = n[j] * scale >= KH_READS;
        f64 l = L[j] = constant[j] * unit[j] / whole;
        r[j] = (c[j] * unit[j] - l * level * whole) * rare[j];
        D[j] = own > 0.0 ? 1.0 - l * l : 0.0;
    }
    s->second = kept->yy.at[memory] / total;
    s->noise = f_max(s->second - level * level, 0.0);
    return s->second > 0.0;
}

/* By how much |r_j| exceeds its standard errors, per square root of D_j; 0 if it is not significant.
   Both tests come before the square root, which few features reach. */
static inline f64 excess_of(const steps *s, i64 j, f64 error)
{
    f64 r = s->r[j], D = s->D[j], rare = s->rare[j];
    if (!(D > KH_NEW && r * r > error * error * rare * rare * D && s->ready[j])) return 0.0;
    return fabs(r) / sqrt(D) - error * rare;
}

/* Choose feature v after those before: take it out of r and D. */
KH_WIDE static void project(steps *s, i64 v, kh_selecting *into)
{
    i64 d = s->d;
    f64 *restrict r = s->r, *restrict D = s->D, *restrict row = s->L + (s->size + 1) * d, root = sqrt(D[v]);
    const f64 *restrict unit = s->unit, *restrict rare = s->rare, *restrict G = s->G + v * s->w;
    f64 step = r[v] / root, weight = unit[v] / root, left = r[v] / root / rare[v];
    for (i64 j = 0; j < d; j++) row[j] = G[j] * weight * unit[j];
    kh_project_out(row, s->L, s->size + 1, d, v, root);
    for (i64 j = 0; j < d; j++) {
        D[j] -= row[j] * row[j];
        r[j] -= row[j] * left * rare[j];
    }
    s->ready[v] = false;
    D[v] = 0.0;
    AT(into->chosen, s->size) = v;
    AT(into->gains, s->size) = step * step;
    s->noise = f_max(s->noise - step * step, 1e-3 * s->second);
    s->size++;
}

/* Of an item's features those with a gain, by gain per own price, the best first; how many. Products,
   not quotients: an own price may be 0. */
static i64 by_value(kh_market *shop, kh_basket *held, i64 i, const f64 *gain, i64 *members)
{
    i64 many = 0, fee = shop->units.at[i];
    for (i64 h = AT(shop->start, i); h < AT(shop->start, i + 1); h++) {
        i64 j = AT(shop->holder, h), place = many;
        if (!(gain[j] > 0.0)) continue;
        for (; place > 0; place--) {
            i64 other = members[place - 1];
            f64 mine = gain[j] * (f64)(held->more.at[other] - fee);
            f64 its = gain[other] * (f64)(held->more.at[j] - fee);
            if (!(mine > its)) break;
            members[place] = other;
        }
        members[place] = j;
        many++;
    }
    return many;
}

/* The strongest member of the item whose members promise more than `best`; v if there is none. */
static i64 better_panel(kh_market *shop, kh_basket *held, i64 money, f64 rate, const f64 *gain, i64 v,
                        f64 best, i64 *members)
{
    for (i64 i = 0; i < shop->units.n; i++) {
        if (held->paid.at[i] || AT(shop->start, i + 1) - AT(shop->start, i) < 2) continue;
        i64 fee = shop->units.at[i], spent = fee, strongest = -1;
        i64 many = by_value(shop, held, i, gain, members);
        f64 score = -rate * (f64)fee;
        for (i64 q = 0; q < many; q++) {
            i64 j = members[q], own = held->more.at[j] - fee;
            if (spent + own > money) break;
            spent += own;
            score += gain[j] - rate * (f64)own;
            if (strongest < 0 || gain[j] > gain[strongest]) strongest = j;
            if (score > best) v = strongest, best = score;
        }
    }
    return v;
}

void kh_select(kh_memories *kept, i64 memory, f64 threshold, kh_selecting *into, kh_means *means, i64 *size,
               f64 *noise, kh_room *room)
{
    kh_market *shop = means->shop;
    bool listed = kh_priced(shop);
    i64 mark = room->used, most = into->chosen.n, d = listed ? kept->seat.n : 0;
    i64 *members = TAKE(room, i64, d);
    f64 *gain = TAKE(room, f64, d);
    steps s;
    bool some = prepare(&s, kept, memory, most, into);
    for (i64 j = 0; j < d; j++) gain[j] = 0.0;
    while (some) {
        i64 v = -1, money = means->left;
        f64 best = 0.0, error = threshold * sqrt(s.noise / s.scale);
        for (i64 a = 0; a < s.d; a++) {
            f64 excess = excess_of(&s, a, error);
            if (excess == 0.0 && !listed) continue;
            i64 j = kept->who.at[a], price = 1;
            if (j < 0) continue;
            if (listed) gain[KH_INDEX(j, d)] = 0.0;
            if (excess == 0.0 || (means->only && means->only[j] == KH_UNMARKED)) continue;
            if (listed && AT(shop->barred, j)) continue;
            if (means->only) price = 0;
            else if (listed) price = AT(means->held->more, j);
            if (price > money) continue;
            f64 score = excess * excess - means->rate * (f64)price;
            if (listed) gain[j] = excess * excess;
            if (score > best) v = j, best = score;
        }
        if (listed && !means->only)
            v = better_panel(shop, means->held, money, means->rate, gain, v, best, members);
        if (v < 0 || s.size == most) break;
        if (!means->only) means->left -= listed ? kh_take_feature(shop, means->held, v) : 1;
        project(&s, AT(kept->seat, v), into);
    }
    *size = s.size;
    *noise = s.noise;
    room->used = mark;
}

KH_API void kh_select_into(kh_memories *kept, i64 memory, f64 threshold, kh_selecting *into, kh_market *shop,
                           kh_basket *held, i64 money, f64 rate, i64 *size, f64 *noise, i64 *money_left,
                           kh_room *room)
{
    kh_means means = {shop, held, money, rate, NULL};
    kh_select(kept, memory, threshold, into, &means, size, noise, room);
    *money_left = means.left;
}

/* Who has a seat: features that are read take the seats of those that promise least. */
#include "draw.h"
#include "sums.h"

KH_LAYOUT(kh_known, KH_KNOWN)

bool kh_all_seated(kh_memories *kept, ints *S)
{
    i64 resting = 0;
    for (i64 i = 0; i < S->n; i++) resting += AT(kept->seat, S->at[i]) < 0;
    return resting == 0;
}

/* c is what makes r, the product with what the chosen features leave of the label, what it was: the
   products with the chosen, which explained the rest of c, are lost. */
static void leave(kh_memories *kept, i64 a, floats *r)
{
    i64 j = AT(kept->who, a), last = kept->who.n, w = last + 1;
    for (i64 i = 0; i < kept->tau.n; i++) {
        f64 *G = ROW(kept->G, i), *c = ROW(kept->c, i), *n = ROW(kept->n, i), total = n[last];
        f64 *sums = ROW(kept->rest, i) + KH_INDEX(j, kept->rest.m) * KH_REST_SUMS, left = AT2(*r, i, a);
        f64 most = total > 0.0 ? sqrt(kept->yy.at[i] / total) : 0.0;
        f64 part = fabs(left) <= most ? left : copysign(most, left);
        f64 level = total > 0.0 ? c[last] / total : 0.0, square = f_max(G[a * w + a], 0.0);
        sums[KH_SQUARE] = square;
        sums[KH_LEVEL] = G[a * w + last];
        sums[KH_PRODUCT] = part * sqrt(square) * sqrt(n[a]) + G[a * w + last] * level;
        sums[KH_COUNT] = n[a];
        for (i64 b = 0; b <= last; b++) G[a * w + b] = G[b * w + a] = 0.0;
        c[a] = n[a] = 0.0;
    }
    AT(kept->seat, j) = -1;
    AT(kept->who, a) = -1;
}

static void sit_down(kh_memories *kept, i64 a, i64 j)
{
    i64 last = kept->who.n;
    for (i64 i = 0; i < kept->tau.n; i++) {
        f64 *sums = ROW(kept->rest, i) + KH_INDEX(j, kept->rest.m) * KH_REST_SUMS;
        AT3(kept->G, i, a, a) = sums[KH_SQUARE];
        AT3(kept->G, i, a, last) = AT3(kept->G, i, last, a) = sums[KH_LEVEL];
        AT2(kept->c, i, a) = sums[KH_PRODUCT];
        AT2(kept->n, i, a) = sums[KH_COUNT];
        for (i64 p = 0; p < KH_REST_SUMS; p++) sums[p] = 0.0;
    }
    AT(kept->seat, j) = a;
    AT(kept->who, a) = j;
}

KH_API void kh_admit(kh_memories *kept, ints *S, kh_known *known, kh_room *room)
{
    i64 mark = room->used, seats = kept->who.n, missing = 0, q = 0;
    floats strength = known->strength, weakness = take_floats(room, seats);
    for (i64 a = 0; a < seats; a++)
        if (kept->who.at[a] < 0) AT(strength, a) = -1.0;
    for (i64 i = 0; i < S->n; i++) {
        i64 a = AT(kept->seat, S->at[i]);
        if (a < 0) missing++;
        else AT(strength, a) = KH_READ_NOW;
    }
    ints weakest = take_ints(room, missing);
    for (i64 a = 0; a < seats; a++) weakness.at[a] = -strength.at[a];
    kh_largest(&weakness, &weakest);
    for (i64 i = 0; i < S->n; i++) {
        i64 j = S->at[i];
        if (kept->seat.at[j] >= 0) continue;
        i64 a = AT(weakest, q++);
        if (kept->who.at[a] >= 0) leave(kept, a, &known->r);
        sit_down(kept, a, j);
    }
    room->used = mark;
}

/* Exact search: best subsets of a size or for money, sparse eigenvalues, pairs of sets.

   Searches that may take long do so in slices: they go on from what they left in `kept`, which is
   all zeros at first, and come back with `done` once they are, or after about `effort` additions. */
#ifndef KH_EXACT_H
#define KH_EXACT_H
#include "kh.h"

enum { OPEN, IN, OUT };             /* what is settled of a feature or an item */
enum { GAIN, PER_UNIT };            /* what a greedy choice goes by: gain less lam per unit, gain per unit */
static const f64 DEPENDENT = 1e-10; /* a column with less than this part of its square left adds nothing */
static const f64 TOLERANCE = 1e-10; /* a subset that is better by less than this part of y'y is no better */

#define KH_SPLIT(F) F(floats, R) F(floats, e) F(floats, c)
KH_STRUCT(kh_split, KH_SPLIT)
#define KH_POINT(F) \
    F(bytes, state) F(bytes, paid) F(floats, q) F(floats, v) F(floats, z) F(floats, rest) F(floats, price) \
    F(floats, slack)
KH_STRUCT(kh_point, KH_POINT)
#define KH_ITEM_MARKET(F) \
    F(ints, units) F(ints, starts) F(ints, needs) F(ints, firsts) F(ints, members) F(i64, limit) \
    F(i64, most) F(f64, rate)
KH_STRUCT(kh_item_market, KH_ITEM_MARKET)

/* exact_subset.c */
KH_API f64 kh_include(floats *G, floats *L, i64 s, i64 i, floats *D, floats *r);
KH_API f64 kh_rss(floats *G, floats *c, ints *S, i64 size, kh_room *room);
void kh_untouched(floats *G, floats *c, floats *D, floats *r);

/* exact_market.c */
i64 kh_exact_missing(kh_item_market *market, bytes *paid, i64 j);
i64 kh_exact_pay(kh_item_market *market, bytes *paid, i64 j);
KH_API void kh_exact_follow(kh_item_market *market, bytes *state, bytes *paid, i64 *left, i64 *room_left);

/* exact_knapsack.c */
KH_API void kh_least(kh_item_market *market, kh_point *node, f64 left, i64 places, f64 hint_lam, f64 hint_mu,
                     f64 *value, f64 *lam, f64 *mu);

/* exact_descent.c */
void kh_converge(kh_split *split, bytes *state, floats *price, floats *edge, floats *q, floats *g,
                 i64 *effort);
void kh_remainder(kh_split *split, bytes *state, floats *q, floats *g, i64 *effort);
f64 kh_base(kh_split *split, bytes *state, floats *q, floats *g, floats *v, bool settled);
kh_point kh_part_of(kh_point *whole, i64 m);
i64 kh_branch_on(kh_item_market *market, kh_point *node, floats *c);

#endif

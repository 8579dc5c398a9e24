/* Algorithm 2: banks of budgeted experts, whom they play, and the mini-batches they are judged by. */
#ifndef KH_GREEDY_H
#define KH_GREEDY_H
#include "kh.h"

#define KH_ODDS(F) F(floats, p) F(floats, sums) F(floats, rate) F(floats, shift) F(floats, low)
KH_STRUCT(kh_odds, KH_ODDS)
#define KH_VAWS(F) \
    F(ints, columns) F(ints, features) F(floats, P) F(floats, theta) F(floats, G) F(floats, c) \
    F(floats, losses) F(floats, total) F(ints, arrived)
KH_STRUCT(kh_vaws, KH_VAWS)

/* experts.c */
KH_API void kh_probabilities(floats *L, floats *eta, floats *p);
KH_API void kh_draw_experts(u64 seed, i64 round, floats *p, ints *j);
/* S has the size of the budget; how many different ones are in j. Room: len(j) and that of few_outside. */
KH_API i64 kh_draw_shared(u64 seed, i64 round, i64 d, ints *j, i64 budget, ints *S, kh_room *room);
KH_API void kh_shared_weights(floats *p, ints *place, f64 f0, f64 f, floats *weight);
KH_API void kh_feed(ints *S, floats *p, floats *weight, floats *losses, floats *L, floats *squares,
                    floats *largest);

/* odds.c */
KH_API f64 kh_even_rate(f64 eta);
KH_API void kh_draw_by(u64 seed, i64 round, floats *L, floats *eta, kh_odds *known, ints *j);
KH_API f64 kh_chance(kh_odds *known, floats *L, i64 i, i64 j);
KH_API void kh_renew(kh_odds *known, floats *L, ints *S, floats *weight);

/* minibatch.c */
i64 kh_first_oversized(floats *X, floats *y, ints *columns);

#endif

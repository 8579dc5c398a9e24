/* Fitting: VAWs side by side, forward selection with and without prices, what to buy, gains. */
#ifndef KH_FIT_H
#define KH_FIT_H
#include "kh.h"
#include "sums.h"

/* Several VAWs side by side; see blocks/fit/vaw.py. */
#define KH_ENSEMBLE(F) \
    F(ints, place) F(ints, size) F(floats, P) F(floats, theta) F(floats, Px) F(floats, along) F(floats, s)
KH_STRUCT(kh_ensemble, KH_ENSEMBLE)
#define KH_START(F) F(i64, memory) F(floats, sizes) F(f64, ridge)
KH_STRUCT(kh_start, KH_START)
KH_API void kh_invert(floats *A);
/* ensemble.start. Room: v v + 5 v, v = places of the runs. */
KH_API void kh_start_run(kh_ensemble *runs, i64 e, ints *features, kh_memories *kept, kh_start *origin,
                         kh_room *room);
/* Start run e from sums A and b, ridge included, of its places times `unit`; all are used up. Of A
   (v x v) the lower triangle is looked at. Room: v. */
void kh_start_from(kh_ensemble *runs, i64 e, floats *A, floats *b, floats *unit, kh_room *room);
KH_API void kh_guess_runs(kh_ensemble *runs, floats *x, floats *guesses); /* ensemble.guess, learn */
KH_API void kh_learn_runs(kh_ensemble *runs, f64 y);

/* One VAW (vaw.forward, vaw.learn): theta.x and 1 + x'Px, then the update with the label. */
void kh_vaw_forward(floats *P, floats *theta, floats *x, floats *Px, f64 *along, f64 *s);
void kh_vaw_learn(floats *P, floats *theta, floats *Px, f64 along, f64 s, f64 y);

/* A price list and a basket; see blocks/fit/purchase.py. Without prices `first` has one entry. */
#define KH_MARKET(F) \
    F(ints, units) F(ints, first) F(ints, need) F(ints, start) F(ints, holder) F(bools, barred) F(i64, limit)
KH_STRUCT(kh_market, KH_MARKET)
#define KH_BASKET(F) F(bools, paid) F(ints, more)
KH_STRUCT(kh_basket, KH_BASKET)
KH_API void kh_empty_basket(kh_market *shop, kh_basket *held);       /* market.empty */
KH_API i64 kh_take_feature(kh_market *shop, kh_basket *held, i64 j); /* market.take */
/* What features cost together. Room: items + features. */
i64 kh_cost_of(kh_market *shop, ints *S, kh_room *room);
/* market.basket: an empty basket. Room: items + features. */
kh_basket kh_take_basket(kh_market *shop, kh_room *room);

/* What to buy; see blocks/fit/purchase.py. `paid`: a bool for each item. */
static inline bool kh_priced(kh_market *shop) { return shop->first.n > 1; }
KH_API i64 kh_missing(i64 j, kh_market *shop, bools *paid);
KH_API void kh_pay(i64 j, kh_market *shop, bools *paid);
KH_API i64 kh_buy_all(ints *order, kh_market *shop, bools *paid, i64 left); /* purchase.buy */
KH_API i64 kh_paid_for(kh_market *shop, bools *paid, ints *out);
/* The out->n features in a random order, all orders alike. Room: 2 n. */
void kh_any_order(u64 seed, i64 t, i64 purpose, ints *out, kh_room *room);
/* purchase.fill. Room: 3 d + items. */
KH_API i64 kh_fill_up(u64 seed, i64 t, i64 purpose, ints *support, kh_market *shop, ints *out, kh_room *room);
/* What each feature costs if the price of an item is split among all who need it. Room: items. */
void kh_split_prices(kh_market *shop, floats *parts, kh_room *room);
/* Room: 4 d + 4 items. */
KH_API i64 kh_best_buy(floats *score, kh_market *shop, ints *out, kh_room *room);

/* Forward selection; see blocks/fit/stepwise_selection.py. */
#define KH_READS 3.99 /* a feature read fewer times than 4 (rounding aside) is never significant */
#define KH_NEW 0.05   /* one of which less than this share is new, given those chosen, adds nothing */
#define KH_SELECTION(F) \
    F(ints, chosen) F(floats, gains) F(floats, r) F(floats, D) F(f64, noise) F(floats, counts)
KH_STRUCT(kh_selection, KH_SELECTION)
/* Where it writes. */
#define KH_SELECTING(F) \
    F(ints, chosen) F(floats, gains) F(floats, r) F(floats, D) F(floats, L) F(bools, ready)
KH_STRUCT(kh_selecting, KH_SELECTING)
/* What a selection may spend, and what is left of it; without a price list each feature costs 1. With
   `only`, what is marked there costs nothing, and nothing else can be had. */
enum { KH_UNMARKED = -1 };
typedef struct {
    kh_market *shop;
    kh_basket *held;
    i64 left;
    f64 rate;
    const int8_t *only;
} kh_means;
/* Room: 2 d with a price list. */
void kh_select(kh_memories *kept, i64 memory, f64 threshold, kh_selecting *into, kh_means *means, i64 *size,
               f64 *noise, kh_room *room);
KH_API void kh_select_into(kh_memories *kept, i64 memory, f64 threshold, kh_selecting *into, kh_market *shop,
                           kh_basket *held, i64 money, f64 rate, i64 *size, f64 *noise, i64 *money_left,
                           kh_room *room);

/* Random optimism; see blocks/fit/stepwise_selection.py. */
#define KH_PURPOSE (1 << 20) /* keeps these draws apart from those of experts (2 i, 2 i + 1) */
#define KH_NEVER 1e300       /* the score of a feature that was never read, where money has a worth */
/* Normal numbers by feature, made by fours. */
typedef struct {
    u64 seed;
    i64 round, block;
    f64 at[4];
} kh_normals;
kh_normals kh_normals_of(u64 seed, i64 round);
/* Of feature j; `constant`: all its values were alike so far. */
f64 kh_sampled_gain(kh_normals *drawn, i64 j, f64 r, f64 D, bool constant, f64 count, f64 noise, f64 optimism);
KH_API void kh_sampled_gains(u64 seed, i64 round, kh_selection *selection, f64 optimism, floats *score);

/* set_function.sweep. Room: (n + 2) m for gains of shape n x m. */
KH_API void kh_sweep(floats *G, floats *c, f64 yy, ints *chosen, floats *levels, floats *gains,
                     kh_room *room);
/* roots.inverse_root. Room: v v + v. */
KH_API bool kh_inverse_root(floats *A, floats *ridge, floats *b, floats *root, floats *along, kh_room *room);

#endif

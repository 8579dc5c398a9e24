/* AutoLearner: what it is made of, how a batch is chosen or bought, its rounds. See blocks/auto. */
#ifndef KH_AUTO_H
#define KH_AUTO_H
#include "draw.h"
#include "fit.h"
#include "greedy.h"
#include "shapes.h"
#include "sums.h"

enum { KH_UNREAD = -1, KH_KEPT, KH_NET, KH_EXPLORED };    /* why a feature is read */
enum { KH_LONGEST_MEMORY = 0 };
enum { KH_LEADING = -2, KH_NO_MEMORY = -1 };              /* in place of a memory's number */
enum { KH_ON_KEPT, KH_ON_BEST, KH_ON_NET, KH_ON_EVERYTHING, KH_ON_NOTHING };
enum { KH_LOW, KH_HIGH };                                 /* mixture.span */
enum { KH_LOSS, KH_WEIGHT, KH_ROUNDS, KH_NOISE_SUMS };    /* mixture.noise */
enum { KH_PASTS = 2 * KH_INPUTS };                        /* inputs of the past: of labels, of errors */
enum { KH_TOLD };                                        /* ring.next: how many rows were told */
enum { KH_LOOK_OUT = 16 };                                /* batches, after history: see choose.py */
#define KH_WINDOW 200.0                                   /* rounds that mixture.recent looks back */

/* A mixture of experts; the bold average is the last. */
#define KH_MIXTURE(F) \
    F(floats, prior) F(floats, losses) F(floats, recent) F(floats, noise) F(floats, span) F(floats, belief)
KH_STRUCT(kh_mixture, KH_MIXTURE)
/* The guesses of all experts, cut off, and that of the bold average last. */
KH_API f64 kh_mix(kh_mixture *mixture, floats *guesses);
KH_API void kh_charge(kh_mixture *mixture, floats *guesses, f64 y);
void kh_mix_rows(kh_mixture *mixture, floats *guesses, floats *y, floats *predictions);
void kh_start_over(kh_mixture *mixture);
void kh_begin_anew(kh_mixture *mixture, f64 low, f64 high); /* nobody has lost anything; labels are from low to high */
f64 kh_unit_of(const kh_mixture *mixture, i64 e); /* how far off it is of late, typically; 0: not known */

/* The last layer. */
#define KH_LAYER(F) \
    F(floats, kinks) F(floats, A) F(floats, b) F(floats, spread) F(floats, unit) F(kh_past, labels) \
    F(kh_past, errors) F(floats, root) F(floats, along) F(kh_mixture, judge)
KH_STRUCT(kh_layer, KH_LAYER)
KH_API void kh_know(kh_layer *last, floats *past);
KH_API void kh_note_past(kh_layer *last, floats *past, ints *told);
/* With n inputs and g guesses: n n + 2 n; 2 n + g; for each row of y 1 + g, and 2 n + 10. */
KH_API void kh_begin_layer(kh_layer *last, f64 variance, kh_room *room);
KH_API f64 kh_foresee(kh_layer *last, f64 prediction, f64 centre, floats *past, kh_room *room);
KH_API void kh_correct(kh_layer *last, f64 fade, f64 centre, floats *pasts, floats *y, floats *predictions,
                       kh_room *room);

/* The chain behind it: a ridge on curves, then trees. */
#define KH_CHAIN(F) \
    F(floats, p) F(floats, q) F(kh_seated, seated) F(kh_ridge, ridge) F(kh_forest, forest) \
    F(kh_mixture, first) F(kh_mixture, second) F(ints, clock) F(ints, bent)
KH_STRUCT(kh_chain, KH_CHAIN)

/* Of tickets that are bought step by step; see blocks/auto/steps.py. */
#define KH_STEPS(F) \
    F(floats, recent) F(floats, cuts) F(ints, bins) F(floats, errors) F(floats, saved) F(ints, many)
KH_STRUCT(kh_steps, KH_STEPS)
/* The squared error that is expected of a prediction after step p. */
KH_API f64 kh_expected_error(kh_steps *steps, i64 p, f64 guess);
/* Predictions after the steps that were made, ascending. */
KH_API void kh_learn_steps(kh_steps *steps, ints *at, floats *guesses, f64 y, kh_room *room);
/* What going on is expected to save beyond its price, at best; infinite where that is not known yet. */
KH_API f64 kh_gain_of_going_on(kh_steps *steps, i64 p, f64 guess, ints *to, floats *price);

#define KH_EXPERT_TABLE(F) \
    F(ints, features) F(ints, memory) F(floats, ridge) F(bools, by_peak) F(ints, judges)
KH_STRUCT(kh_expert_table, KH_EXPERT_TABLE)
#define KH_SETTINGS(F) \
    F(i64, d) F(i64, k) F(i64, width) F(i64, pool) F(i64, slots) F(i64, net) F(floats, thresholds) \
    F(f64, optimism) F(f64, far) F(i64, shortest) F(i64, longest) F(i64, growth) F(i64, proper) F(u64, seed) \
    F(kh_expert_table, experts) F(i64, past) F(f64, fade) F(i64, seats) F(i64, drawn) F(i64, first) \
    F(i64, stride) F(i64, room)
KH_STRUCT(kh_settings, KH_SETTINGS)
#define KH_NET_SUMS(F) F(floats, L) F(floats, squares) F(floats, largest)
KH_STRUCT(kh_net, KH_NET_SUMS)
#define KH_SPACE(F) \
    F(floats, L) F(floats, r) F(floats, D) F(floats, noise) F(ints, chosen) F(floats, gains) F(ints, picked) \
    F(bools, ready) F(bytes, why) F(ints, marked) F(ints, many) F(ints, candidates) F(floats, score) \
    F(kh_odds, odds)
KH_STRUCT(kh_space, KH_SPACE)
/* The rows told last; see blocks/auto/ring.py. */
#define KH_RING(F) \
    F(shorts, features) F(floats, values) F(floats, labels) F(ints, rounds) F(ints, batches) F(ints, folds) \
    F(ints, next) F(ints, sat) F(ints, since)
KH_STRUCT(kh_ring, KH_RING)
#define KH_STATE(F) \
    F(kh_memories, kept) F(kh_running, values) F(kh_running, label) F(floats, peaks) F(kh_mixture, mixture) \
    F(kh_net, net) F(ints, studied) F(floats, trial) F(ints, aside) F(floats, owed) F(ints, lead) F(ints, played) \
    F(ints, walk) F(floats, evidence) F(ints, purse) F(floats, reach) \
    F(kh_ring, ring) F(kh_space, space)
KH_STRUCT(kh_state, KH_STATE)
#define KH_SPENDING(F) F(kh_market, shop) F(f64, rate) F(i64, horizon) F(i64, complete)
KH_STRUCT(kh_spending, KH_SPENDING)
#define KH_AUTO(F) F(kh_settings, settings) F(kh_state, state) F(kh_layer, last) F(kh_chain, chain) F(kh_spending, spending)
KH_STRUCT(kh_auto, KH_AUTO)
#define KH_BATCH(F) \
    F(ints, S) F(bytes, why) F(kh_ensemble, runs) F(floats, centre) F(floats, peak) F(floats, label) \
    F(floats, values) F(floats, labels) F(ints, rows) F(ints, slots) F(floats, p) F(floats, weight)
KH_STRUCT(kh_batch, KH_BATCH)

/* auto_ring.c: the last rows of a batch, told from this round on; all its rows enter the sums; who has
   which seat now; what was told so far cannot be taken back any more. */
void kh_note_rows(kh_ring *ring, kh_batch *batch, i64 number, i64 round, i64 many);
void kh_note_fold(kh_auto *a, kh_batch *batch, i64 number);
void kh_note_seats(kh_ring *ring, kh_memories *kept);
/* A row of history: these features of x. */
void kh_note_history(kh_auto *a, ints *S, const f64 *x, f64 y);
void kh_forget_in_rows(kh_auto *a, i64 j); /* no value of feature j has arrived */
void kh_seal(kh_ring *ring);

/* auto_mistrust.c */
bool kh_trusts_history(kh_state *state);
bool kh_is_quiet(kh_state *state, i64 number); /* batches after history that neither explore nor have a net */
void kh_begin_trial(kh_settings *s, kh_state *state);
void kh_note_labels(kh_state *state, floats *y);
void kh_move_trial(kh_state *state, f64 by);
void kh_set_aside_if_misled(kh_auto *a);
/* Predictions that were played, and the labels as they were learnt. */
void kh_note_played(kh_state *state, floats *predictions, floats *y);
/* What memories forgot; the last layer keeps so many rounds; mixtures begin anew, with labels from low to high. */
void kh_go_on_without(kh_auto *a, f64 rounds, f64 low, f64 high);

/* auto_reach.c: values far beyond what was seen. Both cut off what is learnt; see `sums/reach.py`. */
KH_API i64 kh_heed(floats *reach, f64 far, f64 value, i64 believed);
KH_API void kh_see(floats *reach, f64 far, floats *values, ints *features, floats *y);
enum { KH_AS_BEFORE, KH_WAS_WILD, KH_MOVED }; /* what is found about the labels so far */
/* Up to the first that shows something: so many rows; moved by how much. It is due once they are learnt. */
i64 kh_heed_labels(kh_auto *a, kh_batch *batch, floats *X, const i64 *columns, floats *y, i64 *rows, f64 *by);
void kh_forget_wild_label(kh_auto *a, kh_batch *batch);
void kh_move_labels(kh_auto *a, kh_batch *batch, f64 by); /* as if all labels so far were larger */
void kh_heed_values(kh_auto *a, kh_batch *batch);
void kh_heed_row(kh_auto *a, kh_batch *batch, floats *x); /* of history */

/* auto_selecting.c: what memories find significant, and marks. */
i64 kh_leader(kh_settings *s, kh_state *state);
i64 kh_note_leader(kh_settings *s, kh_state *state);
void kh_rank_memories(kh_settings *s, kh_state *state, ints *order, kh_room *room); /* the leader first */
kh_selecting kh_writing(kh_space *space, i64 m);
void kh_name_chosen(kh_state *state, i64 m);
void kh_seat(kh_state *state, ints *S, kh_room *room);
void kh_clear_marks(kh_space *space);
bool kh_mark(kh_space *space, i64 j, i64 why);

/* auto_batch.c: how a batch begins whose features are marked. */
i64 kh_place_of(ints *S, i64 j); /* where j stands in S, ascending, or would */
void kh_begin_batch(kh_state *state, kh_batch *batch);
void kh_leave_net(kh_batch *batch);
void kh_start_runs(kh_settings *s, kh_state *state, kh_batch *batch, i64 lead, kh_room *room);
void kh_typical_sizes(kh_memories *kept, ints *S, floats *sizes);
void kh_lay_out(kh_batch *batch, i64 width); /* the views of so many features, in room for more */

/* auto_shop.c: one purchase, for batch `number`: what it is made with, and what is left of the limit.
   Without a price list each feature costs 1, and the basket is what is marked. */
typedef struct {
    kh_auto *a;
    kh_spending *spending;
    kh_market *shop;
    kh_basket held;
    i64 number, limit, left, cheapest, everything;
    bool listed;
    kh_room *room;
} kh_purchase;
kh_purchase kh_begin_purchase(kh_auto *a, kh_spending *spending, i64 number, i64 limit, kh_room *room);
i64 kh_more(kh_purchase *p, i64 j); /* what it costs beside what is bought */
static inline bool kh_barred(kh_purchase *p, i64 j) { return p->listed && AT(p->shop->barred, j); }
bool kh_buy(kh_purchase *p, i64 j, i64 why); /* if it is not read yet, and can be paid */
i64 kh_select_for(kh_purchase *p, i64 m, i64 money); /* what memory m would keep for it; what that costs */
/* All but what goes to the net (`apart`) and to exploring. `known`: what need not be explored. */
void kh_keep(kh_purchase *p, i64 apart, ints *known);
/* auto_explore.c: spends what is left; how far it went in the order of first reads. */
i64 kh_explore(kh_purchase *p, i64 lead, ints *known);
static inline i64 kh_floor(i64 a, i64 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

void kh_weigh_reads(kh_auto *a, kh_batch *batch, ints *features, floats *values, kh_room *room);

/* auto_choose.c: a batch of `size` rounds, which begins after `round`, in room for the widest; how many
   features it reads. */
KH_API i64 kh_choose(kh_auto *a, kh_batch *batch, i64 number, i64 round, i64 size, kh_room *room);

/* auto_rounds.c. Columns: where in a row of X the features of the batch stand; NULL: as they are. Rows of
   batch `number` are noted, the first as that of `round`; those of history (round 0) are not, and shapes see
   all features of them that sit. What the last label shows about those before. */
i64 kh_learn_auto_rows(kh_auto *a, kh_batch *batch, i64 number, i64 round, floats *X, floats *y,
                        const i64 *columns, floats *predictions, floats *pasts, kh_room *room);

/* auto_chain.c: behind the last layer. Columns as above, of features S. Rows are noted in the ring after
   this. As many features as it has room for: those that sit, then those of S. */
f64 kh_chain_one(kh_auto *a, ints *S, floats *values, f64 prediction, kh_room *room);
void kh_chain_rows(kh_auto *a, ints *S, floats *X, const i64 *columns, floats *y, floats *predictions,
                   kh_room *room);
void kh_look_again(kh_auto *a, i64 slot); /* the row in this slot is another by now */
void kh_close_chain(kh_auto *a, kh_room *room); /* when a batch is over */
KH_API void kh_empty_chain(kh_auto *a);
void kh_sitting_first(kh_auto *a, ints *S, ints *out);

#endif

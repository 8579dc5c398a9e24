/* Sums over what was read: centre and spread, memories and their seats, the labels told so far. */
#ifndef KH_SUMS_H
#define KH_SUMS_H
#include "kh.h"

/* Centre and spread of quantities; see blocks/sums/column_stats.py. */
#define KH_RUNNING(F) F(floats, reference) F(floats, reads) F(floats, total) F(floats, square)
KH_STRUCT(kh_running, KH_RUNNING)
KH_API void kh_add_value(kh_running *seen, i64 j, f64 value); /* running.add */
KH_API f64 kh_spread(kh_running *seen, i64 j);
KH_API f64 kh_centre(kh_running *seen, i64 j);
KH_API void kh_centres(kh_running *seen, floats *out);
/* As if no value of quantity j had arrived; as if all that arrived had had this mean and variance. */
void kh_forget_one(kh_running *seen, i64 j);
void kh_restate(kh_running *seen, i64 j, f64 mean, f64 variance);

/* Zero-imputed second moments; see blocks/sums/memories.py. `rest` has no rows where all have a seat. */
enum { KH_SQUARE, KH_LEVEL, KH_PRODUCT, KH_COUNT, KH_REST_SUMS };
#define KH_MEMORIES(F) \
    F(floats, G) F(floats, c) F(floats, n) F(floats, yy) F(floats, scale) F(floats, tau) F(ints, who) \
    F(ints, seat) F(floats, rest)
KH_STRUCT(kh_memories, KH_MEMORIES)
/* memories.products: G (m + 1 x m + 1), c, count are written, of G the upper triangle; returns y'y.
   Room: values->m + 1. */
KH_API f64 kh_products(floats *values, floats *labels, i64 rows, floats *G, floats *c, floats *count,
                       kh_room *room);
KH_API void kh_fold(kh_memories *kept, ints *features, floats *G, floats *c, floats *count, f64 yy, i64 rows);
/* Room: seats + 1. */
KH_API void kh_fold_row(kh_memories *kept, i64 i, f64 share, floats *z, floats *seen, f64 y, kh_room *room);
/* Let memory i keep this share of all it has; what a new sum is multiplied by. */
f64 kh_forget(kh_memories *kept, i64 i, f64 share);
/* As if no value of this feature had arrived. */
void kh_forget_feature(kh_memories *kept, i64 j);
/* Let memory i have what memory m has; nothing, if there is no memory m. */
void kh_copy_memory(kh_memories *kept, i64 i, i64 m);
/* Let memory i be of the same rounds with labels larger by `more`: their centre moved. */
void kh_shift_labels(kh_memories *kept, i64 i, f64 more);

/* Who has a seat; see blocks/sums/memories.py. Features of these strengths stay. */
#define KH_READ_NOW INFINITY
#define KH_CHOSEN 1e300
#define KH_KNOWN(F) F(floats, r) F(floats, strength)
KH_STRUCT(kh_known, KH_KNOWN)
bool kh_all_seated(kh_memories *kept, ints *S);
/* Room: seats + S->n. */
KH_API void kh_admit(kh_memories *kept, ints *S, kh_known *known, kh_room *room);

/* The labels told so far; see blocks/sums/past_labels.py. */
enum { KH_LABELS = 2, KH_HALF_LIVES = 3, KH_INPUTS = KH_LABELS + KH_HALF_LIVES };
#define KH_PAST(F) F(floats, last) F(floats, faded) F(floats, weight) F(ints, told)
KH_STRUCT(kh_past, KH_PAST)
KH_API void kh_past_inputs(kh_past *past, floats *out);
KH_API void kh_remember_label(kh_past *past, f64 y);
KH_API void kh_past_rows(kh_past *past, floats *y, floats *out);

/* Sums of products over partially seen rows; see blocks/sums/moments.py and rows.py. */
#define KH_ROWS(F) F(shorts, offsets) F(shorts, features) F(floats, x) F(floats, y)
KH_STRUCT(kh_rows, KH_ROWS)
#define KH_GATHERED(F) F(shorts, start) F(shorts, order)
KH_STRUCT(kh_gathered, KH_GATHERED)
#define KH_PAIR_SUMS(F) F(i64, d) F(floats, sums) F(ints, pairs)
KH_STRUCT(kh_pair_sums, KH_PAIR_SUMS)
/* Room: 65 d + 8192. */
void kh_add_products(kh_rows *rows, i64 first, i64 last, kh_pair_sums *into, kh_gathered *gathered,
                            kh_room *room);

/* The sums of Moments; see blocks/sums/moments.py. */
#define KH_MOMENT_SUMS(F) F(i64, d) F(floats, total) F(floats, recent) F(ints, pairs)
KH_STRUCT(kh_moment_sums, KH_MOMENT_SUMS)

#endif

/* Drawing and reading: keyed randomness, subsets, order, what a round reads. */
#ifndef KH_DRAW_H
#define KH_DRAW_H
#include "kh.h"

/* As in errors.py: the square of what is larger may overflow, of what is smaller underflow. */
#define KH_LARGEST 1e150
#define KH_SMALLEST 1e-150

/* Rounds to be played in one call; see blocks/draw/block.py. */
#define KH_BLOCK(F) \
    F(u64, seed) F(i64, first_round) F(floats, X) F(floats, y) F(shorts, bought) F(floats, predictions) \
    F(ints, space)
KH_STRUCT(kh_block, KH_BLOCK)

/* Keyed randomness. Indices and purposes are at least 0. */
KH_API void kh_words(u64 seed, i64 round, i64 purpose, i64 block, u64 *w0, u64 *w1, u64 *w2, u64 *w3);
KH_API f64 kh_uniform(u64 seed, i64 round, i64 purpose, i64 index);
KH_API void kh_uniforms(u64 seed, i64 round, i64 purpose, floats *out);
KH_API i64 kh_categorical(f64 u, floats *weights);

/* Subsets, ascending. `space`: 3 x (d + 4), from kh_scratch; every draw leaves it as it was. */
KH_API void kh_scratch(ints *space);
KH_API void kh_subset(u64 seed, i64 round, i64 purpose, i64 n, ints *out, ints *space);
KH_API void kh_complement(u64 seed, i64 round, i64 purpose, i64 d, ints *support, ints *out, ints *space);
/* Room: 3 m m + 2 m + 20 for m = out->n, whatever d is. */
KH_API void kh_few_outside(u64 seed, i64 round, i64 purpose, i64 d, ints *support, ints *out, kh_room *room);
static inline ints kh_take_scratch(kh_room *room, i64 d) /* not filled yet */
{
    return (ints){TAKE(room, i64, 3 * (d + 4)), 3, d + 4, 1};
}

/* Order. kh_sort: different numbers below n; each space has room for out->n + 1. */
KH_API void kh_sort(ints *out, i64 n, ints *space, ints *more_space);
KH_API i64 kh_merge(ints *S, ints *support, ints *out);
KH_API void kh_largest(floats *score, ints *out);
/* Indices of the keys in ascending order, ties in the order they stand in, NaN last. Room: keys->n. */
void kh_argsort(floats *keys, ints *order, kh_room *room);

/* What a value counts as: 0 if it is too small to be squared. */
static inline f64 kh_taken(f64 value) { return fabs(value) < KH_SMALLEST ? 0.0 : value; }

#endif

/* Keyed randomness: words, uniforms, a categorical draw, subsets. */
#include "draw.h"
#include "philox.h"

KH_LAYOUT(kh_block, KH_BLOCK)

KH_API void kh_philox(u64 c0, u64 c1, u64 c2, u64 c3, u64 k0, u64 k1, u64 *w0, u64 *w1, u64 *w2, u64 *w3)
{
    kh_four four = kh_cipher(c0, c1, c2, c3, k0, k1);
    *w0 = four.w[0], *w1 = four.w[1], *w2 = four.w[2], *w3 = four.w[3];
}

KH_API void kh_words(u64 seed, i64 round, i64 purpose, i64 block, u64 *w0, u64 *w1, u64 *w2, u64 *w3)
{
    kh_four four = kh_four_words(seed, round, purpose, block);
    *w0 = four.w[0], *w1 = four.w[1], *w2 = four.w[2], *w3 = four.w[3];
}

static inline f64 unit(u64 high, u64 low)
{
    return ((f64)(i64)(high >> 5) * 67108864.0 + (f64)(i64)(low >> 6)) / 9007199254740992.0;
}

KH_API f64 kh_uniform(u64 seed, i64 round, i64 purpose, i64 index)
{
    kh_four four = kh_four_words(seed, round, purpose, index / 2);
    return index % 2 ? unit(four.w[2], four.w[3]) : unit(four.w[0], four.w[1]);
}

KH_API void kh_uniforms(u64 seed, i64 round, i64 purpose, floats *out)
{
    i64 n = out->n;
    f64 *restrict at = out->at;
    for (i64 b = 0; b < n / 2; b++) {
        kh_four four = kh_four_words(seed, round, purpose, b);
        at[2 * b] = unit(four.w[0], four.w[1]);
        at[2 * b + 1] = unit(four.w[2], four.w[3]);
    }
    if (n % 2) at[n - 1] = kh_uniform(seed, round, purpose, n - 1);
}

KH_API i64 kh_categorical(f64 u, floats *weights)
{
    const f64 *w = weights->at;
    i64 n = weights->n, last = 0;
    f64 total = 0.0, reached = 0.0;
    for (i64 i = 0; i < n; i++) total += w[i];
    f64 target = u * total;
    for (i64 i = 0; i < n; i++) {
        if (!(w[i] > 0.0)) continue;
        last = i;
        reached += w[i];
        if (target < reached) return i;
    }
    return last; /* only if u * total rounds up to total, which needs subnormal weights */
}

KH_API void kh_scratch(ints *space)
{
    for (i64 i = 0; i < space->m; i++) space->at[i] = i;
}

/* The words of blocks first, first + 1, ...: several at a time in the lanes of vector registers. */
static void fill(u64 seed, i64 round, i64 purpose, i64 first, i64 *restrict out, i64 blocks)
{
    for (i64 b = 0; b < blocks; b++) {
        kh_four four = kh_four_words(seed, round, purpose, first + b);
        for (int i = 0; i < 4; i++) out[4 * b + i] = (i64)four.w[i];
    }
}

/* Lemire: the upper half of word * left is uniform below `left` once the few words with a small lower
   half are skipped (-1 here). */
static inline i64 below(u64 word, u64 left)
{
    u64 product = word * left, low = product & KH_LOW;
    if (low < left && low < (((u64)1 << 32) - left) % left) return -1;
    return (i64)(product >> 32);
}

KH_API void kh_subset(u64 seed, i64 round, i64 purpose, i64 n, ints *out, ints *space)
{
    i64 m = out->n, *permutation = ROW(*space, 0), *drawn = ROW(*space, 1), *chosen = out->at;
    i64 blocks = i_max(1, (m + 3) / 4), i = 0;
    KH_CHECK(n <= space->m && 4 * blocks <= space->m);
    for (i64 block = 0; i < m; block += blocks) { /* usually one turn, more only if words are skipped */
        fill(seed, round, purpose, block, drawn, blocks);
        for (i64 q = 0; q < 4 * blocks && i < m; q++) {
            i64 more = below((u64)drawn[q], (u64)(n - i));
            if (more < 0) continue;
            i64 j = i + more;
            chosen[i] = permutation[j];
            permutation[j] = permutation[i]; /* place i is never looked at again: half a swap will do */
            i++;
        }
    }
    /* A place that was written to held its own number when it was first taken, so it is in `out`. */
    for (i = 0; i < m; i++) permutation[chosen[i]] = chosen[i];
    ints first = some_ints(ROW(*space, 1), space->m), second = some_ints(ROW(*space, 2), space->m);
    kh_sort(out, n, &first, &second);
}

/* From places in the list of the features outside the support to these features. */
static void step_over(ints *support, ints *out)
{
    i64 skipped = 0;
    for (i64 i = 0; i < out->n; i++) {
        while (skipped < support->n && support->at[skipped] <= out->at[i] + skipped) skipped++;
        out->at[i] += skipped;
    }
}

KH_API void kh_complement(u64 seed, i64 round, i64 purpose, i64 d, ints *support, ints *out, ints *space)
{
    kh_subset(seed, round, purpose, d - support->n, out, space);
    step_over(support, out);
}

/* What a permutation has at a place after these steps: the last that was written there. */
static i64 held_at(const i64 *written, const i64 *held, i64 steps, i64 place)
{
    for (i64 i = steps - 1; i >= 0; i--)
        if (written[i] == place) return held[i];
    return place;
}

KH_API void kh_few_outside(u64 seed, i64 round, i64 purpose, i64 d, ints *support, ints *out, kh_room *room)
{
    i64 m = out->n, n = d - support->n, mark = room->used, four[4] = {0, 0, 0, 0};
    if (m * m > d) {
        ints space = kh_take_scratch(room, d);
        kh_scratch(&space);
        kh_complement(seed, round, purpose, d, support, out, &space);
        room->used = mark;
        return;
    }
    ints written = take_ints(room, m + 1), held = take_ints(room, m + 1);
    for (i64 i = 0, word = 0; i < m; word++) {
        if (word % 4 == 0) fill(seed, round, purpose, word / 4, four, 1);
        i64 more = below((u64)four[word % 4], (u64)(n - i));
        if (more < 0) continue;
        out->at[i] = held_at(written.at, held.at, i, i + more);
        held.at[i] = held_at(written.at, held.at, i, i);
        written.at[i] = i + more;
        i++;
    }
    kh_sort(out, n, &written, &held);
    step_over(support, out);
    room->used = mark;
}

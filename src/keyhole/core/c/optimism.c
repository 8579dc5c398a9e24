/* Which features to read in order to learn: gains under a random optimism; steps of a greedy choice. */
#include "fit.h"
#include "philox.h"

#define UNIT (1.0 / 4294967296.0)

/* The gain of a feature some values of which arrived. */
static inline f64 gain_of(f64 r, f64 D, f64 noise, f64 count, f64 optimism, f64 normal)
{
    f64 g = optimism * normal;
    bool constant = D <= 0.0 && r == 0.0 && count > 0.0; /* so far */
    if (constant) return noise * (normal * normal + g * g) / count;
    if (D <= KH_NEW || count <= 0.0) return 0.0;
    f64 optimistic = r + sqrt(noise * D / count) * g;
    return optimistic * optimistic / D;
}

/* Box and Muller: two normal numbers from two words; 1 - u is never 0. */
static inline f64 size_of(u64 word) { return sqrt(-2.0 * kh_log(1.0 - (f64)(i64)word * UNIT)); }
static inline f64 turns_of(u64 word) { return (f64)(i64)word * UNIT; }

f64 kh_sampled_gain(u64 seed, i64 round, i64 j, f64 r, f64 D, f64 count, f64 noise, f64 optimism)
{
    kh_four four = kh_four_words(seed, round, KH_PURPOSE, j / 4);
    const u64 *w = four.w + (j % 4 >= 2 ? 2 : 0);
    f64 cosine, sine, size = size_of(w[0]);
    kh_turn(turns_of(w[1]), &cosine, &sine);
    return gain_of(r, D, noise, count, optimism, size * (j % 2 ? sine : cosine));
}

KH_API void kh_sampled_gains(u64 seed, i64 round, kh_selection *selection, floats *reads, f64 optimism,
                             floats *score)
{
    i64 d = selection->r.n;
    const f64 *r = selection->r.at, *D = selection->D.at, *counts = selection->counts.at;
    KH_CHECK(reads->n >= d && score->n >= d && selection->counts.n >= d);
    for (i64 block = 0; block < (d + 3) / 4; block++) {
        kh_four four = kh_four_words(seed, round, KH_PURPOSE, block);
        const u64 *w = four.w;
        f64 normals[4];
        for (i64 half = 0; half < 4; half += 2) {
            f64 size = size_of(w[half]);
            kh_turn(turns_of(w[half + 1]), &normals[half], &normals[half + 1]);
            normals[half] *= size, normals[half + 1] *= size;
        }
        for (i64 i = 0, j = 4 * block; i < 4 && j < d; i++, j++)
            score->at[j] = reads->at[j] == 0.0
                               ? KH_NEVER * (1.0 + (f64)(i64)w[i] * UNIT)
                               : gain_of(r[j], D[j], selection->noise, counts[j], optimism, normals[i]);
    }
}

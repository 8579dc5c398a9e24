/* Which features to read in order to learn: gains under a random optimism. */
#include "fit.h"
#include "philox.h"

#define UNIT (1.0 / 4294967296.0)

kh_normals kh_normals_of(u64 seed, i64 round) { return (kh_normals){.seed = seed, .round = round, .block = -1}; }

/* Box and Muller: two normal numbers from two words; 1 - u is never 0. */
static f64 normal_of(kh_normals *drawn, i64 j)
{
    if (drawn->block != j / 4) {
        drawn->block = j / 4;
        kh_four four = kh_four_words(drawn->seed, drawn->round, KH_PURPOSE, j / 4);
        for (i64 half = 0; half < 4; half += 2) {
            f64 size = sqrt(-2.0 * kh_log(1.0 - (f64)(i64)four.w[half] * UNIT));
            kh_turn((f64)(i64)four.w[half + 1] * UNIT, &drawn->at[half], &drawn->at[half + 1]);
            drawn->at[half] *= size, drawn->at[half + 1] *= size;
        }
    }
    return drawn->at[j % 4];
}

f64 kh_sampled_gain(kh_normals *drawn, i64 j, f64 r, f64 D, bool constant, f64 count, f64 noise, f64 optimism)
{
    if (count <= 0.0 || (D <= KH_NEW && !constant)) return 0.0;
    f64 normal = normal_of(drawn, j), g = optimism * normal;
    if (constant) return noise * (normal * normal + g * g) / count; /* so far */
    f64 optimistic = r + sqrt(noise * D / count) * g;
    return optimistic * optimistic / D;
}

KH_API void kh_sampled_gains(u64 seed, i64 round, kh_selection *selection, f64 optimism, floats *score)
{
    const f64 *r = selection->r.at, *D = selection->D.at, *counts = selection->counts.at;
    kh_normals drawn = kh_normals_of(seed, round);
    KH_CHECK(score->n >= selection->r.n && selection->counts.n >= selection->r.n);
    for (i64 j = 0; j < selection->r.n; j++) {
        bool constant = D[j] <= 0.0 && r[j] == 0.0;
        score->at[j] = kh_sampled_gain(&drawn, j, r[j], D[j], constant, counts[j], selection->noise, optimism);
    }
}

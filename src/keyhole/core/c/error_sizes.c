/* How large an error will be, by what was bought: a factor that is known before the label. */
#include "trackers.h"

KH_LAYOUT(kh_error_sizes, KH_ERROR_SIZES)

enum { FAR, NEAR, VALUE, ARRIVED, WAYS, CENTRED = 2 };
enum { SUM, COUNT, TOLD };

#define FADE 0x1.ddb680117ab12p-1 /* what an error counts one label later in their mean: 0.5^(1 / 10) */
#define LOOKBACK 4096.0 /* the half-life of everything else, in reads of a feature */
#define KEEP 0x1.ffe9d237fe372p-1 /* 0.5^(1 / LOOKBACK) */
#define STEP 0.15
#define ENTER 4.0 /* standard errors from 0 at which a weight begins, */
#define LEAVE 2.0 /* and at which it ends */
#define ENOUGH 30.0 /* reads of a feature before it counts */
#define LARGEST_SIZE 6.0 /* an error counts at most so many times the mean, */
#define OUTLIER 20.0 /* and moves that mean by at most so many, */
#define FREE 10.0 /* once so many were seen */
#define FARTHEST_Z 4.0
#define LARGEST_WEIGHT 3.0
#define LEAST_FACTOR 0.1
#define LARGEST_FACTOR 10.0
#define NEAREST 0.5 /* added to |z| before its logarithm is taken */

/* The ways in which a value of feature j matters; returns what they add to the log of the factor. */
static f64 explained(kh_error_sizes *s, i64 j, f64 x, f64 *ways)
{
    ways[FAR] = ways[NEAR] = ways[VALUE] = 0.0;
    if (AT(s->variance, j) > 0.0) {
        f64 z = (x - AT(s->mean, j)) / sqrt(AT(s->variance, j));
        z = f_min(f_max(z, -FARTHEST_Z), FARTHEST_Z);
        ways[VALUE] = z;
        ways[FAR] = fabs(z) - AT2(s->centres, j, FAR);
        ways[NEAR] = kh_log(NEAREST + fabs(z)) - AT2(s->centres, j, NEAR);
    }
    ways[ARRIVED] = 1.0 - f_min(AT(s->reads, j) / (AT(s->labels, TOLD) + 1.0), 1.0);
    f64 added = 0.0;
    for (i64 way = 0; way < WAYS; way++) added += AT2(s->weight, j, way) * ways[way];
    return added;
}

static bool arrived(i64 j, f64 x) { return j >= 0 && !isnan(x); }

/* The factor; `ways` gets those of each feature that arrived, and last of the prediction, `step` apart. */
static f64 factor_now(kh_error_sizes *s, const i64 *features, const f64 *values, i64 n, f64 prediction,
                      f64 *ways, i64 step)
{
    f64 log = explained(s, s->reads.n - 1, prediction, ways + n * step);
    for (i64 i = 0; i < n; i++)
        if (arrived(features[i], values[i])) log += explained(s, features[i], values[i], ways + i * step);
    return f_min(f_max(kh_exp(log), LEAST_FACTOR), LARGEST_FACTOR);
}

/* Learn one value: its tests and weights, then its mean and variance. */
static void take(kh_error_sizes *s, i64 j, f64 x, const f64 *ways, f64 e, f64 pull)
{
    for (i64 way = 0; way < WAYS; way++) {
        f64 phi = ways[way], *weight = &AT2(s->weight, j, way);
        f64 product = KEEP * AT2(s->product, j, way) + e * phi;
        f64 square = KEEP * AT2(s->square, j, way) + (e * phi) * (e * phi);
        AT2(s->product, j, way) = product;
        AT2(s->square, j, way) = square;
        /* Both squared: a root for every number that is read would cost as much as all the rest. */
        f64 found = product * product, chance = f_max(square, 1.0);
        if (found < LEAVE * LEAVE * chance) {
            *weight = 0.0;
        } else if (AT(s->reads, j) > ENOUGH && (found > ENTER * ENTER * chance || *weight != 0.0)) {
            f64 moved = *weight + STEP / sqrt(chance) * pull * phi;
            *weight = f_min(f_max(moved, -LARGEST_WEIGHT), LARGEST_WEIGHT);
        }
    }
    AT(s->reads, j) += 1.0;
    f64 share = f_max(1.0 / AT(s->reads, j), 1.0 / LOOKBACK), *variance = &AT(s->variance, j);
    if (*variance > 0.0)
        for (i64 way = 0; way < CENTRED; way++) AT2(s->centres, j, way) += share * ways[way];
    f64 off = x - AT(s->mean, j);
    AT(s->mean, j) += share * off;
    *variance = (1.0 - share) * (*variance + share * off * off);
}

/* The factor as it is now, and then learn the error. */
static f64 learn(kh_error_sizes *s, const i64 *features, const f64 *values, i64 n, f64 prediction, f64 error,
                 f64 *ways)
{
    f64 factor = factor_now(s, features, values, n, prediction, ways, WAYS);
    f64 size = fabs(error), e = 0.0, pull = 0.0, *labels = s->labels.at, *usual = s->usual.at;
    if (labels[SUM] > 0.0) {
        f64 mean = labels[SUM] / labels[COUNT];
        e = f_min(size / mean, LARGEST_SIZE) - 1.0;
        pull = f_min(size / mean / factor, LARGEST_SIZE) - 1.0;
        f64 share = f_max(1.0 / (labels[TOLD] + 1.0), 1.0 / LOOKBACK);
        *usual += share * (e - *usual);
        e -= *usual;
        if (labels[TOLD] > FREE) size = f_min(size, OUTLIER * mean);
    }
    for (i64 i = 0; i < n; i++)
        if (arrived(features[i], values[i])) take(s, features[i], values[i], ways + i * WAYS, e, pull);
    take(s, s->reads.n - 1, prediction, ways + n * WAYS, e, pull);
    labels[SUM] = FADE * labels[SUM] + size;
    labels[COUNT] = FADE * labels[COUNT] + 1.0;
    labels[TOLD] += 1.0;
    return factor;
}

KH_API f64 kh_error_factor(kh_error_sizes *s, ints *features, floats *values, f64 prediction)
{
    f64 ways[WAYS]; /* of one after the other: nothing is learnt */
    return factor_now(s, features->at, values->at, features->n, prediction, ways, 0);
}

KH_API void kh_error_factors(kh_error_sizes *s, ints *features, floats *values, floats *predictions,
                             floats *errors, floats *factors, kh_room *room)
{
    i64 mark = room->used, width = features->m;
    f64 *ways = TAKE(room, f64, (width + 1) * WAYS);
    for (i64 row = 0; row < errors->n; row++)
        AT(*factors, row) = learn(s, features->at + row * width, values->at + row * width, width,
                                  AT(*predictions, row), AT(*errors, row), ways);
    room->used = mark;
}

/* Sums over rows of matrices for the Dantzig program, in loops that vectorise. */
#include "dantzig.h"

typedef f64 lanes __attribute__((vector_size(32), aligned(8)));

#define T f64
#define NAME(x) x
#include "dantzig_rows.inc"
#undef T
#undef NAME
#define T float
#define NAME(x) x##_single
#include "dantzig_rows.inc"

/* max|x_j|. Four maxima side by side, because one would wait for itself. */
KH_WIDE f64 dz_largest(const f64 *x, i64 n)
{
    f64 a[4] = {0.0, 0.0, 0.0, 0.0};
    i64 j = 0;
    for (; j + 4 <= n; j += 4)
        for (int i = 0; i < 4; i++) a[i] = f_max(a[i], fabs(x[j + i]));
    for (; j < n; j++) a[0] = f_max(a[0], fabs(x[j]));
    return f_max(f_max(a[0], a[1]), f_max(a[2], a[3]));
}

/* max(|x_j| - y_j), likewise. */
KH_WIDE f64 dz_excess(const f64 *x, const f64 *y, i64 n)
{
    f64 a[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    i64 j = 0;
    for (; j + 4 <= n; j += 4)
        for (int i = 0; i < 4; i++) a[i] = f_max(a[i], fabs(x[j + i]) - y[j + i]);
    for (; j < n; j++) a[0] = f_max(a[0], fabs(x[j]) - y[j]);
    return f_max(f_max(a[0], a[1]), f_max(a[2], a[3]));
}

/* out += sum_k weight_k L[k] for k in first..last-1, on start..stop-1 and a little around: for the short
   rows of a basis, where the ends of a loop are what costs; all arrays have room for blocks of 16. */
KH_WIDE void dz_combine(const f64 *L, i64 stride, i64 first, i64 last, const f64 *weight, i64 start, i64 stop,
                        f64 *restrict out)
{
    i64 k = first, low = start / 16 * 16, blocks = (rounded(stop) - low) / 16;
    out += low;
    for (; k + 4 <= last; k += 4) {
        f64 a0 = weight[k], a1 = weight[k + 1], a2 = weight[k + 2], a3 = weight[k + 3];
        const f64 *restrict l0 = L + k * stride + low, *restrict l1 = l0 + stride;
        const f64 *restrict l2 = l1 + stride, *restrict l3 = l2 + stride;
        for (i64 j = 0; j < 16 * blocks; j++) out[j] += (a0 * l0[j] + a1 * l1[j]) + (a2 * l2[j] + a3 * l3[j]);
    }
    for (; k < last; k++) {
        f64 a0 = weight[k];
        const f64 *restrict l0 = L + k * stride + low;
        for (i64 j = 0; j < 16 * blocks; j++) out[j] += a0 * l0[j];
    }
}

/* inv += x y^T, and anything in the columns after n, in whole blocks of 16. */
KH_WIDE void dz_rank_one(f64 *inv, i64 stride, i64 n, const f64 *x, const f64 *restrict y)
{
    i64 blocks = rounded(n) / 16;
    for (i64 p = 0; p < n; p++) {
        f64 a = x[p], *restrict row = inv + p * stride;
        for (i64 o = 0; o < 16 * blocks; o++) row[o] += a * y[o];
    }
}

/* out += a x. */
KH_WIDE void dz_add_scaled(f64 *restrict out, f64 a, const f64 *restrict x, i64 n)
{
    for (i64 i = 0; i < n; i++) out[i] += a * x[i];
}

static inline f64 sum(lanes x) { return (x[0] + x[1]) + (x[2] + x[3]); }

/* out = inv v, and anything after that: four sums side by side, each in four lanes, as a loop that adds
   up one number does not vectorise. There is room for a few more rows than n. */
KH_WIDE void dz_multiply(const f64 *inv, i64 stride, i64 n, const f64 *v, f64 *out)
{
    i64 whole = n / 4 * 4;
    for (i64 p = 0; p < n; p += 4) {
        const f64 *r0 = inv + p * stride, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
        lanes s0 = {0.0}, s1 = {0.0}, s2 = {0.0}, s3 = {0.0};
        for (i64 o = 0; o < whole; o += 4) {
            lanes a = *(const lanes *)(v + o);
            s0 += *(const lanes *)(r0 + o) * a;
            s1 += *(const lanes *)(r1 + o) * a;
            s2 += *(const lanes *)(r2 + o) * a;
            s3 += *(const lanes *)(r3 + o) * a;
        }
        f64 t0 = sum(s0), t1 = sum(s1), t2 = sum(s2), t3 = sum(s3);
        for (i64 o = whole; o < n; o++) {
            t0 += r0[o] * v[o];
            t1 += r1[o] * v[o];
            t2 += r2[o] * v[o];
            t3 += r3[o] * v[o];
        }
        out[p] = t0, out[p + 1] = t1, out[p + 2] = t2, out[p + 3] = t3;
    }
}

/* Loops over rows of numbers that are worth wide registers: four rows for each time a sum is loaded. */
#include "lanes.h"

KH_WIDE void kh_project_out(f64 *row, const f64 *rows, i64 many, i64 n, i64 v, f64 divisor)
{
    f64 *restrict out = row;
    i64 q = 0;
    for (; q + 4 <= many; q += 4) {
        const f64 *restrict a = rows + q * n, *restrict b = a + n, *restrict c = b + n, *restrict e = c + n;
        f64 fa = a[v] / divisor, fb = b[v] / divisor, fc = c[v] / divisor, fe = e[v] / divisor;
        for (i64 j = 0; j < n; j++) out[j] = (((out[j] - fa * a[j]) - fb * b[j]) - fc * c[j]) - fe * e[j];
    }
    for (; q < many; q++) {
        const f64 *restrict a = rows + q * n;
        f64 factor = a[v] / divisor;
        for (i64 j = 0; j < n; j++) out[j] -= factor * a[j];
    }
}

KH_WIDE void kh_add_up(f64 *out, const f64 *rows, i64 n, i64 width, floats *x, const i64 *place)
{
    f64 *restrict sum = out;
    i64 q = 0;
    for (; q + 4 <= n; q += 4) {
        const f64 *restrict a = rows + q * width, *restrict b = a + width, *restrict c = b + width;
        const f64 *restrict e = c + width;
        f64 xa = AT(*x, place[q]), xb = AT(*x, place[q + 1]);
        f64 xc = AT(*x, place[q + 2]), xe = AT(*x, place[q + 3]);
        for (i64 i = 0; i < n; i++) sum[i] = (((sum[i] + xa * a[i]) + xb * b[i]) + xc * c[i]) + xe * e[i];
    }
    for (; q < n; q++) {
        const f64 *restrict a = rows + q * width;
        f64 own = AT(*x, place[q]);
        for (i64 i = 0; i < n; i++) sum[i] += own * a[i];
    }
}

KH_WIDE void kh_add_outer(f64 *row, f64 own, const f64 *there, f64 more, i64 n)
{
    f64 *restrict out = row;
    const f64 *restrict other = there;
    for (i64 b = 0; b < n; b++) out[b] += own * other[b] * more;
}

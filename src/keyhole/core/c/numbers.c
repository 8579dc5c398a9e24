/* Exponential, logarithm, sine and others by additions and products alone: the same bits everywhere. */
#include "kh.h"

static const f64 LN2_HIGH = 0x1.62e42fee00000p-1; /* 33 bits, so that whole multiples are exact */
static const f64 LN2_LOW = 0x1.a39ef35793c76p-33;
static const f64 PER_LN2 = 0x1.71547652b82fep+0;
static const f64 ROUNDING = 0x1.8p+52; /* adding it leaves a whole number in the last bits */

static inline f64 power_of_two(i64 k) /* for -1022 <= k <= 1023 */
{
    u64 bits = (u64)(k + 1023) << 52;
    f64 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

KH_API f64 kh_exp(f64 x)
{
    if (isnan(x)) return x;
    if (x > 709.782712893384) return INFINITY;
    if (x < -745.1332191019412) return 0.0;
    f64 k = (x * PER_LN2 + ROUNDING) - ROUNDING;
    f64 high = x - k * LN2_HIGH, low = k * LN2_LOW, r = high - low;
    low = (high - r) - low; /* what r lacks */
    /* e^r = 1 + r + r^2 q, with Taylor's q to r^11: |r| <= 0.35 leaves 2e-18. Its even and odd powers
       go side by side, because one long chain of sums takes twice as long. */
    f64 z = r * r, even = 1.0 / 479001600.0, odd = 1.0 / 6227020800.0;
    even = even * z + 1.0 / 3628800.0;
    odd = odd * z + 1.0 / 39916800.0;
    even = even * z + 1.0 / 40320.0;
    odd = odd * z + 1.0 / 362880.0;
    even = even * z + 1.0 / 720.0;
    odd = odd * z + 1.0 / 5040.0;
    even = even * z + 1.0 / 24.0;
    odd = odd * z + 1.0 / 120.0;
    even = even * z + 0.5;
    odd = odd * z + 1.0 / 6.0;
    f64 q = even + r * odd;
    f64 value = 1.0 + (r + (z * q + low));
    i64 n = (i64)k;
    if (n >= -1021 && n <= 1023) return value * power_of_two(n);
    return n > 0 ? value * 2.0 * power_of_two(n - 1) : value * power_of_two(n + 64) * 0x1p-64;
}

KH_API f64 kh_log(f64 x)
{
    if (isnan(x) || x == INFINITY) return x;
    if (x < 0.0) return NAN;
    if (x == 0.0) return -INFINITY;
    i64 e = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        e = -54;
    }
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    e += (i64)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFu) | 0x3FF0000000000000u;
    f64 m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e += 1;
    }
    /* log m = 2 atanh(s), s = f / (2 + f); with h = f^2 / 2 this is f - (h - s (h + R)) */
    f64 f = m - 1.0, s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
    f64 zz = z * z, even = 2.0 / 23.0, odd = 2.0 / 25.0; /* of R / z, as in kh_exp */
    even = even * zz + 2.0 / 19.0;
    odd = odd * zz + 2.0 / 21.0;
    even = even * zz + 2.0 / 15.0;
    odd = odd * zz + 2.0 / 17.0;
    even = even * zz + 2.0 / 11.0;
    odd = odd * zz + 2.0 / 13.0;
    even = even * zz + 2.0 / 7.0;
    odd = odd * zz + 2.0 / 9.0;
    even = even * zz + 2.0 / 3.0;
    odd = odd * zz + 2.0 / 5.0;
    f64 R = z * (even + z * odd);
    f64 k = (f64)e;
    return k * LN2_HIGH - ((h - (s * (h + R) + k * LN2_LOW)) - f);
}

KH_API f64 kh_pow(f64 base, f64 exponent) { return kh_exp(exponent * kh_log(base)); }

KH_API f64 kh_sinh(f64 x)
{
    f64 size = fabs(x), z = x * x, q = 1.0 / 121645100408832000.0;
    if (size > 1.0) {
        f64 root = size < 700.0 ? 1.0 : kh_exp(0.5 * size), whole = size < 700.0 ? kh_exp(size) : root;
        f64 value = 0.5 * whole * root - 0.5 / whole / root;
        return x < 0.0 ? -value : value;
    }
    q = q * z + 1.0 / 355687428096000.0;
    q = q * z + 1.0 / 1307674368000.0;
    q = q * z + 1.0 / 6227020800.0;
    q = q * z + 1.0 / 39916800.0;
    q = q * z + 1.0 / 362880.0;
    q = q * z + 1.0 / 5040.0;
    q = q * z + 1.0 / 120.0;
    q = q * z + 1.0 / 6.0;
    return x + x * z * q;
}

KH_API void kh_turn(f64 turns, f64 *cosine, f64 *sine)
{
    f64 quarter = (4.0 * turns + ROUNDING) - ROUNDING, a = (turns - 0.25 * quarter) * 6.283185307179586;
    f64 z = a * a, s = 1.0 / 355687428096000.0, c = 1.0 / 20922789888000.0;
    s = s * z - 1.0 / 1307674368000.0;
    s = s * z + 1.0 / 6227020800.0;
    s = s * z - 1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    c = c * z - 1.0 / 87178291200.0;
    c = c * z + 1.0 / 479001600.0;
    c = c * z - 1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    c = c * z - 0.5;
    s = a + a * z * s;
    c = 1.0 + z * c;
    switch ((i64)quarter & 3) {
    case 0: *cosine = c, *sine = s; break;
    case 1: *cosine = -s, *sine = c; break;
    case 2: *cosine = -c, *sine = -s; break;
    default: *cosine = s, *sine = -c;
    }
}

/* From the weights of a similar Dantzig program to a basis of this one, by way of the lasso. */
#include "dantzig.h"

/* Coordinate descent for the lasso from w, in place, until no sign changes; r = b - M w is kept. */
bool dz_descend(dz_matrix M, kh_basis *z, f64 *w, i64 rounds)
{
    f64 *r = line_of(z, VALUE + ROWS);
    const f64 *lam = line_of(z, BOUND + ROWS);
    i64 m = coordinates(z), wide = z->line.m;
    memcpy(r, line_of(z, CENTRE), sizeof(f64) * wide);
    for (i64 i = 0; i < m; i++)
        if (w[i] != 0.0) dz_add_scaled(r, -w[i], M.at + i * M.stride, wide);
    for (i64 repeat = 0; repeat < rounds; repeat++) {
        i64 flips = 0;
        for (i64 j = 0; j < m; j++) {
            const f64 *row = M.at + j * M.stride;
            f64 old = w[j], new = 0.0;
            if (!(row[j] > 0.0)) return false;
            f64 x = r[j] + row[j] * old;
            if (fabs(x) > lam[j]) new = (x > 0.0 ? x - lam[j] : x + lam[j]) / row[j];
            if (new == old) continue;
            w[j] = new;
            dz_add_scaled(r, -(new - old), row, wide);
            flips += !(new * old > 0.0);
        }
        if (flips == 0 && repeat > 0) break;
    }
    return true;
}

/* The basis whose rows and columns are the support of w. */
void dz_take_support(kh_basis *z, const f64 *w)
{
    i64 n = 0;
    for (i64 j = 0; j < coordinates(z); j++) {
        if (w[j] == 0.0) continue;
        for (i64 side = 0; side < 2; side++) {
            active_of(z, side)[n] = j, place_of(z, side)[j] = n;
            line_of(z, SIGN + side)[j] = w[j] > 0.0 ? 1.0 : -1.0;
        }
        n++;
    }
    active_of(z, NUMBER)[SIZE] = n;
}

/* Basic values of a basis with equal rows and columns, without its inverse. M[A, A] = L D L^T, the upper
   triangle of D L^T in L, which needs room for two more columns: the right-hand sides, eliminated together
   with the rows. False if it is not positive definite. */
bool dz_equal_sides(dz_matrix M, kh_basis *z, floats L)
{
    i64 n = size_of(z);
    const i64 *index = active_of(z, ROWS);
    f64 *w = basic_of(z, VALUE + COLUMNS), *u = basic_of(z, VALUE + ROWS), top = 0.0;
    f64 *share = basic_of(z, FACTOR), *turned = basic_of(z, LEAD);
    for (i64 i = 0; i < n; i++) {
        i64 j = index[i];
        const f64 *row = M.at + j * M.stride;
        f64 *mine = ROW(L, i), sign = line_of(z, SIGN + ROWS)[j];
        for (i64 e = i; e < n; e++) mine[e] = row[index[e]];
        mine[n] = line_of(z, CENTRE)[j] - sign * line_of(z, BOUND + ROWS)[j], mine[n + 1] = sign;
        top = f_max(top, mine[i]);
        for (i64 k = 0; k < i; k++) share[k] = AT2(L, k, i) * turned[k];
        dz_combine(L.at, L.m, 0, i, share, i, n + 2, mine);
        if (!(mine[i] > 1e-8 * top)) return false;
        turned[i] = -1.0 / mine[i];
    }
    for (i64 k = n - 1; k >= 0; k--) {
        const f64 *lead = ROW(L, k);
        f64 w0 = 0.0, w1 = 0.0, u0 = 0.0, u1 = 0.0;
        i64 i = k + 1;
        for (; i + 2 <= n; i += 2) {
            w0 += lead[i] * w[i], u0 += lead[i] * u[i];
            w1 += lead[i + 1] * w[i + 1], u1 += lead[i + 1] * u[i + 1];
        }
        if (i < n) w0 += lead[i] * w[i], u0 += lead[i] * u[i];
        w[k] = (w0 + w1 - lead[n]) * turned[k], u[k] = (u0 + u1 - lead[n + 1]) * turned[k];
    }
    return true;
}

/* The inverse of L D L^T in place of its factor, in n^3 / 3 multiply-adds; share, x: room for rounded(n). */
void dz_unfold(floats L, i64 n, f64 *share, f64 *x)
{
    memset(x, 0, sizeof(f64) * rounded(n));
    for (i64 k = n - 1; k >= 0; k--) {
        f64 *lead = ROW(L, k), t0 = 1.0 / lead[k], t1 = 0.0;
        i64 i = k + 1;
        for (i64 e = k + 1; e < n; e++) share[e] = -lead[e] * t0, x[e] = 0.0;
        dz_combine(L.at, L.m, k + 1, n, share, k + 1, n, x);
        for (; i + 2 <= n; i += 2) {
            t0 += share[i] * x[i];
            t1 += share[i + 1] * x[i + 1];
        }
        if (i < n) t0 += share[i] * x[i];
        for (i64 e = k + 1; e < n; e++) lead[e] = x[e], AT2(L, e, k) = x[e];
        lead[k] = t0 + t1;
    }
}

/* The inverse of a basis: how it changes when a row and a column come, go or change places. */
#include "dantzig.h"

/* One more row k and column j; x = inv M[E, j], y = M[k, A] inv. */
void dz_border(kh_basis *z, f64 pivot)
{
    i64 n = size_of(z), stride = z->inv.m;
    f64 *inv = z->inv.at, *a = basic_of(z, FACTOR), *last = inv + n * stride;
    const f64 *x = basic_of(z, MOVE + COLUMNS), *y = basic_of(z, MOVE + ROWS);
    for (i64 p = 0; p < n; p++) a[p] = x[p] / pivot, last[p] = -y[p] / pivot;
    dz_rank_one(inv, stride, n, a, y);
    for (i64 p = 0; p < n; p++) inv[p * stride + n] = -a[p];
    last[n] = 1.0 / pivot;
}

/* The row at place o gave way to k; y = M[k, A] inv. */
void dz_replace_row(kh_basis *z, i64 o)
{
    i64 n = size_of(z), stride = z->inv.m;
    f64 *inv = z->inv.at, *a = basic_of(z, FACTOR);
    const f64 *y = basic_of(z, MOVE + ROWS);
    for (i64 p = 0; p < n; p++) a[p] = -inv[p * stride + o] / y[o];
    dz_rank_one(inv, stride, n, a, y);
    for (i64 p = 0; p < n; p++) inv[p * stride + o] = -a[p];
}

static void end_with_zeros(f64 *x, i64 n)
{
    for (i64 i = n; i < rounded(n); i++) x[i] = 0.0;
}

/* The column at place p gave way to j; x = inv M[E, j]. */
void dz_replace_column(kh_basis *z, i64 p)
{
    i64 n = size_of(z), stride = z->inv.m;
    f64 *row = z->inv.at + p * stride, *a = basic_of(z, FACTOR), *lead = basic_of(z, LEAD);
    const f64 *x = basic_of(z, MOVE + COLUMNS);
    for (i64 o = 0; o < n; o++) {
        a[o] = -x[o];
        row[o] = lead[o] = row[o] / x[p];
    }
    a[p] = 0.0;
    end_with_zeros(lead, n);
    dz_rank_one(z->inv.at, stride, n, a, lead);
}

/* Without the column at place p and the row at place o; the last ones move there. */
void dz_unborder(kh_basis *z, i64 p, i64 o)
{
    i64 n = size_of(z), stride = z->inv.m, last = n - 1;
    f64 *inv = z->inv.at, *row = inv + p * stride, *a = basic_of(z, FACTOR), *lead = basic_of(z, LEAD);
    for (i64 i = 0; i < n; i++) a[i] = -inv[i * stride + o] / row[o], lead[i] = row[i];
    a[p] = 0.0;
    end_with_zeros(lead, n);
    dz_rank_one(inv, stride, n, a, lead);
    for (i64 i = 0; i < n; i++)
        if (i != p) inv[i * stride + o] = inv[i * stride + last];
    if (p != last) memcpy(row, inv + last * stride, sizeof(f64) * last);
}

/* B, its column p eliminated with row p, becomes a step of its own inverse. */
KH_WIDE static void eliminate(f64 *B, i64 stride, i64 n, i64 p)
{
    const f64 *restrict lead = B + p * stride;
    for (i64 o = 0; o < n; o++) {
        if (o == p) continue;
        f64 *restrict row = B + o * stride, a = row[p];
        row[p] = 0.0;
        for (i64 e = 0; e < n; e++) row[e] -= a * lead[e];
    }
}

static void swap_rows(f64 *a, f64 *b, i64 n)
{
    for (i64 e = 0; e < n; e++) {
        f64 kept = a[e];
        a[e] = b[e], b[e] = kept;
    }
}

/* inv from M[E, A] afresh by Gauss-Jordan with row pivoting; false if singular. */
bool dz_invert(dz_matrix M, kh_basis *z)
{
    i64 n = size_of(z), stride = z->spare.m, *order = active_of(z, ORDER);
    const i64 *E = active_of(z, ROWS), *A = active_of(z, COLUMNS);
    f64 *B = z->spare.at, top = 0.0;
    for (i64 o = 0; o < n; o++) {
        const f64 *row = M.at + E[o] * M.stride;
        order[o] = o;
        for (i64 p = 0; p < n; p++) {
            B[o * stride + p] = row[A[p]];
            top = f_max(top, fabs(row[A[p]]));
        }
    }
    for (i64 p = 0; p < n; p++) {
        f64 *lead = B + p * stride;
        i64 best = p;
        for (i64 o = p + 1; o < n; o++)
            if (fabs(B[o * stride + p]) > fabs(B[best * stride + p])) best = o;
        if (!(fabs(B[best * stride + p]) > 1e-13 * top)) return false;
        if (best != p) swap_rows(lead, B + best * stride, n);
        i64 kept = order[p];
        order[p] = order[best], order[best] = kept;
        f64 scale = 1.0 / lead[p];
        lead[p] = 1.0;
        for (i64 e = 0; e < n; e++) lead[e] *= scale;
        eliminate(B, stride, n, p);
    }
    for (i64 p = 0; p < n; p++)
        for (i64 o = 0; o < n; o++) z->inv.at[p * z->inv.m + order[o]] = B[p * stride + o];
    return true;
}

/* The working set of the Dantzig program: which coordinates the homotopy looks at. */
#include "dantzig.h"

/* out += factor sum_i weight_i G[index_i]. */
void dz_add_G(const dz_program *p, const i64 *index, const f64 *weight, i64 n, f64 factor, f64 *out)
{
    if (p->single)
        dz_add_rows_single(p->single, p->d, p->d, index, weight, n, factor, out);
    else
        dz_add_rows(p->G, p->d, p->d, index, weight, n, factor, out);
}

/* r = b - G w and q = G u on all coordinates, at s. */
void dz_products(const dz_program *p, const i64 *W, const kh_basis *z, f64 s, dz_lines lines,
                 dz_scratch scratch)
{
    i64 n = size_of(z), *index = scratch.index, alone = 0;
    const i64 *A = active_of(z, COLUMNS), *E = active_of(z, ROWS);
    const i64 *place_row = place_of(z, ROWS), *place_column = place_of(z, COLUMNS);
    const f64 *w0 = basic_of(z, VALUE + COLUMNS), *w1 = basic_of(z, RATE + COLUMNS);
    const f64 *u0 = basic_of(z, VALUE + ROWS), *u1 = basic_of(z, RATE + ROWS);
    f64 *t = scratch.t, *v = scratch.v;
    memcpy(lines.r, p->b, sizeof(f64) * p->d);
    memset(lines.q, 0, sizeof(f64) * p->d);
    for (i64 i = 0; i < n; i++) { /* most rows of the basis are columns of it too: both sums in one pass */
        i64 o = place_row[A[i]];
        index[i] = W[A[i]], t[i] = w0[i] + s * w1[i], v[i] = 0.0;
        if (o >= 0) v[i] = u0[o] + s * u1[o];
    }
    if (p->single)
        dz_add_both_single(p->single, p->d, index, t, v, n, lines.r, lines.q);
    else
        dz_add_both(p->G, p->d, index, t, v, n, lines.r, lines.q);
    for (i64 o = 0; o < n; o++)
        if (place_column[E[o]] < 0) index[alone] = W[E[o]], t[alone++] = u0[o] + s * u1[o];
    dz_add_G(p, index, t, alone, 1.0, lines.q);
}

/* Whether |r| <= lam, up to rounding. */
bool dz_feasible(const dz_program *p, const f64 *r)
{
    f64 slack = FEASIBLE * p->size;
    bool good = true;
    for (i64 j = 0; j < p->d; j++) good &= fabs(r[j]) <= p->lam[j] + slack;
    return good;
}

/* Whether |r| <= lam and |q| <= 1, up to rounding. */
bool dz_holds(const dz_program *p, dz_lines lines)
{
    bool good = dz_feasible(p, lines.r);
    for (i64 j = 0; j < p->d; j++) good &= fabs(lines.q[j]) <= 1.0 + FEASIBLE;
    return good;
}

/* How much of its bound each coordinate uses, by row or by column: above 1 it is violated. Bounds are
   lam and 1, widened by a multiple of themselves. */
KH_WIDE void dz_loads(const dz_program *p, dz_lines lines, f64 wider_r, f64 wider_q, f64 *restrict load)
{
    f64 slack = FEASIBLE * p->size, least = LEAST_BOUND * p->size;
    const f64 *restrict lam = p->lam, *restrict r = lines.r, *restrict q = lines.q;
    for (i64 j = 0, d = p->d; j < d; j++) {
        f64 bound = lam[j] + wider_r * (lam[j] > least ? lam[j] : least) + slack;
        f64 row = fabs(r[j]) / bound, column = fabs(q[j]) / (1.0 + FEASIBLE + wider_q);
        load[j] = row > column ? row : column;
    }
}

static i64 bin_of(f64 x) { return x >= 64.0 ? 64 : x > 0.0 ? (i64)x : 0; }

/* If anything outside the working set is violated: the worst of all, up to `quota`. Lines that come close
   to their bound, within the factor `near`, are taken too where there is room: they will be next.
   eager: even if none is violated. `load` is used up. */
i64 dz_newcomers(f64 *load, const bool *member, i64 d, i64 quota, f64 near, bool eager, i64 *found)
{
    i64 violations = 0, count = 0, kept = 0, above = 0, bins[65] = {0}, bar = 64;
    f64 worst = 0.0;
    for (i64 j = 0; j < d; j++) {
        f64 share = load[j];
        if (!(share > near) || member[j]) continue;
        violations += share > 1.0;
        worst = f_max(worst, share);
        found[count] = j, load[count++] = share;
    }
    if (violations == 0 && !eager) return 0;
    if (count <= quota) return count;
    /* A histogram of the logarithms is enough: about the worst `quota` will do. */
    f64 scale = 64.0 / kh_log(worst / near);
    for (i64 i = 0; i < count; i++) {
        load[i] = scale * kh_log(load[i] / near);
        bins[bin_of(load[i])]++;
    }
    for (; above + bins[bar] <= quota; bar--) above += bins[bar];
    bar += above > 0;
    for (i64 i = 0; i < count && kept < quota; i++)
        if (bin_of(load[i]) >= bar) found[kept++] = found[i];
    return kept;
}

/* Columns outside W that stop a dual ray nothing in W stops. */
i64 dz_stopping(const dz_program *p, const i64 *W, const bool *member, const kh_basis *z, i64 quota,
                dz_scratch scratch)
{
    i64 n = size_of(z), *index = scratch.index;
    const i64 *E = active_of(z, ROWS), *number = active_of(z, NUMBER);
    f64 *load = scratch.load, *y = scratch.t, big = 0.0;
    for (i64 o = 0; o < n; o++) {
        index[o] = W[E[o]], y[o] = basic_of(z, MOVE + ROWS)[o];
        big = f_max(big, fabs(y[o]));
    }
    if (number[STUCK] >= 0) {
        index[n] = W[number[STUCK]], y[n++] = (f64)number[STUCK_SIGN];
        big = f_max(big, 1.0);
    }
    memset(load, 0, sizeof(f64) * p->d);
    dz_add_G(p, index, y, n, 1.0, load);
    f64 small = PIVOT * big * basic_of(z, GAUGE)[LARGEST];
    for (i64 j = 0; j < p->d; j++) { /* as a violated column: the largest ones are taken */
        f64 moved = fabs(load[j]);
        load[j] = moved > small ? (1.0 + moved / small) / (1.0 + FEASIBLE) : 0.0;
    }
    return dz_newcomers(load, member, p->d, quota, 1.0, false, scratch.found);
}

/* Append to the working set; its new size. */
i64 dz_join(i64 *W, i64 m, bool *member, const i64 *new, i64 count)
{
    for (i64 i = 0; i < count; i++)
        if (!member[new[i]]) member[new[i]] = true, W[m++] = new[i];
    return m;
}

static void gather_row(const dz_program *p, const i64 *W, i64 i, f64 *mine)
{
    if (p->single)
        for (i64 j = 0; j <= i; j++) mine[j] = p->single[W[i] * p->d + W[j]];
    else
        for (i64 j = 0; j <= i; j++) mine[j] = p->G[W[i] * p->d + W[j]];
}

/* G[W, W] in the upper left corner of M; the first `old` are there. Zeros behind it, up to a round number. */
void dz_gather(const dz_program *p, const i64 *W, i64 old, i64 m, floats M)
{
    for (i64 i = old; i < m; i++) gather_row(p, W, i, ROW(M, i));
    for (i64 i = 0; i < m; i++) {
        f64 *mine = ROW(M, i);
        for (i64 j = i_max(old, i + 1); j < m; j++) mine[j] = AT2(M, j, i);
        for (i64 j = m; j < rounded(m); j++) mine[j] = 0.0;
    }
}

/* Centres and bounds of all members of W but the first `old`; W NULL: of all coordinates in their order. */
void dz_fill(kh_basis *z, const dz_program *p, const i64 *W, i64 old)
{
    for (i64 i = old; i < coordinates(z); i++) {
        i64 j = W ? W[i] : i;
        line_of(z, CENTRE)[i] = p->b[j], line_of(z, BOUND + ROWS)[i] = p->lam[j];
    }
}

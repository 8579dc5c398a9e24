/* The table that a repair makes its pivots in: it is never written down, a pivot asks for one column and one
   row, which come from the inverse and from the outer products so far. */
#include "dantzig_table.h"

/* Row i of the table is a weight of this sign, or a row of the problem between its bounds. */
void dz_follows(const kh_table *t, i64 i, f64 value, bool weight, f64 sign, f64 lam, dz_rounding rounding)
{
    edge_of(t, PRIMAL)[i] = value, edge_of(t, TINY)[i] = weight ? rounding.weight : rounding.row;
    edge_of(t, LOW)[i] = !weight ? -lam : sign > 0.0 ? 0.0 : -INFINITY;
    edge_of(t, HIGH)[i] = !weight ? lam : sign > 0.0 ? INFINITY : 0.0;
}

/* Column c of the table is a weight at 0, or a row of the problem at its bound of this sign. */
void dz_is_set(const kh_table *t, i64 c, f64 dual, bool weight, f64 sign, dz_rounding rounding)
{
    edge_of(t, DUAL)[c] = dual, edge_of(t, SLIGHT)[c] = weight ? FEASIBLE : rounding.multiplier;
    edge_of(t, LEAST)[c] = weight ? -1.0 : sign > 0.0 ? 0.0 : -INFINITY;
    edge_of(t, MOST)[c] = weight ? 1.0 : sign > 0.0 ? INFINITY : 0.0;
}

static void *zeros(kh_room *from, i64 bytes) { return memset(kh_take(from, bytes), 0, bytes); }

i64 dz_table_bytes(i64 n, i64 m, i64 pivots)
{
    i64 k = m - n, wide = rounded(m);
    return 8 * (n * rounded(k) + k + EDGES * wide + 4 * m + 2 * pivots * (wide + 1)) + 7 * (64 + KH_GAP);
}

/* The table of a basis with equal rows and columns; its lines are given. */
kh_table dz_tabulate(const i64 *W, dz_matrix M, const kh_basis *z, dz_lines lines, dz_rounding rounding,
                     i64 pivots, kh_room *room)
{
    i64 m = coordinates(z), n = size_of(z), wide = rounded(m), k = m - n, place = 0;
    const i64 *S = active_of(z, ROWS);
    kh_table t = {
        .A = {zeros(room, 8 * n * rounded(k)), n, rounded(k), 1},
        .N = {TAKE(room, i64, k), k, 1, 1},
        .edge = {zeros(room, 8 * EDGES * wide), EDGES, wide, 1},
        .who = {TAKE(room, i64, 2 * m), 2, m, 1},
        .since = {zeros(room, 8 * 2 * m), 2, m, 1},
        .products = {TAKE(room, f64, 2 * pivots * wide), 2, pivots, wide},
        .where = {TAKE(room, i64, 2 * pivots), 2, pivots, 1},
    };
    f64 *length = edge_of(&t, LENGTH), *square = edge_of(&t, SHARE);
    i64 *down = ROW(t.who, DOWN), *across = ROW(t.who, ACROSS);
    for (i64 c = 0; c < wide; c++) length[c] = 1.0;
    for (i64 j = 0; j < m; j++) {
        if (place_of(z, ROWS)[j] >= 0) continue;
        i64 a = place++;
        t.N.at[a] = j, down[n + a] = m + j, across[a] = j;
        dz_follows(&t, n + a, lines.r[W[j]], false, 1.0, line_of(z, BOUND + ROWS)[j], rounding);
        dz_is_set(&t, a, lines.q[W[j]], true, 1.0, rounding);
    }
    for (i64 e = 0; e < n; e++) {
        i64 j = S[e];
        const f64 *row = M.at + j * M.stride, *inv = ROW(z->inv, e);
        f64 *restrict mine = ROW(t.A, e), sign = line_of(z, SIGN + ROWS)[j];
        down[e] = j, across[k + e] = m + j;
        dz_follows(&t, e, basic_of(z, VALUE + COLUMNS)[e], true, sign, 0.0, rounding);
        dz_is_set(&t, k + e, basic_of(z, VALUE + ROWS)[e], false, sign, rounding);
        for (i64 a = 0; a < k; a++) mine[a] = row[t.N.at[a]];
        for (i64 a = 0; a < t.A.m; a++) length[a] += mine[a] * mine[a]; /* about that of X */
        for (i64 o = 0; o < n; o++) square[o] += inv[o] * inv[o];
    }
    for (i64 e = 0; e < n; e++) length[k + e] += square[e];
    return t;
}

/* The line as it was before any pivot. */
static void first_line(dz_matrix M, const kh_basis *z, const kh_table *t, i64 way, i64 at, f64 *out)
{
    i64 n = size_of(z), k = t->N.n, wide = t->edge.m;
    const i64 *S = active_of(z, ROWS), *N = t->N.at;
    f64 *first = edge_of(t, INSIDE), *second = edge_of(t, OUTSIDE), *v = edge_of(t, SHARE);
    bool inside = way == DOWN ? at >= k : at < n;
    const f64 *g = first;
    memset(first, 0, sizeof(f64) * wide);
    memset(second, 0, sizeof(f64) * wide);
    if (inside) {
        g = ROW(z->inv, way == DOWN ? at - k : at);
        dz_combine(t->A.at, t->A.m, 0, n, g, 0, k, second);
    } else {
        const f64 *row = M.at + N[way == DOWN ? at : at - n] * M.stride;
        for (i64 e = 0; e < n; e++) v[e] = row[S[e]];
        dz_combine(z->inv.at, z->inv.m, 0, n, v, 0, n, first);
        for (i64 e = 0; e < n; e++) v[e] = -first[e];
        dz_combine(t->A.at, t->A.m, 0, n, v, 0, k, second);
        for (i64 a = 0; a < k; a++) second[a] += row[N[a]];
    }
    f64 one = way == DOWN || inside ? -1.0 : 1.0, two = way == ACROSS || !inside ? -1.0 : 1.0;
    i64 i = way == DOWN ? 0 : k, j = way == DOWN ? n : 0;
    for (i64 e = 0; e < n; e++) out[i + e] = one * g[e];
    for (i64 a = 0; a < k; a++) out[j + a] = two * second[a];
}

/* Column (way DOWN) or row (way ACROSS) `at` of the table after `made` pivots. */
void dz_line_of(dz_matrix M, const kh_basis *z, const kh_table *t, i64 way, i64 at, i64 made, f64 *out)
{
    i64 since = AT2(t->since, 1 - way, at), wide = t->edge.m;
    memset(out, 0, sizeof(f64) * wide);
    if (since == 0) first_line(M, z, t, way, at, out);
    for (i64 step = i_max(since - 1, 0); step < made; step++) {
        out[AT2(t->where, way, step)] = 0.0;
        dz_add_scaled(out, product_of(t, 1 - way, step)[at], product_of(t, way, step), wide);
    }
}

/* Row p and column c of the table change places; kappa: step of the dual values by row p. The column and
   the row are where the two factors of the outer product will be. */
void dz_swap(const kh_table *t, i64 made, i64 p, i64 c, f64 kappa)
{
    f64 *restrict ray = product_of(t, DOWN, made), *restrict mine = product_of(t, ACROSS, made);
    f64 *restrict dual = edge_of(t, DUAL), *restrict length = edge_of(t, LENGTH);
    f64 pivot = ray[p], longest = length[c];
    for (i64 o = 0, wide = t->edge.m; o < wide; o++) {
        dual[o] -= kappa * mine[o];
        mine[o] /= pivot;
        f64 square = mine[o] * mine[o] * longest;
        length[o] = length[o] > square ? length[o] : square;
        ray[o] = -ray[o];
    }
    length[c] = f_max(longest / (pivot * pivot), 1.0);
    ray[p] = -1.0, mine[c] = -1.0 / pivot;
    AT2(t->where, DOWN, made) = p, AT2(t->where, ACROSS, made) = c;
    AT2(t->since, DOWN, p) = AT2(t->since, ACROSS, c) = made + 1;
}

/* The basis of the table with its basic values; rows, columns: where it is in the table. */
void dz_take_basis(kh_basis *z, const kh_table *t, i64 *rows, i64 *columns)
{
    i64 n = size_of(z), m = coordinates(z), a = 0, e = 0;
    i64 *A = active_of(z, COLUMNS), *E = active_of(z, ROWS);
    for (i64 i = 0; i < n; i++) place_of(z, ROWS)[E[i]] = -1, place_of(z, COLUMNS)[A[i]] = -1;
    for (i64 i = 0; i < m; i++) {
        i64 j = AT2(t->who, DOWN, i);
        if (j < m) {
            rows[a] = i, A[a] = j, place_of(z, COLUMNS)[j] = a;
            basic_of(z, VALUE + COLUMNS)[a++] = edge_of(t, PRIMAL)[i];
            line_of(z, SIGN + COLUMNS)[j] = edge_of(t, LOW)[i] == 0.0 ? 1.0 : -1.0;
        }
        j = AT2(t->who, ACROSS, i) - m;
        if (j >= 0) {
            columns[e] = i, E[e] = j, place_of(z, ROWS)[j] = e;
            basic_of(z, VALUE + ROWS)[e++] = edge_of(t, DUAL)[i];
            line_of(z, SIGN + ROWS)[j] = edge_of(t, LEAST)[i] == 0.0 ? 1.0 : -1.0;
        }
    }
    active_of(z, NUMBER)[SIZE] = a;
}

/* The inverse of the table's basis in place of that of S, in n^2 multiply-adds per pivot. */
void dz_take_inverse(kh_basis *z, const kh_table *t, i64 made, const i64 *rows, const i64 *columns)
{
    i64 n = size_of(z), old = t->A.n, k = t->N.n, stride = z->spare.m;
    f64 *inv = z->spare.at, *x = basic_of(z, FACTOR), *y = basic_of(z, LEAD);
    memset(y, 0, sizeof(f64) * rounded(n));
    for (i64 p = 0; p < n; p++) {
        f64 *mine = inv + p * stride;
        memset(mine, 0, sizeof(f64) * rounded(n));
        if (rows[p] >= old) continue;
        const f64 *row = ROW(z->inv, rows[p]);
        for (i64 o = 0; o < n; o++) mine[o] = columns[o] >= k ? -row[columns[o] - k] : 0.0;
    }
    for (i64 step = 0; step < made; step++) {
        for (i64 p = 0; p < n; p++) {
            x[p] = product_of(t, DOWN, step)[rows[p]];
            y[p] = product_of(t, ACROSS, step)[columns[p]];
            if (rows[p] == AT2(t->where, DOWN, step))
                for (i64 o = 0; o < n; o++) inv[p * stride + o] = 0.0;
            if (columns[p] == AT2(t->where, ACROSS, step))
                for (i64 o = 0; o < n; o++) inv[o * stride + p] = 0.0;
        }
        dz_rank_one(inv, stride, n, x, y);
    }
    for (i64 p = 0; p < n; p++)
        for (i64 o = 0; o < n; o++) z->inv.at[p * z->inv.m + o] = -inv[p * stride + o];
}

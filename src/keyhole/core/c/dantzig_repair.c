/* From the basis of the lasso to that of the Dantzig program: the primal simplex method. */
#include "dantzig_table.h"

KH_LAYOUT(kh_table, KH_TABLE)

/* How badly each dual value violates its bounds, by the ray's length; without branches: this vectorises. */
KH_WIDE static void score(const kh_table *t)
{
    const f64 *restrict dual = edge_of(t, DUAL), *restrict least = edge_of(t, LEAST);
    const f64 *restrict most = edge_of(t, MOST), *restrict slight = edge_of(t, SLIGHT);
    const f64 *restrict length = edge_of(t, LENGTH);
    f64 *restrict out = edge_of(t, SPEED);
    for (i64 c = 0, wide = t->edge.m; c < wide; c++) {
        f64 under = least[c] - dual[c], above = dual[c] - most[c], over = under > above ? under : above;
        out[c] = over > slight[c] ? over * over / length[c] : 0.0;
    }
}

/* The column of the table whose dual value violates its bounds most; -1: none. */
i64 dz_steepest(const kh_table *t, i64 m)
{
    const f64 *scores = edge_of(t, SPEED);
    f64 best = 0.0;
    i64 found = -1;
    score(t);
    for (i64 c = 0; c < m; c++)
        if (scores[c] > best) best = scores[c], found = c;
    return found;
}

KH_WIDE static void find_gaps(const kh_table *t, i64 m, const f64 *restrict ray, f64 way, f64 small)
{
    const f64 *restrict value = edge_of(t, PRIMAL), *restrict low = edge_of(t, LOW);
    const f64 *restrict high = edge_of(t, HIGH), *restrict tiny = edge_of(t, TINY);
    f64 *restrict room = edge_of(t, GAP), *restrict pace = edge_of(t, SPEED),
                  *restrict soon = edge_of(t, SOONEST);
    for (i64 i = 0; i < m; i++) { /* little in each loop: so all of them vectorise */
        f64 gap = way * ray[i] > 0.0 ? high[i] - value[i] : value[i] - low[i];
        room[i] = gap > 0.0 ? gap : 0.0;
    }
    for (i64 i = 0; i < m; i++) pace[i] = fabs(ray[i]) > small ? fabs(ray[i]) : 0.0;
    for (i64 i = 0; i < m; i++) soon[i] = pace[i] / (room[i] + tiny[i]);
}

/* The row of the table that stops a ray, and after how long; -1: none before `end`. Two passes: how far the
   ray may go with a hair of tolerance, then the largest pivot within that. */
i64 dz_nearest(const kh_table *t, i64 m, const f64 *ray, f64 way, f64 end, f64 *step)
{
    f64 *room = edge_of(t, GAP), *pace = edge_of(t, SPEED), best = 0.0;
    i64 found = -1;
    find_gaps(t, m, ray, way, PIVOT * dz_largest(ray, m));
    f64 top = dz_largest(edge_of(t, SOONEST), m);
    *step = end;
    if (top == 0.0 || top * end <= 1.0) return -1;
    for (i64 i = 0; i < m; i++)
        if (room[i] * top <= pace[i] && pace[i] > best) found = i, best = pace[i];
    *step = found >= 0 ? room[found] / best : INFINITY;
    return found;
}

/* Until no column and no multiplier is wrong, by steepest edges; whether it came to that, and how many pivots
   and flips of rows to the other bound it took. */
static bool make_pivots(dz_matrix M, const kh_basis *z, const kh_table *t, dz_rounding rounding, i64 pivots,
                        i64 *made, i64 *flips)
{
    i64 m = coordinates(z), wide = t->edge.m;
    f64 *dual = edge_of(t, DUAL), *least = edge_of(t, LEAST), *most = edge_of(t, MOST);
    for (*made = *flips = 0; *made < pivots && *flips < pivots;) {
        i64 c = dz_steepest(t, m);
        if (c < 0) return true;
        f64 way = dual[c] > most[c] ? 1.0 : -1.0, step;
        i64 enters = AT2(t->who, ACROSS, c);
        f64 *ray = product_of(t, DOWN, *made), lam = line_of(z, BOUND + ROWS)[enters % m];
        dz_line_of(M, z, t, DOWN, c, *made, ray);
        i64 p = dz_nearest(t, m, ray, way, enters < m ? INFINITY : 2.0 * lam, &step);
        if (step == INFINITY) break;
        if (p >= 0) {
            f64 *mine = product_of(t, ACROSS, *made);
            dz_line_of(M, z, t, ACROSS, p, *made, mine);
            if (!(fabs(mine[c] - ray[p]) <= 1e-6 * fabs(ray[p]))) break;
        }
        dz_add_scaled(edge_of(t, PRIMAL), way * step, ray, wide);
        if (p < 0) { /* the row has come to its other bound */
            f64 low = -most[c];
            most[c] = -least[c], least[c] = low;
            ++*flips;
            continue;
        }
        i64 leaves = AT2(t->who, DOWN, p);
        f64 pivot = ray[p], slope = way * pivot > 0.0 ? 1.0 : -1.0;
        f64 kappa = (dual[c] - (enters < m ? way : 0.0)) / pivot;
        dz_swap(t, *made, p, c, kappa);
        dz_follows(t, p, (enters < m ? 0.0 : -way * lam) + way * step, enters < m, way, lam, rounding);
        dz_is_set(t, c, kappa - (leaves < m ? slope : 0.0), leaves < m, slope, rounding);
        AT2(t->who, DOWN, p) = enters, AT2(t->who, ACROSS, c) = leaves;
        ++*made;
    }
    return false;
}

/* Whether the weights have their signs and all rows of the working set hold. */
bool dz_fits(const kh_basis *z, const i64 *W, const f64 *r, f64 size)
{
    f64 slack = FEASIBLE * size;
    bool good = true;
    for (i64 i = 0; i < size_of(z); i++)
        good &= line_of(z, SIGN + COLUMNS)[active_of(z, COLUMNS)[i]] * basic_of(z, VALUE + COLUMNS)[i] >= 0.0;
    for (i64 j = 0; j < coordinates(z); j++) good &= fabs(r[W[j]]) <= line_of(z, BOUND + ROWS)[j] + slack;
    return good;
}

/* Whether r = b - G w and q = G u are at their bounds where the basis says so. */
bool dz_tight(const kh_basis *z, const i64 *W, dz_lines lines, f64 size)
{
    f64 wrong = 0.0;
    for (i64 i = 0; i < size_of(z); i++) {
        i64 j = active_of(z, ROWS)[i], k = active_of(z, COLUMNS)[i];
        f64 bound = line_of(z, SIGN + ROWS)[j] * line_of(z, BOUND + ROWS)[j];
        wrong = f_max(wrong, fabs(lines.r[W[j]] - bound) / size);
        wrong = f_max(wrong, fabs(lines.q[W[k]] - line_of(z, SIGN + COLUMNS)[k]));
    }
    return wrong <= ACCURATE;
}

/* Room that a repair takes for a while. */
i64 dz_repair_bytes(i64 n, i64 m, i64 pivots)
{
    return dz_table_bytes(n, m, pivots) + 16 * m + 2 * (64 + KH_GAP);
}

/* Pivots from the lasso's basis, inverse at hand, r = b - G w and q = G u up to date; how many. looked:
   whether r and q are those of the new basis, accurately; solved: whether that is the answer. If it is not,
   the basis comes with its inverse: the homotopy can start from any basis. */
i64 dz_repair(const dz_program *p, const i64 *W, dz_matrix M, kh_basis *z, dz_lines lines, dz_scratch scratch,
              i64 pivots, kh_room *room, bool *looked, bool *solved)
{
    i64 n = size_of(z), m = coordinates(z), mark = room->used, made, flips;
    *looked = true, *solved = false;
    if (!dz_fits(z, W, lines.r, p->size)) return 0;
    f64 top_w = dz_largest(basic_of(z, VALUE + COLUMNS), n), top_u = dz_largest(basic_of(z, VALUE + ROWS), n);
    dz_rounding rounding = {FEASIBLE * p->size, FEASIBLE * top_w, FEASIBLE * top_u};
    kh_table t = dz_tabulate(W, M, z, lines, rounding, pivots, room);
    bool done = make_pivots(M, z, &t, rounding, pivots, &made, &flips);
    i64 *rows = TAKE(room, i64, m), *columns = TAKE(room, i64, m);
    dz_take_basis(z, &t, rows, columns);
    *looked = false;
    if (done) {
        dz_products(p, W, z, 0.0, lines, scratch);
        *looked = dz_tight(z, W, lines, p->size);
        *solved = *looked && dz_holds(p, lines);
    }
    if (!*solved) dz_take_inverse(z, &t, made, rows, columns);
    room->used = mark;
    return made + flips;
}

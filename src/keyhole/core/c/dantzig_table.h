/* The Dantzig program seen from a basis with equal rows and columns S: a table of derivatives of what
   follows (its rows: S, then N) by what is set (its columns: N, then S); see blocks/dantzig/homotopy.py. */
#ifndef KH_DANTZIG_TABLE_H
#define KH_DANTZIG_TABLE_H
#include "dantzig.h"

/* Rows of edge. For what follows: its value, its bounds, what of it is rounding. For what is set: the same
   of the dual value that belongs to it, and about the square of its ray's length; the rest is scratch. */
enum { PRIMAL, LOW, HIGH, TINY, DUAL, LEAST, MOST, SLIGHT, LENGTH };
enum { GAP = 9, SPEED, SOONEST, INSIDE, OUTSIDE, SHARE, EDGES };
enum { DOWN, ACROSS }; /* the two ways through the table, also rows of who, since, products, where */

#define KH_TABLE(F) \
    F(floats, A) F(ints, N) F(floats, edge) F(ints, who) F(ints, since) F(floats, products) F(ints, where)
KH_STRUCT(kh_table, KH_TABLE)

static inline f64 *edge_of(const kh_table *t, i64 i) { return ROW(t->edge, i); }
static inline f64 *product_of(const kh_table *t, i64 way, i64 step)
{
    return &AT3(t->products, way, step, 0);
}

void dz_follows(const kh_table *t, i64 i, f64 value, bool weight, f64 sign, f64 lam, dz_rounding rounding);
void dz_is_set(const kh_table *t, i64 c, f64 dual, bool weight, f64 sign, dz_rounding rounding);
i64 dz_table_bytes(i64 n, i64 m, i64 pivots);
kh_table dz_tabulate(const i64 *W, dz_matrix M, const kh_basis *z, dz_lines lines, dz_rounding rounding,
                     i64 pivots, kh_room *room);
void dz_line_of(dz_matrix M, const kh_basis *z, const kh_table *t, i64 way, i64 at, i64 made, f64 *out);
void dz_swap(const kh_table *t, i64 made, i64 p, i64 c, f64 kappa);
void dz_take_basis(kh_basis *z, const kh_table *t, i64 *rows, i64 *columns);
void dz_take_inverse(kh_basis *z, const kh_table *t, i64 made, const i64 *rows, const i64 *columns);
i64 dz_steepest(const kh_table *t, i64 m);
i64 dz_nearest(const kh_table *t, i64 m, const f64 *ray, f64 way, f64 end, f64 *step);

#endif

/* Loops over rows of numbers that are worth wide registers. */
#ifndef KH_LANES_H
#define KH_LANES_H
#include "kh.h"

/* row -= (rows[q, v] / divisor) rows[q], for q = 0, 1, ..., many - 1 in this order. */
void kh_project_out(f64 *row, const f64 *rows, i64 many, i64 n, i64 v, f64 divisor);
/* out += x[place[q]] rows[q], for q = 0, 1, ..., n - 1 in this order; a row is n of `width` numbers. */
void kh_add_up(f64 *out, const f64 *rows, i64 n, i64 width, floats *x, const i64 *place);
/* row += own there more, in this order of multiplying. */
void kh_add_outer(f64 *row, f64 own, const f64 *there, f64 more, i64 n);

#endif

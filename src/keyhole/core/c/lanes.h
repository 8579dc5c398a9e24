/* Loops over rows of numbers that are worth wide registers. */
#ifndef KH_LANES_H
#define KH_LANES_H
#include "kh.h"

/* A function compiled twice, the one for wider registers used where the processor has them: the same
   bits, sooner. Other compilers and systems have the one. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(KH_DEBUG)
#define KH_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define KH_WIDE
#endif

/* row -= (rows[q, v] / divisor) rows[q], for q = 0, 1, ..., many - 1 in this order. */
void kh_project_out(f64 *row, const f64 *rows, i64 many, i64 n, i64 v, f64 divisor);
/* out += x[place[q]] rows[q], for q = 0, 1, ..., n - 1 in this order; a row is n of `width` numbers. */
void kh_add_up(f64 *out, const f64 *rows, i64 n, i64 width, floats *x, const i64 *place);
/* row += own there more, in this order of multiplying. */
void kh_add_outer(f64 *row, f64 own, const f64 *there, f64 more, i64 n);

#endif

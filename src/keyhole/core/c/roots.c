/* The inverse of the Cholesky root of a matrix of sums, with a ridge. */
#include "fit.h"

#define TINY 1e-12 /* of a diagonal of 1: what a pivot is at least, should rounding make it less */

KH_API bool kh_inverse_root(floats *A, floats *ridge, floats *b, floats *root, floats *along, kh_room *room)
{
    i64 mark = room->used, v = b->n;
    f64 *L = TAKE(room, f64, v * v), *unit = TAKE(room, f64, v), *restrict out = along->at, total = 0.0;
    KH_CHECK(A->n >= v && A->m >= v && ridge->n >= v && root->n >= v && root->m >= v && along->n >= v);
    for (i64 i = 0; i < v; i++) unit[i] = 1.0 / sqrt(AT2(*A, i, i) + ridge->at[i]); /* a diagonal of 1 */
    for (i64 i = 0; i < v; i++) {
        const f64 *sums = ROW(*A, i);
        f64 *row = ROW(*root, i);
        for (i64 j = 0; j < i; j++) L[j * v + i] = sums[j] * unit[i] * unit[j];
        L[i * v + i] = 1.0;
        out[i] = b->at[i] * unit[i];
        for (i64 j = 0; j < v; j++) row[j] = 0.0;
        row[i] = unit[i];
    }
    /* One pivot after the other, on L' (rows are columns of L), b and the columns of 1. */
    for (i64 k = 0; k < v; k++) {
        f64 *restrict lead = L + k * v, scale = 1.0 / sqrt(f_max(lead[k], TINY));
        for (i64 j = k; j < v; j++) lead[j] *= scale;
        out[k] *= scale;
        for (i64 j = 0; j <= k; j++) ROW(*root, j)[k] *= scale;
        for (i64 i = k + 1; i < v; i++) {
            f64 factor = lead[i], *restrict row = L + i * v;
            for (i64 j = i; j < v; j++) row[j] -= factor * lead[j];
            out[i] -= factor * out[k];
        }
        for (i64 j = 0; j <= k; j++) {
            f64 *restrict row = ROW(*root, j), factor = row[k];
            for (i64 i = k + 1; i < v; i++) row[i] -= factor * lead[i];
        }
    }
    for (i64 i = 0; i < v; i++) {
        total += out[i];
        for (i64 j = i; j < v; j++) total += ROW(*root, i)[j];
    }
    room->used = mark;
    return isfinite(total);
}

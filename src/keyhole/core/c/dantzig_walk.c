/* The path of the Dantzig program over all thresholds, one breakpoint at a time. */
#include "dantzig.h"

/* w = 0 at lam = size = max|b|, on the path lam = s size; z is new. */
KH_API void kh_start_dantzig_walk(floats *G, floats *b, kh_basis *z, f64 size)
{
    memcpy(line_of(z, CENTRE), b->at, sizeof(f64) * b->n);
    dz_start_path((dz_matrix){G->at, G->m}, z, size, (dz_loosening){1e-9, true});
}

/* To the breakpoint after the next pivot, which the basis has room for: how it ended, s there. refresh:
   remove the drift of the updates. */
KH_API void kh_step_dantzig_walk(floats *G, kh_basis *z, f64 s, f64 size, i64 refresh, i64 *code, f64 *end)
{
    dz_matrix M = {G->at, G->m};
    dz_path path = {s, 0, 1, 0, INT64_MAX};
    *code = dz_follow(M, z, size, &path);
    *end = path.s;
    if (!refresh) return;
    if (dz_recompute(M, z, size, false) > ACCURATE && dz_invert(M, z)) dz_recompute(M, z, size, false);
    dz_recompute(M, z, size, true);
}

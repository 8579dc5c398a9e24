/* Where the path of the homotopy starts, from any basis; and its values recomputed, against drift. */
#include "dantzig.h"

/* A fixed irregular number in [0, 1) for coordinate j. */
f64 dz_jitter(i64 j)
{
    u64 x = (u64)(j + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x ^= x >> 31;
    return (f64)(x >> 11) * 0x1p-53;
}

static void centres(const kh_basis *z, bool wanted, f64 *line)
{
    i64 m = coordinates(z);
    if (wanted)
        memcpy(line, line_of(z, CENTRE), sizeof(f64) * m);
    else
        memset(line, 0, sizeof(f64) * m);
}

/* The basic values of one side are what makes the lines of the other side exactly tight; what stays wrong. */
static f64 recompute_side(dz_matrix M, kh_basis *z, f64 size, bool rate, i64 side)
{
    i64 other = 1 - side, m = coordinates(z), n = size_of(z), value = rate ? RATE : VALUE;
    f64 turn = side == ROWS ? 1.0 : -1.0, unit = side == ROWS ? 1.0 : size, error;
    f64 *line = line_of(z, value + other), *t = basic_of(z, value + side), *v = basic_of(z, SPARE);
    f64 *change = basic_of(z, MOVE + side);
    const f64 *sign = line_of(z, SIGN + other), *bound = line_of(z, (rate ? BOUND_RATE : BOUND) + other);
    const i64 *active = active_of(z, other);
    for (i64 i = 0; i < n; i++) t[i] = 0.0;
    for (i64 repeat = 0;; repeat++) {
        centres(z, other == ROWS && !rate, line);
        if (repeat > 0) dz_add_rows(M.at, M.stride, m, active_of(z, side), t, n, turn, line);
        error = 0.0;
        for (i64 i = 0; i < n; i++) {
            v[i] = turn * (sign[active[i]] * bound[active[i]] - line[active[i]]);
            error = f_max(error, fabs(v[i]) / unit);
        }
        if (repeat == 2 || (repeat == 1 && error < 1e-12) || n == 0) return error;
        dz_basic_solution(z->inv.at, z->inv.m, n, side, v, change);
        for (i64 i = 0; i < n; i++) t[i] += change[i];
    }
}

/* Basic values and lines from the basis alone, refined once if need be; what stays wrong. rate: not
   values at s = 0, but rates, if no centres move (a path that began with w = u = 0). */
f64 dz_recompute(dz_matrix M, kh_basis *z, f64 size, bool rate)
{
    f64 wrong = f_max(0.0, recompute_side(M, z, size, rate, ROWS));
    return f_max(wrong, recompute_side(M, z, size, rate, COLUMNS));
}

/* The lines outside the basis, and their rates, from the basic values and theirs. */
void dz_recompute_lines(dz_matrix M, kh_basis *z)
{
    i64 m = coordinates(z), n = size_of(z);
    f64 *fresh = line_of(z, LEFT);
    for (i64 side = 0; side < 2; side++)
        for (i64 value = VALUE; value <= RATE; value += RATE) {
            i64 other = 1 - side;
            f64 *line = line_of(z, value + other);
            const i64 *place = place_of(z, other);
            centres(z, other == ROWS && value == VALUE, fresh);
            dz_add_rows(M.at, M.stride, m, active_of(z, side), basic_of(z, value + side), n,
                        side == ROWS ? 1.0 : -1.0, fresh);
            for (i64 j = 0; j < m; j++)
                if (place[j] < 0) line[j] = fresh[j];
        }
}

/* Rates that give every basic value of the basis, recomputed, the right sign at s = 1. They move the
   centres of the lines in the basis, which so keep their values, and the other lines. */
static void shift(dz_matrix M, kh_basis *z, f64 spread)
{
    i64 m = coordinates(z), n = size_of(z);
    for (i64 side = 0; side < 2; side++) {
        f64 worst = 0.0, *t1 = basic_of(z, RATE + side), *v1 = line_of(z, RATE + 1 - side);
        const f64 *t0 = basic_of(z, VALUE + side), *sign = line_of(z, SIGN + side);
        const i64 *index = active_of(z, side), *place = place_of(z, 1 - side);
        for (i64 i = 0; i < n; i++) worst = f_max(worst, -sign[index[i]] * t0[i]);
        for (i64 i = 0; i < n; i++) {
            t1[i] = 0.0;
            if (sign[index[i]] * t0[i] < 0.0)
                t1[i] = sign[index[i]] * worst * (1.0 + spread * dz_jitter(index[i])) - t0[i];
        }
        for (i64 j = 0; j < m; j++) v1[j] = 0.0;
        if (!(worst > 0.0)) continue;
        dz_add_rows(M.at, M.stride, m, index, t1, n, side == ROWS ? 1.0 : -1.0, v1);
        for (i64 j = 0; j < m; j++) v1[j] = place[j] < 0 ? v1[j] : 0.0;
    }
}

/* Bounds wide enough at s for the lines outside the basis that have no rate yet. All get the same multiple
   of their bound, whatever the worst one needs: so the worst one comes first, and its pivot heals others. */
void dz_loosen(kh_basis *z, f64 s, f64 size, dz_loosening how)
{
    i64 m = coordinates(z);
    for (i64 side = 0; side < 2; side++) {
        f64 least = side == ROWS ? LEAST_BOUND * size : 1.0, more = basic_of(z, GAUGE)[WIDER + side];
        i64 seed = side == ROWS ? 0 : m;
        const i64 *place = place_of(z, side);
        const f64 *h0 = line_of(z, BOUND + side), *v0 = line_of(z, VALUE + side),
                  *v1 = line_of(z, RATE + side);
        f64 *h1 = line_of(z, BOUND_RATE + side), uneven = how.straight && side == ROWS ? 0.0 : how.spread;
        for (i64 j = 0; j < m; j++) {
            if (place[j] >= 0 || h1[j] != 0.0) continue;
            f64 need = fabs(v0[j] + s * v1[j]) - h0[j];
            more = f_max(more, need / (s * f_max(h0[j], least)));
        }
        for (i64 j = 0; j < m; j++)
            if (place[j] < 0 && h1[j] == 0.0)
                h1[j] = f_max(h0[j], least) * (more + (more + 1.0) * uneven * dz_jitter(j + seed));
        if (s == 1.0) basic_of(z, GAUGE)[WIDER + side] = more;
    }
}

/* Recompute the basis and make it optimal at s = 1; false if it is singular. */
bool dz_start_path(dz_matrix M, kh_basis *z, f64 size, dz_loosening how)
{
    if (dz_recompute(M, z, size, false) > ACCURATE) {
        if (!dz_invert(M, z)) return false;
        dz_recompute(M, z, size, false);
    }
    shift(M, z, how.spread);
    for (i64 side = 0; side < 2; side++) {
        basic_of(z, GAUGE)[WIDER + side] = 0.0;
        memset(line_of(z, BOUND_RATE + side), 0, sizeof(f64) * coordinates(z));
    }
    dz_loosen(z, 1.0, size, how);
    return true;
}

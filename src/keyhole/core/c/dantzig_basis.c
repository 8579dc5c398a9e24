/* A basis of the Dantzig program: tight rows E, active columns A, the inverse of M[E, A], all lines. */
#include "dantzig.h"

KH_LAYOUT(kh_basis, KH_BASIS)

/* What the two parts of a basis take of room, at most; pieces begin at multiples of 64 bytes. */
i64 dz_lines_bytes(i64 m, i64 wide) { return 8 * (LINES * wide + 2 * m) + 2 * (64 + KH_GAP); }
i64 dz_places_bytes(i64 room) { return 8 * (BASICS + ACTIVES + 2 * room) * room + 4 * (64 + KH_GAP); }

static void *zeros(kh_room *from, i64 bytes) { return memset(kh_take(from, bytes), 0, bytes); }

/* Lines of m coordinates: nothing in the basis, all bounds c equal to 1. wide: m, or rounded(m) if the
   matrix has that many columns too. */
void dz_new_lines(kh_basis *z, i64 m, i64 wide, kh_room *from)
{
    z->line = (floats){zeros(from, 8 * LINES * wide), LINES, wide, 1};
    z->place = (ints){TAKE(from, i64, 2 * m), 2, m, 1};
    for (i64 j = 0; j < m; j++)
        z->place.at[j] = z->place.at[m + j] = -1, line_of(z, BOUND + COLUMNS)[j] = 1.0;
}

static void new_places(kh_basis *z, i64 room, kh_room *from)
{
    z->basic = (floats){zeros(from, 8 * BASICS * room), BASICS, room, 1};
    z->active = (ints){zeros(from, 8 * ACTIVES * room), ACTIVES, room, 1};
    z->inv = (floats){zeros(from, 8 * room * room), room, room, 1};
    z->spare = (floats){TAKE(from, f64, room * room), room, room, 1};
}

/* An empty basis of m coordinates, with room for at least 16. */
kh_basis dz_new_basis(i64 m, i64 wide, i64 room, kh_room *from)
{
    kh_basis z;
    dz_new_lines(&z, m, wide, from);
    new_places(&z, rounded(i_max(room, 1)), from);
    return z;
}

/* The same basis with room for more, a multiple of 16. */
void dz_more_room(kh_basis *z, i64 room, kh_room *from)
{
    kh_basis old = *z;
    i64 n = size_of(z), kept = i_max(n, 3);
    new_places(z, room, from);
    for (i64 i = 0; i < ACTIVES; i++) memcpy(active_of(z, i), active_of(&old, i), sizeof(i64) * kept);
    for (i64 i = 0; i < BASICS; i++) memcpy(basic_of(z, i), basic_of(&old, i), sizeof(f64) * kept);
    for (i64 p = 0; p < n; p++) memcpy(ROW(z->inv, p), ROW(old.inv, p), sizeof(f64) * n);
}

/* Back to the empty basis. */
void dz_forget(kh_basis *z)
{
    active_of(z, NUMBER)[SIZE] = 0;
    for (i64 j = 0; j < 2 * coordinates(z); j++) z->place.at[j] = -1;
}

/* How many weights or multipliers of the basis, recomputed, have the wrong sign. */
i64 dz_wrong_signs(const kh_basis *z)
{
    i64 wrong = 0;
    for (i64 side = 0; side < 2; side++) {
        const f64 *sign = line_of(z, SIGN + side), *value = basic_of(z, VALUE + side);
        const i64 *index = active_of(z, side);
        for (i64 i = 0; i < size_of(z); i++) wrong += sign[index[i]] * value[i] < 0.0;
    }
    return wrong;
}

/* out = v inv (side ROWS) or inv v (side COLUMNS), and anything after that. */
void dz_basic_solution(const f64 *inv, i64 stride, i64 n, i64 side, const f64 *v, f64 *out)
{
    if (side == COLUMNS) {
        dz_multiply(inv, stride, n, v, out);
        return;
    }
    for (i64 o = 0; o < n; o++) out[o] = 0.0;
    dz_combine(inv, stride, 0, n, v, 0, n, out);
}

/* MOVE of the basic values of `side` and of the lines of the other, when `side` changes. Returns the
   largest movement of a basic value, the new one's 1 included. */
f64 dz_ray(dz_matrix M, kh_basis *z, i64 side, dz_change change)
{
    i64 other = 1 - side, n = size_of(z), wide = z->line.m, i = change.which;
    const i64 *index = active_of(z, other);
    f64 turn = side == ROWS ? 1.0 : -1.0, least = 0.0;
    f64 *t = basic_of(z, MOVE + side), *d = line_of(z, MOVE + other);
    if (change.joins) {
        const f64 *row = M.at + i * M.stride;
        f64 *v = basic_of(z, SPARE), a = turn * change.sign, *most = basic_of(z, GAUGE) + LARGEST;
        for (i64 p = 0; p < n; p++) v[p] = -change.sign * row[index[p]];
        dz_basic_solution(z->inv.at, z->inv.m, n, side, v, t);
        for (i64 j = 0; j < wide; j++) d[j] = a * row[j];
        *most = f_max(*most, dz_largest(d, wide));
        least = 1.0;
    } else {
        f64 a = -turn * line_of(z, SIGN + other)[index[i]];
        for (i64 p = 0; p < n; p++) t[p] = a * (side == ROWS ? AT2(z->inv, i, p) : AT2(z->inv, p, i));
        memset(d, 0, sizeof(f64) * wide);
    }
    dz_add_rows(M.at, M.stride, wide, active_of(z, side), t, n, turn, d);
    return f_max(least, dz_largest(t, n));
}

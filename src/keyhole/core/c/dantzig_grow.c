/* The homotopy of the Dantzig program on a growing working set of coordinates. */
#include "dantzig.h"

#define GROWTH 0.25  /* of its size: by how much the working set may grow at a time */
#define PATIENCE 0.4 /* of n: pivots between two looks at all coordinates, if that is more than CHECK */
enum { CHECK = 16 };

/* Leave this call, and be called again with more room, unless there are so many bytes. */
void dz_room_for(dz_solve *s, i64 bytes)
{
    if (s->room.size - s->room.used < bytes + 64 + KH_GAP) longjmp(*s->no_room, 1);
}

/* The same basis with m coordinates, no fewer than before (if more, the matrix has rounded(m) columns), and
   room for at least so many. */
void dz_resize(dz_solve *s, i64 m, i64 room)
{
    kh_basis *z = &s->z, old = *z;
    if (m != coordinates(z)) {
        dz_room_for(s, dz_lines_bytes(m, rounded(m)));
        dz_new_lines(z, m, rounded(m), &s->room);
        for (i64 i = 0; i < LEFT; i++)
            memcpy(line_of(z, i), line_of(&old, i), sizeof(f64) * coordinates(&old));
        for (i64 side = 0; side < 2; side++)
            memcpy(place_of(z, side), place_of(&old, side), sizeof(i64) * coordinates(&old));
    }
    if (rounded(room) > room_of(z)) {
        dz_room_for(s, dz_places_bytes(rounded(room)));
        dz_more_room(z, rounded(room), &s->room);
    }
}

/* The working set and its basis with newcomers, so many of scratch.found. */
void dz_widen(dz_solve *s, i64 count)
{
    i64 old = coordinates(&s->z), m = dz_join(s->W, old, s->member, s->scratch.found, count);
    if (m == old) return;
    if (m > s->M.n) {
        i64 side = rounded(i_max(m, 2 * s->M.n));
        dz_room_for(s, 8 * side * side);
        floats bigger = {TAKE(&s->room, f64, side * side), side, side, 1};
        for (i64 i = 0; i < old; i++) memcpy(ROW(bigger, i), ROW(s->M, i), sizeof(f64) * old);
        s->M = bigger;
    }
    dz_gather(&s->program, s->W, old, m, s->M);
    dz_resize(s, m, room_of(&s->z));
    dz_fill(&s->z, &s->program, s->W, old);
}

/* From here on pivots, so many at most. */
static void go(dz_solve *s, i64 pivots)
{
    s->path = (dz_path){s->s, 0, i_min(pivots, s->pivots - s->made), 0, s->path.work};
    s->stage = GOING;
}

/* The pivots themselves; the basis gets room when it needs some. */
static i64 follow(dz_solve *s, dz_matrix M)
{
    i64 code;
    while ((code = dz_follow(M, &s->z, s->program.size, &s->path)) == FULL)
        dz_resize(s, coordinates(&s->z), i_min(coordinates(&s->z) + 1, 2 * room_of(&s->z)));
    if (code != PAUSED) s->s = s->path.s, s->made += s->path.made, s->stage = LOOKING;
    return code;
}

/* What is violated by the point reached, or stops a ray: so many in scratch.found. */
static i64 look(dz_solve *s)
{
    const f64 *gauge = basic_of(&s->z, GAUGE);
    if (!s->followed && (s->looked || dz_wrong_signs(&s->z) > 0)) return 0;
    if (s->code == DONE || s->code == LIMIT) {
        i64 quota = i_max(FIRST, (i64)(GROWTH * (f64)coordinates(&s->z)));
        dz_products(&s->program, s->W, &s->z, s->s, s->lines, s->scratch);
        dz_loads(&s->program, s->lines, s->s * gauge[WIDER + ROWS], s->s * gauge[WIDER + COLUMNS],
                 s->scratch.load);
        return dz_newcomers(s->scratch.load, s->member, s->program.d, quota, NEAR, s->how.straight,
                            s->scratch.found);
    }
    if (s->code == RAY)
        return dz_stopping(&s->program, s->W, s->member, &s->z, FIRST + s->trouble, s->scratch);
    s->trouble++;
    s->how.spread *= 100.0;
    return 0;
}

/* Here the basis is optimal for W at s; s = 0 with code DONE. Newcomers join with bounds just wide enough at
   this s. Returns how `grow` ends, or GO_ON. */
static i64 widen_and_go_on(dz_solve *s)
{
    dz_matrix M = working_matrix(s);
    if (s->code == DONE) {
        s->s = 0.0;
        if (s->followed && dz_recompute(M, &s->z, s->program.size, false) > ACCURATE) s->code = STALLED;
    }
    i64 count = look(s), old = coordinates(&s->z);
    if (s->made >= s->pivots || s->trouble > 2) return STALLED;
    if (count == 0 && (s->code == DONE || s->code == RAY))
        if (s->followed || (dz_wrong_signs(&s->z) == 0 && dz_holds(&s->program, s->lines))) return s->code;
    dz_widen(s, count);
    M = working_matrix(s);
    if (s->code == DONE || s->code == STALLED) {
        s->s = 1.0;
        if (s->code == STALLED && !dz_invert(M, &s->z)) return STALLED;
        if (!dz_start_path(M, &s->z, s->program.size, s->how)) return STALLED;
    } else if (coordinates(&s->z) > old) {
        dz_recompute_lines(M, &s->z);
        dz_loosen(&s->z, s->s, s->program.size, s->how);
    }
    return 2 * coordinates(&s->z) > s->program.d ? TOO_WIDE : GO_ON;
}

/* The homotopy on a growing working set; how it ended. Every few pivots the point reached is checked on all
   coordinates. DONE: the lines are those of the answer. TOO_WIDE: go on over all coordinates at s. */
i64 dz_grow(dz_solve *s)
{
    if (s->stage == BEGINNING) {
        s->stage = LOOKING;
        if (dz_first_basis(s)) {
            s->s = 0.0;
            return DONE;
        }
        if (4 * dz_wrong_signs(&s->z) > size_of(&s->z)) { /* repairing costs more than starting anew */
            dz_forget(&s->z);
            s->looked = false;
        }
    }
    for (;;) {
        if (s->stage == LOOKING) {
            i64 end = widen_and_go_on(s);
            if (end != GO_ON) return end;
            go(s, i_max(CHECK, (i64)(PATIENCE * (f64)size_of(&s->z))));
        }
        i64 code = follow(s, working_matrix(s));
        if (code == PAUSED) return PAUSED;
        s->code = code, s->followed = true;
    }
}

/* Along the path over all coordinates; what goes wrong gets a fresh inverse and a coarser start, twice. */
i64 dz_follow_to_end(dz_solve *s, dz_matrix M)
{
    for (;;) {
        if (s->stage == LOOKING) go(s, s->pivots);
        i64 code = follow(s, M);
        if (code == PAUSED) return PAUSED;
        /* The basis must still be optimal once its drift is removed. */
        bool good = code == DONE && dz_recompute(M, &s->z, s->program.size, false) <= ACCURATE;
        if (good || code == RAY || code == LIMIT) return code;
        s->how.spread *= 100.0, s->s = 1.0;
        bool again = dz_invert(M, &s->z) && dz_start_path(M, &s->z, s->program.size, s->how);
        if (!again || ++s->attempt == 3) return STALLED;
    }
}

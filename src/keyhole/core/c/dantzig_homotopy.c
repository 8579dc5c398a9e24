/* The parametric simplex method for the Dantzig program, from any basis. */
#include "dantzig.h"

/* When each line of a side gets violated, if it is at s = 0; without branches: this vectorises. */
KH_WIDE static void find_events(const kh_basis *z, i64 side, f64 slack)
{
    const f64 *restrict v0 = line_of(z, VALUE + side), *restrict v1 = line_of(z, RATE + side);
    const f64 *restrict h0 = line_of(z, BOUND + side), *restrict h1 = line_of(z, BOUND_RATE + side);
    const i64 *restrict place = place_of(z, side);
    f64 *restrict at = line_of(z, LEFT);
    for (i64 j = 0, m = coordinates(z); j < m; j++) {
        f64 over = fabs(v0[j]) - h0[j], rate = h1[j] - (v0[j] > 0 ? v1[j] : -v1[j]);
        f64 when = over / rate;
        when = rate > over ? when : 1.0;
        at[j] = (over > slack) & (place[j] < 0) ? when : 0.0;
    }
}

/* Largest s > 0 at which the basis stops being optimal. joins: line `which` of `side` gets tight;
   otherwise a basic value of the other side hits 0. which = -1: none. */
f64 dz_next_event(const kh_basis *z, f64 size, i64 *found, bool *joins, i64 *which)
{
    i64 n = size_of(z), m = coordinates(z);
    f64 s = 0.0;
    *found = ROWS, *joins = true, *which = -1;
    for (i64 side = 0; side < 2; side++) {
        find_events(z, side, FEASIBLE * (side == ROWS ? size : 1.0));
        const f64 *at = line_of(z, LEFT), *sign = line_of(z, SIGN + side);
        for (i64 j = 0; j < m; j++)
            if (at[j] > s) s = at[j], *found = side, *joins = true, *which = j;
        const f64 *t0 = basic_of(z, VALUE + side), *t1 = basic_of(z, RATE + side);
        const i64 *index = active_of(z, side);
        f64 small = FEASIBLE * dz_largest(t0, n);
        for (i64 i = 0; i < n; i++) {
            f64 over = -sign[index[i]] * t0[i];
            if (!(over > small)) continue;
            f64 rate = sign[index[i]] * t1[i], when = rate > over ? over / rate : 1.0;
            if (when > s) s = when, *found = 1 - side, *joins = false, *which = i;
        }
    }
    return s;
}

/* How much room each line outside the basis has left on a ray, and how fast it goes there. */
KH_WIDE static void find_room(const kh_basis *z, i64 other, f64 s, f64 least)
{
    const f64 *restrict v0 = line_of(z, VALUE + other), *restrict v1 = line_of(z, RATE + other);
    const f64 *restrict h0 = line_of(z, BOUND + other), *restrict h1 = line_of(z, BOUND_RATE + other);
    const f64 *restrict d = line_of(z, MOVE + other);
    const i64 *restrict place = place_of(z, other);
    f64 *restrict left = line_of(z, LEFT), *restrict pace = line_of(z, PACE);
    i64 m = coordinates(z);
    for (i64 j = 0; j < m; j++) { /* one choice by the same condition in each loop: so both vectorise */
        f64 v = v0[j] + s * v1[j], room = h0[j] + s * h1[j] - (d[j] > 0 ? v : -v);
        left[j] = (fabs(d[j]) > least) & (place[j] < 0) ? room : INFINITY;
    }
    for (i64 j = 0; j < m; j++) pace[j] = (fabs(d[j]) > least) & (place[j] < 0) ? fabs(d[j]) : 0.0;
}

/* What stops the ray of `side` first: a line at its bound, a basic value at 0, the cause itself at its
   other end. Two passes: how far it may go with a hair of tolerance, then the largest pivot within that. */
i64 dz_blocking(const kh_basis *z, i64 side, f64 s, f64 end, f64 hair, f64 big, i64 *which, f64 *to)
{
    i64 other = 1 - side, n = size_of(z), m = coordinates(z), found = BY_NOTHING;
    f64 gauge = basic_of(z, GAUGE)[LARGEST], reach = end, top = 0.0, best = 0.0;
    const f64 *t0 = basic_of(z, VALUE + side), *t1 = basic_of(z, RATE + side), *dt = basic_of(z, MOVE + side);
    const f64 *sign = line_of(z, SIGN + side), *d = line_of(z, MOVE + other);
    const f64 *left = line_of(z, LEFT), *pace = line_of(z, PACE);
    const i64 *index = active_of(z, side);
    find_room(z, other, s, PIVOT * big * gauge);
    for (i64 j = 0; j < m; j++) {
        f64 room = f_max(left[j], 0.0) + hair;
        if (room < reach * pace[j]) reach = room / pace[j]; /* divisions only where they count */
    }
    for (i64 i = 0; i < n; i++) top = f_max(top, fabs(t0[i] + s * t1[i]));
    for (i64 i = 0; i < n; i++) {
        f64 a = -sign[index[i]] * dt[i];
        if (!(a > PIVOT * big)) continue;
        f64 room = sign[index[i]] * (t0[i] + s * t1[i]);
        reach = f_min(reach, (f_max(room, 0.0) + 1e-11 * top) / a);
    }
    *which = -1, *to = 0.0;
    if (reach == end) return end < INFINITY ? BY_OTHER_END : BY_NOTHING;
    for (i64 j = 0; j < m; j++)
        if (left[j] <= reach * pace[j] && pace[j] > best * gauge)
            found = BY_LINE, *which = j, *to = d[j] > 0 ? 1.0 : -1.0, best = pace[j] / gauge;
    for (i64 i = 0; i < n; i++) {
        f64 a = -sign[index[i]] * dt[i];
        if (a > PIVOT * big && a > best && sign[index[i]] * (t0[i] + s * t1[i]) <= reach * a)
            found = BY_BASIC, *which = i, *to = sign[index[i]], best = a;
    }
    return found;
}

/* Along the ray of `side`: its basic values and the other side's lines. */
static void move(kh_basis *z, i64 side, f64 step, f64 step_rate)
{
    i64 n = size_of(z), wide = z->line.m;
    const f64 *dt = basic_of(z, MOVE + side), *d = line_of(z, MOVE + 1 - side);
    dz_add_scaled(basic_of(z, VALUE + side), step, dt, n);
    dz_add_scaled(basic_of(z, RATE + side), step_rate, dt, n);
    dz_add_scaled(line_of(z, VALUE + 1 - side), step, d, wide);
    dz_add_scaled(line_of(z, RATE + 1 - side), step_rate, d, wide);
}

/* The inverse after a pivot, and the places in E and A where newcomers go. */
static void change_inverse(kh_basis *z, dz_change row, dz_change column, f64 pivot, i64 spot[2])
{
    i64 n = size_of(z);
    f64 *y = basic_of(z, MOVE + ROWS), *x = basic_of(z, MOVE + COLUMNS);
    for (i64 i = 0; i < n; i++) y[i] *= -row.sign, x[i] *= -column.sign;
    spot[ROWS] = spot[COLUMNS] = n;
    if (row.joins && column.joins) {
        dz_border(z, row.sign * pivot);
    } else if (row.joins) {
        dz_replace_row(z, column.which);
        spot[ROWS] = column.which;
    } else if (column.joins) {
        dz_replace_column(z, row.which);
        spot[COLUMNS] = row.which;
    } else {
        dz_unborder(z, row.which, column.which);
    }
}

/* The basic value of `side` at place j goes out; the last one comes to its place if none comes in. */
static void leave(kh_basis *z, i64 side, i64 j, i64 last, bool refilled)
{
    i64 *place = place_of(z, side), *index = active_of(z, side);
    place[index[j]] = -1;
    if (refilled || j == last) return;
    index[j] = index[last];
    place[index[j]] = j;
    basic_of(z, VALUE + side)[j] = basic_of(z, VALUE + side)[last];
    basic_of(z, RATE + side)[j] = basic_of(z, RATE + side)[last];
}

/* One pivot, both rays at hand; false if the two rays do not agree on it. The row gets tight, or the
   column at that place leaves; the column enters, or the row at that place slackens. */
bool dz_exchange(kh_basis *z, dz_change row, dz_change column)
{
    i64 n = size_of(z), spot[2];
    const dz_change both[2] = {row, column};
    f64 pivot[2], step[2], step_rate[2];
    for (i64 side = 0; side < 2; side++) {
        i64 j = both[side].which;
        pivot[side] = both[side].joins ? line_of(z, MOVE + side)[j] : basic_of(z, MOVE + 1 - side)[j];
    }
    if (!(fabs(fabs(pivot[ROWS]) - fabs(pivot[COLUMNS])) <= 1e-6 * fabs(pivot[COLUMNS]))) return false;
    for (i64 side = 0; side < 2; side++) {
        i64 other = 1 - side, j = both[other].which;
        f64 goal, goal_rate, sign = both[other].sign;
        if (both[other].joins) {
            goal = sign * line_of(z, BOUND + other)[j] - line_of(z, VALUE + other)[j];
            goal_rate = sign * line_of(z, BOUND_RATE + other)[j] - line_of(z, RATE + other)[j];
        } else {
            goal = -basic_of(z, VALUE + side)[j], goal_rate = -basic_of(z, RATE + side)[j];
        }
        step[side] = goal / pivot[other], step_rate[side] = goal_rate / pivot[other];
    }
    for (i64 side = 0; side < 2; side++) move(z, side, step[side], step_rate[side]);
    change_inverse(z, row, column, pivot[COLUMNS], spot);
    active_of(z, NUMBER)[SIZE] = n + row.joins - !column.joins;
    for (i64 side = 0; side < 2; side++)
        if (!both[1 - side].joins) leave(z, side, both[1 - side].which, n - 1, both[side].joins);
    for (i64 side = 0; side < 2; side++) {
        if (!both[side].joins) continue;
        i64 j = both[side].which, i = spot[side];
        f64 sign = both[side].sign;
        active_of(z, side)[i] = j, place_of(z, side)[j] = i, line_of(z, SIGN + side)[j] = sign;
        basic_of(z, VALUE + side)[i] = sign * step[side];
        basic_of(z, RATE + side)[i] = sign * step_rate[side];
        line_of(z, VALUE + side)[j] = sign * line_of(z, BOUND + side)[j];
        line_of(z, RATE + side)[j] = sign * line_of(z, BOUND_RATE + side)[j];
    }
    return true;
}

/* Answer an event: find what stops its ray and exchange the two, or go to the other end. */
static i64 pivot(dz_matrix M, kh_basis *z, f64 s, f64 size, i64 side, bool joins, i64 which)
{
    i64 other = 1 - side, j = which;
    f64 end = INFINITY, sign;
    if (joins) {
        sign = line_of(z, VALUE + side)[which] > 0 ? 1.0 : -1.0;
    } else {
        j = active_of(z, other)[which];
        sign = line_of(z, SIGN + other)[j];
        end = 2.0 * (line_of(z, BOUND + other)[j] + s * line_of(z, BOUND_RATE + other)[j]);
    }
    dz_change cause = {joins, which, sign}, answer;
    f64 big = dz_ray(M, z, side, cause);
    i64 found = dz_blocking(z, side, s, end, 1e-11 * (side == COLUMNS ? size : 1.0), big, &answer.which,
                            &answer.sign);
    if (found == BY_OTHER_END) {
        move(z, side, 2.0 * line_of(z, BOUND + other)[j], 2.0 * line_of(z, BOUND_RATE + other)[j]);
        line_of(z, SIGN + other)[j] = -sign;
        return DONE;
    }
    if (found == BY_NOTHING) {
        active_of(z, NUMBER)[STUCK] = joins ? which : -1;
        active_of(z, NUMBER)[STUCK_SIGN] = (i64)sign;
        return side == ROWS ? RAY : STALLED; /* a primal ray without end: |w|_1 cannot fall for ever */
    }
    answer.joins = found == BY_LINE;
    dz_ray(M, z, other, answer);
    return dz_exchange(z, side == ROWS ? cause : answer, side == ROWS ? answer : cause) ? DONE : STALLED;
}

/* Follow the path from path->s down to 0; how it ended. LIMIT: after path->pivots pivots, and s is
   then the next breakpoint. The basis is optimal for s in any case. FULL, PAUSED: call again. */
i64 dz_follow(dz_matrix M, kh_basis *z, f64 size, dz_path *path)
{
    for (;; path->made++) {
        bool joins;
        i64 side, which, n = size_of(z);
        if (path->work < 0) return PAUSED;
        f64 at = dz_next_event(z, size, &side, &joins, &which);
        if (which < 0) {
            path->s = 0.0;
            return DONE;
        }
        if (path->made == path->pivots) {
            path->s = f_min(path->s, at);
            return LIMIT;
        }
        if (n == room_of(z)) return FULL;
        path->waiting = at < path->s * (1.0 - 1e-13) ? 0 : path->waiting + 1;
        path->s = f_min(path->s, at);
        path->work -= (n + 8) * (2 * z->line.m + n);
        i64 code = pivot(M, z, path->s, size, side, joins, which);
        if (code != DONE || path->waiting > 50 + size_of(z)) return code != DONE ? code : STALLED;
    }
}

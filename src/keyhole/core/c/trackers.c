/* The rounds of intervals: issue them, learn the error, and many of both in one call. */
#include "trackers.h"

KH_LAYOUT(kh_trackers, KH_TRACKERS)

enum { PLAIN = 3, SCALES = 2 * PLAIN, PAIRS = 2 * SCALES, TRACKERS = 3 * PAIRS, EXPERTS = 2 * PAIRS };
enum { UP, DOWN, SIDES };
enum { SUM, COUNT };
enum { SAID = SCALES, TOGETHER = SAID + TRACKERS, FACTOR = TOGETHER + SIDES, EDGES, NOTE = EDGES + SIDES };

static const f64 STEPS[] = {0.02, 0.4}; /* of the trackers, in units */
/* What a unit keeps with every label: 0.5 to the power 1 / half-life, of infinity, 30 and 5 labels, twice. */
static const f64 FADES[SCALES] = {1.0, 0x1.f44e4fb6c55d7p-1, 0x1.bdb8cdadbe120p-1,
                                  1.0, 0x1.f44e4fb6c55d7p-1, 0x1.bdb8cdadbe120p-1};
#define KEEP 0x1.ffa52de61c11fp-1 /* what the regrets of experts count one label later: 0.5^(1 / 1000) */
#define EAGER 0x1.96ca77c922cf9p+1 /* log of EXPERTS */
#define TWO_OVER_PI 0x1.45f306dc9c883p-1
#define SHARE 0.001 /* of the weight, that is dealt out evenly */
#define FAVOUR 2.0 /* the weight of an expert with a factor, if it does as well as the one without */
#define FLOOR 0.01 /* the smallest unit, as a share of the one that never fades */
#define CAP 20.0 /* an error counts at most so many times the mean, once FREE were seen */
#define FREE 10
#define WIDER_UNTIL 400 /* labels, until which intervals are made wider for what they do not know yet */
/* No finite labels lead beyond these; with them, nothing that a file holds can overflow. */
#define LARGEST_THETA 700.0
#define MOST_UNITS 1e6
#define FARTHEST 1e300

/* Where a note has what expert k of a side says: its own trackers first, then those of both. */
static i64 said_by(i64 side, i64 k) { return SAID + (k < PAIRS ? side * PAIRS + k : PAIRS + k); }

/* Write down what trackers of coverage i say now; units of 0 if they can say nothing yet. */
static void write_note(kh_trackers *t, i64 i, f64 factor, f64 *note)
{
    f64 a = AT(t->a, i), n = (f64)AT(t->told, i);
    if (n == 0.0 || AT3(t->units, i, SUM, 0) == 0.0) {
        for (i64 k = 0; k < EDGES; k++) note[k] = 0.0;
        note[FACTOR] = factor;
        /* As many errors of 0 as this, and one more is likely enough. */
        note[EDGES + UP] = note[EDGES + DOWN] = n * 2.0 * a > 1.0 ? 0.0 : INFINITY;
        return;
    }
    f64 mean = 0.0;
    note[FACTOR] = factor;
    for (i64 h = 0; h < SCALES; h++) {
        i64 slowest = h - h % PLAIN; /* the unit that never fades */
        f64 never_fades = AT3(t->units, i, SUM, slowest) / AT3(t->units, i, COUNT, slowest);
        note[h] = f_max(AT3(t->units, i, SUM, h) / AT3(t->units, i, COUNT, h), FLOOR * never_fades);
        note[h] *= h >= PLAIN ? factor : 1.0;
        mean += note[h] / SCALES;
    }
    for (i64 k = 0; k < TRACKERS; k++) note[SAID + k] = AT2(t->q, i, k) * note[k % SCALES];
    f64 wider = 1.0, start = AT(t->start, i);
    if (n < WIDER_UNTIL) wider = kh_exp(f_min((TWO_OVER_PI * (start * start) + 1.0) / (4.0 * n), 2.0));
    for (i64 side = 0; side < SIDES; side++) {
        f64 together = 0.0;
        for (i64 k = 0; k < EXPERTS; k++) together += AT3(t->weight, i, side, k) * note[said_by(side, k)];
        note[TOGETHER + side] = together;
        f64 edge = (together + kh_sinh(AT2(t->theta, i, side)) * mean) * wider;
        note[EDGES + side] = f_min(f_max(edge, -FARTHEST), FARTHEST);
    }
}

/* The intervals of notes, none of them empty, each within those of higher coverage. */
static void nest(ints *order, floats *notes, f64 *edges)
{
    for (i64 place = 0; place < order->n; place++) {
        i64 i = AT(*order, place);
        f64 low = -AT2(*notes, i, EDGES + DOWN), high = AT2(*notes, i, EDGES + UP);
        if (place == 0) {
            if (low > high) low = high = 0.5 * (low + high);
        } else {
            i64 before = AT(*order, place - 1);
            low = f_min(low, edges[2 * before]);
            high = f_max(high, edges[2 * before + 1]);
        }
        edges[2 * i] = low;
        edges[2 * i + 1] = high;
    }
}

static f64 pinball(f64 edge, f64 v, f64 a) { return v > edge ? (v - edge) * (1.0 - a) : (edge - v) * a; }

/* What experts would have lost less than all together, and their weights after that. */
static void reweigh(kh_trackers *t, i64 i, i64 side, const f64 *note, f64 v)
{
    f64 a = AT(t->a, i), most = 0.0, top = -INFINITY, total = 0.0, rate = 0.0;
    f64 *regret = &AT3(t->regret, i, side, 0), *weight = &AT3(t->weight, i, side, 0);
    f64 *spread = &AT2(t->spread, i, side), lost = pinball(note[TOGETHER + side], v, a);
    for (i64 k = 0; k < EXPERTS; k++) {
        f64 less = lost - pinball(note[said_by(side, k)], v, a);
        regret[k] = KEEP * regret[k] + less;
        most = f_max(most, less * less);
        top = f_max(top, regret[k]);
    }
    *spread = KEEP * KEEP * *spread + most;
    if (*spread > 0.0) rate = sqrt(EAGER / *spread);
    if (!isfinite(rate)) rate = 0.0; /* losses too small to tell them apart */
    for (i64 k = 0; k < EXPERTS; k++) {
        weight[k] = kh_exp((regret[k] - top) * rate) * (k % SCALES >= PLAIN ? FAVOUR : 1.0);
        total += weight[k];
    }
    for (i64 k = 0; k < EXPERTS; k++) weight[k] = (1.0 - SHARE) * weight[k] / total + SHARE / EXPERTS;
}

static void learn_quantiles(kh_trackers *t, i64 i, const f64 *note, f64 error)
{
    f64 a = AT(t->a, i), first = f_min(0.5, 1.0 / ((f64)AT(t->told, i) + 1.0)), *q = &AT2(t->q, i, 0);
    for (i64 k = 0; k < TRACKERS; k++) {
        bool both = k >= 2 * PAIRS;
        f64 v = both ? fabs(error) : k < PAIRS ? error : -error, share = both ? 2.0 * a : a;
        f64 step = f_max(STEPS[k % PAIRS / SCALES], first);
        f64 moved = q[k] + step * ((v > q[k] * note[k % SCALES] ? 1.0 : 0.0) - share);
        q[k] = f_min(f_max(moved, -MOST_UNITS), MOST_UNITS);
    }
}

static void learn_units(kh_trackers *t, i64 i, const f64 *note, f64 size)
{
    f64 never_fades = 0.0;
    for (i64 h = 0; h < SCALES; h++) {
        f64 counted = h >= PLAIN ? size / note[FACTOR] : size;
        f64 *total = &AT3(t->units, i, SUM, h), *count = &AT3(t->units, i, COUNT, h);
        if (h % PLAIN == 0) never_fades = *total / f_max(*count, 1.0);
        if (AT(t->told, i) >= FREE && never_fades > 0.0)
            counted = f_min(counted, CAP * f_max(*total / *count, FLOOR * never_fades));
        *total = FADES[h] * *total + counted;
        *count = FADES[h] * *count + 1.0;
    }
}

/* Whether each side counts a miss, as issued, and everything that is learnt from that. Where the
   issued intervals miss, so do these; and so does the midpoint of an empty one: see trackers.py. */
static void tell(kh_trackers *t, ints *order, floats *notes, f64 error, f64 gain)
{
    bool above = true, below = true;
    for (i64 place = 0; place < order->n; place++) {
        i64 i = AT(*order, place);
        const f64 *note = ROW(*notes, i);
        f64 up = note[EDGES + UP], down = note[EDGES + DOWN];
        if (place == 0 && up + down < 0.0) {
            f64 middle = 0.5 * (up - down);
            above = error >= middle;
            below = error <= middle;
        } else {
            above = above && error > up;
            below = below && -error > down;
        }
        if (note[0] > 0.0) {
            for (i64 side = 0; side < SIDES; side++) {
                f64 missed = (side == UP ? above : below) ? 1.0 : 0.0;
                f64 theta = AT2(t->theta, i, side) + gain * (missed - AT(t->a, i));
                AT2(t->theta, i, side) = f_min(f_max(theta, -LARGEST_THETA), LARGEST_THETA);
            }
            learn_quantiles(t, i, note, error);
            reweigh(t, i, UP, note, error);
            reweigh(t, i, DOWN, note, -error);
        }
        learn_units(t, i, note, fabs(error));
        AT(t->told, i) += 1;
    }
}

KH_API void kh_issue_intervals(kh_trackers *t, ints *order, f64 factor, floats *notes, floats *edges)
{
    for (i64 i = 0; i < order->n; i++) write_note(t, i, factor, ROW(*notes, i));
    nest(order, notes, edges->at);
}

KH_API void kh_learn_error(kh_trackers *t, ints *order, floats *notes, f64 error, f64 gain)
{
    tell(t, order, notes, error, gain);
}

KH_API void kh_play_intervals(kh_trackers *t, ints *order, floats *errors, floats *factors, f64 gain,
                              floats *edges, kh_room *room)
{
    i64 mark = room->used;
    floats notes = {TAKE(room, f64, order->n * NOTE), order->n, NOTE, 1};
    for (i64 row = 0; row < errors->n; row++) {
        for (i64 i = 0; i < order->n; i++) write_note(t, i, AT(*factors, row), ROW(notes, i));
        nest(order, &notes, ROW(*edges, row));
        tell(t, order, &notes, AT(*errors, row), gain);
    }
    room->used = mark;
}

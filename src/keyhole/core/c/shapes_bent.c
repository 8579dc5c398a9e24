/* Which features bend: what the last rows miss goes with them in a shape that says more than a line. */
#include "draw.h"
#include "shapes.h"

enum { BINS = 6, THIN = 64, FEWEST = 64 }; /* values: fewer say too little */
#define MODE 0.3                            /* of the sample: so much has a bin of its own */
#define CUT 3.0                             /* standard deviations */
#define SHRUNK 4.0                          /* rows, by which what a bin says is drawn to nothing */
#define MORE 4.0                            /* times what a line explains: by what lines say, lines decide */
#define STEADY 0.25                         /* of what bins explain the older and the newer reads must agree on */

/* The reads of a feature, the newest first, in bins. */
typedef struct {
    i64 who, n, bins, *slot;
    f64 *value;
    int8_t *bin;
    bool bends;
} reads;

/* Chi-square of so many degrees of freedom that is exceeded as seldom as z by a normal number; Wilson
   and Hilferty. */
static f64 chi_square(i64 freedom, f64 z)
{
    f64 v = (f64)freedom, share = 2.0 / (9.0 * v), root = 1.0 - share + z * sqrt(share);
    return v * root * root * root;
}

/* Values that are not `mode`, ascending; how many. */
static i64 without(f64 mode, f64 *values, i64 n)
{
    i64 many = 0;
    for (i64 i = 0; i < n; i++)
        if (values[i] != mode) values[many++] = values[i];
    return many;
}

/* Six bins of as many reads each, by quantiles of some of them; a frequent value has its own. */
static void make_bins(reads *f, kh_room *room)
{
    i64 mark = room->used, n = i_min(f->n, THIN), often = 0, run = 0, cuts = 0;
    floats some = take_floats(room, n);
    ints order = take_ints(room, n);
    f64 *sorted = TAKE(room, f64, n), cut[BINS], mode = NAN;
    for (i64 i = 0; i < n; i++) some.at[i] = f->value[i * f->n / n], order.at[i] = i;
    kh_argsort(&some, &order, room);
    for (i64 i = 0; i < n; i++) {
        sorted[i] = some.at[order.at[i]];
        run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
        if (run > often) often = run, mode = sorted[i];
    }
    bool apart = (f64)often > MODE * (f64)n;
    i64 rest = apart ? without(mode, sorted, n) : n, parts = apart ? BINS - 1 : BINS;
    for (i64 q = 1; q < parts && rest > 0; q++) {
        f64 next = sorted[q * rest / parts];
        if (next > (cuts > 0 ? cut[cuts - 1] : sorted[0])) cut[cuts++] = next;
    }
    f->bins = cuts + 1 + apart;
    for (i64 i = 0; i < f->n; i++) {
        i64 b = 0;
        while (b < cuts && f->value[i] >= cut[b]) b++;
        f->bin[i] = (int8_t)(apart && f->value[i] == mode ? cuts + 1 : b);
    }
    room->used = mark;
}

/* By how much bins, beyond a line, explain what is missed in a read; 0 unless that is significant, and
   the older reads say the same as the newer ones. `fit`: what each bin adds. */
static f64 worth(const reads *f, const f64 *missed, f64 z, f64 *fit)
{
    f64 S[BINS] = {0.0}, X[BINS] = {0.0}, N[BINS] = {0.0}, half[2][BINS] = {{0.0}}, many[2][BINS] = {{0.0}};
    f64 n = (f64)f->n, from = f->value[0], s = 0.0, x = 0.0, xx = 0.0, xs = 0.0, ss = 0.0;
    if (f->bins < 3) return 0.0;
    for (i64 i = 0; i < f->n; i++) {
        f64 e = missed[f->slot[i]], v = f->value[i] - from;
        S[f->bin[i]] += e, X[f->bin[i]] += v, N[f->bin[i]] += 1.0;
        s += e, x += v, xx += v * v, xs += v * e, ss += e * e;
    }
    f64 mean = s / n, middle = x / n, spread = xx - n * middle * middle, along = xs - n * middle * mean;
    if (!(spread > 1e-9 * xx)) return 0.0;
    f64 slope = along / spread, left = ss - n * mean * mean - along * slope, bent = 0.0, agreed = 0.0;
    i64 used = 0;
    for (i64 b = 0; b < f->bins; b++) {
        fit[b] = (S[b] - N[b] * mean) / (N[b] + SHRUNK);
        if (N[b] == 0.0) continue;
        f64 beyond = S[b] - N[b] * mean - slope * (X[b] - N[b] * middle);
        bent += beyond * beyond / N[b];
        used++;
    }
    if (used < 3 || !((left - bent) * chi_square(used - 2, z) < bent * (n - (f64)used))) return 0.0;
    for (i64 i = 0; i < f->n; i++) {
        int newer = i < f->n / 2;
        half[newer][f->bin[i]] += missed[f->slot[i]] - mean - slope * (f->value[i] - from - middle);
        many[newer][f->bin[i]] += 1.0;
    }
    for (i64 b = 0; b < f->bins; b++)
        if (many[0][b] > 0.0 && many[1][b] > 0.0)
            agreed += half[0][b] * half[1][b] / f_max(many[0][b], many[1][b]);
    return agreed >= STEADY * bent ? bent / n : 0.0;
}

/* What a line explains of the label in a read. */
static f64 line(const reads *f, const f64 *labels)
{
    f64 n = (f64)f->n, from = f->value[0], s = 0.0, x = 0.0, xx = 0.0, xs = 0.0;
    for (i64 i = 0; i < f->n; i++) {
        f64 y = labels[f->slot[i]], v = f->value[i] - from;
        s += y, x += v, xx += v * v, xs += v * y;
    }
    f64 along = xs - x * (s / n);
    return along * along / (xx - x * (x / n)) / n;
}

/* The features that were read often enough, with their reads; how many. */
static i64 gather(kh_window *told, i64 d, reads **out, kh_room *room)
{
    i64 wide = told->features.m, many = 0, total = 0, *count = TAKE(room, i64, d), *place = TAKE(room, i64, d);
    for (i64 j = 0; j < d; j++) count[j] = 0, place[j] = -1;
    for (i64 age = 0; age < told->many; age++) {
        i64 slot = kh_slot(told, age);
        kh_row row = kh_row_at(told, slot);
        for (i64 a = 0; a < row.n; a++) count[KH_INDEX(row.features[a], d)] += !isnan(row.values[a]);
    }
    for (i64 j = 0; j < d; j++)
        if (count[j] >= FEWEST) place[j] = many++, total += count[j];
    reads *all = *out = TAKE(room, reads, many);
    i64 *slots = TAKE(room, i64, total), used = 0;
    f64 *values = TAKE(room, f64, total);
    int8_t *bins = TAKE(room, int8_t, total);
    for (i64 j = 0; j < d; j++) {
        if (place[j] < 0) continue;
        all[place[j]] = (reads){j, 0, 0, slots + used, values + used, bins + used, true};
        used += count[j];
    }
    for (i64 age = 0; age < told->many; age++) {
        i64 slot = kh_slot(told, age);
        kh_row row = kh_row_at(told, slot);
        for (i64 a = 0; a < wide && a < row.n; a++) {
            if (isnan(row.values[a]) || place[row.features[a]] < 0) continue;
            reads *f = all + place[row.features[a]];
            f->slot[f->n] = slot;
            f->value[f->n++] = row.values[a];
        }
    }
    return many;
}

/* Their mean is taken out, and what is far off cut off: or one row would decide. */
static void tidy(kh_window *told, f64 *missed)
{
    f64 mean = 0.0, square = 0.0, many = (f64)told->many;
    for (i64 age = 0; age < told->many; age++) mean += missed[kh_slot(told, age)];
    mean /= many;
    for (i64 age = 0; age < told->many; age++) {
        f64 *e = missed + kh_slot(told, age);
        *e -= mean;
        square += *e * *e;
    }
    f64 far = CUT * sqrt(square / many);
    for (i64 age = 0; age < told->many; age++) {
        f64 *e = missed + kh_slot(told, age);
        *e = f_max(f_min(*e, far), -far);
    }
}

KH_API void kh_find_bent(kh_window *told, i64 d, floats *missed, ints *out, kh_room *room)
{
    i64 mark = room->used, found = 0, many;
    f64 fit[BINS], best[BINS], z = sqrt(2.0 * kh_log(f_max((f64)d, 2.0))) + 1.0;
    reads *all;
    for (i64 i = 0; i < out->n; i++) out->at[i] = -1;
    many = gather(told, d, &all, room);
    tidy(told, missed->at);
    for (i64 c = 0; c < many; c++) make_bins(all + c, room);
    while (found < out->n) {
        f64 most = 0.0;
        reads *first = NULL;
        for (i64 c = 0; c < many; c++) {
            if (!all[c].bends) continue;
            f64 gain = worth(all + c, missed->at, z, fit);
            all[c].bends = gain > 0.0 && (found > 0 || gain > MORE * line(all + c, told->labels.at));
            if (!(all[c].bends && gain > most)) continue;
            most = gain, first = all + c;
            memcpy(best, fit, sizeof(best));
        }
        if (!first) break;
        for (i64 i = 0; i < first->n; i++) missed->at[first->slot[i]] -= best[first->bin[i]];
        first->bends = false;
        AT(*out, found++) = first->who;
    }
    room->used = mark;
}

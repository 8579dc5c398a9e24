/* How a value is looked at: the columns of a curve, and the cuts of an input of the trees. */
#include "shapes.h"

#define FARTHEST 5.0     /* standard deviations: where columns are cut off */
#define MODE_SHARE 0.05  /* of the values: so common a value has a column of its own */
#define HEAVY_SHARE 0.3  /* and so common a one has no part in where knots are */
#define NARROWEST 0.3    /* standard deviations: what the width is at least */
#define LEVEL 1e-9       /* of its mean: a column that varies less is none */

/* The value of which this share of an ascending sample lies below, between two values on a line. */
static f64 quantile(const f64 *h, i64 n, f64 share)
{
    f64 place = share * (f64)(n - 1);
    i64 i = (i64)place;
    return h[i] + (place - (f64)i) * (h[i_min(i + 1, n - 1)] - h[i]);
}

static f64 mean_of(const f64 *h, i64 n)
{
    f64 total = 0.0;
    for (i64 i = 0; i < n; i++) total += h[i];
    return total / (f64)n;
}

static f64 deviation_of(const f64 *h, i64 n, f64 mean)
{
    f64 total = 0.0;
    for (i64 i = 0; i < n; i++) total += (h[i] - mean) * (h[i] - mean);
    return sqrt(total / (f64)n);
}

/* The value that is there most often, the lowest of several; how often, and how many different ones. */
static f64 find_mode(const f64 *h, i64 n, i64 *often, i64 *different)
{
    f64 mode = h[0];
    *often = *different = 0;
    for (i64 i = 0, stop = 0; i < n; i = stop) {
        for (stop = i; stop < n && h[stop] == h[i]; stop++) {}
        if (stop - i > *often) *often = stop - i, mode = h[i];
        ++*different;
    }
    return mode;
}

/* Knots at the quantiles i/6 of the sample, without the mode if that is heavy; the other places: NaN. */
static void place_knots(const f64 *h, i64 n, f64 mode, bool heavy, f64 *knots)
{
    f64 rest[KH_SAMPLE];
    i64 left = 0, many = 0;
    for (i64 i = 0; i < n; i++)
        if (!(heavy && h[i] == mode)) rest[left++] = h[i];
    for (i64 i = 1; i <= KH_KNOTS; i++) {
        f64 knot = quantile(rest, left, (f64)i / (KH_KNOTS + 1.0));
        if (knot > h[0] && knot < h[n - 1] && (many == 0 || knot > knots[many - 1])) knots[many++] = knot;
    }
    for (; many < KH_KNOTS; many++) knots[many] = NAN;
}

/* The columns before they are centred. Which there are, their sizes say. */
static void raw_columns(const f64 *form, f64 value, f64 *out)
{
    f64 t = (value - form[KH_MIDDLE]) / form[KH_WIDTH];
    out[0] = t;
    out[1] = t < 0.0 ? -kh_log(1.0 - t) : kh_log(1.0 + t);
    for (i64 i = 0; i < KH_KNOTS; i++) {
        f64 knot = form[KH_AT + i];
        out[2 + i] = value > knot ? (value - knot) / form[KH_WIDTH] : 0.0; /* not beyond NaN */
    }
    out[2 + KH_KNOTS] = value != form[KH_MODE] ? 1.0 : 0.0;
}

KH_API void kh_make_form(floats *sample, floats *form)
{
    const f64 *h = sample->at;
    i64 n = sample->n, often, different;
    f64 *at = form->at, raw[KH_COLUMNS], column[KH_COLUMNS][KH_SAMPLE];
    KH_CHECK(form->n == KH_FORM && n <= KH_SAMPLE);
    for (i64 i = 0; i < KH_FORM; i++) at[i] = 0.0;
    if (n == 0) return;
    f64 mode = find_mode(h, n, &often, &different), share = (f64)often / (f64)n;
    f64 width = quantile(h, n, 0.75) - quantile(h, n, 0.25);
    at[KH_MIDDLE] = quantile(h, n, 0.5);
    at[KH_WIDTH] = f_max(width, NARROWEST * deviation_of(h, n, mean_of(h, n)));
    at[KH_MODE] = mode;
    for (i64 i = 0; i < KH_KNOTS; i++) at[KH_AT + i] = NAN;
    if (different < 2 || !(at[KH_WIDTH] > 0.0)) return;
    if (different > 2) place_knots(h, n, mode, share > HEAVY_SHARE && different > 3, at + KH_AT);
    for (i64 i = 0; i < n; i++) {
        raw_columns(at, h[i], raw);
        for (i64 q = 0; q < KH_COLUMNS; q++) column[q][i] = raw[q];
    }
    for (i64 q = 0; q < KH_COLUMNS; q++) {
        f64 mean = mean_of(column[q], n), size = deviation_of(column[q], n, mean);
        bool there = q == 0 || (different > 2 && (q <= KH_KNOTS + 1 || share >= MODE_SHARE));
        if (!(there && size > LEVEL * f_max(1.0, fabs(mean)) && isfinite(size))) continue;
        at[KH_MEANS + q] = mean;
        at[KH_SIZES + q] = size;
    }
}

KH_API void kh_columns(const floats *form, f64 value, floats *out)
{
    const f64 *at = form->at, *mean = at + KH_MEANS, *size = at + KH_SIZES;
    f64 raw[KH_COLUMNS];
    KH_CHECK(form->n == KH_FORM && out->n == KH_COLUMNS);
    for (i64 q = 0; q < KH_COLUMNS; q++) out->at[q] = 0.0;
    if (isnan(value) || !(size[0] > 0.0)) return;
    raw_columns(at, value, raw);
    for (i64 q = 0; q < KH_COLUMNS; q++)
        if (size[q] > 0.0) out->at[q] = f_max(-FARTHEST, f_min(FARTHEST, (raw[q] - mean[q]) / size[q]));
}

KH_API i64 kh_make_cuts(floats *sample, floats *cuts)
{
    const f64 *h = sample->at;
    i64 n = sample->n, often, different, many = 0;
    KH_CHECK(cuts->n == KH_CUTS);
    for (i64 i = 0; i < KH_CUTS; i++) cuts->at[i] = 0.0;
    if (n == 0) return 0;
    find_mode(h, n, &often, &different);
    for (i64 i = 1; i < n && different <= KH_CUTS + 1; i++)
        if (h[i] > h[i - 1]) AT(*cuts, many++) = 0.5 * (h[i] + h[i - 1]);
    for (i64 i = 1; i <= KH_CUTS && different > KH_CUTS + 1; i++) {
        f64 cut = quantile(h, n, (f64)i / (KH_CUTS + 1.0));
        if ((many == 0 || cut > cuts->at[many - 1]) && cut < h[n - 1]) AT(*cuts, many++) = cut;
    }
    return many;
}

KH_API i64 kh_code(const floats *cuts, i64 many, f64 value)
{
    i64 low = 0, high = many;
    if (isnan(value)) return 0;
    KH_CHECK(many <= cuts->n);
    while (low < high) {
        i64 middle = (low + high) / 2;
        if (cuts->at[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low + 1;
}

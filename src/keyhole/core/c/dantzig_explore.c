/* A block of rounds that play one sparse model and explore uniformly: read and predicted. */
#include "draw.h"

/* The prediction of the model at a row; false if a value is too large. */
static bool predict(const f64 *row, const ints *support, const f64 *w, const f64 *means, f64 *prediction)
{
    f64 total = 0.0;
    for (i64 i = 0; i < support->n; i++) {
        f64 x = row[support->at[i]];
        if (fabs(x) > KH_LARGEST) return false;
        total += w[i] * (isnan(x) ? means[i] : kh_taken(x));
    }
    *prediction = total;
    return true;
}

/* Those of the drawn features that arrived, then -1, and their values; false if one is too large. */
static bool arrived(const f64 *row, const ints *drawn, int32_t *explored, f64 *values)
{
    i64 n = 0;
    for (i64 a = 0; a < drawn->n; a++) {
        f64 value = row[drawn->at[a]];
        if (fabs(value) > KH_LARGEST) return false;
        if (!isnan(value)) explored[n] = (int32_t)drawn->at[a], values[n++] = kh_taken(value);
    }
    for (; n < drawn->n; n++) explored[n] = -1, values[n] = 0.0;
    return true;
}

KH_API i64 kh_explore_block(kh_block *block, ints *support, floats *w, floats *means, shorts *explored,
                            floats *values, ints *asked, kh_room *room)
{
    i64 mark = room->used, rows = block->X.n, t;
    ints drawn = take_ints(room, explored->m), both = take_ints(room, explored->m + support->n);
    for (t = 0; t < rows; t++) {
        const f64 *row = ROW(block->X, t);
        kh_subset(block->seed, block->first_round + t, 0, block->X.m, &drawn, &block->space);
        if (!predict(row, support, w->at, means->at, &AT(block->predictions, t))) break;
        if (!arrived(row, &drawn, ROW(*explored, t), ROW(*values, t))) break;
        for (i64 a = 0; a < drawn.n; a++) AT(*asked, drawn.at[a])++;
        i64 n = kh_merge(&drawn, support, &both);
        for (i64 a = 0; a < block->bought.m; a++) AT2(block->bought, t, a) = a < n ? (int32_t)both.at[a] : -1;
    }
    room->used = mark;
    return t;
}

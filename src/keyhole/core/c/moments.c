/* Moments of partially seen rows: rows are checked, wait in a buffer, and are added to the sums. */
#include "draw.h"
#include "sums.h"

KH_LAYOUT(kh_moment_sums, KH_MOMENT_SUMS)
enum { FOLD = 8192 }; /* as in moments.py: rows summed in `recent` before it is added to `total` */

KH_API i64 kh_first_fault(ints *bought, floats *values, floats *labels, i64 d)
{
    for (i64 t = 0; t < labels->n; t++) {
        const i64 *feature = ROW(*bought, t);
        const f64 *x = ROW(*values, t);
        bool ended = false;
        if (!(fabs(labels->at[t]) <= KH_LARGEST)) return t;
        for (i64 a = 0, before = -1; a < bought->m; a++) {
            i64 j = feature[a];
            if (j == -1) ended = true;
            else if (ended || !(before < j && j < d) || !(fabs(x[a]) <= KH_LARGEST)) return t;
            else before = j;
        }
    }
    return -1;
}

/* Rows to any one sum in their order, so that no division of them into buffers shows. */
static void add_rows(kh_rows *rows, i64 first, i64 last, kh_pair_sums *into, kh_gathered *gathered,
                     kh_room *room)
{
    i64 d = into->d, many = into->sums.n;
    f64 *Xy = into->sums.at + d * (d + 1) / 2, *X = Xy + d, *Y = X + d, *scalars = into->sums.at + many - 2;
    for (i64 t = first; t < last; t++) {
        f64 y = rows->y.at[t];
        scalars[0] += y;
        scalars[1] += y * y;
        for (i64 e = rows->offsets.at[t]; e < rows->offsets.at[t + 1]; e++) {
            i64 j = KH_INDEX(rows->features.at[e], d);
            Xy[j] += rows->x.at[e] * y;
            X[j] += rows->x.at[e];
            Y[j] += y;
        }
    }
    kh_add_products(rows, first, last, into, gathered, room);
}

KH_API i64 kh_accumulate(i64 n, i64 buffered, kh_rows *buffer, kh_moment_sums *sums, kh_gathered *gathered,
                         kh_room *room)
{
    kh_pair_sums into = {sums->d, sums->recent, sums->pairs};
    f64 *restrict total = sums->total.at, *restrict recent = sums->recent.at;
    for (i64 first = 0, last; first < buffered; first = last) {
        last = i_min(buffered, first + FOLD - n % FOLD);
        add_rows(buffer, first, last, &into, gathered, room);
        n += last - first;
        if (n % FOLD) continue;
        for (i64 e = 0; e < sums->total.n; e++) {
            total[e] += recent[e];
            recent[e] = 0.0;
        }
    }
    return n;
}

KH_API void kh_take_rows(ints *bought, floats *values, floats *labels, i64 n, i64 buffered, kh_rows *buffer,
                         kh_moment_sums *sums, kh_gathered *gathered, i64 *added, i64 *waiting, kh_room *room)
{
    int32_t *offset = buffer->offsets.at;
    for (i64 t = 0; t < labels->n; t++) {
        if (buffered == buffer->y.n || offset[buffered] + bought->m > buffer->x.n) {
            n = kh_accumulate(n, buffered, buffer, sums, gathered, room);
            buffered = 0;
        }
        const i64 *feature = ROW(*bought, t);
        i64 e = offset[buffered];
        for (i64 a = 0; a < bought->m && feature[a] >= 0; a++, e++) {
            AT(buffer->features, e) = (int32_t)feature[a];
            AT(buffer->x, e) = AT2(*values, t, a);
        }
        buffer->y.at[buffered++] = labels->at[t];
        offset[buffered] = (int32_t)e;
    }
    *added = n;
    *waiting = buffered;
}

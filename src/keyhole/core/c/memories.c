/* Memories: zero-imputed second moments of what was read, each forgetting at its own pace. */
#include "lanes.h"
#include "sums.h"

KH_LAYOUT(kh_memories, KH_MEMORIES)
#define SMALL 1e-60 /* a scale below this is multiplied out, once in 138 tau rounds */

static void times(f64 *restrict at, i64 n, f64 factor)
{
    for (i64 p = 0; p < n; p++) at[p] *= factor;
}

KH_WIDE KH_API f64 kh_products(floats *values, floats *labels, i64 rows, floats *G, floats *c, floats *count,
                       kh_room *room)
{
    i64 mark = room->used, m = values->m, w = m + 1;
    f64 *restrict x = TAKE(room, f64, w), *restrict sums = c->at, *restrict counts = count->at, yy = 0.0;
    KH_CHECK(rows <= values->n && rows <= labels->n && G->n == w && G->m == w && c->n == w && count->n == w);
    memset(G->at, 0, (size_t)(w * w) * sizeof(f64));
    memset(sums, 0, (size_t)w * sizeof(f64));
    memset(counts, 0, (size_t)w * sizeof(f64));
    x[m] = 1.0;
    for (i64 t = 0; t < rows; t++) {
        const f64 *restrict row = values->at + t * m;
        f64 y = labels->at[t];
        for (i64 a = 0; a < m; a++) {
            bool there = !isnan(row[a]);
            x[a] = there ? row[a] : 0.0;
            counts[a] += there ? 1.0 : 0.0;
        }
        for (i64 a = 0; a < w; a++) {
            f64 *restrict line = G->at + a * w, xa = x[a];
            sums[a] += xa * y;
            for (i64 b = a; b < w; b++) line[b] += xa * x[b];
        }
        yy += y * y;
    }
    counts[m] = (f64)rows;
    room->used = mark;
    return yy;
}

f64 kh_forget(kh_memories *kept, i64 i, f64 share)
{
    f64 scale = AT(kept->scale, i) * share;
    if (scale < SMALL) {
        times(ROW(kept->G, i), kept->G.m * kept->G.l, scale);
        times(ROW(kept->c, i), kept->c.m, scale);
        times(ROW(kept->n, i), kept->n.m, scale);
        kept->yy.at[i] *= scale;
        times(ROW(kept->rest, i), kept->rest.m * kept->rest.l, scale);
        scale = 1.0;
    }
    kept->scale.at[i] = scale;
    return 1.0 / scale;
}

void kh_forget_feature(kh_memories *kept, i64 j)
{
    i64 a = AT(kept->seat, j), w = kept->who.n + 1;
    for (i64 i = 0; i < kept->tau.n; i++) {
        if (a < 0) {
            for (i64 p = 0; p < KH_REST_SUMS; p++) AT3(kept->rest, i, j, p) = 0.0;
            continue;
        }
        AT2(kept->c, i, a) = AT2(kept->n, i, a) = 0.0;
        for (i64 b = 0; b < w; b++) AT3(kept->G, i, a, b) = AT3(kept->G, i, b, a) = 0.0;
    }
}

static void copy_row(floats *from, i64 i, i64 m)
{
    memmove(ROW(*from, i), ROW(*from, m), (size_t)(from->m * from->l) * sizeof(f64));
}

void kh_copy_memory(kh_memories *kept, i64 i, i64 m)
{
    if (m >= kept->tau.n) {
        kh_forget(kept, i, 0.0);
        return;
    }
    copy_row(&kept->G, i, m);
    copy_row(&kept->c, i, m);
    copy_row(&kept->n, i, m);
    copy_row(&kept->rest, i, m);
    kept->yy.at[i] = kept->yy.at[m];
    kept->scale.at[i] = kept->scale.at[m];
}

void kh_shift_labels(kh_memories *kept, i64 i, f64 more)
{
    i64 last = kept->who.n;
    f64 *c = ROW(kept->c, i), *rest = ROW(kept->rest, i), yy = AT(kept->yy, i);
    kept->yy.at[i] = f_max(yy + more * (2.0 * c[last] + more * AT2(kept->n, i, last)), 0.0);
    for (i64 p = 0; p <= last; p++) c[p] += more * AT3(kept->G, i, p, last);
    for (i64 j = 0; j < kept->rest.m; j++)
        rest[j * KH_REST_SUMS + KH_PRODUCT] += more * rest[j * KH_REST_SUMS + KH_LEVEL];
}

KH_API void kh_fold_row(kh_memories *kept, i64 i, f64 share, floats *z, floats *seen, f64 y, kh_room *room)
{
    i64 mark = room->used, seats = kept->who.n;
    f64 more = kh_forget(kept, i, share), *restrict there = TAKE(room, f64, seats + 1);
    f64 *c = ROW(kept->c, i), *n = ROW(kept->n, i), *G = ROW(kept->G, i), *rest = ROW(kept->rest, i);
    kept->yy.at[i] += y * y * more;
    for (i64 a = 0; a <= seats; a++) {
        i64 j = a < seats ? kept->who.at[a] : z->n - 1;
        there[a] = j >= 0 ? AT(*z, j) : 0.0;
        if (j < 0) continue;
        c[a] += z->at[j] * y * more;
        n[a] += AT(*seen, j) * more;
    }
    for (i64 a = 0; a <= seats; a++) /* G stays symmetric to the bit */
        if (there[a] != 0.0) kh_add_outer(G + a * (seats + 1), there[a], there, more, seats + 1);
    for (i64 j = 0; j < kept->rest.m; j++) {
        if (kept->seat.at[j] >= 0) continue;
        f64 *sums = rest + j * KH_REST_SUMS, value = z->at[j];
        sums[KH_SQUARE] += value * value * more;
        sums[KH_LEVEL] += value * more;
        sums[KH_PRODUCT] += value * y * more;
        sums[KH_COUNT] += seen->at[j] * more;
    }
    room->used = mark;
}

KH_WIDE KH_API void kh_fold(kh_memories *kept, ints *features, floats *G, floats *c, floats *count, f64 yy, i64 rows)
{
    i64 m = features->n, last = kept->who.n, w = last + 1;
    for (i64 i = 0; i < kept->tau.n; i++) {
        f64 more = kh_forget(kept, i, kh_exp((f64)-rows / kept->tau.at[i]));
        f64 *all_G = ROW(kept->G, i), *all_c = ROW(kept->c, i), *all_n = ROW(kept->n, i);
        kept->yy.at[i] += yy * more;
        for (i64 a = 0; a <= m; a++) {
            i64 v = a < m ? KH_INDEX(AT(kept->seat, features->at[a]), last) : last;
            const f64 *row = ROW(*G, a);
            all_c[v] += c->at[a] * more;
            all_n[v] += count->at[a] * more;
            all_G[v * w + v] += row[a] * more;
            for (i64 b = a + 1; b <= m; b++) {
                i64 u = b < m ? kept->seat.at[features->at[b]] : last;
                f64 product = row[b] * more;
                all_G[v * w + u] += product;
                all_G[u * w + v] += product;
            }
        }
    }
}

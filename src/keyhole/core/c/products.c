/* Sums of x x^T and counts of pairs over partially seen rows: three ways, the same bits. */
#include "lanes.h"
#include "sums.h"

KH_LAYOUT(kh_rows, KH_ROWS)
KH_LAYOUT(kh_gathered, KH_GATHERED)
KH_LAYOUT(kh_pair_sums, KH_PAIR_SUMS)

enum { CHUNK = 64, TILE = 128 }; /* rows of a block, one word per feature; columns at a time: 64 KB */
enum { CACHED = 300, FEW = 16 }; /* d up to which the sums stay in the cache; rows not worth a block */
#define SHARE 0.35               /* rows that see more than SHARE d + OVERHEAD features go as a block */
#define OVERHEAD 20.0

/* The entry (i, j), i <= j, of a triangle is at base(i, d) + j. */
static inline i64 base(i64 i, i64 d) { return i * d - i * (i + 1) / 2; }

/* Entry e of a row that ends before `stop`, times itself and the later entries of the row. */
static inline void add_entry(i64 e, i64 stop, kh_rows *rows, kh_pair_sums *into)
{
    const int32_t *feature = rows->features.at;
    const f64 *x = rows->x.at, own = x[e];
    i64 row = base(KH_INDEX(feature[e], into->d), into->d), *pairs = into->pairs.at + row;
    f64 *sums = into->sums.at + row;
    for (i64 f = e; f < stop; f++) {
        sums[feature[f]] += own * x[f];
        pairs[feature[f]]++;
    }
}

KH_API void kh_by_row(kh_rows *rows, i64 first, i64 last, kh_pair_sums *into)
{
    const int32_t *offset = rows->offsets.at;
    for (i64 t = first; t < last; t++)
        for (i64 e = offset[t]; e < offset[t + 1]; e++) add_entry(e, offset[t + 1], rows, into);
}

/* The entries of these rows in the order of their features, those of one feature in the order of the
   rows: order[0] their numbers, order[1] where the row of each ends; how many. */
static i64 gather(kh_rows *rows, i64 first, i64 last, kh_gathered *out)
{
    const int32_t *offset = rows->offsets.at, *feature = rows->features.at;
    int32_t *start = out->start.at, *number = ROW(out->order, 0), *end = ROW(out->order, 1);
    i64 low = offset[first], high = offset[last];
    for (i64 i = 0; i < out->start.n; i++) start[i] = 0;
    for (i64 e = low; e < high; e++) start[feature[e] + 1]++; /* a counting sort */
    for (i64 i = 0; i + 1 < out->start.n; i++) start[i + 1] += start[i];
    for (i64 t = first; t < last; t++)
        for (i64 e = offset[t]; e < offset[t + 1]; e++) {
            i64 slot = KH_INDEX(start[feature[e]]++, out->order.m);
            number[slot] = (int32_t)e;
            end[slot] = offset[t + 1];
        }
    return high - low;
}

/* Jumping about in a matrix larger than the cache is what costs: row by row of the triangle. */
KH_API void kh_by_feature(kh_rows *rows, i64 first, i64 last, kh_pair_sums *into, kh_gathered *room)
{
    i64 many = gather(rows, first, last, room);
    const int32_t *number = ROW(room->order, 0), *end = ROW(room->order, 1);
    for (i64 slot = 0; slot < many; slot++) add_entry(number[slot], end[slot], rows, into);
}

/* pairs[j] += how many bits `mine` and seen[j] have in common, by sums of 1, 2, 4, ... bits. */
KH_WIDE static void count(u64 mine, const u64 *restrict seen, i64 *restrict pairs, i64 n)
{
    for (i64 j = 0; j < n; j++) {
        u64 v = mine & seen[j];
        v -= (v >> 1) & 0x5555555555555555u;
        v = (v & 0x3333333333333333u) + ((v >> 2) & 0x3333333333333333u);
        v = (v + (v >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
        v += v >> 8;
        v += v >> 16;
        v += v >> 32;
        pairs[j] += (i64)(v & 0x7F);
    }
}

/* p += a_t z_t + ... + a_{t+3} z_{t+3}, the same for q and b. Four rows for each time a sum is loaded
   and two sums for each time z is, as registers allow. */
static inline void add_two(const f64 *a, const f64 *b, const f64 *restrict z, i64 n, f64 *restrict p,
                           f64 *restrict q)
{
    const f64 a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
    for (i64 j = 0; j < n; j++) {
        f64 v0 = z[j], v1 = z[TILE + j], v2 = z[2 * TILE + j], v3 = z[3 * TILE + j];
        p[j] = (((p[j] + a0 * v0) + a1 * v1) + a2 * v2) + a3 * v3;
        q[j] = (((q[j] + b0 * v0) + b1 * v1) + b2 * v2) + b3 * v3;
    }
}

static inline void add_one(const f64 *a, const f64 *b, i64 n, f64 *sum)
{
    f64 total = *sum;
    for (i64 t = 0; t < n; t++) total += a[t] * b[t];
    *sum = total;
}

/* A: Z^T of the chunk, d x CHUNK; tile: TILE columns of Z. Two rows i and i + 1 of the triangle at a
   time, from column i + 2 on; what is left of it goes one by one. */
KH_WIDE static void add_tile(const f64 *A, f64 *tile, i64 height, i64 left, kh_pair_sums *into)
{
    i64 d = into->d, right = i_min(d, left + TILE);
    f64 *sums = into->sums.at;
    for (i64 j = left; j < right; j++)
        for (i64 t = 0; t < height; t++) tile[t * TILE + j - left] = A[j * CHUNK + t];
    for (i64 i = 0; i < right - 1; i += 2) {
        f64 *row = sums + base(i, d), *below = sums + base(i + 1, d);
        const f64 *a = A + i * CHUNK, *b = a + CHUNK;
        i64 begin = i_max(i + 2, left);
        if (i >= left) add_one(a, b, height, row + i + 1);
        for (i64 t = 0; t < height; t += 4)
            add_two(a + t, b + t, tile + t * TILE + begin - left, right - begin, row + begin, below + begin);
    }
}

KH_API void kh_as_block(kh_rows *rows, i64 first, i64 last, kh_pair_sums *into, kh_room *room)
{
    i64 mark = room->used, d = into->d;
    const int32_t *offset = rows->offsets.at, *feature = rows->features.at;
    f64 *A = TAKE(room, f64, d * CHUNK), *tile = TAKE(room, f64, CHUNK * TILE);
    u64 *seen = TAKE(room, u64, d); /* bit t: in row t of the chunk */
    for (i64 low = first; low < last; low += CHUNK) {
        i64 high = i_min(last, low + CHUNK), height = (high - low + 3) / 4 * 4; /* zeros at the end */
        memset(A, 0, (size_t)(d * CHUNK) * sizeof(f64));
        memset(seen, 0, (size_t)d * sizeof(u64));
        for (i64 t = low; t < high; t++)
            for (i64 e = offset[t]; e < offset[t + 1]; e++) {
                A[KH_INDEX(feature[e], d) * CHUNK + t - low] = rows->x.at[e];
                seen[feature[e]] |= (u64)1 << (t - low);
            }
        for (i64 i = 0; i < d; i++) {
            const f64 *own = A + i * CHUNK;
            count(seen[i], seen + i, into->pairs.at + base(i, d) + i, d - i);
            add_one(own, own, height, into->sums.at + base(i, d) + i);
        }
        for (i64 left = 0; left < d; left += TILE) add_tile(A, tile, height, left, into);
    }
    room->used = mark;
}

void kh_add_products(kh_rows *rows, i64 first, i64 last, kh_pair_sums *into, kh_gathered *gathered,
                            kh_room *room)
{
    const int32_t *offset = rows->offsets.at;
    i64 d = into->d, entries = offset[last] - offset[first], squares = 0;
    f64 wide = SHARE * (f64)d + OVERHEAD;
    for (i64 t = first; t < last; t++) {
        i64 seen = offset[t + 1] - offset[t];
        squares += seen * seen;
    }
    bool many = last - first >= FEW && (f64)squares > wide * wide * (f64)(last - first);
    if (many) kh_as_block(rows, first, last, into, room);
    else if (d <= CACHED || entries < d) kh_by_row(rows, first, last, into);
    else kh_by_feature(rows, first, last, into, gathered);
}

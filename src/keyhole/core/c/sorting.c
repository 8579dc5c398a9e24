/* Order: sort a few different numbers, merge two ascending lists, find the largest entries. */
#include "draw.h"

enum { SHORT = 16 }; /* up to here counting who is smaller is fastest, although quadratic */

/* No branch depends on the numbers: a wrong guess costs more than ten comparisons. */
static void by_rank(i64 *restrict out, i64 m)
{
    i64 copy[SHORT];
    for (i64 i = 0; i < m; i++) copy[i] = out[i];
    for (i64 i = 0; i < m; i++) {
        i64 v = copy[i], smaller = 0;
        for (i64 j = 0; j < m; j++) smaller += copy[j] < v;
        out[smaller] = v;
    }
}

/* A set of bits, read from the lowest to the highest. */
static void by_bits(i64 *restrict out, i64 m, i64 n, u64 *restrict bits)
{
    i64 count = (n + 63) >> 6, at = 0;
    for (i64 b = 0; b < count; b++) bits[b] = 0;
    for (i64 i = 0; i < m; i++) bits[out[i] >> 6] |= (u64)1 << (out[i] & 63);
    for (i64 b = 0; b < count; b++)
        for (u64 word = bits[b]; word; word &= word - 1) out[at++] = (b << 6) + __builtin_ctzll(word);
}

/* A uniform subset fills m equal buckets of [0, n) evenly, so one bucket pass leaves almost nothing to
   the insertion sort. */
static void by_buckets(i64 *restrict out, i64 m, i64 n, i64 *restrict counts, i64 *restrict placed)
{
    f64 scale = (f64)m / (f64)n;
    for (i64 b = 0; b <= m; b++) counts[b] = 0;
    for (i64 i = 0; i < m; i++) counts[(i64)((f64)out[i] * scale) + 1]++;
    for (i64 b = 0; b < m; b++) counts[b + 1] += counts[b];
    for (i64 i = 0; i < m; i++) placed[counts[(i64)((f64)out[i] * scale)]++] = out[i];
    for (i64 i = 0; i < m; i++) {
        i64 v = placed[i], j = i - 1;
        for (; j >= 0 && out[j] > v; j--) out[j + 1] = out[j];
        out[j + 1] = v;
    }
}

KH_API void kh_sort(ints *out, i64 n, ints *space, ints *more_space)
{
    i64 m = out->n;
    KH_CHECK(m <= SHORT || (space->n > m && more_space->n > m));
    if (m <= SHORT) by_rank(out->at, m);
    else if (n <= 64 * m) by_bits(out->at, m, n, (u64 *)space->at);
    else by_buckets(out->at, m, n, space->at, more_space->at);
}

KH_API i64 kh_merge(ints *S, ints *support, ints *out)
{
    i64 a = 0, b = 0, n = 0, many = S->n, more = support->n;
    while (a < many || b < more) {
        if (b == more || (a < many && S->at[a] <= support->at[b])) {
            AT(*out, n) = S->at[a];
            if (b < more && S->at[a] == support->at[b]) b++;
            a++;
        } else {
            AT(*out, n) = support->at[b++];
        }
        n++;
    }
    return n;
}

KH_API void kh_largest(floats *score, ints *out)
{
    const f64 *value = score->at;
    i64 m = out->n, held = 0, *best = out->at;
    if (m == 0) return;
    for (i64 j = 0; j < score->n; j++) {
        if (held == m && !(value[j] > value[best[m - 1]])) continue;
        i64 place = i_min(held, m - 1);
        for (; place > 0 && value[j] > value[best[place - 1]]; place--) best[place] = best[place - 1];
        best[place] = j;
        held = i_min(held + 1, m);
    }
}

static inline bool before(f64 a, f64 b) { return a < b || (isnan(b) && !isnan(a)); }

void kh_argsort(floats *keys, ints *order, kh_room *room)
{
    i64 n = keys->n, mark = room->used, *from = order->at, *to = TAKE(room, i64, n);
    const f64 *key = keys->at;
    for (i64 low = 0; low < n; low += SHORT)
        for (i64 i = low; i < i_min(low + SHORT, n); i++) {
            i64 place = i;
            for (; place > low && before(key[i], key[from[place - 1]]); place--)
                from[place] = from[place - 1];
            from[place] = i;
        }
    for (i64 width = SHORT; width < n; width *= 2) {
        for (i64 low = 0; low < n; low += 2 * width) {
            i64 middle = i_min(low + width, n), high = i_min(low + 2 * width, n), a = low, b = middle;
            for (i64 i = low; i < high; i++) {
                bool second = a == middle || (b < high && before(key[from[b]], key[from[a]]));
                to[i] = from[second ? b++ : a++];
            }
        }
        i64 *swap = from;
        from = to;
        to = swap;
    }
    if (from != order->at) memcpy(order->at, from, (size_t)n * sizeof(i64));
    room->used = mark;
}

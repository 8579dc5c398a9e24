/* Small trees: one fitted to what is missed without it, and the sum of all of them for a row. */
#include "draw.h"
#include "philox.h"
#include "shapes.h"

KH_LAYOUT(kh_forest, KH_FOREST)

enum { ROWS_PURPOSE = (1 << 20) + 16, INPUTS_PURPOSE }; /* of draws */
enum { CODES = KH_CUTS + 2 };
enum { NOTHING = -1, PREDICTION = -2 }; /* in place of a feature */
#define DRAWN_ROWS 3006477107u /* of 2^32: 0.7 */
#define DRAWN_INPUTS 0.7
#define RIDGE 10.0
#define FEWEST 5.0 /* rows on either side of a split */
#define STEP 0.2   /* what of a leaf's mean counts */

typedef struct { /* a split of a node, and where it stands in the codes */
    i64 input, code;
    bool absent_left;
} split;
typedef struct { /* the rows that are drawn, their nodes, and what is missed */
    i64 n, *slot, *node;
    f64 *missed;
} sample;
typedef struct {
    i64 n, *input;
    f64 *sums; /* of nodes, inputs, codes: what is missed, and how many rows */
} histograms;

static sample draw_rows(u64 seed, i64 key, ints *slots, const f64 *missed, kh_room *room)
{
    i64 rows = slots->n;
    sample drawn = {0, TAKE(room, i64, rows), TAKE(room, i64, rows), TAKE(room, f64, rows)};
    kh_four four = {{0, 0, 0, 0}};
    for (i64 i = 0; i < rows; i++) {
        if (i % 4 == 0) four = kh_four_words(seed, key, ROWS_PURPOSE, i / 4);
        drawn.slot[drawn.n] = slots->at[i];
        drawn.node[drawn.n] = 0;
        drawn.missed[drawn.n] = missed[i];
        drawn.n += four.w[i % 4] < DRAWN_ROWS;
    }
    return drawn;
}

static i64 draw_inputs(u64 seed, i64 key, const kh_seated *seated, i64 *input, kh_room *room)
{
    i64 mark = room->used, many = 0, *all = TAKE(room, i64, seated->many.n);
    for (i64 a = 0; a < seated->many.n; a++)
        if (seated->many.at[a] > 0) all[many++] = a;
    ints some = take_ints(room, (i64)ceil(DRAWN_INPUTS * (f64)many)), space = kh_take_scratch(room, many);
    kh_scratch(&space);
    if (many > 0) kh_subset(seed, key, INPUTS_PURPOSE, many, &some, &space);
    for (i64 a = 0; a < some.n; a++) input[a] = all[some.at[a]];
    room->used = mark;
    return some.n;
}

/* Sums of the nodes first, first + 1, ... of a level. */
KH_WIDE static void fill(const histograms *h, const sample *drawn, const kh_seated *seated, i64 first, i64 nodes)
{
    i64 wide = h->n * CODES * 2, inputs = seated->codes.m;
    for (i64 i = 0; i < nodes * wide; i++) h->sums[i] = 0.0;
    for (i64 i = 0; i < drawn->n; i++) {
        const int8_t *codes = seated->codes.at + drawn->slot[i] * inputs;
        f64 *at = h->sums + (drawn->node[i] - first) * wide, missed = drawn->missed[i];
        for (i64 a = 0; a < h->n; a++, at += 2 * CODES) {
            f64 *cell = at + 2 * codes[h->input[a]];
            cell[0] += missed;
            cell[1] += 1.0;
        }
    }
}

static inline f64 worth(f64 sum, f64 rows) { return sum * sum / (rows + RIDGE); }

/* The split of a node that gains most; input -1 if none gains. */
static split best_split(const histograms *h, const kh_seated *seated, i64 node)
{
    split best = {-1, 0, false};
    const f64 *sums = h->sums + node * h->n * CODES * 2;
    f64 G = 0.0, n = 0.0, most = 0.0;
    for (i64 c = 0; c < CODES && h->n > 0; c++) G += sums[2 * c], n += sums[2 * c + 1];
    if (n < 2.0 * FEWEST) return best;
    f64 whole = worth(G, n);
    for (i64 a = 0; a < h->n; a++, sums += 2 * CODES) {
        f64 left = 0.0, rows = 0.0;
        for (i64 c = 1; c <= AT(seated->many, h->input[a]); c++) {
            if (sums[2 * c + 1] == 0.0) continue;
            left += sums[2 * c];
            rows += sums[2 * c + 1];
            for (int side = 0; side < (sums[1] > 0.0 ? 2 : 1); side++) { /* absent values: right, then left */
                f64 L = side ? left + sums[0] : left, l = side ? rows + sums[1] : rows;
                if (l < FEWEST || n - l < FEWEST) continue;
                f64 gain = worth(L, l) + worth(G - L, n - l) - whole;
                if (gain > most) most = gain, best = (split){h->input[a], c, side == 1};
            }
        }
    }
    return best;
}

static inline i64 below_node(i64 k, const split *s, const int8_t *codes)
{
    if (s->input < 0) return 2 * k + 1;
    i64 code = codes[s->input];
    bool left = code == 0 ? s->absent_left : code <= s->code;
    return 2 * k + (left ? 1 : 2);
}

static void note_split(kh_forest *forest, const kh_seated *seated, i64 m, i64 k, const split *s)
{
    AT2(forest->features, m, k) = s->input < 0 ? NOTHING : s->input == seated->who.n ? PREDICTION : AT(seated->who, s->input);
    AT2(forest->thresholds, m, k) = s->input < 0 ? 0.0 : AT2(seated->cuts, s->input, s->code - 1);
    AT2(forest->absent_left, m, k) = s->input < 0 || s->absent_left;
}

/* Leaves from the rows that were drawn; then all rows know where they fall. */
static void fill_leaves(kh_forest *forest, const kh_seated *seated, const sample *drawn, i64 m, ints *slots,
                        const split *splits, f64 *counts)
{
    i64 inner = forest->features.m, inputs = seated->codes.m;
    f64 *leaves = ROW(forest->leaves, m);
    for (i64 q = 0; q <= inner; q++) leaves[q] = counts[q] = 0.0;
    for (i64 i = 0; i < drawn->n; i++) {
        i64 q = drawn->node[i] - inner;
        leaves[q] += drawn->missed[i];
        counts[q] += 1.0;
    }
    for (i64 q = 0; q <= inner; q++) {
        leaves[q] = STEP * leaves[q] / (counts[q] + RIDGE);
        if (!isfinite(leaves[q])) leaves[q] = 0.0; /* sums of labels leave no room */
    }
    for (i64 i = 0; i < slots->n; i++) {
        i64 slot = slots->at[i], k = 0;
        const int8_t *codes = seated->codes.at + slot * inputs;
        while (k < inner) k = below_node(k, splits + k, codes);
        AT2(forest->places, m, slot) = (int8_t)(k - inner);
        AT(forest->fit, slot) += leaves[k - inner];
    }
}

KH_API void kh_fit_tree(kh_forest *forest, kh_seated *seated, ints *slots, floats *missed, u64 seed,
                        kh_room *room)
{
    i64 mark = room->used, key = AT(forest->fitted, 0), N = forest->features.n, m = key % N, rows = slots->n;
    i64 inner = forest->features.m, inputs = seated->many.n;
    split *splits = TAKE(room, split, inner);
    f64 *rest = TAKE(room, f64, rows), *counts = TAKE(room, f64, inner + 1);
    KH_CHECK(rows <= forest->fit.n && missed->n == rows && seated->codes.m == inputs);
    for (i64 i = 0; i < rows; i++) {
        i64 slot = slots->at[i];
        if (key >= N) AT(forest->fit, slot) -= AT2(forest->leaves, m, AT2(forest->places, m, slot));
        rest[i] = AT(*missed, i) - forest->fit.at[slot];
    }
    sample drawn = draw_rows(seed, key, slots, rest, room);
    histograms h = {0, TAKE(room, i64, inputs), NULL};
    h.n = draw_inputs(seed, key, seated, h.input, room);
    h.sums = TAKE(room, f64, (inner + 1) / 2 * h.n * CODES * 2);
    for (i64 first = 0; first < inner; first = 2 * first + 1) {
        fill(&h, &drawn, seated, first, first + 1);
        for (i64 k = first; k <= 2 * first; k++) {
            splits[k] = best_split(&h, seated, k - first);
            note_split(forest, seated, m, k, splits + k);
        }
        for (i64 i = 0; i < drawn.n; i++)
            drawn.node[i] = below_node(drawn.node[i], splits + drawn.node[i], seated->codes.at + drawn.slot[i] * inputs);
    }
    fill_leaves(forest, seated, &drawn, m, slots, splits, counts);
    AT(forest->fitted, 0)++;
    room->used = mark;
}

KH_API void kh_find_nodes(kh_forest *forest, ints *S, ints *places)
{
    i64 many = i_min(AT(forest->fitted, 0), forest->features.n) * forest->features.m, b = S->n;
    for (i64 k = 0; k < many; k++) {
        i64 j = forest->features.at[k], low = 0, high = b;
        if (j < 0) {
            AT(*places, k) = j == PREDICTION ? b : b + 1;
            continue;
        }
        while (low < high) {
            i64 middle = (low + high) / 2;
            if (S->at[middle] < j) low = middle + 1;
            else high = middle;
        }
        AT(*places, k) = low < b && S->at[low] == j ? low : b + 1;
    }
}

KH_API f64 kh_sum_trees(kh_forest *forest, ints *places, floats *x, bytes *leaf)
{
    i64 trees = i_min(AT(forest->fitted, 0), forest->features.n), inner = forest->features.m;
    f64 total = 0.0;
    KH_CHECK(leaf->n == forest->features.n && places->n >= trees * inner);
    for (i64 m = 0; m < trees; m++) {
        const i64 *place = places->at + m * inner;
        const f64 *threshold = ROW(forest->thresholds, m);
        const bool *absent_left = forest->absent_left.at + m * inner;
        i64 k = 0;
        while (k < inner) {
            f64 value = AT(*x, place[k]);
            bool left = isnan(value) ? absent_left[k] : value <= threshold[k];
            k = 2 * k + (left ? 1 : 2);
        }
        leaf->at[m] = (int8_t)(k - inner);
        total += AT2(forest->leaves, m, k - inner);
    }
    for (i64 m = trees; m < leaf->n; m++) leaf->at[m] = 0;
    return total;
}

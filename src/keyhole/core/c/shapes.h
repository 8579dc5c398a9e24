/* Shapes: curves of single features and small trees, fitted to what a prediction missed. See
   blocks/shapes. */
#ifndef KH_SHAPES_H
#define KH_SHAPES_H
#include "kh.h"

/* These numbers stand in blocks/shapes too. */
enum { KH_KNOTS = 5, KH_COLUMNS = KH_KNOTS + 3 };         /* of a curve: line, logarithm, bends, mode */
enum { KH_MIDDLE, KH_WIDTH, KH_MODE, KH_AT };             /* places of a form: then knots, */
enum { KH_MEANS = KH_AT + KH_KNOTS, KH_SIZES = KH_MEANS + KH_COLUMNS, KH_FORM = KH_SIZES + KH_COLUMNS };
enum { KH_CUTS = 31 };                                    /* of an input of the trees, at most */
enum { KH_SAMPLE = 256, KH_LOOKED = 1024 };               /* values, and rows, that shapes are made from */

/* The last rows told: what was bought of each, and its label. Row i, counted from 0, stands in slot i
   modulo their number; of the `told` so far the last `many` are looked at. */
#define KH_WINDOW_ROWS(F) F(shorts, features) F(floats, values) F(floats, labels) F(i64, told) F(i64, many)
KH_STRUCT(kh_window, KH_WINDOW_ROWS)
/* The slot of the row told `age` rows before the last one. */
static inline i64 kh_slot(const kh_window *rows, i64 age) { return (rows->told - 1 - age) % rows->labels.n; }

/* A row: what was bought, ascending. NaN where feature j is not among it. */
typedef struct {
    i64 n;
    const int32_t *features;
    const f64 *values;
} kh_row;
static inline f64 kh_value_of(const kh_row *row, i64 j)
{
    i64 low = 0, high = row->n;
    while (low < high) {
        i64 middle = (low + high) / 2;
        if (row->features[middle] < j) low = middle + 1;
        else high = middle;
    }
    return low < row->n && row->features[low] == j ? row->values[low] : NAN;
}
static inline kh_row kh_row_at(const kh_window *rows, i64 slot)
{
    kh_row row = {0, ROW(rows->features, slot), ROW(rows->values, slot)};
    while (row.n < rows->features.m && row.features[row.n] >= 0) row.n++;
    return row;
}

/* The form of a curve from an ascending sample; its columns at a value, all 0 if that is absent. */
KH_API void kh_make_form(floats *sample, floats *form);
KH_API void kh_columns(const floats *form, f64 value, floats *out);
/* Where an input of the trees may be cut, from an ascending sample: how many cuts. */
KH_API i64 kh_make_cuts(floats *sample, floats *cuts);
/* 0 for an absent value, else 1 and how many cuts are below it. */
KH_API i64 kh_code(const floats *cuts, i64 many, f64 value);

/* Who sits: the features read most of late, and how their values are looked at. The last input of
   the trees is the prediction they correct. */
#define KH_SEATED(F) \
    F(ints, who) F(ints, made) F(floats, forms) F(floats, cuts) F(ints, many) F(bytes, codes)
KH_STRUCT(kh_seated, KH_SEATED)
/* Room: 2 d + 2 n + 2 S, n = min(d, slots width), S the seats. Those who come have `made` 0. */
KH_API void kh_take_seats(kh_seated *seated, kh_window *rows, i64 d, floats *counts, kh_room *room);
/* An ascending sample of the values of feature j among the last rows. Room: KH_SAMPLE. */
KH_API i64 kh_sample(kh_window *rows, i64 j, floats *out, kh_room *room);
i64 kh_sample_of(floats *values, kh_window *rows, floats *out, kh_room *room); /* one for each slot */

/* Features that bend, the strongest first, -1 beyond; see blocks/shapes/bent.py. `missed`: by slot what
   is missed of each label; what is left of it then. */
KH_API void kh_find_bent(kh_window *told, i64 d, floats *missed, ints *out, kh_room *room);

/* The ridge on curves; see blocks/shapes/ridge.py. */
#define KH_RIDGE(F) \
    F(floats, A) F(floats, c) F(floats, level) F(floats, root) F(floats, along) F(ints, used) F(ints, size)
KH_STRUCT(kh_ridge, KH_RIDGE)
/* Add a row to the sums, in the blocks of columns that are in `fresh` or cross them; NULL: in all. */
KH_API void kh_add_columns(kh_ridge *ridge, floats *z, bools *fresh, f64 missed);
KH_API void kh_solve_ridge(kh_ridge *ridge);
/* What the ridge adds at these columns. Room: P. */
KH_API f64 kh_guess_ridge(kh_ridge *ridge, floats *z, kh_room *room);

/* The trees; see blocks/shapes/trees.py. */
#define KH_FOREST(F) \
    F(ints, features) F(floats, thresholds) F(bools, absent_left) F(floats, leaves) F(floats, fit) \
    F(bytes, places) F(ints, fitted)
KH_STRUCT(kh_forest, KH_FOREST)
/* Fit the next tree to the rows in these slots; `missed`: what each misses without trees. */
KH_API void kh_fit_tree(kh_forest *forest, kh_seated *seated, ints *slots, floats *missed, u64 seed,
                        kh_room *room);
/* Where in a row each node of each tree looks: at features S, at the prediction, at nothing. */
KH_API void kh_find_nodes(kh_forest *forest, ints *S, ints *places);
/* Sum of the trees for the row x: values of S, the prediction, NaN; `leaf`: where it fell. */
KH_API f64 kh_sum_trees(kh_forest *forest, ints *places, floats *x, bytes *leaf);

#endif

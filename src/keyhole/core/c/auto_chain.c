/* Shapes behind AutoLearner: a ridge on curves of what was bought, then trees, then both judged. */
#include "auto.h"

KH_LAYOUT(kh_chain, KH_CHAIN)

enum { CLOSED, CHECKED, BUILT, SOLVED, CLOCK };  /* chain.clock: rows told, when that was last done */
enum { FIRST_ROWS = 32, FIRST_TREE = 64 };       /* rows told before anything is guessed */
enum { CHECKS = 16, SELDOM = 64, SOLVES = 64 };  /* parts of the rows told; rows */
enum { LEVEL, SIZE };                            /* ridge.level */
#define FARTHEST 5.0                             /* as other columns */

static bool is_there(const kh_chain *chain) { return chain->ring.labels.n > 0; }
static i64 curves_of(const kh_chain *chain) { return chain->ridge.c.n / KH_COLUMNS - 1; }

/* The columns of a row, and last the constant and the prediction. */
static void columns_of(const kh_chain *chain, const kh_row *row, f64 p, floats *z)
{
    i64 curves = curves_of(chain);
    f64 *last = z->at + curves * KH_COLUMNS, size = chain->ridge.level.at[SIZE];
    for (i64 s = 0; s < curves; s++) {
        i64 j = AT(chain->seated.who, s);
        floats form = {ROW(chain->seated.forms, s), KH_FORM, 1, 1};
        floats out = some_floats(z->at + s * KH_COLUMNS, KH_COLUMNS);
        kh_columns(&form, j < 0 ? NAN : kh_value_of(row, j), &out);
    }
    for (i64 i = 0; i < KH_COLUMNS; i++) last[i] = 0.0;
    last[0] = 1.0;
    if (size > 0.0) last[1] = f_max(-FARTHEST, f_min(FARTHEST, (p - chain->ridge.level.at[LEVEL]) / size));
}

static int8_t code_of(const kh_seated *seated, i64 s, f64 value)
{
    floats cuts = some_floats(ROW(seated->cuts, s), KH_CUTS);
    return (int8_t)kh_code(&cuts, AT(seated->many, s), value);
}

/* A row as the chain looks at it: which features it has, and where the trees look. */
typedef struct {
    kh_row row;
    int32_t *features;
    i64 *column; /* where its values are */
    f64 *values; /* then the prediction, and NaN */
    ints nodes;
    floats z;
    bytes leaf;
} view;

static void insert(i64 *out, i64 n, i64 j)
{
    for (; n > 0 && out[n - 1] > j; n--) out[n] = out[n - 1];
    out[n] = j;
}

static bool among(const i64 *list, i64 n, i64 j)
{
    for (i64 i = 0; i < n; i++)
        if (list[i] == j) return true;
    return false;
}

/* As many features as a row of the ring has room for: if not all of S, those that sit come first. */
static i64 pick(const kh_chain *chain, ints *S, bool all, i64 *out)
{
    i64 wide = chain->ring.features.m, n = 0;
    const ints *who = &chain->seated.who;
    for (i64 s = 0; s < who->n && (all || S->n > wide); s++)
        if (n < wide && who->at[s] >= 0 && (all || among(S->at, S->n, who->at[s]))) insert(out, n++, who->at[s]);
    for (i64 i = 0; i < S->n; i++)
        if (n < wide && !among(out, n, S->at[i])) insert(out, n++, S->at[i]);
    return n;
}

static view look_at(kh_chain *chain, ints *S, bool all, const i64 *columns, kh_room *room)
{
    i64 wide = chain->ring.features.m, P = chain->ridge.c.n, trees = chain->forest.features.n;
    ints own = take_ints(room, wide);
    view v = {{0, TAKE(room, int32_t, wide), TAKE(room, f64, wide + 2)}, NULL, TAKE(room, i64, wide), NULL,
              take_ints(room, trees * chain->forest.features.m), take_floats(room, P),
              {TAKE(room, int8_t, trees), trees, 1, 1}};
    v.features = (int32_t *)v.row.features;
    v.values = (f64 *)v.row.values;
    own.n = v.row.n = pick(chain, S, all, own.at);
    for (i64 i = 0; i < own.n; i++) {
        v.features[i] = (int32_t)own.at[i];
        v.column[i] = all || columns ? own.at[i] : kh_place_of(S, own.at[i]);
    }
    kh_find_nodes(&chain->forest, &own, &v.nodes);
    return v;
}

static void fill_in(view *v, const f64 *seen)
{
    for (i64 i = 0; i < v->row.n; i++) v->values[i] = kh_taken(seen[v->column[i]]);
    v->values[v->row.n + 1] = NAN;
}

/* What the ridge makes of a prediction. */
static f64 with_curves(kh_chain *chain, view *v, f64 p, kh_room *room)
{
    if (AT(chain->clock, BUILT) == 0) return p;
    columns_of(chain, &v->row, p, &v->z);
    f64 guess = p + kh_guess_ridge(&chain->ridge, &v->z, room);
    return isfinite(guess) ? guess : p;
}

/* What the trees make of it. */
static f64 with_trees(kh_chain *chain, view *v, f64 q)
{
    floats x = some_floats(v->values, v->row.n + 2);
    v->values[v->row.n] = q;
    f64 guess = q + kh_sum_trees(&chain->forest, &v->nodes, &x, &v->leaf);
    return isfinite(guess) ? guess : q;
}

/* The row is a part of the ring and the sums from here on. */
static void remember(kh_chain *chain, const view *v, f64 p, f64 q, f64 fit, f64 y)
{
    kh_ring *ring = &chain->ring;
    i64 slot = ring->told.at[0] % ring->labels.n, S = chain->seated.who.n, wide = ring->features.m;
    bools all = {NULL, 0, 1, 1};
    for (i64 a = 0; a < wide; a++) {
        AT2(ring->features, slot, a) = a < v->row.n ? v->features[a] : -1;
        AT2(ring->values, slot, a) = a < v->row.n ? v->values[a] : 0.0;
    }
    AT(ring->labels, slot) = y;
    AT(chain->p, slot) = p;
    AT(chain->q, slot) = q;
    AT(chain->forest.fit, slot) = fit;
    for (i64 m = 0; m < v->leaf.n; m++) AT2(chain->forest.places, m, slot) = v->leaf.at[m];
    for (i64 s = 0; s <= S; s++) {
        i64 j = s < S ? AT(chain->seated.who, s) : -1;
        f64 value = s == S ? q : j < 0 ? NAN : kh_value_of(&v->row, j);
        AT2(chain->seated.codes, slot, s) = code_of(&chain->seated, s, value);
    }
    ring->told.at[0]++;
    if (AT(chain->clock, BUILT) > 0) kh_add_columns(&chain->ridge, (floats *)&v->z, &all, y - p);
}

f64 kh_chain_one(kh_auto *a, ints *S, floats *values, f64 prediction, kh_room *room)
{
    i64 mark = room->used;
    kh_chain *chain = &a->chain;
    if (!is_there(chain) || isnan(AT(chain->first.span, KH_LOW))) return prediction;
    view v = look_at(chain, S, false, NULL, room);
    f64 pair[3] = {prediction}, three[4] = {prediction};
    floats of_curves = some_floats(pair, 3), of_trees = some_floats(three, 4);
    fill_in(&v, values->at);
    pair[1] = with_curves(chain, &v, prediction, room);
    three[1] = kh_mix(&chain->first, &of_curves);
    three[2] = with_trees(chain, &v, three[1]);
    f64 found = kh_mix(&chain->second, &of_trees);
    room->used = mark;
    return found;
}

void kh_chain_rows(kh_auto *a, ints *S, bool all, floats *X, const i64 *columns, floats *y, floats *predictions,
               kh_room *room)
{
    i64 mark = room->used;
    kh_chain *chain = &a->chain;
    if (!is_there(chain)) return;
    view v = look_at(chain, S, all, columns, room);
    for (i64 t = 0; t < y->n; t++) {
        f64 p = predictions->at[t], pair[3] = {p, p, p}, three[4] = {p, p, p, p};
        floats of_curves = some_floats(pair, 3), of_trees = some_floats(three, 4);
        bool first = isnan(AT(chain->first.span, KH_LOW)); /* that label is no one's fault */
        fill_in(&v, ROW(*X, t));
        if (!first) {
            pair[1] = with_curves(chain, &v, p, room);
            three[1] = kh_mix(&chain->first, &of_curves);
            three[2] = with_trees(chain, &v, three[1]);
            predictions->at[t] = kh_mix(&chain->second, &of_trees);
            remember(chain, &v, p, three[1], three[2] - three[1], y->at[t]);
        }
        kh_charge(&chain->first, &of_curves, y->at[t]);
        kh_charge(&chain->second, &of_trees, y->at[t]);
    }
    room->used = mark;
}

/* Look at a seat's feature, or at the prediction, anew. */
static void renew(kh_chain *chain, i64 s, f64 count, kh_room *room)
{
    kh_seated *seated = &chain->seated;
    kh_ring *ring = &chain->ring;
    i64 mark = room->used, S = seated->who.n, j = s < S ? seated->who.at[s] : -1, n = 0;
    floats sample = take_floats(room, KH_SAMPLE);
    if (s == S) n = kh_sample_of(&chain->q, ring, &sample, room);
    else if (j >= 0) n = kh_sample(ring, j, &sample, room);
    sample.n = n;
    floats cuts = some_floats(ROW(seated->cuts, s), KH_CUTS);
    AT(seated->many, s) = kh_make_cuts(&sample, &cuts);
    AT(seated->made, s) = (i64)count;
    if (s < curves_of(chain)) {
        floats form = some_floats(ROW(seated->forms, s), KH_FORM);
        kh_make_form(&sample, &form);
    }
    for (i64 slot = 0; slot < kh_rows_held(ring); slot++) {
        kh_row row = kh_row_at(ring, slot);
        f64 value = s == S ? AT(chain->q, slot) : j < 0 ? NAN : kh_value_of(&row, j);
        AT2(seated->codes, slot, s) = code_of(seated, s, value);
    }
    room->used = mark;
}

/* The sums of blocks that are fresh, from the last rows: as if before no such feature had been read. */
static void rebuild(kh_chain *chain, bools *fresh, kh_room *room)
{
    i64 mark = room->used, P = chain->ridge.c.n, rows = i_min(kh_rows_held(&chain->ring), KH_LOOKED);
    floats z = take_floats(room, P);
    for (i64 i = 0; i < P; i++) {
        bool new = AT(*fresh, i / KH_COLUMNS);
        for (i64 j = 0; j < P; j++)
            if (new || fresh->at[j / KH_COLUMNS]) AT2(chain->ridge.A, i, j) = 0.0;
        if (new) AT(chain->ridge.c, i) = 0.0;
    }
    for (i64 age = rows - 1; age >= 0; age--) {
        i64 slot = kh_slot(&chain->ring, age);
        kh_row row = kh_row_at(&chain->ring, slot);
        columns_of(chain, &row, AT(chain->p, slot), &z);
        kh_add_columns(&chain->ridge, &z, fresh, AT(chain->ring.labels, slot) - AT(chain->p, slot));
    }
    room->used = mark;
}

/* Centre and size of the labels in the last rows. */
static void find_level(kh_chain *chain)
{
    i64 rows = i_min(kh_rows_held(&chain->ring), KH_LOOKED);
    f64 mean = 0.0, square = 0.0;
    for (i64 age = rows - 1; age >= 0; age--) mean += AT(chain->ring.labels, kh_slot(&chain->ring, age));
    mean /= (f64)rows;
    for (i64 age = rows - 1; age >= 0; age--) {
        f64 off = AT(chain->ring.labels, kh_slot(&chain->ring, age)) - mean;
        square += off * off;
    }
    AT(chain->ridge.level, LEVEL) = mean;
    AT(chain->ridge.level, SIZE) = sqrt(square / (f64)rows);
}

/* Who sits now, and what is looked at anew: newcomers, those read twice as often as when they were
   looked at, and everything when twice as many rows were told. Whether anything is. */
static bool check_seats(kh_chain *chain, i64 d, kh_room *room)
{
    i64 mark = room->used, S = chain->seated.who.n, told = chain->ring.told.at[0], curves = curves_of(chain);
    i64 *before = TAKE(room, i64, S);
    floats counts = take_floats(room, d);
    bools fresh = {TAKE(room, bool, curves + 1), curves + 1, 1, 1};
    bool whole = told >= 2 * AT(chain->clock, BUILT), any = whole;
    for (i64 s = 0; s < S; s++) before[s] = chain->seated.who.at[s];
    kh_take_seats(&chain->seated, &chain->ring, d, &counts, room);
    if (whole) {
        AT(chain->clock, BUILT) = told;
        find_level(chain);
        renew(chain, S, (f64)told, room);
    }
    for (i64 s = 0; s < S; s++) {
        i64 j = chain->seated.who.at[s];
        f64 count = j < 0 ? 0.0 : AT(counts, j);
        bool new = whole || j != before[s] || (j >= 0 && count >= 2.0 * (f64)AT(chain->seated.made, s));
        if (new) renew(chain, s, count, room);
        if (s < curves) fresh.at[s] = new;
        any = any || new;
    }
    fresh.at[curves] = whole;
    if (any) rebuild(chain, &fresh, room);
    room->used = mark;
    return any;
}

static void fit_tree(kh_auto *a, kh_room *room)
{
    kh_chain *chain = &a->chain;
    i64 mark = room->used;
    floats missed = take_floats(room, kh_rows_held(&chain->ring));
    for (i64 i = 0; i < missed.n; i++) missed.at[i] = AT(chain->ring.labels, i) - AT(chain->q, i);
    kh_fit_tree(&chain->forest, &chain->seated, &missed, a->settings.seed, room);
    room->used = mark;
}

void kh_close_chain(kh_auto *a, kh_room *room)
{
    kh_chain *chain = &a->chain;
    kh_settings *s = &a->settings;
    i64 *clock = chain->clock.at, told = is_there(chain) ? chain->ring.told.at[0] : 0;
    bool changed = false;
    if (told - clock[CLOSED] < i_min(s->longest, i_max(s->shortest, clock[CLOSED] / s->growth))) return;
    clock[CLOSED] = told;
    if (told < FIRST_ROWS) return;
    if (told - clock[CHECKED] >= i_min(SELDOM, clock[CHECKED] / CHECKS)) {
        clock[CHECKED] = told;
        changed = check_seats(chain, s->d, room);
    }
    if (changed || told - clock[SOLVED] >= clock[SOLVED] / SOLVES) {
        clock[SOLVED] = told;
        kh_solve_ridge(&chain->ridge);
    }
    if (told >= FIRST_TREE) fit_tree(a, room);
}

void kh_empty_chain(kh_chain *chain)
{
    if (!is_there(chain)) return;
    kh_seated *seated = &chain->seated;
    kh_ridge *ridge = &chain->ridge;
    chain->ring.told.at[0] = chain->forest.fitted.at[0] = ridge->size.at[0] = 0;
    for (i64 i = 0; i < CLOCK; i++) AT(chain->clock, i) = 0;
    for (i64 s = 0; s < seated->who.n; s++) seated->who.at[s] = -1;
    for (i64 s = 0; s <= seated->who.n; s++) AT(seated->many, s) = AT(seated->made, s) = 0;
    kh_start_over(&chain->first);
    kh_start_over(&chain->second);
}

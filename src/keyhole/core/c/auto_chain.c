/* Shapes behind AutoLearner: a ridge on curves of what was bought, then trees, then both judged. */
#include "auto.h"

KH_LAYOUT(kh_chain, KH_CHAIN)

enum { STARTED, CLOSED, CHECKED, BUILT, SOLVED, SEARCHED, CLOCK }; /* chain.clock */
enum { FIRST_ROWS = 32, FIRST_TREE = 64 };       /* rows told before anything is guessed */
enum { OFTEN = 1024 };                           /* rows told, up to which two trees are fitted at once */
enum { CHECKS = 16, SELDOM = 64, SOLVES = 64 };  /* parts of the rows told; rows */
enum { AT_FIRST = 8, LATER = 256 };              /* parts of the rows told; rows: between two looks for what bends */
enum { LEVEL, SIZE };                            /* ridge.level */
#define FARTHEST 5.0                             /* as other columns */

static bool is_there(const kh_chain *chain) { return chain->p.n > 0; }
/* The rows in the ring that were told since the chain began. */
static kh_window window_of(const kh_auto *a)
{
    const kh_ring *ring = &a->state.ring;
    i64 told = AT(ring->next, KH_TOLD), many = i_min(told - AT(a->chain.clock, STARTED), ring->labels.n);
    return (kh_window){ring->features, ring->values, ring->labels, told, many};
}
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

static bool among(const i64 *list, i64 n, i64 j)
{
    for (i64 i = 0; i < n; i++)
        if (list[i] == j) return true;
    return false;
}

void kh_sitting_first(kh_auto *a, ints *S, ints *out)
{
    const ints *who = &a->chain.seated.who;
    i64 n = 0;
    for (i64 i = 0; i < who->n + S->n && n < out->n; i++) {
        i64 j = i < who->n ? who->at[i] : S->at[i - who->n], place = n;
        if (j < 0 || among(out->at, n, j)) continue;
        for (; place > 0 && out->at[place - 1] > j; place--) out->at[place] = out->at[place - 1];
        out->at[place] = j;
        n++;
    }
    out->n = n;
}

/* A row as the chain looks at it: which features it has, and where the trees look. */
typedef struct {
    kh_row row;
    f64 *values; /* those of the row, then the prediction, and NaN */
    ints nodes;
    floats z;
    bytes leaf;
    f64 sum; /* of the trees */
} view;

/* Of a row with more features than the ring has room for the first ones are looked at. */
static view look_at(kh_auto *a, ints *S, kh_room *room)
{
    kh_chain *chain = &a->chain;
    i64 n = i_min(S->n, a->state.ring.features.m), trees = chain->forest.features.n;
    int32_t *features = TAKE(room, int32_t, n);
    view v = {{n, features, NULL}, TAKE(room, f64, n + 2), take_ints(room, trees * chain->forest.features.m),
              take_floats(room, chain->ridge.c.n), {TAKE(room, int8_t, trees), trees, 1, 1}, 0.0};
    ints first = some_ints(S->at, n);
    v.row.values = v.values;
    for (i64 i = 0; i < n; i++) features[i] = (int32_t)S->at[i];
    kh_find_nodes(&chain->forest, &first, &v.nodes);
    return v;
}

static void fill_in(view *v, const f64 *seen, const i64 *columns)
{
    for (i64 i = 0; i < v->row.n; i++) v->values[i] = kh_taken(seen[columns ? columns[i] : i]);
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
    v->sum = kh_sum_trees(&chain->forest, &v->nodes, &x, &v->leaf);
    if (!isfinite(q + v->sum)) v->sum = 0.0;
    return q + v->sum;
}

static void code_row(kh_chain *chain, const kh_row *row, i64 slot)
{
    i64 S = chain->seated.who.n;
    for (i64 s = 0; s <= S; s++) {
        i64 j = s < S ? AT(chain->seated.who, s) : -1;
        f64 value = s == S ? AT(chain->q, slot) : j < 0 ? NAN : kh_value_of(row, j);
        AT2(chain->seated.codes, slot, s) = code_of(&chain->seated, s, value);
    }
}

void kh_look_again(kh_auto *a, i64 slot)
{
    if (!is_there(&a->chain)) return;
    kh_window rows = window_of(a);
    kh_row row = kh_row_at(&rows, slot);
    code_row(&a->chain, &row, slot);
}

/* What the chain keeps beside a row in this slot of the ring; the row enters the sums. */
static void remember(kh_chain *chain, const view *v, i64 slot, f64 p, f64 q, f64 y)
{
    bools all = {NULL, 0, 1, 1};
    AT(chain->p, slot) = p;
    AT(chain->q, slot) = q;
    AT(chain->forest.fit, slot) = v->sum;
    for (i64 m = 0; m < v->leaf.n; m++) AT2(chain->forest.places, m, slot) = v->leaf.at[m];
    code_row(chain, &v->row, slot);
    if (AT(chain->clock, BUILT) > 0) kh_add_columns(&chain->ridge, (floats *)&v->z, &all, y - p);
}

/* What both mixtures are given, and what the first makes of it. */
typedef struct {
    f64 pair[3], three[4], q;
    floats of_curves, of_trees;
} guesses;

static f64 predict(kh_chain *chain, view *v, f64 p, guesses *g, kh_room *room)
{
    g->of_curves = some_floats(g->pair, 3);
    g->of_trees = some_floats(g->three, 4);
    g->pair[0] = g->three[0] = p;
    g->pair[1] = with_curves(chain, v, p, room);
    g->q = g->three[1] = kh_mix(&chain->first, &g->of_curves);
    g->three[2] = with_trees(chain, v, g->q);
    return kh_mix(&chain->second, &g->of_trees);
}

f64 kh_chain_one(kh_auto *a, ints *S, floats *values, f64 prediction, kh_room *room)
{
    i64 mark = room->used;
    kh_chain *chain = &a->chain;
    guesses g;
    if (!is_there(chain) || isnan(AT(chain->first.span, KH_LOW))) return prediction;
    view v = look_at(a, S, room);
    fill_in(&v, values->at, NULL);
    f64 found = predict(chain, &v, prediction, &g, room);
    room->used = mark;
    return found;
}

void kh_chain_rows(kh_auto *a, ints *S, floats *X, const i64 *columns, floats *y, floats *predictions,
                   kh_room *room)
{
    i64 mark = room->used, told = AT(a->state.ring.next, KH_TOLD);
    kh_chain *chain = &a->chain;
    guesses g;
    if (!is_there(chain)) return;
    view v = look_at(a, S, room);
    for (i64 t = 0; t < y->n; t++) {
        bool first = isnan(AT(chain->first.span, KH_LOW)); /* no one's fault: all guesses count as right */
        f64 p = first ? y->at[t] : predictions->at[t];
        fill_in(&v, ROW(*X, t), columns);
        f64 found = predict(chain, &v, p, &g, room);
        if (first) g.q = p;
        else predictions->at[t] = found;
        remember(chain, &v, (told + t) % a->state.ring.labels.n, p, g.q, y->at[t]);
        kh_charge(&chain->first, &g.of_curves, y->at[t]);
        kh_charge(&chain->second, &g.of_trees, y->at[t]);
    }
    room->used = mark;
}

/* Look at a seat's feature, or at the prediction, anew. */
static void renew(kh_chain *chain, kh_window *rows, i64 s, f64 count, kh_room *room)
{
    kh_seated *seated = &chain->seated;
    i64 mark = room->used, S = seated->who.n, j = s < S ? seated->who.at[s] : -1, n = 0;
    floats sample = take_floats(room, KH_SAMPLE);
    if (s == S) n = kh_sample_of(&chain->q, rows, &sample, room);
    else if (j >= 0) n = kh_sample(rows, j, &sample, room);
    sample.n = n;
    floats cuts = some_floats(ROW(seated->cuts, s), KH_CUTS);
    AT(seated->many, s) = kh_make_cuts(&sample, &cuts);
    AT(seated->made, s) = (i64)count;
    if (s < curves_of(chain)) {
        floats form = some_floats(ROW(seated->forms, s), KH_FORM);
        kh_make_form(&sample, &form);
    }
    for (i64 age = 0; age < rows->many; age++) {
        i64 slot = kh_slot(rows, age);
        kh_row row = kh_row_at(rows, slot);
        f64 value = s == S ? AT(chain->q, slot) : j < 0 ? NAN : kh_value_of(&row, j);
        AT2(seated->codes, slot, s) = code_of(seated, s, value);
    }
    room->used = mark;
}

/* The sums of blocks that are fresh, from the last rows: as if before no such feature had been read. */
static void rebuild(kh_chain *chain, kh_window *rows, bools *fresh, kh_room *room)
{
    i64 mark = room->used, P = chain->ridge.c.n;
    floats z = take_floats(room, P);
    for (i64 i = 0; i < P; i++) {
        bool new = AT(*fresh, i / KH_COLUMNS);
        for (i64 j = 0; j < P; j++)
            if (new || fresh->at[j / KH_COLUMNS]) AT2(chain->ridge.A, i, j) = 0.0;
        if (new) AT(chain->ridge.c, i) = 0.0;
    }
    for (i64 age = i_min(rows->many, KH_LOOKED) - 1; age >= 0; age--) {
        i64 slot = kh_slot(rows, age);
        kh_row row = kh_row_at(rows, slot);
        columns_of(chain, &row, AT(chain->p, slot), &z);
        kh_add_columns(&chain->ridge, &z, fresh, AT(rows->labels, slot) - AT(chain->p, slot));
    }
    room->used = mark;
}

/* Centre and size of the labels in the last rows. */
static void find_level(kh_chain *chain, kh_window *rows)
{
    i64 many = i_min(rows->many, KH_LOOKED);
    f64 mean = 0.0, square = 0.0;
    for (i64 age = many - 1; age >= 0; age--) mean += AT(rows->labels, kh_slot(rows, age));
    mean /= (f64)many;
    for (i64 age = many - 1; age >= 0; age--) {
        f64 off = AT(rows->labels, kh_slot(rows, age)) - mean;
        square += off * off;
    }
    AT(chain->ridge.level, LEVEL) = mean;
    AT(chain->ridge.level, SIZE) = sqrt(square / (f64)many);
}

/* Who sits now, and what is looked at anew: newcomers, those read twice as often as when they were
   looked at, and everything when twice as many rows were told. Whether anything is. */
static bool check_seats(kh_chain *chain, kh_window *rows, i64 told, i64 d, kh_room *room)
{
    i64 mark = room->used, S = chain->seated.who.n, curves = curves_of(chain);
    i64 *before = TAKE(room, i64, S);
    floats counts = take_floats(room, d);
    bools fresh = {TAKE(room, bool, curves + 1), curves + 1, 1, 1};
    bool whole = told >= 2 * AT(chain->clock, BUILT), any = whole;
    for (i64 s = 0; s < S; s++) before[s] = chain->seated.who.at[s];
    kh_take_seats(&chain->seated, rows, d, &counts, room);
    if (whole) {
        AT(chain->clock, BUILT) = told;
        find_level(chain, rows);
        renew(chain, rows, S, (f64)told, room);
    }
    for (i64 s = 0; s < S; s++) {
        i64 j = chain->seated.who.at[s];
        f64 count = j < 0 ? 0.0 : AT(counts, j);
        bool new = whole || j != before[s] || (j >= 0 && count >= 2.0 * (f64)AT(chain->seated.made, s));
        if (new) renew(chain, rows, s, count, room);
        if (s < curves) fresh.at[s] = new;
        any = any || new;
    }
    fresh.at[curves] = whole;
    if (any) rebuild(chain, rows, &fresh, room);
    room->used = mark;
    return any;
}

static void fit_tree(kh_auto *a, kh_window *rows, kh_room *room)
{
    kh_chain *chain = &a->chain;
    i64 mark = room->used, length = rows->labels.n, began = AT(chain->clock, STARTED);
    ints slots = take_ints(room, rows->many);
    floats missed = take_floats(room, rows->many);
    for (i64 i = 0; i < rows->many; i++) { /* in the order of slots once the ring is full */
        i64 slot = slots.at[i] = rows->many == length ? i : (began + i) % length;
        missed.at[i] = AT(rows->labels, slot) - AT(chain->q, slot);
    }
    kh_fit_tree(&chain->forest, &chain->seated, &slots, &missed, a->settings.seed, room);
    room->used = mark;
}

/* What bends: of all that was read, whether it sits or not. */
static void find_bent(kh_auto *a, kh_window *rows, kh_room *room)
{
    i64 mark = room->used;
    floats missed = take_floats(room, rows->labels.n);
    for (i64 age = 0; age < rows->many; age++) {
        i64 slot = kh_slot(rows, age);
        missed.at[slot] = AT(rows->labels, slot) - AT(a->chain.p, slot);
    }
    kh_find_bent(rows, a->settings.d, &missed, &a->chain.bent, room);
    room->used = mark;
}

void kh_close_chain(kh_auto *a, kh_room *room)
{
    kh_chain *chain = &a->chain;
    kh_settings *s = &a->settings;
    i64 *clock = chain->clock.at;
    bool changed = false;
    if (!is_there(chain)) return;
    kh_window rows = window_of(a);
    i64 told = rows.told - clock[STARTED];
    if (told - clock[CLOSED] < i_min(s->longest, i_max(s->shortest, clock[CLOSED] / s->growth))) return;
    clock[CLOSED] = told;
    if (told < FIRST_ROWS) return;
    if (told - clock[CHECKED] >= i_min(SELDOM, clock[CHECKED] / CHECKS)) {
        clock[CHECKED] = told;
        changed = check_seats(chain, &rows, told, s->d, room);
    }
    if (changed || told - clock[SOLVED] >= clock[SOLVED] / SOLVES) {
        clock[SOLVED] = told;
        kh_solve_ridge(&chain->ridge);
    }
    if (told >= FIRST_TREE && told - clock[SEARCHED] >= i_min(LATER, clock[SEARCHED] / AT_FIRST)) {
        clock[SEARCHED] = told;
        find_bent(a, &rows, room);
    }
    for (int i = 0; i < (told < OFTEN ? 2 : 1) && told >= FIRST_TREE; i++) fit_tree(a, &rows, room);
}

KH_API void kh_empty_chain(kh_auto *a)
{
    kh_chain *chain = &a->chain;
    kh_seated *seated = &chain->seated;
    if (!is_there(chain)) return;
    chain->forest.fitted.at[0] = chain->ridge.size.at[0] = 0;
    for (i64 i = 0; i < CLOCK; i++) AT(chain->clock, i) = 0;
    AT(chain->clock, STARTED) = AT(a->state.ring.next, KH_TOLD);
    for (i64 s = 0; s < seated->who.n; s++) seated->who.at[s] = AT(chain->bent, s) = -1;
    for (i64 s = 0; s <= seated->who.n; s++) AT(seated->many, s) = AT(seated->made, s) = 0;
    kh_start_over(&chain->first);
    kh_start_over(&chain->second);
}

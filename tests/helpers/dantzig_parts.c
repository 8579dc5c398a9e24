/* Doors to the parts of the Dantzig engine, for tests of each by its definition. */
#include "dantzig_table.h"

static dz_matrix of(floats *M) { return (dz_matrix){M->at, M->m}; }
static dz_program asked(floats *G, floats *b, floats *lam, f64 size)
{
    return (dz_program){G->at, NULL, b->n, b->at, lam->at, size};
}
static dz_scratch scratch_of(kh_room *room, i64 d)
{
    return (dz_scratch){TAKE(room, f64, d), TAKE(room, f64, d + 1), TAKE(room, f64, d + 1),
                        TAKE(room, i64, d + 1), TAKE(room, i64, d)};
}

/* Sums over rows. */
KH_API f64 part_largest(floats *x, i64 n) { return dz_largest(x->at, n); }
KH_API f64 part_excess(floats *x, floats *y) { return dz_excess(x->at, y->at, x->n); }
KH_API void part_add_rows(floats *M, i64 m, ints *index, floats *weight, i64 n, f64 factor, floats *out)
{
    dz_add_rows(M->at, M->m, m, index->at, weight->at, n, factor, out->at);
}
KH_API void part_add_rows_single(singles *M, i64 m, ints *index, floats *weight, i64 n, f64 factor,
                                 floats *out)
{
    dz_add_rows_single(M->at, M->m, m, index->at, weight->at, n, factor, out->at);
}
KH_API void part_combine(floats *L, i64 first, i64 last, floats *weight, i64 start, i64 stop, floats *out)
{
    dz_combine(L->at, L->m, first, last, weight->at, start, stop, out->at);
}
KH_API void part_rank_one(floats *inv, i64 n, floats *x, floats *y)
{
    dz_rank_one(inv->at, inv->m, n, x->at, y->at);
}

/* A basis and its inverse. */
KH_API void part_basic_solution(floats *inv, i64 n, i64 side, floats *v, floats *out)
{
    dz_basic_solution(inv->at, inv->m, n, side, v->at, out->at);
}
KH_API void part_border(kh_basis *z, f64 pivot) { dz_border(z, pivot); }
KH_API void part_replace_row(kh_basis *z, i64 o) { dz_replace_row(z, o); }
KH_API void part_replace_column(kh_basis *z, i64 p) { dz_replace_column(z, p); }
KH_API void part_unborder(kh_basis *z, i64 p, i64 o) { dz_unborder(z, p, o); }
KH_API bool part_invert(floats *M, kh_basis *z) { return dz_invert(of(M), z); }
KH_API void part_forget(kh_basis *z) { dz_forget(z); }
KH_API i64 part_wrong_signs(kh_basis *z) { return dz_wrong_signs(z); }
KH_API f64 part_ray(floats *M, kh_basis *z, i64 side, i64 joins, i64 which, f64 sign)
{
    return dz_ray(of(M), z, side, (dz_change){joins, which, sign});
}

/* The start of the path, and the path. */
KH_API f64 part_jitter(i64 j) { return dz_jitter(j); }
KH_API f64 part_recompute(floats *M, kh_basis *z, f64 size, i64 rate)
{
    return dz_recompute(of(M), z, size, rate);
}
KH_API void part_recompute_lines(floats *M, kh_basis *z) { dz_recompute_lines(of(M), z); }
KH_API void part_loosen(kh_basis *z, f64 s, f64 size, f64 spread, i64 straight)
{
    dz_loosen(z, s, size, (dz_loosening){spread, straight});
}
KH_API bool part_start_path(floats *M, kh_basis *z, f64 size, f64 spread, i64 straight)
{
    return dz_start_path(of(M), z, size, (dz_loosening){spread, straight});
}
KH_API void part_next_event(kh_basis *z, f64 size, f64 *at, i64 *side, i64 *joins, i64 *which)
{
    bool does;
    *at = dz_next_event(z, size, side, &does, which);
    *joins = does;
}
KH_API void part_blocking(kh_basis *z, i64 side, f64 s, f64 end, f64 hair, f64 big, i64 *found, i64 *which,
                          f64 *to)
{
    *found = dz_blocking(z, side, s, end, hair, big, which, to);
}
KH_API bool part_exchange(kh_basis *z, i64 row_joins, i64 row, f64 row_sign, i64 column_joins, i64 column,
                          f64 column_sign)
{
    return dz_exchange(z, (dz_change){row_joins, row, row_sign},
                       (dz_change){column_joins, column, column_sign});
}
KH_API void part_follow(floats *M, kh_basis *z, f64 s, f64 size, i64 pivots, i64 work, i64 *code, f64 *end,
                        i64 *made)
{
    dz_path path = {s, 0, pivots, 0, work};
    *code = dz_follow(of(M), z, size, &path);
    *end = path.s, *made = path.made;
}

/* The lasso as a start. */
KH_API bool part_descend(floats *M, kh_basis *z, floats *w, i64 rounds)
{
    return dz_descend(of(M), z, w->at, rounds);
}
KH_API void part_take_support(kh_basis *z, floats *w) { dz_take_support(z, w->at); }
KH_API bool part_equal_sides(floats *M, kh_basis *z, floats *L) { return dz_equal_sides(of(M), z, *L); }
KH_API void part_unfold(floats *L, i64 n, kh_room *room)
{
    dz_unfold(*L, n, TAKE(room, f64, rounded(n)), TAKE(room, f64, rounded(n)));
}

/* The working set. */
KH_API i64 part_join(ints *W, i64 m, bools *member, ints *new)
{
    return dz_join(W->at, m, member->at, new->at, new->n);
}
KH_API void part_gather(floats *G, ints *W, i64 old, i64 m, floats *M)
{
    dz_program p = {G->at, NULL, G->n, NULL, NULL, 0.0};
    dz_gather(&p, W->at, old, m, *M);
}
KH_API void part_fill(kh_basis *z, floats *G, floats *b, floats *lam, f64 size, ints *W, i64 old)
{
    dz_program p = asked(G, b, lam, size);
    dz_fill(z, &p, W->at, old);
}
KH_API void part_products(floats *G, floats *b, floats *lam, f64 size, ints *W, kh_basis *z, f64 s, floats *r,
                          floats *q, kh_room *room)
{
    dz_program p = asked(G, b, lam, size);
    dz_products(&p, W->at, z, s, (dz_lines){r->at, q->at}, scratch_of(room, b->n));
}
KH_API bool part_feasible(floats *G, floats *b, floats *lam, f64 size, floats *r)
{
    dz_program p = asked(G, b, lam, size);
    return dz_feasible(&p, r->at);
}
KH_API bool part_holds(floats *G, floats *b, floats *lam, f64 size, floats *r, floats *q)
{
    dz_program p = asked(G, b, lam, size);
    return dz_holds(&p, (dz_lines){r->at, q->at});
}
KH_API void part_loads(floats *G, floats *b, floats *lam, f64 size, floats *r, floats *q, f64 wider_r,
                       f64 wider_q, floats *load)
{
    dz_program p = asked(G, b, lam, size);
    dz_loads(&p, (dz_lines){r->at, q->at}, wider_r, wider_q, load->at);
}
KH_API i64 part_newcomers(floats *load, bools *member, i64 quota, f64 near, i64 eager, ints *found)
{
    return dz_newcomers(load->at, member->at, load->n, quota, near, eager, found->at);
}
KH_API i64 part_stopping(floats *G, ints *W, bools *member, kh_basis *z, i64 quota, ints *found,
                         kh_room *room)
{
    dz_program p = {G->at, NULL, G->n, NULL, NULL, 0.0};
    dz_scratch scratch = scratch_of(room, G->n);
    scratch.found = found->at;
    return dz_stopping(&p, W->at, member->at, z, quota, scratch);
}

static void give(const kh_basis *from, kh_basis *to)
{
    i64 n = from->active.m;
    memcpy(to->line.at, from->line.at, 8 * LINES * from->line.m);
    memcpy(to->place.at, from->place.at, 8 * 2 * from->place.m);
    memcpy(to->basic.at, from->basic.at, 8 * BASICS * n);
    memcpy(to->active.at, from->active.at, 8 * ACTIVES * n);
    memcpy(to->inv.at, from->inv.at, 8 * n * n);
}
/* To `wide`, of the right size, and to M, which has room for all of it. */
KH_API void part_widen(floats *G, floats *b, floats *lam, f64 size, ints *W, bools *member, floats *old,
                       kh_basis *z, ints *new, floats *M, kh_basis *wide, kh_room *room)
{
    jmp_buf no_room;
    dz_solve s = {.program = asked(G, b, lam, size),
                  .z = *z,
                  .W = W->at,
                  .member = member->at,
                  .M = *old,
                  .scratch = {.found = new->at},
                  .room = *room,
                  .no_room = &no_room};
    dz_widen(&s, new->n);
    give(&s.z, wide);
    for (i64 i = 0; i < coordinates(wide); i++)
        memcpy(ROW(*M, i), ROW(s.M, i), 8 * rounded(coordinates(wide)));
}
KH_API void part_over_all(floats *G, floats *b, floats *lam, f64 size, ints *W, kh_basis *z, kh_basis *all,
                          kh_room *room)
{
    jmp_buf no_room;
    dz_solve s = {.program = asked(G, b, lam, size), .z = *z, .W = W->at, .room = *room, .no_room = &no_room};
    dz_over_all_coordinates(&s);
    give(&s.z, all);
}
KH_API void part_adopt(kh_basis *z, ints *columns, floats *column_signs, ints *rows, floats *row_signs,
                       ints *W, kh_room *room)
{
    dz_guess guess = {columns->n, false, columns->at, rows->at, column_signs->at, row_signs->at, NULL};
    dz_adopt(z, &guess, W->at, TAKE(room, i64, W->n));
}

/* The table of a repair, and the repair. */
KH_API void part_tabulate(ints *W, floats *M, kh_basis *z, floats *r, floats *q, f64 row, f64 weight,
                          f64 multiplier, kh_table *to, kh_room *room)
{
    kh_table t = dz_tabulate(W->at, of(M), z, (dz_lines){r->at, q->at},
                             (dz_rounding){row, weight, multiplier}, to->where.m, room);
    memcpy(to->A.at, t.A.at, 8 * t.A.n * t.A.m);
    memcpy(to->N.at, t.N.at, 8 * t.N.n);
    memcpy(to->edge.at, t.edge.at, 8 * EDGES * t.edge.m);
    memcpy(to->who.at, t.who.at, 8 * 2 * t.who.m);
    memcpy(to->since.at, t.since.at, 8 * 2 * t.since.m);
}
KH_API void part_line_of(floats *M, kh_basis *z, kh_table *t, i64 way, i64 at, i64 made, floats *out)
{
    dz_line_of(of(M), z, t, way, at, made, out->at);
}
KH_API void part_swap(kh_table *t, i64 made, i64 p, i64 c, f64 kappa) { dz_swap(t, made, p, c, kappa); }
KH_API void part_take_basis(kh_basis *z, kh_table *t, ints *rows, ints *columns)
{
    dz_take_basis(z, t, rows->at, columns->at);
}
KH_API void part_take_inverse(kh_basis *z, kh_table *t, i64 made, ints *rows, ints *columns)
{
    dz_take_inverse(z, t, made, rows->at, columns->at);
}
KH_API i64 part_steepest(floats *edge, i64 m)
{
    kh_table t = {.edge = *edge};
    return dz_steepest(&t, m);
}
KH_API void part_nearest(floats *edge, i64 m, floats *ray, f64 way, f64 end, i64 *found, f64 *step)
{
    kh_table t = {.edge = *edge};
    *found = dz_nearest(&t, m, ray->at, way, end, step);
}
KH_API bool part_fits(kh_basis *z, ints *W, floats *r, f64 size) { return dz_fits(z, W->at, r->at, size); }
KH_API bool part_tight(kh_basis *z, ints *W, floats *r, floats *q, f64 size)
{
    return dz_tight(z, W->at, (dz_lines){r->at, q->at}, size);
}
KH_API void part_repair(floats *G, floats *b, floats *lam, f64 size, ints *W, floats *M, kh_basis *z,
                        floats *r, floats *q, i64 pivots, i64 *made, i64 *looked, i64 *solved, kh_room *room)
{
    dz_program p = asked(G, b, lam, size);
    bool has_looked, has_solved;
    *made = dz_repair(&p, W->at, of(M), z, (dz_lines){r->at, q->at}, scratch_of(room, b->n), pivots, room,
                      &has_looked, &has_solved);
    *looked = has_looked, *solved = has_solved;
}

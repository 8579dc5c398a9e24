/* How a batch of AutoLearner begins whose features are chosen: centres, and VAWs at their start. */
#include "auto.h"

KH_LAYOUT(kh_batch, KH_BATCH)

i64 kh_place_of(ints *S, i64 j)
{
    i64 low = 0, high = S->n;
    while (low < high) {
        i64 middle = (low + high) / 2;
        if (S->at[middle] < j) low = middle + 1;
        else high = middle;
    }
    return low;
}

void kh_lay_out(kh_batch *batch, i64 width)
{
    kh_ensemble *runs = &batch->runs;
    batch->S.n = batch->why.n = batch->centre.n = batch->peak.n = width;
    batch->values.m = batch->p.m = batch->weight.m = width;
    runs->place.m = runs->P.m = runs->P.l = runs->theta.m = runs->Px.m = width + 1;
}

void kh_begin_batch(kh_state *state, kh_batch *batch)
{
    for (i64 a = 0; a < batch->S.n; a++) {
        i64 j = batch->S.at[a];
        AT(batch->why, a) = AT(state->space.why, j);
        AT(batch->peak, a) = AT(state->peaks, j);
        AT(batch->centre, a) = AT(state->values.reads, j) > 0.0 ? kh_centre(&state->values, j) : NAN;
    }
    batch->label.at[0] = state->label.reads.at[0] > 0.0 ? kh_centre(&state->label, 0) : NAN;
    kh_note_seats(&state->ring, &state->kept);
    batch->rows.at[0] = 0;
}

void kh_leave_net(kh_batch *batch)
{
    for (i64 i = 0; i < batch->weight.n * batch->weight.m; i++) batch->weight.at[i] = 0.0;
    for (i64 i = 0; i < batch->slots.n; i++) batch->slots.at[i] = 0;
}

void kh_typical_sizes(kh_memories *kept, ints *S, floats *sizes)
{
    i64 m = KH_LONGEST_MEMORY;
    for (i64 i = 0; i < S->n; i++) {
        i64 a = AT(kept->seat, S->at[i]);
        f64 square = a >= 0 ? AT3(kept->G, m, a, a) : AT3(kept->rest, m, S->at[i], KH_SQUARE);
        f64 count = a >= 0 ? AT2(kept->n, m, a) : AT3(kept->rest, m, S->at[i], KH_COUNT);
        AT(*sizes, i) = count > 0.0 ? sqrt(square / count) : 0.0;
    }
}

/* The places of those of the chosen features that are kept; how many. In proper mode all memories
   share the support that is played, that of the leader, and who leads is found with k features each. */
static i64 use_kept(kh_settings *s, kh_space *space, ints *S, i64 e, i64 lead, i64 m, i64 *place)
{
    bool best = s->experts.features.at[e] == KH_ON_BEST;
    i64 source = m < 0 || (s->proper && best) ? lead : m, many = AT(space->picked, source), v = 0;
    for (i64 rank = 0; rank < (s->proper || best ? i_min(s->k, many) : many); rank++) {
        i64 j = AT2(space->chosen, source, rank);
        if (AT(space->why, j) == KH_KEPT) place[v++] = kh_place_of(S, j);
    }
    return v;
}

static i64 use_different(ints *slots, i64 *place)
{
    i64 v = 0;
    for (i64 i = 0; i < slots->n; i++) {
        bool new = true;
        for (i64 q = 0; q < v; q++) new = new && place[q] != slots->at[i];
        if (new) place[v++] = slots->at[i];
    }
    return v;
}

void kh_start_runs(kh_settings *s, kh_state *state, kh_batch *batch, i64 lead, kh_room *room)
{
    i64 mark = room->used, b = batch->S.n;
    kh_ensemble *runs = &batch->runs;
    floats typical = take_floats(room, b);
    ints features = take_ints(room, b + 1);
    kh_typical_sizes(&state->kept, &batch->S, &typical);
    for (i64 a = 0; a < b; a++) features.at[a] = batch->S.at[a];
    features.at[b] = s->d;
    for (i64 e = 0; e < runs->size.n; e++) {
        i64 on = AT(s->experts.features, e), *place = ROW(runs->place, e), v = 0;
        i64 m = AT(s->experts.memory, e) == KH_LEADING ? lead : s->experts.memory.at[e];
        if (on == KH_ON_KEPT || on == KH_ON_BEST)
            v = use_kept(s, &state->space, &batch->S, e, lead, m, place);
        else if (on == KH_ON_NET && b > 0) v = use_different(&batch->slots, place);
        else if (on == KH_ON_EVERYTHING)
            for (; v < b; v++) place[v] = v;
        if (on != KH_ON_NOTHING) place[v++] = b; /* nothing: the label's centre alone, without the constant */
        KH_CHECK(v <= runs->place.m);
        runs->size.at[e] = v;
        kh_start origin = {m, AT(s->experts.by_peak, e) ? batch->peak : typical, AT(s->experts.ridge, e)};
        kh_start_run(runs, e, &features, &state->kept, &origin, room);
    }
    room->used = mark;
}

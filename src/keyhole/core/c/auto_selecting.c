/* What each memory of AutoLearner finds significant, who gets a seat for it, and what is marked. */
#include "auto.h"

i64 kh_leader(kh_settings *s, kh_state *state)
{
    ints *judges = &s->experts.judges;
    i64 best = 0;
    for (i64 m = 1; m < judges->n; m++)
        if (AT(state->mixture.recent, judges->at[m]) < AT(state->mixture.recent, judges->at[best])) best = m;
    return best;
}

i64 kh_note_leader(kh_settings *s, kh_state *state)
{
    i64 lead = kh_leader(s, state);
    if (lead != AT(state->lead, 0)) {
        state->lead.at[0] = lead;
        AT(state->lead, 1) = (i64)state->label.reads.at[0];
    }
    return lead;
}

void kh_rank_memories(kh_settings *s, kh_state *state, ints *order, kh_room *room)
{
    i64 mark = room->used;
    floats score = take_floats(room, s->experts.judges.n);
    for (i64 m = 0; m < score.n; m++) score.at[m] = -AT(state->mixture.recent, s->experts.judges.at[m]);
    kh_largest(&score, order);
    room->used = mark;
}

kh_selecting kh_writing(kh_space *space, i64 m)
{
    return (kh_selecting){ints_at(space->chosen, m), floats_at(space->gains, m), floats_at(space->r, m),
                          floats_at(space->D, m), space->L, space->ready};
}

void kh_name_chosen(kh_state *state, i64 m)
{
    for (i64 rank = 0; rank < AT(state->space.picked, m); rank++) {
        i64 *chosen = &AT2(state->space.chosen, m, rank);
        *chosen = AT(state->kept.who, *chosen);
    }
}

/* The largest square, over the memories, of how many standard errors a feature is from adding nothing
   to what was chosen. */
static void measure_strengths(kh_state *state, floats *strength)
{
    kh_memories *kept = &state->kept;
    kh_space *space = &state->space;
    for (i64 a = 0; a < strength->n; a++) strength->at[a] = 0.0;
    for (i64 m = 0; m < kept->tau.n; m++) {
        const f64 *r = ROW(space->r, m), *D = ROW(space->D, m), *n = ROW(kept->n, m);
        f64 noise = AT(space->noise, m), per_read = kept->scale.at[m] / noise;
        if (!(noise > 0.0)) continue;
        for (i64 a = 0; a < strength->n; a++) {
            if (!(D[a] > KH_NEW)) continue;
            f64 square = r[a] * r[a] / D[a] * n[a] * per_read;
            if (square > strength->at[a]) strength->at[a] = f_min(square, 0.5 * KH_CHOSEN);
        }
    }
    for (i64 m = 0; m < kept->tau.n; m++)
        for (i64 rank = 0; rank < AT(space->picked, m); rank++)
            AT(*strength, AT(kept->seat, AT2(space->chosen, m, rank))) = KH_CHOSEN;
}

void kh_seat(kh_state *state, ints *S, kh_room *room)
{
    i64 mark = room->used;
    if (kh_all_seated(&state->kept, S)) return;
    kh_known known = {state->space.r, take_floats(room, state->kept.who.n)};
    measure_strengths(state, &known.strength);
    kh_admit(&state->kept, S, &known, room);
    room->used = mark;
}

void kh_clear_marks(kh_space *space)
{
    for (i64 i = 0; i < space->many.at[0]; i++) AT(space->why, AT(space->marked, i)) = KH_UNREAD;
    space->many.at[0] = 0;
}

bool kh_mark(kh_space *space, i64 j, i64 why)
{
    if (AT(space->why, j) != KH_UNREAD) return false;
    space->why.at[j] = (int8_t)why;
    AT(space->marked, space->many.at[0]) = j;
    space->many.at[0]++;
    return true;
}

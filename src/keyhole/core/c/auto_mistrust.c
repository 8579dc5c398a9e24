/* History that misleads: how it is noticed while playing, and what is then forgotten of it. */
#include "auto.h"

#define WORSE 1.25 /* these numbers stand in mistrust.py too */
#define SURE 32.0
#define FEWEST 8.0
#define LAYER_ROUNDS 64.0
#define ALIKE 4.0
enum { BEFORE, LOST, ROUNDS, LEVEL, SQUARES, TRIAL_SUMS }; /* state.trial */
enum { ROWS, LABELS };                                     /* state.aside */
enum { OWED, PLAYED, LEAST, MOST };                        /* state.owed */

bool kh_trusts_history(kh_state *state) { return state->studied.at[0] > AT(state->aside, ROWS); }

bool kh_is_quiet(kh_state *state, i64 number) { return kh_trusts_history(state) && number % KH_LOOK_OUT != 0; }

void kh_begin_trial(kh_settings *s, kh_state *state)
{
    kh_seal(&state->ring);
    for (i64 i = 0; i < TRIAL_SUMS; i++) AT(state->trial, i) = 0.0;
    state->trial.at[BEFORE] = AT(state->mixture.losses, AT(s->experts.judges, KH_LONGEST_MEMORY));
}

void kh_note_labels(kh_state *state, floats *y)
{
    f64 *trial = state->trial.at, *owed = state->owed.at;
    for (i64 t = 0; t < y->n; t++) {
        bool first = trial[ROUNDS] == 0.0;
        owed[LEAST] = first ? y->at[t] : f_min(owed[LEAST], y->at[t]);
        owed[MOST] = first ? y->at[t] : f_max(owed[MOST], y->at[t]);
        f64 missed = y->at[t] - trial[LEVEL];
        trial[LOST] += trial[ROUNDS] > 0.0 ? missed * missed : 0.0;
        trial[ROUNDS] += 1.0;
        trial[LEVEL] += missed / trial[ROUNDS];
        trial[SQUARES] += missed * (y->at[t] - trial[LEVEL]);
    }
}

void kh_move_trial(kh_state *state, f64 by)
{
    if (!(state->trial.at[ROUNDS] > 0.0)) return;
    state->trial.at[LEVEL] += by;
    AT(state->owed, LEAST) += by;
    AT(state->owed, MOST) += by;
}

void kh_note_played(kh_state *state, floats *predictions, floats *y)
{
    for (i64 t = 0; t < y->n; t++) {
        f64 missed = y->at[t] - AT(*predictions, t);
        AT(state->owed, PLAYED) += missed * missed;
    }
}

/* Before mixtures begin anew: what predictions lost beyond the expert that `bound()` is about. Without
   that expert nothing is promised. */
static void owe(kh_auto *a)
{
    kh_expert_table *experts = &a->settings.experts;
    f64 *owed = a->state.owed.at;
    for (i64 e = 0; e < experts->features.n; e++)
        if (experts->features.at[e] == KH_ON_NET && AT(experts->memory, e) == KH_NO_MEMORY)
            owed[OWED] += f_max(0.0, owed[PLAYED] - AT(a->state.mixture.losses, e));
}

/* Whether the memory with the history predicts worse than the mean of the labels since, by far and
   beyond what a few labels far out can do. */
static bool misleads(kh_settings *s, kh_state *state)
{
    const f64 *trial = state->trial.at;
    f64 rounds = trial[ROUNDS];
    f64 lost = AT(state->mixture.losses, AT(s->experts.judges, KH_LONGEST_MEMORY)) - trial[BEFORE];
    f64 scatter = f_max(kh_spread(&state->label, 0), trial[LOST] / f_max(rounds, 1.0));
    return rounds >= FEWEST && lost > WORSE * trial[LOST] && lost - trial[LOST] > SURE * scatter;
}

static void times(floats *sums, f64 share)
{
    for (i64 i = 0; i < sums->n * sums->m; i++) sums->at[i] *= share;
}

/* Let what the last layer learnt count as much as so many rounds, if it counts more. */
static void keep_some(kh_layer *last, f64 rounds)
{
    f64 share = rounds > 0.0 ? rounds / f_max(last->A.at[0], rounds) : 0.0;
    times(&last->A, share);
    times(&last->b, share);
    times(&last->spread, share);
}

static bool known_no_more(kh_memories *kept, i64 j)
{
    i64 a = AT(kept->seat, j);
    f64 reads = a >= 0 ? AT2(kept->n, KH_LONGEST_MEMORY, a) : AT3(kept->rest, KH_LONGEST_MEMORY, j, KH_COUNT);
    return reads == 0.0;
}

void kh_go_on_without(kh_auto *auto_, f64 rounds, f64 low, f64 high)
{
    kh_state *state = &auto_->state;
    kh_layer *last = &auto_->last;
    for (i64 j = 0; j < auto_->settings.d; j++)
        if (known_no_more(&state->kept, j)) {
            kh_forget_one(&state->values, j);
            AT(state->peaks, j) = 0.0;
        }
    for (i64 i = 0; i < state->evidence.n * state->evidence.m; i++) state->evidence.at[i] = 0.0;
    if (last->b.n > 0) keep_some(last, rounds);
    kh_empty_chain(auto_);
    kh_begin_anew(&state->mixture, low, high);
    kh_begin_anew(&last->judge, low, high);
    kh_begin_anew(&auto_->chain.first, low, high);
    kh_begin_anew(&auto_->chain.second, low, high);
    AT(state->owed, PLAYED) = 0.0;
    kh_seal(&state->ring);
}

void kh_set_aside_if_misled(kh_auto *auto_)
{
    kh_state *state = &auto_->state;
    if (!(kh_trusts_history(state) && misleads(&auto_->settings, state))) return;
    kh_memories *kept = &state->kept;
    f64 before = kh_centre(&state->label, 0), old = kh_spread(&state->label, 0);
    f64 now = state->trial.at[SQUARES] / state->trial.at[ROUNDS];
    kh_restate(&state->label, 0, state->trial.at[LEVEL], now);
    f64 moved = before - kh_centre(&state->label, 0);
    bool alike = old < ALIKE * now && now < ALIKE * old && moved * moved < ALIKE * now;
    if (alike) kh_copy_memory(kept, KH_LONGEST_MEMORY, 1);
    for (i64 m = 0; m < kept->tau.n; m++) {
        if (alike) kh_shift_labels(kept, m, moved);
        else kh_forget(kept, m, 0.0);
    }
    owe(auto_);
    kh_go_on_without(auto_, alike ? LAYER_ROUNDS : 0.0, AT(state->owed, LEAST), AT(state->owed, MOST));
    state->aside.at[ROWS] = state->studied.at[0];
    state->aside.at[LABELS] = (i64)state->label.reads.at[0];
}

/* What AutoLearner explores: all features are looked at, or a part where there are too many. */
#include "auto.h"
#include "philox.h"

enum { SUBSET = KH_PURPOSE + 2 }; /* the purpose of draws of features to look at */
enum { TAKEN = -2 };              /* marks what was drawn already */
#define STEPS 1048576.0           /* 2^20, to which logarithms of likelihoods are rounded */
#define LEAST -1e300              /* of a feature that may be explored, but no value of it ever arrived */

/* Mark the features (candidates where there are some) with the best scores, as many as these. */
static void mark_best(kh_space *space, const i64 *candidates, floats *score, i64 many, kh_room *room)
{
    i64 mark = room->used;
    ints best = take_ints(room, i_min(many, score->n));
    kh_largest(score, &best);
    for (i64 i = 0; i < best.n; i++)
        kh_mark(space, candidates ? candidates[best.at[i]] : best.at[i], KH_EXPLORED);
    room->used = mark;
}

void kh_judge_all(kh_auto *a, i64 key, i64 m, f64 optimism, floats *score, kh_room *room)
{
    i64 mark = room->used, d = a->settings.d;
    kh_space *space = &a->state.space;
    const f64 *n = ROW(a->state.kept.n, m), scale = AT(a->state.kept.scale, m);
    floats counts = take_floats(room, d);
    for (i64 j = 0; j < d; j++) counts.at[j] = n[j] * scale;
    kh_selection found = {ints_at(space->chosen, m), floats_at(space->gains, m), floats_at(space->r, m),
                          floats_at(space->D, m),    AT(space->noise, m),        counts};
    kh_sampled_gains(a->settings.seed, key, &found, &a->state.values.reads, optimism, score);
    for (i64 j = 0; j < d; j++)
        if (!(score->at[j] >= 0.0)) score->at[j] = 0.0; /* sums that are no sums, from a file */
    room->used = mark;
}

/* All have a seat: those that promise most, half to the longest memory, half to the leader. */
static void explore_all(kh_auto *a, i64 number, i64 lead, kh_room *room)
{
    kh_space *space = &a->state.space;
    i64 d = a->settings.d, free = a->settings.width - space->many.at[0];
    floats score = some_floats(space->score.at, d);
    KH_CHECK(space->score.n >= d);
    for (i64 half = 0; half < 2; half++) {
        i64 many = half == 0 ? free / 2 : free - free / 2;
        if (many == 0) continue;
        i64 m = half == 0 ? KH_LONGEST_MEMORY : lead;
        kh_judge_all(a, 2 * number + half, m, a->settings.optimism, &score, room);
        for (i64 j = 0; j < d; j++)
            if (space->why.at[j] != KH_UNREAD) score.at[j] = -1.0;
        mark_best(space, NULL, &score, many, room);
    }
}

i64 kh_unread_at(kh_auto *a, i64 i)
{
    kh_settings *s = &a->settings;
    i64 j = (s->first + (a->state.walk.at[0] + i) % s->d * s->stride) % s->d;
    return AT(a->state.values.reads, j) == 0.0 ? j : -1;
}

/* Mark up to `most` features of which no value ever arrived, of the next `width` that come up. One of
   which none arrives then is not asked for again before all others came up. */
static void look_for_unread(kh_auto *a, i64 most)
{
    i64 found = 0, i = 0;
    for (; i < a->settings.width && found < most; i++) {
        i64 j = kh_unread_at(a, i);
        if (j >= 0 && kh_mark(&a->state.space, j, KH_EXPLORED)) found++;
    }
    a->state.walk.at[0] = (a->state.walk.at[0] + i) % a->settings.d;
}

i64 kh_draw_candidates(kh_auto *a, i64 number)
{
    kh_settings *s = &a->settings;
    kh_space *space = &a->state.space;
    kh_memories *kept = &a->state.kept;
    i64 count = 0;
    for (i64 block = 0; block < (s->drawn + 3) / 4; block++) {
        kh_four four = kh_four_words(s->seed, number, SUBSET, block);
        for (i64 i = 0; i < i_min(4, s->drawn - 4 * block); i++) {
            i64 j = (i64)((four.w[i] * (u64)s->d) >> 32);
            if (AT(kept->seat, j) >= 0 || AT(space->why, j) != KH_UNREAD) continue;
            AT(space->candidates, count++) = j;
            space->why.at[j] = TAKEN;
        }
    }
    for (i64 i = 0; i < count; i++) space->why.at[space->candidates.at[i]] = KH_UNREAD;
    for (i64 q = 0; q < s->seats; q++)
        if (AT(kept->who, q) >= 0) AT(space->candidates, count++) = kept->who.at[q];
    return count;
}

void kh_judge_candidates(kh_auto *a, i64 key, i64 m, f64 optimism, floats *score)
{
    kh_memories *kept = &a->state.kept;
    kh_space *space = &a->state.space;
    const f64 *n = ROW(kept->n, m), *rest = ROW(kept->rest, m), scale = AT(kept->scale, m);
    f64 total = n[kept->who.n], level = total > 0.0 ? AT2(kept->c, m, kept->who.n) / total : 0.0;
    for (i64 i = 0; i < score->n; i++) {
        i64 j = space->candidates.at[i], q = AT(kept->seat, j);
        score->at[i] = 0.0;
        if (!(AT(a->state.values.reads, j) > 0.0)) continue;
        /* r, D and reads: given what was chosen if it has a seat, given the constant alone if it rests. */
        f64 r = 0.0, D = 0.0, reads = 0.0;
        if (q >= 0) {
            r = AT2(space->r, m, q), D = AT2(space->D, m, q), reads = n[q] * scale;
        } else {
            const f64 *sums = rest + KH_INDEX(j, kept->rest.m) * KH_REST_SUMS;
            f64 square = sums[KH_SQUARE], count = sums[KH_COUNT];
            reads = count * scale;
            if (square > 0.0 && count > 0.0 && total > 0.0) {
                f64 size = sqrt(square), along = sums[KH_LEVEL];
                r = (sums[KH_PRODUCT] - along * level) / size / sqrt(count);
                D = 1.0 - along / size * (along / size) / total;
            }
        }
        f64 gain = kh_sampled_gain(a->settings.seed, key, j, r, D, reads, AT(space->noise, m), optimism);
        if (gain >= 0.0) score->at[i] = gain; /* not for sums that are no sums, from a file */
    }
}

/* How much likelier what was read of a feature is if it adds something than if it does not. By gains,
   one that had bad luck with its first reads would have to wait until all others were read so often
   that they seem to gain less than it did. */
static void weigh_candidates(kh_state *state, floats *score)
{
    for (i64 i = 0; i < score->n; i++) {
        i64 j = state->space.candidates.at[i];
        score->at[i] = LEAST;
        if (!(AT(state->values.reads, j) > 0.0)) continue;
        f64 plus = AT2(state->evidence, j, 0), minus = AT2(state->evidence, j, 1); /* either is as likely */
        f64 most = f_max(plus, minus), least = f_min(plus, minus);
        f64 odds = most + kh_log(0.5 + 0.5 * kh_exp(least - most));
        /* What is alike but for rounding is alike: after few rounds many features are. */
        score->at[i] = f_max(floor(STEPS * odds + 0.5) / STEPS, LEAST);
    }
}

static void mark_best_unread(kh_space *space, floats *score, i64 many, kh_room *room)
{
    for (i64 i = 0; i < score->n; i++)
        if (AT(space->why, space->candidates.at[i]) != KH_UNREAD) score->at[i] = -INFINITY;
    mark_best(space, space->candidates.at, score, many, room);
}

/* What was never read, then the likeliest to add something of those that are looked at. While a memory
   that forgets leads, things change: half is then what it expects to gain most from. */
static void explore_some(kh_auto *a, i64 number, i64 lead, kh_room *room)
{
    kh_settings *s = &a->settings;
    kh_space *space = &a->state.space;
    look_for_unread(a, s->width - space->many.at[0]);
    floats score = some_floats(space->score.at, kh_draw_candidates(a, number));
    i64 free = s->width - space->many.at[0], by_evidence = lead == KH_LONGEST_MEMORY ? free : free / 2;
    if (by_evidence > 0) {
        weigh_candidates(&a->state, &score);
        mark_best_unread(space, &score, by_evidence, room);
    }
    if (free > by_evidence) {
        kh_judge_candidates(a, 2 * number + 1, lead, s->optimism, &score);
        mark_best_unread(space, &score, free - by_evidence, room);
    }
}

void kh_explore(kh_auto *a, i64 number, i64 lead, kh_room *room)
{
    kh_space *space = &a->state.space;
    if (a->settings.seats < a->settings.d) explore_some(a, number, lead, room);
    else explore_all(a, number, lead, room);
    /* Too few candidates: only after a file that says odd things. */
    for (i64 j = 0; space->many.at[0] < a->settings.width; j++) kh_mark(space, j, KH_EXPLORED);
}

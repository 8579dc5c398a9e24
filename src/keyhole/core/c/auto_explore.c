/* What AutoLearner explores: what was never read, then what reads speak for or what may gain most. */
#include "auto.h"
#include "philox.h"

enum { SUBSET = KH_PURPOSE + 2 }; /* the purpose of draws of features to look at */
enum { TAKEN = -2 };              /* marks what was drawn already */
#define STEPS 1048576.0           /* 2^20, to which logarithms of likelihoods are rounded */
enum { BY_EVIDENCE = 4 };         /* of so many batches one explores what reads speak for */
#define LEAST -1e300              /* of a feature that may be explored, but no value of it ever arrived */
#define KNOWN -1.5e308            /* of what would be kept anyway if there were money for that, too */
#define OPTIMISM 0.7              /* standard errors, where money has a fixed worth; stands in engine.py too */

/* Feature number i of those that come up to be read for the first time, -1 if it was read. */
static i64 unread_at(kh_auto *a, i64 i)
{
    kh_settings *s = &a->settings;
    i64 j = (s->first + (a->state.walk.at[0] + i) % s->d * s->stride) % s->d;
    return AT(a->state.values.reads, j) == 0.0 ? j : -1;
}

/* Buy features of which no value ever arrived, of the next `width` that come up; how many came up. One
   of which none arrives then is not asked for again before all others came up. */
static i64 read_first(kh_purchase *p)
{
    i64 i = 0;
    for (; i < p->a->settings.width && p->left > 0; i++) {
        i64 j = unread_at(p->a, i);
        if (j >= 0 && kh_more(p, j) > 0 && !kh_barred(p, j)) kh_buy(p, j, KH_EXPLORED);
    }
    return i;
}

/* The features that are looked at: all, beginning anywhere, or some at random and all that have a seat. */
static i64 look_at(kh_auto *a, i64 number)
{
    kh_settings *s = &a->settings;
    kh_space *space = &a->state.space;
    kh_memories *kept = &a->state.kept;
    i64 count = 0;
    if (s->seats == s->d) {
        i64 first = (i64)(kh_uniform(s->seed, number, SUBSET, 0) * (f64)s->d);
        for (i64 j = first; j < s->d; j++) AT(space->candidates, count++) = j;
        for (i64 j = 0; j < first; j++) AT(space->candidates, count++) = j;
        return count;
    }
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

static f64 mean_square_of(kh_auto *a, i64 m, i64 j)
{
    i64 q = AT(a->state.kept.seat, j);
    return q >= 0 ? AT3(a->state.kept.G, m, q, q) : AT3(a->state.kept.rest, m, j, KH_SQUARE);
}

/* r, D and reads of feature j: given what was chosen if it has a seat, else given the constant alone. */
static void sums_of(kh_auto *a, i64 m, i64 j, f64 *r, f64 *D, f64 *reads)
{
    kh_memories *kept = &a->state.kept;
    i64 q = AT(kept->seat, j), last = kept->who.n;
    f64 scale = AT(kept->scale, m), total = AT2(kept->n, m, last);
    *r = *D = *reads = 0.0;
    if (q >= 0) {
        *r = AT2(a->state.space.r, m, q), *D = AT2(a->state.space.D, m, q), *reads = AT2(kept->n, m, q) * scale;
        return;
    }
    const f64 *sums = &AT3(kept->rest, m, j, 0);
    f64 square = sums[KH_SQUARE], count = sums[KH_COUNT], along = sums[KH_LEVEL], size = sqrt(square);
    *reads = count * scale;
    if (!(square > 0.0 && count > 0.0 && total > 0.0)) return;
    *r = (sums[KH_PRODUCT] - along * AT2(kept->c, m, last) / total) / size / sqrt(count);
    *D = 1.0 - along / size * (along / size) / total;
}

/* What each candidate would gain were its correlation off by a random standard error. */
static void judge_by_gain(kh_purchase *p, i64 m, f64 optimism, floats *score)
{
    kh_auto *a = p->a;
    kh_normals drawn = kh_normals_of(a->settings.seed, p->number);
    for (i64 i = 0; i < score->n; i++) {
        i64 j = a->state.space.candidates.at[i];
        f64 r, D, reads;
        score->at[i] = 0.0;
        if (!(AT(a->state.values.reads, j) > 0.0)) continue;
        sums_of(a, m, j, &r, &D, &reads);
        bool constant = mean_square_of(a, m, j) == 0.0;
        f64 gain = kh_sampled_gain(&drawn, j, r, D, constant, reads, AT(a->state.space.noise, m), optimism);
        if (gain >= 0.0) score->at[i] = gain; /* not for sums that are no sums, from a file */
    }
}

/* How much likelier what was read of a feature is if it adds something than if it does not. By gains,
   one that had bad luck with its first reads would have to wait until all others were read so often
   that they seem to gain less than it did. */
static void judge_by_evidence(kh_state *state, floats *score)
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

/* Buy what has the best score and can be paid, again and again. */
static void buy_best(kh_purchase *p, floats *score)
{
    const i64 *candidates = p->a->state.space.candidates.at;
    const int8_t *why = p->a->state.space.why.at;
    while (p->left > 0) {
        i64 best = -1;
        for (i64 i = 0; i < score->n; i++) {
            i64 j = candidates[i];
            if (why[j] != KH_UNREAD || (best >= 0 && !(score->at[i] > score->at[best]))) continue;
            i64 more = kh_more(p, j);
            if (0 < more && more <= p->left && !kh_barred(p, j)) best = i;
        }
        if (best < 0) return;
        kh_buy(p, candidates[best], KH_EXPLORED);
    }
}

/* What is spent on an unpaid item and those of its members that might be worth their own price. */
static void explore_panel(kh_purchase *p, floats *score, i64 i)
{
    kh_market *shop = p->shop;
    i64 fee = shop->units.at[i];
    f64 rate = p->spending->rate, surplus = -rate * (f64)fee;
    for (i64 h = AT(shop->start, i); h < AT(shop->start, i + 1); h++) {
        i64 j = AT(shop->holder, h);
        surplus += f_max(0.0, AT(*score, j) - rate * (f64)(AT(p->held.more, j) - fee));
    }
    if (!(surplus > 0.0)) return;
    for (i64 h = shop->start.at[i]; h < shop->start.at[i + 1]; h++) {
        i64 j = shop->holder.at[h], more = p->held.more.at[j], own = p->held.paid.at[i] ? more : more - fee;
        if (score->at[j] > rate * (f64)own) kh_buy(p, j, KH_EXPLORED);
    }
}

/* What might gain more than it costs; of an item that several need, what all of them might. */
static i64 explore_if_worth(kh_purchase *p, floats *some)
{
    kh_auto *a = p->a;
    kh_space *space = &a->state.space;
    i64 d = a->settings.d, width = a->settings.width, m = KH_LONGEST_MEMORY;
    f64 rate = p->spending->rate, noise = AT(space->noise, m);
    floats score = take_floats(p->room, d);
    for (i64 j = 0; j < d; j++) score.at[j] = 0.0;
    judge_by_gain(p, m, OPTIMISM, some);
    for (i64 i = 0; i < some->n; i++) AT(score, space->candidates.at[i]) = f_min(some->at[i], noise);
    for (i64 i = 0; i < width; i++) {
        i64 j = unread_at(a, i);
        if (j >= 0) score.at[j] = KH_NEVER;
    }
    for (i64 j = 0; j < d; j++)
        if (space->why.at[j] != KH_UNREAD || kh_barred(p, j)) score.at[j] = 0.0;
    for (i64 j = 0; j < d; j++) {
        i64 more = kh_more(p, j);
        if (0 < more && score.at[j] > rate * (f64)more) kh_buy(p, j, KH_EXPLORED);
    }
    for (i64 i = 0; i < p->shop->units.n; i++)
        if (!p->held.paid.at[i] && AT(p->shop->start, i + 1) - p->shop->start.at[i] > 1)
            explore_panel(p, &score, i);
    return width;
}

i64 kh_explore(kh_purchase *p, i64 lead, ints *known)
{
    kh_space *space = &p->a->state.space;
    i64 mark = p->room->used, walked = p->spending->rate > 0.0 ? 0 : read_first(p);
    if (p->left > 0) {
        floats score = some_floats(space->score.at, look_at(p->a, p->number));
        if (p->spending->rate > 0.0) {
            walked = explore_if_worth(p, &score);
        } else {
            /* By number and by sixteens, or batches that explore, with even numbers, would be alike. */
            bool by_evidence = (p->number + p->number / KH_LOOK_OUT) % BY_EVIDENCE == 0;
            if (by_evidence) judge_by_evidence(&p->a->state, &score);
            else judge_by_gain(p, lead, p->a->settings.optimism, &score);
            for (i64 i = 0; i < score.n && known->n > 0; i++)
                for (i64 q = 0; q < known->n; q++)
                    if (space->candidates.at[i] == known->at[q]) score.at[i] = KNOWN;
            buy_best(p, &score);
        }
    }
    /* Too few candidates: only after a file that says odd things. */
    for (i64 j = 0; !p->listed && p->left > 0 && j < p->a->settings.d; j++) kh_buy(p, j, KH_EXPLORED);
    p->room->used = mark;
    return walked;
}

/* The rows told last, in a ring: what entered the sums of AutoLearner, and when. */
#include "auto.h"

KH_LAYOUT(kh_ring, KH_RING)

enum { TOLD = KH_TOLD, FOLDED, GONE, SEALED }; /* ring.next */

void kh_note_rows(kh_ring *ring, kh_batch *batch, i64 number, i64 round, i64 many)
{
    i64 length = ring->labels.n, width = ring->features.m, b = batch->S.n, *next = ring->next.at;
    if (length == 0) return;
    KH_CHECK(many <= batch->rows.at[0]);
    for (i64 t = batch->rows.at[0] - many; t < batch->rows.at[0]; t++) {
        i64 slot = next[TOLD] % length;
        int32_t *features = ROW(ring->features, slot);
        f64 *values = ROW(ring->values, slot);
        if (next[TOLD] >= length) next[GONE] = i_max(next[GONE], ring->folds.at[slot]);
        for (i64 a = 0; a < width; a++) {
            features[a] = a < b ? (int32_t)batch->S.at[a] : -1;
            values[a] = a < b ? AT2(batch->values, t, a) : NAN;
        }
        ring->labels.at[slot] = AT(batch->labels, t);
        ring->rounds.at[slot] = round++;
        ring->batches.at[slot] = number;
        ring->folds.at[slot] = 0;
        next[TOLD]++;
    }
}

void kh_note_history(kh_auto *a, ints *S, const f64 *x, f64 y)
{
    kh_ring *ring = &a->state.ring;
    i64 length = ring->labels.n, width = ring->features.m, *next = ring->next.at;
    if (length == 0) return;
    i64 slot = next[TOLD] % length;
    if (next[TOLD] >= length) next[GONE] = i_max(next[GONE], ring->folds.at[slot]);
    for (i64 i = 0; i < width; i++) {
        AT2(ring->features, slot, i) = i < S->n ? (int32_t)S->at[i] : -1;
        AT2(ring->values, slot, i) = i < S->n ? kh_taken(x[S->at[i]]) : NAN;
    }
    ring->labels.at[slot] = y;
    ring->rounds.at[slot] = ring->batches.at[slot] = ring->folds.at[slot] = 0;
    next[TOLD]++;
    kh_look_again(a, slot);
}

/* The rows of a batch are the last of its number that are in no sum yet, as a rule the last of all. */
void kh_note_fold(kh_auto *a, kh_batch *batch, i64 number)
{
    kh_ring *ring = &a->state.ring;
    i64 length = ring->labels.n, row = batch->rows.at[0], b = i_min(batch->S.n, ring->features.m), *next = ring->next.at;
    if (length == 0) return;
    next[FOLDED] += row;
    for (i64 i = next[TOLD] - 1; row > 0 && i >= i_max(0, next[TOLD] - length); i--) {
        i64 slot = i % length;
        if (ring->batches.at[slot] != number || ring->rounds.at[slot] == 0 || ring->folds.at[slot] != 0) continue;
        ring->folds.at[slot] = next[FOLDED];
        row--;
        ring->labels.at[slot] = AT(batch->labels, row);
        f64 *values = ROW(ring->values, slot), *entered = ROW(batch->values, row);
        if (memcmp(values, entered, (size_t)b * sizeof(f64)) == 0) continue;
        memcpy(values, entered, (size_t)b * sizeof(f64));
        kh_look_again(a, slot);
    }
    if (row > 0) next[GONE] = next[FOLDED];
}

void kh_note_seats(kh_ring *ring, kh_memories *kept)
{
    for (i64 a = 0; a < ring->sat.n; a++) {
        if (ring->sat.at[a] == AT(kept->who, a)) continue;
        ring->sat.at[a] = kept->who.at[a];
        AT(ring->since, a) = ring->next.at[FOLDED];
    }
}

void kh_forget_in_rows(kh_auto *a, i64 j)
{
    kh_ring *ring = &a->state.ring;
    i64 many = i_min(AT(ring->next, TOLD), ring->labels.n);
    for (i64 slot = 0; slot < many; slot++)
        for (i64 i = 0; i < ring->features.m; i++)
            if (AT2(ring->features, slot, i) == j) {
                AT2(ring->values, slot, i) = NAN;
                kh_look_again(a, slot);
            }
}

void kh_seal(kh_ring *ring) { AT(ring->next, SEALED) = ring->next.at[TOLD]; }

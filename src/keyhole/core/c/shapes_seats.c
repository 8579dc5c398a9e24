/* The last rows told, and who sits: the features read most of late. */
#include "draw.h"
#include "shapes.h"

KH_LAYOUT(kh_window, KH_WINDOW_ROWS)
KH_LAYOUT(kh_seated, KH_SEATED)

#define FADE 0x1.fefa1e333cd77p-1 /* exp(-1/500): what a read counts a row later */
#define STAYS 1.25                /* what those who sit already count more */
enum { FEWEST = 16 };             /* values: fewer say too little about a curve */

/* Up to KH_SAMPLE of these values, evenly spread over all of them, in ascending order. */
static i64 thin_out(floats *found, i64 many, floats *out, kh_room *room)
{
    i64 mark = room->used, n = i_min(many, KH_SAMPLE);
    floats some = take_floats(room, n);
    ints order = take_ints(room, n);
    for (i64 i = 0; i < n; i++) {
        some.at[i] = found->at[i * many / n];
        order.at[i] = i;
    }
    kh_argsort(&some, &order, room);
    for (i64 i = 0; i < n; i++) AT(*out, i) = some.at[order.at[i]];
    room->used = mark;
    return n;
}

KH_API i64 kh_sample(kh_window *told, i64 j, floats *out, kh_room *room)
{
    i64 mark = room->used, rows = i_min(told->many, KH_LOOKED), many = 0;
    floats found = take_floats(room, KH_LOOKED);
    for (i64 age = 0; age < rows; age++) {
        kh_row row = kh_row_at(told, kh_slot(told, age));
        f64 value = kh_value_of(&row, j);
        if (!isnan(value)) AT(found, many++) = value;
    }
    i64 n = thin_out(&found, many, out, room);
    room->used = mark;
    return n;
}

i64 kh_sample_of(floats *values, kh_window *told, floats *out, kh_room *room)
{
    i64 mark = room->used, rows = i_min(told->many, KH_LOOKED);
    floats found = take_floats(room, KH_LOOKED);
    for (i64 age = 0; age < rows; age++) found.at[age] = AT(*values, kh_slot(told, age));
    i64 n = thin_out(&found, rows, out, room);
    room->used = mark;
    return n;
}

static bool sits(const kh_seated *seated, i64 j)
{
    for (i64 s = 0; s < seated->who.n; s++)
        if (seated->who.at[s] == j) return true;
    return false;
}

/* Features in the last rows: how often each was read, how much that counts by now, who they are. */
static i64 count_reads(kh_window *told, floats *counts, f64 *score, i64 *met)
{
    i64 rows = i_min(told->many, KH_LOOKED), many = 0, wide = told->features.m;
    f64 weight = 1.0;
    for (i64 age = 0; age < rows; age++) {
        const int32_t *j = ROW(told->features, kh_slot(told, age));
        for (i64 a = 0; a < wide && j[a] >= 0; a++) AT(*counts, j[a]) = -1.0;
    }
    for (i64 age = 0; age < rows; age++, weight *= FADE) {
        i64 slot = kh_slot(told, age);
        const int32_t *j = ROW(told->features, slot);
        const f64 *values = ROW(told->values, slot);
        for (i64 a = 0; a < wide && j[a] >= 0; a++) {
            if (isnan(values[a])) continue;
            if (counts->at[j[a]] < 0.0) {
                counts->at[j[a]] = score[j[a]] = 0.0;
                met[many++] = j[a];
            }
            counts->at[j[a]] += 1.0;
            score[j[a]] += weight;
        }
    }
    return many;
}

KH_API void kh_take_seats(kh_seated *seated, kh_window *told, i64 d, floats *counts, kh_room *room)
{
    i64 mark = room->used, S = seated->who.n, held = 0, *who = seated->who.at;
    f64 *score = TAKE(room, f64, d);
    i64 *met = TAKE(room, i64, i_min(d, told->features.n * told->features.m)), *best = TAKE(room, i64, S);
    i64 many = count_reads(told, counts, score, met);
    for (i64 i = 0; i < many; i++)
        if (sits(seated, met[i])) score[met[i]] *= STAYS;
    for (i64 i = 0; i < many; i++) {
        i64 j = met[i], place;
        if (counts->at[j] < FEWEST) continue;
        for (place = held; place > 0; place--) { /* the lower number first among equals */
            i64 other = best[place - 1];
            if (score[other] > score[j] || (score[other] == score[j] && other < j)) break;
            if (place < S) best[place] = other;
        }
        if (place < S) best[place] = j, held = i_min(held + 1, S);
    }
    for (i64 s = 0; s < S; s++) {
        bool stays = false;
        for (i64 i = 0; i < held && who[s] >= 0; i++) stays = stays || best[i] == who[s];
        if (!stays) who[s] = -1, seated->made.at[s] = 0;
    }
    for (i64 i = 0, s = 0; i < held; i++) {
        if (sits(seated, best[i])) continue;
        while (who[s] >= 0) s++;
        AT(seated->who, s) = best[i];
    }
    room->used = mark;
}

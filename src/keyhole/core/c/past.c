/* The labels told so far as inputs: the last ones, and faded means. */
#include "sums.h"

KH_LAYOUT(kh_past, KH_PAST)

/* 0.5 ** (1 / half_life) for the half-lives 3, 20, 100: no pow of a C library is asked. */
static const f64 FADES[KH_HALF_LIVES] = {0x1.965fea53d6e3dp-1, 0x1.ee8f34dd8042fp-1, 0x1.fc769e9b9c35ep-1};

KH_API void kh_past_inputs(kh_past *past, floats *out)
{
    for (i64 i = 0; i < KH_LABELS; i++) AT(*out, i) = i < past->told.at[0] ? past->last.at[i] : NAN;
    for (i64 i = 0; i < KH_HALF_LIVES; i++) {
        f64 weight = past->weight.at[i];
        AT(*out, KH_LABELS + i) = weight > 0.0 ? past->faded.at[i] / weight : NAN;
    }
}

KH_API void kh_remember_label(kh_past *past, f64 y)
{
    for (i64 i = KH_LABELS - 1; i > 0; i--) past->last.at[i] = past->last.at[i - 1];
    past->last.at[0] = y;
    past->told.at[0]++;
    for (i64 i = 0; i < KH_HALF_LIVES; i++) {
        past->faded.at[i] = FADES[i] * past->faded.at[i] + y;
        past->weight.at[i] = FADES[i] * past->weight.at[i] + 1.0;
    }
}

KH_API void kh_past_rows(kh_past *past, floats *y, floats *out)
{
    for (i64 t = 0; t < y->n; t++) {
        floats row = some_floats(ROW(*out, t), out->m);
        kh_past_inputs(past, &row);
        kh_remember_label(past, y->at[t]);
    }
}

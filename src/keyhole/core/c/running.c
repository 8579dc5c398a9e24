/* Centre and scale of quantities learnt from the values that arrive, whatever their units. */
#include "sums.h"

KH_LAYOUT(kh_running, KH_RUNNING)

KH_API void kh_add_value(kh_running *seen, i64 j, f64 value)
{
    if (isnan(value)) return;
    if (AT(seen->reads, j) == 0.0) AT(seen->reference, j) = value;
    f64 shift = value - AT(seen->reference, j);
    AT(seen->reads, j) += 1.0;
    AT(seen->total, j) += shift;
    AT(seen->square, j) += shift * shift;
}

void kh_forget_one(kh_running *seen, i64 j)
{
    AT(seen->reference, j) = AT(seen->reads, j) = AT(seen->total, j) = AT(seen->square, j) = 0.0;
}

void kh_restate(kh_running *seen, i64 j, f64 mean, f64 variance)
{
    AT(seen->reference, j) = mean;
    AT(seen->total, j) = 0.0;
    AT(seen->square, j) = variance * AT(seen->reads, j);
}

KH_API f64 kh_spread(kh_running *seen, i64 j)
{
    f64 reads = AT(seen->reads, j);
    if (reads < 2.0) return 0.0;
    f64 shift = AT(seen->total, j) / reads;
    return f_max(AT(seen->square, j) - reads * shift * shift, 0.0) / (reads - 1.0);
}

KH_API f64 kh_centre(kh_running *seen, i64 j)
{
    f64 reads = AT(seen->reads, j);
    if (reads == 0.0) return 0.0;
    f64 mean = AT(seen->reference, j) + AT(seen->total, j) / reads;
    if (mean == 0.0) return 0.0;
    f64 noise = 2.0 * kh_spread(seen, j) / reads;
    return mean * f_max(0.0, 1.0 - noise / mean / mean);
}

KH_API void kh_centres(kh_running *seen, floats *out)
{
    for (i64 j = 0; j < out->n; j++) out->at[j] = kh_centre(seen, j);
}

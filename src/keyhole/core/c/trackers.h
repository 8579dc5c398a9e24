/* Intervals from past errors: trackers of quantiles, and sizes of errors by what was bought. */
#ifndef KH_TRACKERS_H
#define KH_TRACKERS_H
#include "kh.h"

/* Of each coverage; see blocks/conformal.py, also for the constants. */
#define KH_TRACKERS(F) \
    F(floats, a) F(floats, start) F(floats, units) F(ints, told) F(floats, q) F(floats, regret) \
    F(floats, spread) F(floats, weight) F(floats, theta)
KH_STRUCT(kh_trackers, KH_TRACKERS)
KH_API void kh_issue_intervals(kh_trackers *t, ints *order, f64 factor, floats *notes, floats *edges);
KH_API void kh_learn_error(kh_trackers *t, ints *order, floats *notes, f64 error, f64 gain);
KH_API void kh_play_intervals(kh_trackers *t, ints *order, floats *errors, floats *factors, f64 gain,
                              floats *edges, kh_room *room);

/* Of each feature, and last of predictions; see blocks/conformal.py. */
#define KH_ERROR_SIZES(F) \
    F(floats, reads) F(floats, mean) F(floats, variance) F(floats, centres) F(floats, product) \
    F(floats, square) F(floats, weight) F(floats, labels) F(floats, usual)
KH_STRUCT(kh_error_sizes, KH_ERROR_SIZES)
KH_API f64 kh_error_factor(kh_error_sizes *s, ints *features, floats *values, f64 prediction);
KH_API void kh_error_factors(kh_error_sizes *s, ints *features, floats *values, floats *predictions,
                             floats *errors, floats *factors, kh_room *room);

#endif

/* What all parts share: numbers, views of NumPy arrays, structs, room to work in. Python owns all
   memory and has checked every array (type, order, sizes) before anything here runs. */
#ifndef KH_H
#define KH_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int64_t i64;
typedef uint64_t u64;
typedef double f64;

#if defined(_WIN32)
#define KH_API __declspec(dllexport)
#else
#define KH_API __attribute__((visibility("default")))
#endif

/* Loops over all features are compiled twice, the second time for processors with AVX2. The bits are
   the same: lanes are wider, products and sums are not fused. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(KH_DEBUG)
#define KH_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define KH_WIDE
#endif

/* In KH_DEBUG every index that goes through AT is checked. */
#ifdef KH_DEBUG
#include <stdio.h>
#include <stdlib.h>
#define KH_CHECK(ok) ((ok) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #ok), abort()))
static inline i64 kh_index(i64 i, i64 n, const char *file, int line)
{
    if (i < 0 || i >= n) {
        fprintf(stderr, "%s:%d: index %lld of %lld\n", file, line, (long long)i, (long long)n);
        abort();
    }
    return i;
}
#define KH_INDEX(i, n) kh_index((i), (n), __FILE__, __LINE__)
#else
#define KH_CHECK(ok) ((void)0)
#define KH_INDEX(i, n) (i)
#endif

/* A view of an array in C order: where it begins and its dimensions, 1 for those it lacks. */
#define KH_VIEW(name, type) \
    typedef struct { type *at; i64 n, m, l; } name;
KH_VIEW(floats, f64)
KH_VIEW(ints, i64)
KH_VIEW(bools, bool)
KH_VIEW(bytes, int8_t)
KH_VIEW(shorts, int32_t)
KH_VIEW(words, u64)
KH_VIEW(singles, float)

/* Elements of views with one, two and three dimensions; ROW is where row i begins. */
#define AT(v, i) ((v).at[KH_INDEX(i, (v).n)])
#define AT2(v, i, j) ((v).at[KH_INDEX(i, (v).n) * (v).m + KH_INDEX(j, (v).m)])
#define AT3(v, i, j, k) \
    ((v).at[(KH_INDEX(i, (v).n) * (v).m + KH_INDEX(j, (v).m)) * (v).l + KH_INDEX(k, (v).l)])
#define ROW(v, i) ((v).at + KH_INDEX(i, (v).n) * (v).m * (v).l)

/* The matrix, or vector, at place i of a view with one dimension more. */
static inline floats floats_at(floats v, i64 i) { return (floats){ROW(v, i), v.m, v.l, 1}; }
static inline ints ints_at(ints v, i64 i) { return (ints){ROW(v, i), v.m, v.l, 1}; }
static inline floats some_floats(f64 *at, i64 n) { return (floats){at, n, 1, 1}; }
static inline ints some_ints(i64 *at, i64 n) { return (ints){at, n, 1, 1}; }

/* A struct mirrors a NamedTuple of Python, field by field. It is declared once, as a list, from
   which its description is made too: Python compares names and types before it fills one. */
#define KH_FIELD(type, name) type name;
#define KH_SAID(type, name) #type " " #name "; "
#define KH_STRUCT(name, fields) typedef struct { fields(KH_FIELD) } name;
#define KH_LAYOUT(name, fields) \
    KH_API const char *name##_layout(void) { return fields(KH_SAID); }

/* Python's min and max: the first unless the second is smaller, larger. Not fmin: NaN. */
static inline f64 f_min(f64 a, f64 b) { return b < a ? b : a; }
static inline f64 f_max(f64 a, f64 b) { return b > a ? b : a; }
static inline i64 i_min(i64 a, i64 b) { return b < a ? b : a; }
static inline i64 i_max(i64 a, i64 b) { return b > a ? b : a; }

/* Room to work in, from Python. A function that takes from it puts `used` back when it returns. */
typedef struct {
    char *base;
    i64 size, used;
} kh_room;

_Noreturn void kh_no_room(i64 size, i64 wanted);

#ifdef KH_DEBUG
#include <sanitizer/asan_interface.h>
#define KH_GAP 64 /* bytes nobody may touch, after each piece */
#else
#define KH_GAP 0
#endif

static inline void *kh_take(kh_room *room, i64 bytes)
{
    i64 start = (room->used + 63) & ~(i64)63, end = start + bytes;
    if (bytes < 0 || end + KH_GAP > room->size) kh_no_room(room->size, end + KH_GAP);
    room->used = end + KH_GAP;
#ifdef KH_DEBUG
    ASAN_UNPOISON_MEMORY_REGION(room->base + start, bytes);
    ASAN_POISON_MEMORY_REGION(room->base + end, KH_GAP);
#endif
    return room->base + start;
}
#define TAKE(room, type, n) ((type *)kh_take((room), (i64)sizeof(type) * (n)))
static inline floats take_floats(kh_room *room, i64 n) { return some_floats(TAKE(room, f64, n), n); }
static inline ints take_ints(kh_room *room, i64 n) { return some_ints(TAKE(room, i64, n), n); }

/* Functions whose bits differ between C libraries: our own (numbers.c), within an ulp or two. */
f64 kh_exp(f64 x);
f64 kh_log(f64 x);
f64 kh_pow(f64 base, f64 exponent); /* for base > 0 */
f64 kh_sinh(f64 x);
void kh_turn(f64 turns, f64 *cosine, f64 *sine); /* of the angle 2 pi turns */

#endif

/* Philox4x32-10: four random words of 32 bits for a counter under a key. Inline, because it is short
   and loops over counters vectorise. */
#ifndef KH_PHILOX_H
#define KH_PHILOX_H
#include "kh.h"

#define KH_LOW 0xFFFFFFFFu
typedef struct {
    u64 w[4];
} kh_four;

static inline kh_four kh_cipher(u64 c0, u64 c1, u64 c2, u64 c3, u64 k0, u64 k1)
{
    for (int i = 0; i < 10; i++) {
        u64 a = 0xD2511F53u * c0, b = 0xCD9E8D57u * c2;
        c0 = (b >> 32) ^ c1 ^ k0;
        c1 = b & KH_LOW;
        c2 = (a >> 32) ^ c3 ^ k1;
        c3 = a & KH_LOW;
        k0 = (k0 + 0x9E3779B9u) & KH_LOW;
        k1 = (k1 + 0xBB67AE85u) & KH_LOW;
    }
    return (kh_four){{c0, c1, c2, c3}};
}

static inline kh_four kh_four_words(u64 seed, i64 round, i64 purpose, i64 block)
{
    u64 t = (u64)round;
    return kh_cipher(t & KH_LOW, t >> 32, (u64)purpose, (u64)block, seed & KH_LOW, seed >> 32);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-1, FIPS 180-4, with the processor's instructions if it has them */
#include <stdbool.h>
#include <string.h>

#include "net/dns/answer/sha1.h"
#include "base/octets.h"

#define BLOCK       64
#define LENGTH_LEN  8
#define STATE       5

typedef void AddBlock(uint32_t state[STATE], const uint8_t block[BLOCK]);

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static uint32_t mix(unsigned round, const uint32_t v[STATE])
{
    switch (round / 20) {
    case 0:
        return ((v[1] & v[2]) | (~v[1] & v[3])) + 0x5a827999;
    case 1:
        return (v[1] ^ v[2] ^ v[3]) + 0x6ed9eba1;
    case 2:
        return ((v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3])) + 0x8f1bbcdc;
    default:
        return (v[1] ^ v[2] ^ v[3]) + 0xca62c1d6;
    }
}

static void add_block_portable(uint32_t state[STATE],
                               const uint8_t block[BLOCK])
{
    uint32_t v[STATE], w[80];

    memcpy(v, state, sizeof(v));
    for (unsigned i = 0; i < 80; i++) {
        uint32_t sum;

        w[i] = i < 16 ? get_be32(block + 4 * i)
                      : rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        sum = rotate(v[0], 5) + mix(i, v) + v[4] + w[i];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = sum;
    }
    for (unsigned i = 0; i < STATE; i++) {
        state[i] += v[i];
    }
}

static void digest(AddBlock *add, const uint8_t *data, size_t len,
                   uint8_t hash[DNS_SHA1_LEN])
{
    uint32_t state[STATE] = {
        0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0,
    };
    uint8_t last[2 * BLOCK] = { 0 };
    size_t left = len, tail;

    for (; left >= BLOCK; left -= BLOCK, data += BLOCK) {
        add(state, data);
    }
    memcpy(last, data, left);
    last[left] = 0x80;
    tail = left + 1 + LENGTH_LEN <= BLOCK ? BLOCK : 2 * BLOCK;
    put_be64(last + tail - LENGTH_LEN, (uint64_t)len * 8);
    for (size_t at = 0; at < tail; at += BLOCK) {
        add(state, last + at);
    }
    for (unsigned i = 0; i < STATE; i++) {
        put_be32(hash + 4 * i, state[i]);
    }
}

void dns_sha1_portable(const uint8_t *data, size_t len,
                       uint8_t hash[DNS_SHA1_LEN])
{
    digest(add_block_portable, data, len, hash);
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define SHA_TARGET  __attribute__((target("sha,sse4.1")))
#define CPUID_SHA   (1u << 29)

/* Four words of a message, in the order that the instructions require */
SHA_TARGET
static __m128i load_words(const uint8_t *at)
{
    const __m128i order = _mm_set_epi64x(0x0001020304050607,
                                         0x08090a0b0c0d0e0f);

    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)at), order);
}

/* Twenty rounds with one function; @e is from the round before. */
#define ROUNDS(function)                                                \
    do {                                                                \
        for (unsigned i = 5 * (function); i < 5 * (function) + 5; i++) { \
            __m128i sum = i ? _mm_sha1nexte_epu32(e, w[i])              \
                            : _mm_add_epi32(e, w[i]);                   \
                                                                        \
            e = abcd;                                                   \
            abcd = _mm_sha1rnds4_epu32(abcd, sum, function);            \
        }                                                               \
    } while (0)

SHA_TARGET
static void add_block_sha(uint32_t state[STATE], const uint8_t block[BLOCK])
{
    __m128i abcd = _mm_shuffle_epi32(
        _mm_loadu_si128((const __m128i *)state), 0x1b);
    __m128i e = _mm_set_epi32(state[4], 0, 0, 0);
    const __m128i abcd_before = abcd, e_before = e;
    __m128i w[20];

    for (unsigned i = 0; i < 4; i++) {
        w[i] = load_words(block + 16 * i);
    }
    for (unsigned i = 4; i < 20; i++) {
        w[i] = _mm_sha1msg2_epu32(
            _mm_xor_si128(_mm_sha1msg1_epu32(w[i - 4], w[i - 3]), w[i - 2]),
            w[i - 1]);
    }
    ROUNDS(0);
    ROUNDS(1);
    ROUNDS(2);
    ROUNDS(3);
    e = _mm_sha1nexte_epu32(e, e_before);
    abcd = _mm_add_epi32(abcd, abcd_before);
    _mm_storeu_si128((__m128i *)state, _mm_shuffle_epi32(abcd, 0x1b));
    state[4] = _mm_extract_epi32(e, 3);
}

static bool has_sha(void)
{
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & CPUID_SHA;
}

#elif defined(__aarch64__)

#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

#define SHA_TARGET  __attribute__((target("+crypto")))

/* Twenty rounds with one function */
#define ROUNDS(function, constant)                                      \
    do {                                                                \
        for (unsigned end = i + 5; i < end; i++) {                      \
            uint32x4_t sum = vaddq_u32(w[i], vdupq_n_u32(constant));    \
            uint32_t next = vsha1h_u32(vgetq_lane_u32(abcd, 0));        \
                                                                        \
            abcd = function(abcd, e, sum);                              \
            e = next;                                                   \
        }                                                               \
    } while (0)

SHA_TARGET
static void add_block_sha(uint32_t state[STATE], const uint8_t block[BLOCK])
{
    const uint32x4_t before = vld1q_u32(state);
    uint32x4_t abcd = before, w[20];
    uint32_t e = state[4];
    unsigned i;

    for (i = 0; i < 4; i++) {
        w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(block + 16 * i)));
    }
    for (; i < 20; i++) {
        w[i] = vsha1su1q_u32(vsha1su0q_u32(w[i - 4], w[i - 3], w[i - 2]),
                             w[i - 1]);
    }
    i = 0;
    ROUNDS(vsha1cq_u32, 0x5a827999);
    ROUNDS(vsha1pq_u32, 0x6ed9eba1);
    ROUNDS(vsha1mq_u32, 0x8f1bbcdc);
    ROUNDS(vsha1pq_u32, 0xca62c1d6);
    vst1q_u32(state, vaddq_u32(abcd, before));
    state[4] += e;
}

static bool has_sha(void)
{
    return getauxval(AT_HWCAP) & HWCAP_SHA1;
}

#else

#define add_block_sha   add_block_portable

static bool has_sha(void)
{
    return false;
}

#endif

void dns_sha1(const uint8_t *data, size_t len, uint8_t hash[DNS_SHA1_LEN])
{
    /* 0: not tested yet; all threads get the same result */
    static int known;
    int can = __atomic_load_n(&known, __ATOMIC_RELAXED);

    if (!can) {
        can = has_sha() ? 1 : -1;
        __atomic_store_n(&known, can, __ATOMIC_RELAXED);
    }
    digest(can > 0 ? add_block_sha : add_block_portable, data, len, hash);
}

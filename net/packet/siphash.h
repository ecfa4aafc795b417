/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SipHash (Aumasson, Bernstein): a hash with a secret key
 *
 * SipHash-1-3 is for hash tables whose keys come from a guest or from the
 * network: without the key nobody can choose entries that collide. SipHash-2-4
 * is for values that other programs verify, such as DNS cookies (RFC 9018).
 */
#ifndef NET_PACKET_SIPHASH_H
#define NET_PACKET_SIPHASH_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t siphash_rotl(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

static inline void siphash_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = siphash_rotl(v[1], 13) ^ v[0];
    v[3] = siphash_rotl(v[3], 16) ^ v[2];
    v[0] = siphash_rotl(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = siphash_rotl(v[1], 17) ^ v[2];
    v[3] = siphash_rotl(v[3], 21) ^ v[0];
    v[2] = siphash_rotl(v[2], 32);
}

static inline void siphash_rounds(uint64_t v[4], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        siphash_round(v);
    }
}

static inline void siphash_word(uint64_t v[4], uint64_t word, unsigned rounds)
{
    v[3] ^= word;
    siphash_rounds(v, rounds);
    v[0] ^= word;
}

/* @c rounds for each word, @d at the end: constant after inlining */
static inline uint64_t siphash_c_d(unsigned c, unsigned d,
                                   const uint64_t key[2], const void *data,
                                   size_t len)
{
    const uint8_t *octets = data;
    uint64_t v[4] = {
        key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
        key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573,
    };
    size_t left = len;
    uint64_t word;

    for (; left >= sizeof(word); left -= sizeof(word)) {
        memcpy(&word, octets, sizeof(word));
        siphash_word(v, le64toh(word), c);
        octets += sizeof(word);
    }
    word = 0;
    memcpy(&word, octets, left);
    siphash_word(v, le64toh(word) | (uint64_t)len << 56, c);
    v[2] ^= 0xff;
    siphash_rounds(v, d);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/**
 * siphash_1_3: hash of @len octets at @data
 * @key: 128 random bits, constant for the life of a table
 */
static inline uint64_t siphash_1_3(const uint64_t key[2], const void *data,
                                   size_t len)
{
    return siphash_c_d(1, 3, key, data, len);
}

/**
 * siphash_2_4: authentication code of @len octets at @data
 * @key: 16 octets of the key as two little-endian numbers
 */
static inline uint64_t siphash_2_4(const uint64_t key[2], const void *data,
                                   size_t len)
{
    return siphash_c_d(2, 4, key, data, len);
}

#endif /* NET_PACKET_SIPHASH_H */

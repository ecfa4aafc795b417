/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers that a seed determines (SplitMix64). */
#ifndef GUEST_FUZZ_RANDOM_H
#define GUEST_FUZZ_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* 0 .. bound - 1; bound is not 0. */
static inline uint32_t random_below(struct random *r, uint32_t bound)
{
    return (random_next(r) >> 32) * bound >> 32;
}

static inline bool random_percent(struct random *r, unsigned percent)
{
    return random_below(r, 100) < percent;
}

/* One of an array's elements. */
#define random_of(r, array) \
    ((array)[random_below(r, sizeof(array) / sizeof((array)[0]))])

#endif /* GUEST_FUZZ_RANDOM_H */

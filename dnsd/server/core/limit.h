/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Response rate limiting: a client that gets too many responses is probably the
 * victim of spoofed queries
 *
 * Each thread has its own table, of fixed size.
 */
#ifndef DNSD_SERVER_CORE_LIMIT_H
#define DNSD_SERVER_CORE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "dnsd/server/core/prefix.h"

#define DNSD_LIMIT_BITS4        24
#define DNSD_LIMIT_BITS6        56
#define DNSD_LIMIT_RATE_MAX     100000
#define DNSD_LIMIT_SLOTS_MIN    1024
#define DNSD_LIMIT_SLOTS_MAX    (1u << 24)

typedef struct DnsdLimitOptions {
    uint32_t rate;              /* responses per second; 0: no limit */
    uint32_t slip;              /* each slip-th is answered; 0: none */
    uint32_t slots;             /* per thread; a power of two */
} DnsdLimitOptions;

typedef enum DnsdLimitVerdict {
    DNSD_LIMIT_SEND,
    DNSD_LIMIT_SLIP,            /* send a short answer instead */
    DNSD_LIMIT_DROP,
} DnsdLimitVerdict;

typedef struct DnsdLimit DnsdLimit;

/**
 * dnsd_limit_new: make a table
 * @key: random
 *
 * Returns: NULL without memory.
 */
DnsdLimit *dnsd_limit_new(const DnsdLimitOptions *options,
                          const uint64_t key[2]);
void dnsd_limit_free(DnsdLimit *limit);

/** dnsd_limit_bytes: octets of a table with this many slots */
size_t dnsd_limit_bytes(uint32_t slots);

/* Responses that are counted together */
typedef struct DnsdLimitAccount {
    DnsdAddr client;            /* its /24 or /56 is used */
    uint32_t kind;              /* of the response */
    const uint8_t *name;        /* of @name_len octets; or NULL */
    size_t name_len;
} DnsdLimitAccount;

/**
 * dnsd_limit_judge: count one response
 * @now_ms: a monotonic clock
 *
 * An account may be ahead by the responses of one second.
 */
DnsdLimitVerdict dnsd_limit_judge(DnsdLimit *limit,
                                  const DnsdLimitAccount *account,
                                  uint64_t now_ms);

#endif /* DNSD_SERVER_CORE_LIMIT_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mobile prefix discovery, by the mobile node (RFC 6275 sections 11.4.2 and
 * 11.4.3)
 *
 * Times are in ns of a monotonic clock.
 */
#ifndef NET_MIP6_PREFIXES_H
#define NET_MIP6_PREFIXES_H

#include "net/mip6/core/icmp.h"

typedef struct Mip6PrefixesOps {
    /* Send a mobile prefix solicitation with @id. */
    void (*solicit)(void *opaque, uint16_t id);
    uint32_t (*random)(void *opaque);
} Mip6PrefixesOps;

typedef struct Mip6Prefixes {
    const Mip6PrefixesOps *ops;
    void *opaque;
    /* Readable by all: */
    uint64_t solicited, advertised;     /* messages sent, and accepted */
    /* Private. */
    bool bound;                 /* there is a binding, so it answers */
    uint16_t id;                /* of the last solicitation */
    unsigned tries;             /* solicitations without an answer */
    int64_t next;               /* time of the next one; INT64_MAX: none */
} Mip6Prefixes;

void mip6_prefixes_init(Mip6Prefixes *p, const Mip6PrefixesOps *ops,
                        void *opaque);

/** mip6_prefixes_bound: a binding was made or has ended */
void mip6_prefixes_bound(Mip6Prefixes *p, bool bound);

/**
 * mip6_prefixes_lifetime: preferred lifetime of the home prefix, from now on
 */
void mip6_prefixes_lifetime(Mip6Prefixes *p, int64_t now, uint32_t s);

/**
 * mip6_prefixes_arrive: as mip6_prefixes_lifetime(), if nothing is planned
 *
 * The lifetime comes with the VM, after the host knew that it is away.
 */
void mip6_prefixes_arrive(Mip6Prefixes *p, int64_t now, uint32_t s);

/** mip6_prefixes_ask: the agent indicates that prefixes have changed */
void mip6_prefixes_ask(Mip6Prefixes *p, int64_t now);

/**
 * mip6_prefixes_advert: process an advertisement of the home agent
 * @s: preferred lifetime of the home prefix
 *
 * An unsolicited advertisement is answered with a solicitation.
 */
void mip6_prefixes_advert(Mip6Prefixes *p, int64_t now,
                          const Mip6Icmp *advert, uint32_t s);

/** mip6_prefixes_deadline: when to call mip6_prefixes_tick() */
int64_t mip6_prefixes_deadline(const Mip6Prefixes *p);
void mip6_prefixes_tick(Mip6Prefixes *p, int64_t now);

#endif /* NET_MIP6_PREFIXES_H */

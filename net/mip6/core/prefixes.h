/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mobile node asks its home agent for the home link's prefixes (RFC 6275
 * sections 11.4.2 and 11.4.3)
 *
 * Times are ns of a clock that never steps.
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
    /* For all to read: */
    uint64_t solicited, advertised;     /* sent, and taken */
    /* Private. */
    bool bound;                 /* the agent has a binding: it answers */
    uint16_t id;                /* of the last solicitation */
    unsigned tries;             /* solicitations since the last answer */
    int64_t next;               /* when to ask; INT64_MAX: never */
} Mip6Prefixes;

void mip6_prefixes_init(Mip6Prefixes *p, const Mip6PrefixesOps *ops,
                        void *opaque);

/** mip6_prefixes_bound: there is a binding, or no longer */
void mip6_prefixes_bound(Mip6Prefixes *p, bool bound);

/** mip6_prefixes_lifetime: the home prefix is preferred for @s from now on */
void mip6_prefixes_lifetime(Mip6Prefixes *p, int64_t now, uint32_t s);

/** mip6_prefixes_ask: the agent says that there is something to be asked */
void mip6_prefixes_ask(Mip6Prefixes *p, int64_t now);

/**
 * mip6_prefixes_advert: an advertisement has come from the home agent
 * @s: the home prefix is preferred for so long
 *
 * One that was not asked for is answered by a solicitation.
 */
void mip6_prefixes_advert(Mip6Prefixes *p, int64_t now,
                          const Mip6Icmp *advert, uint32_t s);

/** mip6_prefixes_deadline: when to call mip6_prefixes_tick() */
int64_t mip6_prefixes_deadline(const Mip6Prefixes *p);
void mip6_prefixes_tick(Mip6Prefixes *p, int64_t now);

#endif /* NET_MIP6_PREFIXES_H */

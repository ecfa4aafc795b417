/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic home agent address discovery, by the mobile node (RFC 6275 section
 * 11.4.1)
 *
 * Times are ns of a clock that never steps.
 */
#ifndef NET_MIP6_DHAAD_H
#define NET_MIP6_DHAAD_H

#include "net/mip6/core/icmp.h"

typedef struct Mip6DhaadOps {
    /* Send a request with @id to the anycast address. */
    void (*request)(void *opaque, uint16_t id);
    uint32_t (*random)(void *opaque);
    /* Is it an address of the mobile node, and so of no home agent? */
    bool (*is_own)(void *opaque, const struct in6_addr *addr);
} Mip6DhaadOps;

typedef struct Mip6Dhaad {
    const Mip6DhaadOps *ops;
    void *opaque;
    /* For all to read: */
    struct in6_addr anycast;    /* of the home link's agents; "::": none */
    unsigned agents;            /* that are known, the best first */
    struct in6_addr agent[MIP6_ICMP_AGENTS_MAX];
    unsigned current;           /* the one in use, if there are @agents */
    bool is_asking;
    unsigned tries;             /* requests since it asks */
    /* Private. */
    struct in6_addr prefix;     /* of the home link */
    uint8_t prefix_len;
    struct in6_addr care_of;    /* the requests' source */
    uint16_t id;                /* of the last request */
    int64_t sent;               /* the last request; INT64_MIN: never */
    int64_t replied;            /* the last reply; INT64_MIN: never */
    int64_t next;               /* when to ask, if @is_asking */
} Mip6Dhaad;

/**
 * mip6_dhaad_init: no home agent is known, and nobody is asked
 * @prefix: of the home link; bits beyond @len do not count
 */
void mip6_dhaad_init(Mip6Dhaad *d, const struct in6_addr *prefix, uint8_t len,
                     const Mip6DhaadOps *ops, void *opaque);

/**
 * mip6_dhaad_is_agents: may this be the address of a home agent?
 *
 * It is one of the home link, and neither an anycast address nor our own.
 */
bool mip6_dhaad_is_agents(const Mip6Dhaad *d, const struct in6_addr *addr);

/** mip6_dhaad_use: @agent is known from elsewhere, and the only one */
void mip6_dhaad_use(Mip6Dhaad *d, const struct in6_addr *agent);

/**
 * mip6_dhaad_ask: ask for home agents, until there is an answer
 * @care_of: the requests' source. With another one it begins anew; with the
 *           same one it goes on.
 *
 * A list that has just come is not asked for again at once.
 */
void mip6_dhaad_ask(Mip6Dhaad *d, int64_t now, const struct in6_addr *care_of);

/** mip6_dhaad_stop: ask no more; what is known stays */
void mip6_dhaad_stop(Mip6Dhaad *d);

/**
 * mip6_dhaad_reply: a reply has come
 *
 * Its first agent is in use then.
 *
 * Returns: false if it was not asked for, or names no home agent; nothing is
 * changed then
 */
bool mip6_dhaad_reply(Mip6Dhaad *d, int64_t now, const Mip6Icmp *reply);

/**
 * mip6_dhaad_next: the home agent in use does not want, or does not answer
 *
 * Returns: whether there is another one; it is in use then. If there is none,
 * the last one stays in use.
 */
bool mip6_dhaad_next(Mip6Dhaad *d);

/** mip6_dhaad_deadline: when to call mip6_dhaad_tick(); INT64_MAX: never */
int64_t mip6_dhaad_deadline(const Mip6Dhaad *d);

/** mip6_dhaad_tick: do what is due */
void mip6_dhaad_tick(Mip6Dhaad *d, int64_t now);

#endif /* NET_MIP6_DHAAD_H */

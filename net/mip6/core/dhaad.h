/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic home agent address discovery, by the mobile node (RFC 6275 section
 * 11.4.1)
 *
 * Times are in ns of a monotonic clock.
 */
#ifndef NET_MIP6_DHAAD_H
#define NET_MIP6_DHAAD_H

#include "net/mip6/core/icmp.h"

typedef struct Mip6DhaadOps {
    /* Send a request with @id to the anycast address. */
    void (*request)(void *opaque, uint16_t id);
    uint32_t (*random)(void *opaque);
    /* Is it an address of the mobile node? Then it is not a home agent's. */
    bool (*is_own)(void *opaque, const struct in6_addr *addr);
} Mip6DhaadOps;

typedef struct Mip6Dhaad {
    const Mip6DhaadOps *ops;
    void *opaque;
    /* Readable by all: */
    struct in6_addr anycast;    /* of the home link's agents; "::": none */
    unsigned agents;            /* number of known agents, best first */
    struct in6_addr agent[MIP6_ICMP_AGENTS_MAX];
    unsigned current;           /* index of the one in use, if @agents */
    bool is_asking;
    unsigned tries;             /* requests since the start */
    /* Private. */
    struct in6_addr prefix;     /* of the home link */
    uint8_t prefix_len;
    struct in6_addr care_of;    /* source of the requests */
    uint16_t id;                /* of the last request */
    int64_t sent;               /* last request; INT64_MIN: never */
    int64_t replied;            /* last reply; INT64_MIN: never */
    int64_t next;               /* time of the next one, if @is_asking */
} Mip6Dhaad;

/**
 * mip6_dhaad_init: initialize, without a known agent
 * @prefix: of the home link; bits after @len are ignored
 */
void mip6_dhaad_init(Mip6Dhaad *d, const struct in6_addr *prefix, uint8_t len,
                     const Mip6DhaadOps *ops, void *opaque);

/**
 * mip6_dhaad_is_agents: can this be the address of a home agent?
 *
 * That is: on the home link, not anycast, and not an address of the node.
 */
bool mip6_dhaad_is_agents(const Mip6Dhaad *d, const struct in6_addr *addr);

/** mip6_dhaad_use: @agent is configured, and the only one */
void mip6_dhaad_use(Mip6Dhaad *d, const struct in6_addr *agent);

/**
 * mip6_dhaad_ask: send requests until there is an answer
 * @care_of: source of the requests. A new address restarts the procedure; with
 *           the same address it continues.
 *
 * If a list has just arrived, the next request is delayed.
 */
void mip6_dhaad_ask(Mip6Dhaad *d, int64_t now, const struct in6_addr *care_of);

/** mip6_dhaad_stop: stop the requests; known agents are kept */
void mip6_dhaad_stop(Mip6Dhaad *d);

/**
 * mip6_dhaad_reply: process a reply
 *
 * The first agent of the reply is then in use.
 *
 * Returns: false, with nothing changed, if there was no such request, or the
 * reply has no valid agent
 */
bool mip6_dhaad_reply(Mip6Dhaad *d, int64_t now, const Mip6Icmp *reply);

/**
 * mip6_dhaad_next: the agent in use refuses or does not answer: use the next
 * one
 *
 * Returns: true if there is a next one. Otherwise the last one stays in use.
 */
bool mip6_dhaad_next(Mip6Dhaad *d);

/**
 * mip6_dhaad_tries: requests from @care_of, all without an answer; at most 5
 * are counted
 */
unsigned mip6_dhaad_tries(const Mip6Dhaad *d, const struct in6_addr *care_of);

/** mip6_dhaad_deadline: when to call mip6_dhaad_tick(); INT64_MAX: never */
int64_t mip6_dhaad_deadline(const Mip6Dhaad *d);

/** mip6_dhaad_tick: do what is due */
void mip6_dhaad_tick(Mip6Dhaad *d, int64_t now);

#endif /* NET_MIP6_DHAAD_H */

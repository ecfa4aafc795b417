/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The home link as its routers advertise it: other home agents, and prefixes
 * (RFC 6275 sections 10.5 and 10.6)
 *
 * Times are in ns of a monotonic clock.
 */
#ifndef HA_LINK_H
#define HA_LINK_H

#include "net/mip6/core/icmp.h"

/* Another home agent of the link. */
typedef struct Mip6HaPeer {
    struct in6_addr router;     /* its link-local address */
    struct in6_addr address;    /* its global address */
    int16_t preference;
    int64_t expires;            /* 0: the entry is unused */
} Mip6HaPeer;

typedef struct Mip6HaPrefix {
    PacketNdPrefix advertised;  /* as advertised or configured */
    int64_t when;               /* time of the advertisement */
    bool fixed;                 /* configured: its lifetimes are constant */
} Mip6HaPrefix;

typedef struct Mip6HaLink {
    struct in6_addr home;       /* the home prefix */
    uint8_t home_len;
    Mip6HaPeer peer[MIP6_ICMP_AGENTS_MAX - 1];
    unsigned prefixes;
    Mip6HaPrefix prefix[PACKET_ND_PREFIX_MAX];
    bool managed, other;
    uint32_t version;           /* incremented when prefixes change */
    bool deprecated;            /* the change has deprecated the home prefix */
} Mip6HaLink;

void mip6_ha_link_init(Mip6HaLink *l, const struct in6_addr *home,
                       uint8_t home_len);

/**
 * mip6_ha_link_configure: replace the configured prefixes
 *
 * A prefix that is not configured any more is advertised with lifetime 0,
 * except the home prefix, for which the routers' advertisements are used then.
 */
void mip6_ha_link_configure(Mip6HaLink *l, int64_t now,
                            const PacketNdPrefix *prefix, unsigned count);

/** mip6_ha_link_heard: a router of the link has sent an advertisement */
void mip6_ha_link_heard(Mip6HaLink *l, int64_t now, const PacketNd *ra);

/**
 * mip6_ha_link_agents: all home agents of the link, by preference
 * @own, @preference: this agent; it comes before others of the same preference
 *
 * Fills in @m->agent.
 */
void mip6_ha_link_agents(const Mip6HaLink *l, int64_t now,
                         const struct in6_addr *own, int16_t preference,
                         Mip6Icmp *m);

/** mip6_ha_link_prefixes: fill in @m->prefix, with the remaining lifetimes */
void mip6_ha_link_prefixes(const Mip6HaLink *l, int64_t now, Mip6Icmp *m);

/**
 * mip6_ha_link_left: the lifetimes of the home prefix, in s
 *
 * Returns: false if they are unknown
 */
bool mip6_ha_link_left(const Mip6HaLink *l, int64_t now, uint32_t *valid,
                       uint32_t *preferred);

#endif /* HA_LINK_H */

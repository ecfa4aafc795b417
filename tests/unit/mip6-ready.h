/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mobile node on scripted links, with a scripted home agent
 *
 * For the groups of the IPv6 Ready list of mobile node tests
 * (docs/mip6-conformance.md). The agent of the World hears nothing here: what
 * an agent says, right or wrong, a test says. The router of router_mac answers
 * probes until a test says that it does not (World.alive).
 */
#ifndef TESTS_UNIT_MIP6_READY_H
#define TESTS_UNIT_MIP6_READY_H

#include "mip6-world.h"

#define FOREIGN         "2001:db8:3000::"
#define FOREIGN_2       "2001:db8:4000::"
#define HOME_PREFIX     "2001:db8:2000::"

extern const uint8_t router_2_mac[PACKET_ETH_ADDR_LEN];

/* A Binding Update as it was on the wire. */
typedef struct Update {
    int64_t at;
    PacketIp6 ip;
    bool has_hao;
    struct in6_addr home;       /* of the Home Address option */
    Mip6Mh mh;
} Update;

/* A running node on an unknown link. */
World *ready_begin(void);

/* A node on the link of FOREIGN, registered. */
World *ready_bound(void);

/*
 * A node back on the home link, which has sent its first Binding Update from
 * there.
 */
World *ready_returning(void);

/* Clears the log of frames. */
void ready_forget(World *w);

/* The number of updates in the log, and the last of them. */
unsigned ready_updates(const World *w);
Update ready_update(const World *w);

/* Update @which of the log, from 0; its time is that of sending. */
Update ready_update_at(const World *w, unsigned which);

/* Messages of neighbour discovery of @type in the log, the last in @nd. */
unsigned ready_nd(const World *w, uint8_t type, PacketNd *nd);

/* A Binding Acknowledgement that accepts the last update. */
Mip6Mh ready_ack(const World *w, uint8_t status);

/* The agent accepts the last update. */
void ready_accept(World *w);

/*
 * A packet with a mobility header, possibly invalid: @rh2 NULL: without a
 * routing header.  The checksum is made for @sum_dst.
 */
void ready_give_mh(World *w, const char *src, const struct in6_addr *dst,
                   const struct in6_addr *rh2,
                   const struct in6_addr *sum_dst, const Mip6Mh *mh);

/* A router of @prefix that advertises with these lifetimes. */
void ready_advertise(World *w, const uint8_t *mac, uint16_t lifetime,
                     const char *prefix, uint32_t valid, uint32_t preferred);

/* Does the care-of address in use, or in registration, have @prefix? */
bool ready_care_of_in(const World *w, const char *prefix);

#endif /* TESTS_UNIT_MIP6_READY_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A VM between two links, and a home agent
 *
 * The links are two functions: frames of the port reach a router and, if they
 * are for the agent, agent.c; packets of the agent come back. Time passes only
 * when a test advances it.
 */
#ifndef TESTS_UNIT_MIP6_WORLD_H
#define TESTS_UNIT_MIP6_WORLD_H

#include "net/mip6/ha/agent/agent.h"
#include "net/mip6/port/port.h"

#define SECOND  1000000000ll
#define MS      1000000ll

#define HOME    "2001:db8:2000::10"
#define AGENT   "2001:db8:2000::1"
#define FAR     "2001:db8:9000::c"

#define WORLD_LOG       64u     /* frames to the link that are kept */

extern const uint8_t guest_mac[PACKET_ETH_ADDR_LEN];
extern const uint8_t own_mac[PACKET_ETH_ADDR_LEN];
extern const uint8_t router_mac[PACKET_ETH_ADDR_LEN];
extern const uint8_t home_router_mac[PACKET_ETH_ADDR_LEN];

typedef struct Frame {
    uint8_t buf[2048];
    size_t len;
    PacketOffload offload;
} Frame;

typedef struct World {
    Mip6Port port;
    Mip6Agent agent;
    int64_t now;
    bool deaf;                  /* the agent receives nothing */
    uint8_t lost;               /* this protocol is lost on the path; 0: none */
    bool alive;                 /* the router answers probes (NUD) */
    bool probed;                /* and has to */
    unsigned changes;
    unsigned to_link, to_guest; /* frames, without: */
    unsigned reports;           /* of the care-of host, MLD */
    Frame link, guest;          /* the last of each */
    Frame log[WORLD_LOG];       /* ring of the last frames to the link */
    int64_t log_at[WORLD_LOG];
    unsigned logged;
    uint8_t from_agent[8][2048];        /* packets that have not arrived yet */
    size_t from_agent_len[8];
    unsigned queued;
    unsigned on_home_link;      /* packets to groups there, from the agent */
    unsigned on_home;           /* frames of the guest's MAC on the link */
} World;

extern const Mip6AgentOps agent_ops;

struct in6_addr address(const char *text);

World *world_new(Mip6Location location, bool arriving);
void world_free(World *w);

/* The port starts again, and has to discover its home agent. */
void world_discover(World *w, bool arriving);

/* A foreign link, and a binding. */
World *away(void);

/* Its router was heard at home: no agent is asked for prefixes. */
void hear_router(World *w);

/* Advances the time: the port's timers run, and the agent's answers arrive. */
void pass(World *w, int64_t ns);

/* Delivers the agent's packets for the care-of address. */
void deliver(World *w);

Mip6Verdict from_link(World *w, const void *buf, size_t len);
Mip6Verdict from_guest(World *w, const void *buf, size_t len);

/* A router of @prefix advertises. */
Mip6Verdict advertise(World *w, const char *prefix, const uint8_t *mac);
Mip6Verdict advertise_ra(World *w, const PacketNdRa *ra, const uint8_t *mac);

/* A frame with @payload octets from @src to @dst. Returns its length. */
size_t packet(uint8_t *frame, const char *src, const char *dst,
              size_t payload);

/* A packet for the care-of address, from @src. Returns the frame's length. */
size_t to_care_of(World *w, uint8_t *frame, const char *src, uint8_t next,
                  size_t payload);

/* The agent sends @mh to the care-of address. */
void from_agent(World *w, const Mip6Mh *mh);

/* A router on the path sends an error about @cause to the care-of address. */
void give_error(World *w, uint8_t type, uint8_t code, uint32_t arg,
                const uint8_t *cause, size_t len);

/* The same from @src. */
void give_error_from(World *w, const char *src, uint8_t type, uint8_t code,
                     uint32_t arg, const uint8_t *cause, size_t len);

/* @addr answers the solicitation of the care-of host. */
void answer_for(World *w, const struct in6_addr *addr);

#endif /* TESTS_UNIT_MIP6_WORLD_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A home agent with simulated host and mobile nodes */
#ifndef TESTS_UNIT_MIP6_AGENT_FIXTURE_H
#define TESTS_UNIT_MIP6_AGENT_FIXTURE_H

#include "net/mip6/ha/agent/agent.h"

#define SECOND  1000000000ll

#define AGENT   "2001:db8:2000::1"
#define HOME    "2001:db8:2000::10"
#define OTHER   "2001:db8:2000::11"
#define CARE_OF "2001:db8:3000::aa"
#define NEXT    "2001:db8:4000::aa"
#define FAR     "2001:db8:9000::c"

typedef struct AgentFixture {
    Mip6Agent a;
    int64_t now;
    bool refuses;               /* the host does */
    unsigned packets, proxied, unproxied;
    uint8_t packet[4096];       /* the last one that was forwarded */
    size_t len;
    int listening;              /* to groups, for DAD */
    int heard;                  /* the same at the last probe */
    unsigned probes, changes;   /* DAD requests; reported changes */
    unsigned joined, left;      /* groups; those with 0xff are refused */
    unsigned to_link;           /* packets to groups */
    struct in6_addr home;       /* of the last call of proxy() */
    unsigned kept;              /* calls of seen() */
    uint64_t seen;              /* of the last call of seen() */
    Mip6AgentPass pass;         /* of the last call of let_pass() */
    struct in6_addr stopped_home;       /* of the last call of stop_pass() */
    unsigned let, stopped;      /* calls of both */
    uint16_t sequence;
} AgentFixture;

struct in6_addr agent_address(const char *text);

/* The caller keeps @allowed; NULL: all */
AgentFixture *agent_begin(GHashTable *allowed);

/* The configuration of agent_begin(), for agent_begin_as(). */
Mip6AgentConfig agent_usual_config(void);
AgentFixture *agent_begin_as(const Mip6AgentConfig *config);
void agent_end(AgentFixture *f);

/* --- ESP --- */

#define AGENT_SPI       0x1001u

/*
 * The associations of HOME, with SPIs from AGENT_SPI on, from the view of the
 * agent or of its node; @shift changes the keys.
 */
Mip6ProtectConfig agent_protect(bool is_node, uint8_t shift);

/* Protect HOME with these. The earlier keys are freed. */
void agent_set_keys(AgentFixture *f, const Mip6ProtectConfig *config);

const Mip6AgentBinding *agent_binding(const AgentFixture *f, const char *home);

/* A Binding Update from @src; with a Home Address option unless from home. */
size_t agent_build_update(uint8_t *packet, const char *home, const char *src,
                          const Mip6Mh *bu);
void agent_update(AgentFixture *f, const char *home, const char *src,
                  const Mip6Mh *bu);

/* With A, H, the next sequence number and an alternate care-of address. */
Mip6Mh agent_usual_update(AgentFixture *f, const char *care_of,
                          uint16_t lifetime);

/* One acknowledgement went to @dst: with a routing header unless to home. */
void agent_expect(const AgentFixture *f, const char *home, const char *dst,
                  uint8_t status, uint16_t sequence, uint16_t lifetime);

/* Registers a care-of address, and checks the binding. */
void agent_bind(AgentFixture *f, const char *home, const char *care_of);

size_t agent_build_packet(uint8_t *packet, const char *src, const char *dst,
                          size_t payload);

/*
 * Sends a packet of @src in a tunnel from @outer_src.  Returns: was it
 * forwarded?
 */
bool agent_send_tunnelled(AgentFixture *f, const char *outer_src,
                          const char *src, const char *dst, uint8_t hops);

/* The same, to FAR. */
bool agent_from_tunnel(AgentFixture *f, const char *outer_src,
                       const char *src);

#endif /* TESTS_UNIT_MIP6_AGENT_FIXTURE_H */

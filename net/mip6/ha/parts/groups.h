/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multicast groups that mobile nodes listen to (RFC 6275 section 10.4.3)
 *
 * Times are ns of a clock that never steps.
 */
#ifndef NET_MIP6_HA_GROUPS_H
#define NET_MIP6_HA_GROUPS_H

#include <glib.h>

#include "net/mip6/ha/base/expiry.h"
#include "net/packet/mld.h"

/* Groups of one node, at most. */
#define MIP6_GROUPS_PER_NODE    32u

typedef struct Mip6GroupsNode Mip6GroupsNode;

typedef struct Mip6GroupsOps {
    /*
     * Take the packets of @group from the home link, or no longer. Returns
     * false if the host cannot.
     */
    bool (*join)(void *opaque, const struct in6_addr *group, bool on);
    /* Ask the node what it listens to. */
    void (*query)(void *opaque, int64_t now, const Mip6GroupsNode *node);
} Mip6GroupsOps;

typedef struct Mip6GroupsGroup Mip6GroupsGroup;

typedef struct Mip6GroupsMember {
    Mip6GroupsGroup *group;
    int64_t until;
} Mip6GroupsMember;

/* The end of a tunnel; the bindings of one care-of address share it. */
struct Mip6GroupsNode {
    struct in6_addr care_of;
    GPtrArray *owners;          /* those bindings; never empty */
    bool unknown;               /* what it listens to: it is to be asked */
    unsigned members;
    Mip6GroupsMember member[MIP6_GROUPS_PER_NODE];
    Mip6Due due;                /* the next query */
};

typedef struct Mip6Groups {
    const Mip6GroupsOps *ops;
    void *opaque;
    GHashTable *nodes;          /* &Mip6GroupsNode.care_of -> itself */
    GHashTable *groups;         /* struct in6_addr -> Mip6GroupsGroup */
    Mip6Expiry queries;
    uint64_t reports, queried;  /* messages */
    uint64_t refused;           /* groups that there was no room for */
} Mip6Groups;

void mip6_groups_init(Mip6Groups *g, const Mip6GroupsOps *ops, void *opaque);

/** mip6_groups_destroy: forget all; the host is told nothing */
void mip6_groups_destroy(Mip6Groups *g);

/**
 * mip6_groups_bind: the binding @owner has @care_of
 *
 * Returns: its node, never NULL
 */
Mip6GroupsNode *mip6_groups_bind(Mip6Groups *g, const struct in6_addr *care_of,
                                 gpointer owner);

/** mip6_groups_unbind: not any more; without owners @node listens no more */
void mip6_groups_unbind(Mip6Groups *g, Mip6GroupsNode *node, gpointer owner);

/** mip6_groups_node: the one at @care_of; NULL: none */
const Mip6GroupsNode *mip6_groups_node(const Mip6Groups *g,
                                       const struct in6_addr *care_of);

/** mip6_groups_owner: one of its bindings */
gpointer mip6_groups_owner(const Mip6GroupsNode *node);

/** mip6_groups_ask: query @node at @at: it was bound to an earlier agent */
void mip6_groups_ask(Mip6Groups *g, Mip6GroupsNode *node, int64_t at);

/**
 * mip6_groups_report: a node says what it listens to
 *
 * Groups of the link's scope are not looked at.
 *
 * Returns: false if nobody is bound at @care_of
 */
bool mip6_groups_report(Mip6Groups *g, int64_t now,
                        const struct in6_addr *care_of, const PacketMld *mld);

/** mip6_groups_nodes: of Mip6GroupsNode that listen; NULL: there are none */
const GPtrArray *mip6_groups_nodes(const Mip6Groups *g,
                                   const struct in6_addr *group);

/** mip6_groups_deadline: when to call mip6_groups_tick(); INT64_MAX: never */
int64_t mip6_groups_deadline(const Mip6Groups *g);

/** mip6_groups_tick: query one node, and end what it said too long ago */
void mip6_groups_tick(Mip6Groups *g, int64_t now);

#endif /* NET_MIP6_HA_GROUPS_H */

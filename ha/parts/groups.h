/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multicast groups that mobile nodes listen to (RFC 6275 section 10.4.3)
 *
 * Times are in ns of a monotonic clock.
 */
#ifndef HA_GROUPS_H
#define HA_GROUPS_H

#include <glib.h>

#include "ha/base/expiry.h"
#include "net/packet/mld.h"

/* Maximum number of groups of a node. */
#define MIP6_GROUPS_PER_NODE    32u

typedef struct Mip6GroupsNode Mip6GroupsNode;

typedef struct Mip6GroupsOps {
    /*
     * Start or stop to receive packets of @group on the home link. Returns:
     * false if the host cannot.
     */
    bool (*join)(void *opaque, const struct in6_addr *group, bool on);
    /* Send a query to the node. */
    void (*query)(void *opaque, int64_t now, const Mip6GroupsNode *node);
} Mip6GroupsOps;

typedef struct Mip6GroupsGroup Mip6GroupsGroup;

typedef struct Mip6GroupsMember {
    Mip6GroupsGroup *group;
    int64_t until;
} Mip6GroupsMember;

/* The end of a tunnel; all bindings with the care-of address share it. */
struct Mip6GroupsNode {
    struct in6_addr care_of;
    GPtrArray *owners;          /* its bindings; never empty */
    bool unknown;               /* groups unknown: it must be queried */
    unsigned members;
    Mip6GroupsMember member[MIP6_GROUPS_PER_NODE];
    Mip6Due due;                /* time of the next query */
};

typedef struct Mip6Groups {
    const Mip6GroupsOps *ops;
    void *opaque;
    GHashTable *nodes;          /* &Mip6GroupsNode.care_of -> itself */
    GHashTable *groups;         /* struct in6_addr -> Mip6GroupsGroup */
    Mip6Expiry queries;
    uint64_t reports, queried;  /* messages */
    uint64_t refused;           /* groups for which there was no space */
} Mip6Groups;

void mip6_groups_init(Mip6Groups *g, const Mip6GroupsOps *ops, void *opaque);

/** mip6_groups_destroy: free; the host does not leave the groups */
void mip6_groups_destroy(Mip6Groups *g);

/**
 * mip6_groups_bind: binding @owner has @care_of
 *
 * Returns: the node, never NULL
 */
Mip6GroupsNode *mip6_groups_bind(Mip6Groups *g, const struct in6_addr *care_of,
                                 gpointer owner);

/** mip6_groups_unbind: the opposite; a node without owners leaves its groups */
void mip6_groups_unbind(Mip6Groups *g, Mip6GroupsNode *node, gpointer owner);

/** mip6_groups_node: the node at @care_of; NULL: none */
const Mip6GroupsNode *mip6_groups_node(const Mip6Groups *g,
                                       const struct in6_addr *care_of);

/** mip6_groups_owner: one of its bindings */
gpointer mip6_groups_owner(const Mip6GroupsNode *node);

/**
 * mip6_groups_ask: query @node at time @at; it was bound to an earlier agent
 */
void mip6_groups_ask(Mip6Groups *g, Mip6GroupsNode *node, int64_t at);

/**
 * mip6_groups_report: process a node's report
 *
 * Link-scope groups are ignored.
 *
 * Returns: false if there is no binding with @care_of
 */
bool mip6_groups_report(Mip6Groups *g, int64_t now,
                        const struct in6_addr *care_of, const PacketMld *mld);

/** mip6_groups_nodes: the Mip6GroupsNodes that listen; NULL: none */
const GPtrArray *mip6_groups_nodes(const Mip6Groups *g,
                                   const struct in6_addr *group);

/** mip6_groups_deadline: when to call mip6_groups_tick(); INT64_MAX: never */
int64_t mip6_groups_deadline(const Mip6Groups *g);

/** mip6_groups_tick: query one node, and end its old memberships */
void mip6_groups_tick(Mip6Groups *g, int64_t now);

#endif /* HA_GROUPS_H */

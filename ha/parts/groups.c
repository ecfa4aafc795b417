/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multicast groups that mobile nodes listen to
 *
 * Theory of operation
 * ===================
 *
 * The agent is the multicast router of each tunnel (RFC 3810 section 7). A
 * tunnel ends at a care-of address with one host, so when this host leaves a
 * group, it was the last listener in the tunnel, and no query for others is
 * needed.
 *
 *   Mip6GroupsNode  care-of address   member[] ----.
 *   Mip6GroupsGroup group             nodes[]  <---'  packets go there
 *
 * When a group gets its first listener, the host joins it on the home link; the
 * host's own reports inform the link's routers and switches. A node that has
 * sent a report is queried every QUERY_INTERVAL from then on; a membership that
 * it does not repeat ends after LISTENER_INTERVAL.
 */
#include <stddef.h>
#include <string.h>

#include "base/units.h"
#include "ha/base/addr.h"
#include "ha/parts/groups.h"

/* RFC 3810 section 9. */
#define QUERY_INTERVAL          (125 * SECOND)
#define LISTENER_INTERVAL       (2 * QUERY_INTERVAL + 10 * SECOND)

struct Mip6GroupsGroup {
    struct in6_addr address;
    GPtrArray *nodes;
};

static void free_group(gpointer opaque)
{
    Mip6GroupsGroup *group = opaque;

    g_ptr_array_free(group->nodes, TRUE);
    g_free(group);
}

static void free_node(gpointer opaque)
{
    Mip6GroupsNode *node = opaque;

    g_ptr_array_free(node->owners, TRUE);
    g_free(node);
}

void mip6_groups_init(Mip6Groups *g, const Mip6GroupsOps *ops, void *opaque)
{
    memset(g, 0, sizeof(*g));
    g->ops = ops;
    g->opaque = opaque;
    g->nodes = g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal, NULL,
                                     free_node);
    g->groups = g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal, NULL,
                                      free_group);
    mip6_expiry_init(&g->queries);
}

void mip6_groups_destroy(Mip6Groups *g)
{
    mip6_expiry_destroy(&g->queries);
    g_hash_table_destroy(g->groups);
    g_hash_table_destroy(g->nodes);
}

/* --- memberships ---------------------------------------------------------- */

static Mip6GroupsMember *find(Mip6GroupsNode *node, const struct in6_addr *addr)
{
    for (unsigned i = 0; i < node->members; i++) {
        if (mip6_addr_equal(&node->member[i].group->address, addr)) {
            return &node->member[i];
        }
    }
    return NULL;
}

/* Finds or joins the group @addr. Returns: NULL if the host cannot join */
static Mip6GroupsGroup *have_group(Mip6Groups *g, const struct in6_addr *addr)
{
    Mip6GroupsGroup *group = g_hash_table_lookup(g->groups, addr);

    if (!group && g->ops->join(g->opaque, addr, true)) {
        group = g_new(Mip6GroupsGroup, 1);
        group->address = *addr;
        group->nodes = g_ptr_array_new();
        g_hash_table_insert(g->groups, &group->address, group);
    }
    return group;
}

static void listen_to(Mip6Groups *g, int64_t now, Mip6GroupsNode *node,
                      const struct in6_addr *addr)
{
    Mip6GroupsMember *member = find(node, addr);
    Mip6GroupsGroup *group;

    if (!member) {
        group = node->members < MIP6_GROUPS_PER_NODE ? have_group(g, addr)
                                                     : NULL;
        if (!group) {
            g->refused++;
            return;
        }
        g_ptr_array_add(group->nodes, node);
        member = &node->member[node->members++];
        member->group = group;
    }
    member->until = now + LISTENER_INTERVAL;
}

static void leave(Mip6Groups *g, Mip6GroupsNode *node, Mip6GroupsMember *member)
{
    Mip6GroupsGroup *group = member->group;

    *member = node->member[--node->members];
    g_ptr_array_remove_fast(group->nodes, node);
    if (group->nodes->len == 0) {
        g->ops->join(g->opaque, &group->address, false);
        g_hash_table_remove(g->groups, &group->address);
    }
}

bool mip6_groups_report(Mip6Groups *g, int64_t now,
                        const struct in6_addr *care_of, const PacketMld *mld)
{
    Mip6GroupsNode *node = g_hash_table_lookup(g->nodes, care_of);

    if (!node) {
        return false;
    }
    g->reports++;
    for (unsigned i = 0; i < mld->records; i++) {
        const PacketMldRecord *record = &mld->record[i];
        Mip6GroupsMember *member = find(node, &record->group);

        if (record->listens && packet_mld_forwards(&record->group)) {
            listen_to(g, now, node, &record->group);
        } else if (!record->listens && member) {
            leave(g, node, member);
        }
    }
    if (node->members && !node->due.place) {
        mip6_expiry_set(&g->queries, &node->due, now + QUERY_INTERVAL);
    }
    return true;
}

const GPtrArray *mip6_groups_nodes(const Mip6Groups *g,
                                   const struct in6_addr *group)
{
    const Mip6GroupsGroup *found = g_hash_table_lookup(g->groups, group);

    return found ? found->nodes : NULL;
}

/* --- nodes ---------------------------------------------------------------- */

Mip6GroupsNode *mip6_groups_bind(Mip6Groups *g, const struct in6_addr *care_of,
                                 gpointer owner)
{
    Mip6GroupsNode *node = g_hash_table_lookup(g->nodes, care_of);

    if (!node) {
        node = g_new0(Mip6GroupsNode, 1);
        node->care_of = *care_of;
        node->owners = g_ptr_array_new();
        g_hash_table_insert(g->nodes, &node->care_of, node);
    }
    g_ptr_array_add(node->owners, owner);
    return node;
}

const Mip6GroupsNode *mip6_groups_node(const Mip6Groups *g,
                                       const struct in6_addr *care_of)
{
    return g_hash_table_lookup(g->nodes, care_of);
}

gpointer mip6_groups_owner(const Mip6GroupsNode *node)
{
    return g_ptr_array_index(node->owners, 0);
}

void mip6_groups_unbind(Mip6Groups *g, Mip6GroupsNode *node, gpointer owner)
{
    g_ptr_array_remove(node->owners, owner);
    if (node->owners->len) {
        return;
    }
    while (node->members) {
        leave(g, node, &node->member[0]);
    }
    mip6_expiry_remove(&g->queries, &node->due);
    g_hash_table_remove(g->nodes, &node->care_of);
}

void mip6_groups_ask(Mip6Groups *g, Mip6GroupsNode *node, int64_t at)
{
    node->unknown = true;
    mip6_expiry_set(&g->queries, &node->due, at);
}

/* --- time ----------------------------------------------------------------- */

int64_t mip6_groups_deadline(const Mip6Groups *g)
{
    const Mip6Due *next = mip6_expiry_next(&g->queries);

    return next ? next->at : INT64_MAX;
}

void mip6_groups_tick(Mip6Groups *g, int64_t now)
{
    Mip6Due *next = mip6_expiry_next(&g->queries);
    Mip6GroupsNode *node;

    if (!next || next->at > now) {
        return;
    }
    node = (void *)((char *)next - offsetof(Mip6GroupsNode, due));
    for (unsigned i = node->members; i-- > 0; ) {
        if (node->member[i].until <= now) {
            leave(g, node, &node->member[i]);
        }
    }
    if (node->members || node->unknown) {
        node->unknown = false;
        mip6_expiry_set(&g->queries, &node->due, now + QUERY_INTERVAL);
        g->queried++;
        g->ops->query(g->opaque, now, node);
    } else {
        mip6_expiry_remove(&g->queries, &node->due);
    }
}

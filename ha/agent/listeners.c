/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multicast groups of mobile nodes (RFC 6275 section 10.4.3) */
#include "ha/agent/internal.h"

#define QUERY_RESPONSE  10000   /* ms (RFC 3810 section 9.3) */

static void to_listeners(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                         uint8_t *p, size_t len, const struct in6_addr *but)
{
    const GPtrArray *nodes = mip6_groups_nodes(&a->groups, &ip->dst);

    for (guint i = 0; nodes && i < nodes->len; i++) {
        const Mip6GroupsNode *node = g_ptr_array_index(nodes, i);

        if (!but || !packet_ip6_equal(&node->care_of, but)) {
            mip6_agent_into_tunnel(a, now, mip6_groups_owner(node), ip, p, len);
        }
    }
}

void mip6_agent_report(Mip6Agent *a, int64_t now, const PacketIp6 *outer,
                       const PacketMld *mld)
{
    const Mip6GroupsNode *node = mip6_groups_node(&a->groups, &outer->src);
    const Mip6AgentBinding *b = node ? mip6_groups_owner(node) : NULL;

    if (!a->config.multicast || mld->type == PACKET_MLD_QUERY) {
        mip6_agent_drop(a, MIP6_AGENT_NOT_FOR_US);
    } else if (b && !mip6_agent_believes(a, &b->home)) {
        mip6_agent_drop(a, MIP6_AGENT_UNPROTECTED);
    } else if (!mip6_groups_report(&a->groups, now, &outer->src, mld)) {
        mip6_agent_drop(a, MIP6_AGENT_NO_BINDING);
    }
}

/* Decrements the hop limit. Returns: false if the packet must be dropped */
static bool spend_hop(Mip6Agent *a, PacketIp6 *ip, uint8_t *p)
{
    if (ip->hops <= 1) {
        mip6_agent_drop(a, MIP6_AGENT_HOP_LIMIT);
        return false;
    }
    p[HOPS_AT] = --ip->hops;
    return true;
}

void mip6_agent_send_group(Mip6Agent *a, int64_t now, PacketIp6 *ip, uint8_t *p,
                           size_t len, const struct in6_addr *from)
{
    if (!a->config.multicast || !packet_mld_forwards(&ip->dst)) {
        mip6_agent_drop(a, MIP6_AGENT_NOT_FOR_US);
    } else if (spend_hop(a, ip, p)) {
        a->ops->to_group(a->opaque, p, len);
        to_listeners(a, now, ip, p, len, from);
    }
}

void mip6_agent_group_packet(Mip6Agent *a, int64_t now, void *buf, size_t len)
{
    PacketIp6 ip;

    if (!packet_ip6_parse(&ip, buf, len)) {
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
    } else if (mip6_groups_nodes(&a->groups, &ip.dst) &&
               spend_hop(a, &ip, buf)) {
        to_listeners(a, now, &ip, buf, PACKET_IP6_LEN + ip.payload, NULL);
    }
}

/* The agent is the tunnel's multicast router: its source is link-local. */
void mip6_agent_query(void *opaque, int64_t now, const Mip6GroupsNode *node)
{
    static const struct in6_addr router = { { { 0xfe, 0x80, [15] = 1 } } };
    Mip6Agent *a = opaque;
    uint8_t packet[PACKET_MLD_QUERY_LEN];
    size_t len = packet_mld_build_query(packet, &router, QUERY_RESPONSE);
    PacketIp6 ip;

    packet_ip6_parse(&ip, packet, len);
    mip6_agent_into_tunnel(a, now, mip6_groups_owner(node), &ip, packet, len);
}

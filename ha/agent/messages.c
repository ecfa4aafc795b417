/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to the agent: mobility headers and ICMPv6 */
#include <string.h>

#include "ha/agent/adverts.h"
#include "ha/agent/internal.h"
#include "ha/parts/discovery.h"
#include "net/packet/nd.h"

/*
 * A message that is too short for its type: the field "Header Len" is wrong. If
 * the message is truncated, its checksum cannot be verified, so there is no
 * answer.
 */
static void send_short_error(Mip6Agent *a, int64_t now, const PacketIp6Ext *ext,
                             const uint8_t *p, size_t len)
{
    size_t there = len - ext->offset;

    if (there >= 8 && (p[ext->offset + 1] + 1u) * 8 <= there) {
        mip6_agent_send_icmp6_error(a, now, PACKET_ICMP6_PARAMETER, 0,
                                    ext->offset + 1, p, len);
    }
}

void mip6_agent_mh(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                   const PacketIp6Ext *ext, const uint8_t *p, size_t len)
{
    struct in6_addr home = ip->src;
    size_t options = ext->dst2 ? ext->dst2 : ext->dst1;
    Mip6Mh mh;

    if (options &&
        !mip6_hao_parse(&home, p + options,
                        packet_ip6_ext_len(PACKET_PROTO_DSTOPTS,
                                           p + options))) {
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (!mip6_agent_believes(a, &home)) {
        mip6_agent_tell(a, MIP6_AGENT_IGNORED, &home, &ip->src);
        mip6_agent_drop(a, MIP6_AGENT_UNPROTECTED);
        return;
    }
    switch (mip6_mh_parse(&mh, &home, &ip->dst, p + ext->offset,
                          len - ext->offset)) {
    case MIP6_MH_GOOD:
        break;
    case MIP6_MH_CHECKSUM:
        mip6_agent_drop(a, MIP6_AGENT_CHECKSUM);
        return;
    case MIP6_MH_UNKNOWN:
        /* Section 9.2: with the home address, if the packet has one. */
        mip6_agent_send_binding_error(a, now, MIP6_BE_UNKNOWN_MH, &ip->src,
                                      options ? &home : &in6addr_any);
        mip6_agent_drop(a, MIP6_AGENT_UNKNOWN_MH);
        return;
    case MIP6_MH_PAYLOAD_PROTO:
        mip6_agent_send_icmp6_error(a, now, PACKET_ICMP6_PARAMETER, 0,
                                    ext->offset, p, len);
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
        return;
    case MIP6_MH_SHORT:
        send_short_error(a, now, ext, p, len);
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
        return;
    default:
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (mh.type == MIP6_MH_BU) {
        mip6_agent_update(a, now, &mh, &home, &ip->src);
    } else {
        mip6_agent_drop(a, MIP6_AGENT_NOT_FOR_US);
    }
}

void mip6_agent_icmp6(Mip6Agent *a, int64_t now, const PacketIp6Ext *ext,
                      const uint8_t *p, size_t len)
{
    uint8_t answer[MIP6_DISCOVERY_MAX];
    Mip6Icmp agents = { .type = MIP6_ICMP_AGENT_REPLY };

    if (mip6_agent_path_error(a, now, p, ext->offset, len)) {
        return;
    }
    mip6_ha_link_agents(&a->link, now, &a->config.address,
                        a->config.preference, &agents);
    len = mip6_discovery_answer(answer, &a->config.address, &agents, p,
                                ext->offset, len);
    if (!len) {
        mip6_agent_drop(a, MIP6_AGENT_NOT_FOR_US);
    } else if (mip6_agent_may_send_error(a, now)) {
        a->ops->forward(a->opaque, answer, len);
    }
}

void mip6_agent_solicitation(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                             const PacketIp6Ext *ext, const uint8_t *p,
                             size_t len)
{
    size_t options = ext->dst2 ? ext->dst2 : ext->dst1;
    struct in6_addr home;
    Mip6AgentBinding *b;
    Mip6Icmp m;

    if (!options ||
        !mip6_hao_parse(&home, p + options,
                        packet_ip6_ext_len(PACKET_PROTO_DSTOPTS,
                                           p + options)) ||
        !mip6_icmp_parse(&m, &home, &ip->dst, p + ext->offset,
                         len - ext->offset)) {
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (!mip6_agent_believes(a, &home)) {
        mip6_agent_drop(a, MIP6_AGENT_UNPROTECTED);
        return;
    }
    b = mip6_agent_bound(a, &home);
    if (!b || !packet_ip6_equal(&b->care_of, &ip->src)) {
        mip6_agent_send_binding_error(a, now, MIP6_BE_UNKNOWN_BINDING, &ip->src,
                                      &home);
        mip6_agent_drop(a, MIP6_AGENT_NO_BINDING);
    } else if (mip6_agent_may_send_error(a, now)) {
        mip6_adverts_solicited(a, now, b, m.id);
    }
}

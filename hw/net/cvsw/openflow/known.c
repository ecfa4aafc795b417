/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields that every matching frame has (OpenFlow 1.3.5 table 12) */
#include "hw/net/cvsw/openflow/known.h"
#include "net/packet/nd.h"

#define UNKNOWN         (-1)

static int number(CvswField field, const CvswValue *value)
{
    return cvsw_field_octets(field) == 1 ? value->octets[0] :
           value->octets[0] << 8 | value->octets[1];
}

/* The fields that callers ask for have at most 16 bits and no mask. */
static int named(const CvswMatch *match, CvswField field)
{
    CvswValue value, mask;

    return cvsw_match_get(match, field, &value, &mask) ?
           number(field, &value) : UNKNOWN;
}

void cvsw_of_known_init(CvswOfKnown *known, const CvswMatch *match)
{
    CvswValue value, mask;

    /* OFPVID_PRESENT in the value implies that it is in the mask, too. */
    known->tags = cvsw_match_get(match, CVSW_VLAN_VID, &value, &mask) &&
                  number(CVSW_VLAN_VID, &value) & CVSW_VID_PRESENT;
    known->eth_type = named(match, CVSW_ETH_TYPE);
    known->protocol = named(match, CVSW_IP_PROTO);
    known->icmp6_type = named(match, CVSW_ICMPV6_TYPE);
}

static bool is_ip(const CvswOfKnown *known)
{
    return known->eth_type == PACKET_ETH_IP4 ||
           known->eth_type == PACKET_ETH_IP6;
}

static bool carries(const CvswOfKnown *known, int protocol)
{
    return is_ip(known) && known->protocol == protocol;
}

static bool is_nd(const CvswOfKnown *known, int type)
{
    return known->eth_type == PACKET_ETH_IP6 &&
           known->protocol == IPPROTO_ICMPV6 && known->icmp6_type == type;
}

static bool has_field(const CvswOfKnown *known, CvswField field)
{
    switch (field) {
    case CVSW_VLAN_VID:
    case CVSW_VLAN_PCP:
        return known->tags > 0;
    case CVSW_IP_DSCP:
    case CVSW_IP_ECN:
    case CVSW_IP_PROTO:
        return is_ip(known);
    case CVSW_IPV4_SRC:
    case CVSW_IPV4_DST:
        return known->eth_type == PACKET_ETH_IP4;
    case CVSW_TCP_SRC:
    case CVSW_TCP_DST:
        return carries(known, IPPROTO_TCP);
    case CVSW_UDP_SRC:
    case CVSW_UDP_DST:
        return carries(known, IPPROTO_UDP);
    case CVSW_SCTP_SRC:
    case CVSW_SCTP_DST:
        return carries(known, IPPROTO_SCTP);
    case CVSW_ICMPV4_TYPE:
    case CVSW_ICMPV4_CODE:
        return known->eth_type == PACKET_ETH_IP4 &&
               known->protocol == IPPROTO_ICMP;
    case CVSW_ARP_OP:
    case CVSW_ARP_SPA:
    case CVSW_ARP_TPA:
    case CVSW_ARP_SHA:
    case CVSW_ARP_THA:
        return known->eth_type == PACKET_ETH_ARP;
    case CVSW_IPV6_SRC:
    case CVSW_IPV6_DST:
    case CVSW_IPV6_FLABEL:
    case CVSW_IPV6_EXTHDR:
        return known->eth_type == PACKET_ETH_IP6;
    case CVSW_ICMPV6_TYPE:
    case CVSW_ICMPV6_CODE:
        return known->eth_type == PACKET_ETH_IP6 &&
               known->protocol == IPPROTO_ICMPV6;
    case CVSW_IPV6_ND_TARGET:
        return is_nd(known, PACKET_ND_NS) || is_nd(known, PACKET_ND_NA);
    case CVSW_IPV6_ND_SLL:
        return is_nd(known, PACKET_ND_NS);
    case CVSW_IPV6_ND_TLL:
        return is_nd(known, PACKET_ND_NA);
    default:
        return true;
    }
}

bool cvsw_of_known_allows(const CvswOfKnown *known, const CvswAction *action)
{
    switch (action->type) {
    case CVSW_ACTION_SET_FIELD:
        return has_field(known, action->set.field);
    case CVSW_ACTION_POP_VLAN:
        return known->tags > 0;
    case CVSW_ACTION_SET_TTL:
    case CVSW_ACTION_DEC_TTL:
        return is_ip(known);
    default:
        return true;
    }
}

static void set_field(CvswOfKnown *known, CvswField field,
                      const CvswValue *value)
{
    if (field == CVSW_ICMPV6_TYPE) {
        known->icmp6_type = number(field, value);
    }
}

void cvsw_of_known_after(CvswOfKnown *known, const CvswAction *action)
{
    static const CvswOfKnown nothing = { 0, UNKNOWN, UNKNOWN, UNKNOWN };

    switch (action->type) {
    case CVSW_ACTION_SET_FIELD:
        set_field(known, action->set.field, &action->set.value);
        break;
    case CVSW_ACTION_PUSH_VLAN:
        known->tags++;
        break;
    case CVSW_ACTION_POP_VLAN:
        known->tags -= known->tags > 0;
        break;
    case CVSW_ACTION_SET_VID:
    case CVSW_ACTION_SET_PCP:
        known->tags += known->tags == 0;
        break;
    case CVSW_ACTION_TUNNEL_ENCAP:
        *known = nothing;
        known->eth_type = action->tunnel.is_ip6 ? PACKET_ETH_IP6
                                                : PACKET_ETH_IP4;
        known->protocol = IPPROTO_UDP;
        break;
    case CVSW_ACTION_TUNNEL_DECAP:
        *known = nothing;
        break;
    case CVSW_ACTION_ENCRYPT:
        known->protocol = IPPROTO_ESP;
        break;
    case CVSW_ACTION_DECRYPT:
        known->protocol = UNKNOWN;
        break;
    case CVSW_ACTION_ANSWER_ND:
        known->eth_type = PACKET_ETH_IP6;
        known->protocol = IPPROTO_ICMPV6;
        known->icmp6_type = PACKET_ND_NA;
        break;
    case CVSW_ACTION_ANSWER_ARP:
        known->eth_type = PACKET_ETH_ARP;
        known->protocol = UNKNOWN;
        known->icmp6_type = UNKNOWN;
        break;
    default:
        break;
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of fields: OpenFlow 1.3.5 table 12 and section 7.2.5 */
#include <assert.h>

#include "hw/net/cvsw/flow/field.h"

enum {
    MASKS = 1 << 0,             /* a match may have a mask */
    SETS = 1 << 1,              /* SET_FIELD may set it */
};

typedef struct FieldType {
    const char *name;
    uint8_t bits;
    uint8_t may;
} FieldType;

/*
 * OpenFlow allows SET_FIELD for all fields except the port.  Fields that
 * determine which headers a frame has cannot be set here: the frame would
 * contradict its own headers.
 */
static const FieldType types[CVSW_FIELDS] = {
    [CVSW_IN_PORT] = { "in_port", 32, 0 },
    [CVSW_ETH_DST] = { "eth_dst", 48, MASKS | SETS },
    [CVSW_ETH_SRC] = { "eth_src", 48, MASKS | SETS },
    [CVSW_ETH_TYPE] = { "eth_type", 16, 0 },
    [CVSW_VLAN_VID] = { "vlan_vid", 13, MASKS | SETS },
    [CVSW_VLAN_PCP] = { "vlan_pcp", 3, SETS },
    [CVSW_IP_DSCP] = { "ip_dscp", 6, SETS },
    [CVSW_IP_ECN] = { "ip_ecn", 2, SETS },
    [CVSW_IP_PROTO] = { "ip_proto", 8, 0 },
    [CVSW_IPV4_SRC] = { "ipv4_src", 32, MASKS | SETS },
    [CVSW_IPV4_DST] = { "ipv4_dst", 32, MASKS | SETS },
    [CVSW_TCP_SRC] = { "tcp_src", 16, SETS },
    [CVSW_TCP_DST] = { "tcp_dst", 16, SETS },
    [CVSW_UDP_SRC] = { "udp_src", 16, SETS },
    [CVSW_UDP_DST] = { "udp_dst", 16, SETS },
    [CVSW_SCTP_SRC] = { "sctp_src", 16, SETS },
    [CVSW_SCTP_DST] = { "sctp_dst", 16, SETS },
    [CVSW_ICMPV4_TYPE] = { "icmpv4_type", 8, SETS },
    [CVSW_ICMPV4_CODE] = { "icmpv4_code", 8, SETS },
    [CVSW_ARP_OP] = { "arp_op", 16, SETS },
    [CVSW_ARP_SPA] = { "arp_spa", 32, MASKS | SETS },
    [CVSW_ARP_TPA] = { "arp_tpa", 32, MASKS | SETS },
    [CVSW_ARP_SHA] = { "arp_sha", 48, MASKS | SETS },
    [CVSW_ARP_THA] = { "arp_tha", 48, MASKS | SETS },
    [CVSW_IPV6_SRC] = { "ipv6_src", 128, MASKS | SETS },
    [CVSW_IPV6_DST] = { "ipv6_dst", 128, MASKS | SETS },
    [CVSW_IPV6_FLABEL] = { "ipv6_flabel", 20, MASKS | SETS },
    [CVSW_ICMPV6_TYPE] = { "icmpv6_type", 8, SETS },
    [CVSW_ICMPV6_CODE] = { "icmpv6_code", 8, SETS },
    [CVSW_IPV6_ND_TARGET] = { "ipv6_nd_target", 128, SETS },
    [CVSW_IPV6_ND_SLL] = { "ipv6_nd_sll", 48, SETS },
    [CVSW_IPV6_ND_TLL] = { "ipv6_nd_tll", 48, SETS },
    [CVSW_TUNNEL_ID] = { "tunnel_id", 64, MASKS | SETS },
    [CVSW_IPV6_EXTHDR] = { "ipv6_exthdr", 9, MASKS },
};

static const FieldType *type_of(CvswField field)
{
    assert(field < CVSW_FIELDS);
    return &types[field];
}

const char *cvsw_field_name(CvswField field)
{
    return type_of(field)->name;
}

unsigned cvsw_field_bits(CvswField field)
{
    return type_of(field)->bits;
}

/* OXM rounds up to whole octets; IPV6_FLABEL with 20 bits has four. */
size_t cvsw_field_octets(CvswField field)
{
    return field == CVSW_IPV6_FLABEL ? 4 : (type_of(field)->bits + 7) / 8;
}

bool cvsw_field_maskable(CvswField field)
{
    return type_of(field)->may & MASKS;
}

bool cvsw_field_settable(CvswField field)
{
    return type_of(field)->may & SETS;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of a frame that a flow can match and set
 *
 * They are OpenFlow 1.3's basic OXM fields (section 7.2.3.7), of which
 * OpenFlow 1.0 has a part, without those that a NIC's frame does not have
 * (physical port, metadata, MPLS, PBB).  A value is in the order of the wire,
 * in whole octets, padded with zero bits on the left, as OXM has it.
 */
#ifndef CVSW_FLOW_FIELD_H
#define CVSW_FLOW_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum CvswField {
    CVSW_IN_PORT,               /* 32 bits: CVSW_PORT_... */
    CVSW_ETH_DST,
    CVSW_ETH_SRC,
    CVSW_ETH_TYPE,
    CVSW_VLAN_VID,              /* 13 bits: OFPVID_PRESENT and the VID */
    CVSW_VLAN_PCP,
    CVSW_IP_DSCP,
    CVSW_IP_ECN,
    CVSW_IP_PROTO,
    CVSW_IPV4_SRC,
    CVSW_IPV4_DST,
    CVSW_TCP_SRC,
    CVSW_TCP_DST,
    CVSW_UDP_SRC,
    CVSW_UDP_DST,
    CVSW_SCTP_SRC,
    CVSW_SCTP_DST,
    CVSW_ICMPV4_TYPE,
    CVSW_ICMPV4_CODE,
    CVSW_ARP_OP,
    CVSW_ARP_SPA,
    CVSW_ARP_TPA,
    CVSW_ARP_SHA,
    CVSW_ARP_THA,
    CVSW_IPV6_SRC,
    CVSW_IPV6_DST,
    CVSW_IPV6_FLABEL,
    CVSW_ICMPV6_TYPE,
    CVSW_ICMPV6_CODE,
    CVSW_IPV6_ND_TARGET,
    CVSW_IPV6_ND_SLL,
    CVSW_IPV6_ND_TLL,
    CVSW_TUNNEL_ID,             /* 64 bits: of VXLAN, the VNI */
    CVSW_IPV6_EXTHDR,
    CVSW_FIELDS,
} CvswField;

/* The most octets that a value has. */
#define CVSW_VALUE_MAX          16u

/* A NIC's two ports, of OpenFlow's numbers. */
enum {
    CVSW_PORT_GUEST = 1,
    CVSW_PORT_WIRE = 2,
};

/* In a value of CVSW_VLAN_VID: the frame has a tag (OFPVID_PRESENT). */
#define CVSW_VID_PRESENT        0x1000u

/* A field's value in the order of the wire, at the beginning of @octets. */
typedef struct CvswValue {
    uint8_t octets[CVSW_VALUE_MAX];
} CvswValue;

/** cvsw_field_name: as OXM calls it, in small letters: "eth_dst", ... */
const char *cvsw_field_name(CvswField field);

/** cvsw_field_bits: how many bits its values have, 1..128 */
unsigned cvsw_field_bits(CvswField field);

/** cvsw_field_octets: how many octets its values have, 1..CVSW_VALUE_MAX */
size_t cvsw_field_octets(CvswField field);

/** cvsw_field_maskable: may a match leave bits of it open (OXM's HASMASK)? */
bool cvsw_field_maskable(CvswField field);

/**
 * cvsw_field_settable: may an action set it (OpenFlow 1.3.5 section 7.2.5)?
 *
 * What says which headers a frame has may not be set, as in Open vSwitch:
 * ETH_TYPE, IP_PROTO and IPV6_EXTHDR.
 */
bool cvsw_field_settable(CvswField field);

#endif /* CVSW_FLOW_FIELD_H */

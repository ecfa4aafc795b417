/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of a frame that a flow can match and set
 *
 * These are the basic OXM fields of OpenFlow 1.3 (section 7.2.3.7), which
 * include those of OpenFlow 1.0, except for fields that do not exist in a NIC
 * (physical port, metadata, MPLS, PBB).  A value is in network byte order, in
 * whole octets, padded with zero bits on the left, as in OXM.
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
    CVSW_TUNNEL_ID,             /* 64 bits: the VNI of VXLAN */
    CVSW_IPV6_EXTHDR,
    CVSW_FIELDS,
} CvswField;

/* Maximum length of a value, in octets. */
#define CVSW_VALUE_MAX          16u

/* The two ports of a NIC, as OpenFlow port numbers. */
enum {
    CVSW_PORT_GUEST = 1,
    CVSW_PORT_WIRE = 2,
};

/* Bit in values of CVSW_VLAN_VID: the frame has a tag (OFPVID_PRESENT). */
#define CVSW_VID_PRESENT        0x1000u

/* A field's value in network byte order, from the first octet on. */
typedef struct CvswValue {
    uint8_t octets[CVSW_VALUE_MAX];
} CvswValue;

/** cvsw_field_name: the OXM name in lower case: "eth_dst", ... */
const char *cvsw_field_name(CvswField field);

/** cvsw_field_bits: number of bits in a value, 1..128 */
unsigned cvsw_field_bits(CvswField field);

/** cvsw_field_octets: number of octets in a value, 1..CVSW_VALUE_MAX */
size_t cvsw_field_octets(CvswField field);

/** cvsw_field_maskable: Returns: true if a match may have a mask (HASMASK) */
bool cvsw_field_maskable(CvswField field);

/**
 * cvsw_field_settable: Returns: true if SET_FIELD may set it (1.3.5 section
 * 7.2.5)
 *
 * Fields that determine which headers a frame has (ETH_TYPE, IP_PROTO,
 * IPV6_EXTHDR) cannot be set; Open vSwitch has the same rule.
 */
bool cvsw_field_settable(CvswField field);

#endif /* CVSW_FLOW_FIELD_H */

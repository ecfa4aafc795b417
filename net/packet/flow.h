/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of a frame that a switch matches
 *
 * These are the fields of OpenFlow 1.3 and 1.5 (OXM) that are in the frame
 * itself. A field that the frame does not have is 0. Numbers are in host byte
 * order, IP addresses in network byte order.
 */
#ifndef NET_PACKET_FLOW_H
#define NET_PACKET_FLOW_H

#include "net/packet/eth.h"

/* Octets of a frame that are parsed; later headers count as truncated. */
#define PACKET_FLOW_LOOK        512u

/* The EtherType of a frame that has a length and no SNAP header. */
#define PACKET_FLOW_NO_TYPE     0x05ffu

/* Bits for the headers that the frame has. */
enum {
    PACKET_FLOW_IP4 = 1 << 0,
    PACKET_FLOW_IP6 = 1 << 1,
    PACKET_FLOW_ARP = 1 << 2,
    PACKET_FLOW_TCP = 1 << 3,
    PACKET_FLOW_UDP = 1 << 4,
    PACKET_FLOW_SCTP = 1 << 5,
    PACKET_FLOW_ICMP4 = 1 << 6,
    PACKET_FLOW_ICMP6 = 1 << 7,
    PACKET_FLOW_ND = 1 << 8,            /* solicitation or advertisement */
    PACKET_FLOW_FRAGMENT = 1 << 9,      /* a fragment of a packet */
    PACKET_FLOW_LATER = 1 << 10,        /* not the first one: no ports */
};

typedef struct PacketFlow {
    uint16_t has;               /* PACKET_FLOW_... */
    PacketEth eth;              /* its @type may come from SNAP */
    uint8_t protocol;           /* after the extension headers */
    uint8_t tos;                /* DSCP and ECN, traffic class */
    uint8_t ttl;                /* hop limit */
    uint16_t ip6_has;           /* PACKET_IP6_HAS_...: IPV6_EXTHDR */
    uint32_t ip6_label;
    struct in_addr ip4_src, ip4_dst;
    struct in6_addr ip6_src, ip6_dst;
    uint16_t src_port, dst_port;        /* of TCP, UDP, SCTP */
    uint16_t tcp_flags;         /* 12 bits */
    uint8_t icmp_type, icmp_code;       /* of either version */
    uint16_t arp_operation;
    struct in_addr arp_spa, arp_tpa;
    uint8_t arp_sha[PACKET_ETH_ADDR_LEN], arp_tha[PACKET_ETH_ADDR_LEN];
    struct in6_addr nd_target;
    uint8_t nd_sll[PACKET_ETH_ADDR_LEN];        /* in a solicitation */
    uint8_t nd_tll[PACKET_ETH_ADDR_LEN];        /* in an advertisement */
    /* Offsets from the frame's first octet; 0: the frame has no such header. */
    uint16_t l3, l4;
} PacketFlow;

/**
 * packet_flow_parse: parse a frame
 * @flow: filled in for any frame
 * @head: the frame's first octets
 * @have: octets at @head: PACKET_FLOW_LOOK, or less if the frame is shorter
 * @size: length of the whole frame
 *
 * Checksums are not verified: a guest's packet may have a partial checksum.
 *
 * Returns: false if a header is truncated or invalid. Then @flow has the fields
 * of the headers before it, and none of that header. If only the payload is
 * truncated, @flow has all fields
 */
bool packet_flow_parse(PacketFlow *flow, const void *head, size_t have,
                       size_t size);

#endif /* NET_PACKET_FLOW_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of a frame that a switch matches
 *
 * They are those of OpenFlow 1.3 and 1.5 (OXM) that a frame has in itself. A
 * field that the frame does not have is 0. Numbers are in host order, IP
 * addresses in network order.
 */
#ifndef NET_PACKET_FLOW_H
#define NET_PACKET_FLOW_H

#include "net/packet/eth.h"

/* Octets of a frame that are looked at; headers behind them count as cut. */
#define PACKET_FLOW_LOOK        512u

/* EtherType of a frame that has a length there, and no SNAP header. */
#define PACKET_FLOW_NO_TYPE     0x05ffu

/* The fields that are there. */
enum {
    PACKET_FLOW_IP4 = 1 << 0,
    PACKET_FLOW_IP6 = 1 << 1,
    PACKET_FLOW_ARP = 1 << 2,
    PACKET_FLOW_TCP = 1 << 3,
    PACKET_FLOW_UDP = 1 << 4,
    PACKET_FLOW_SCTP = 1 << 5,
    PACKET_FLOW_ICMP4 = 1 << 6,
    PACKET_FLOW_ICMP6 = 1 << 7,
    PACKET_FLOW_ND = 1 << 8,            /* a solicitation or an advertisement */
    PACKET_FLOW_FRAGMENT = 1 << 9,      /* a part of a packet */
    PACKET_FLOW_LATER = 1 << 10,        /* and not the first: no ports */
};

typedef struct PacketFlow {
    uint16_t has;               /* PACKET_FLOW_... */
    PacketEth eth;              /* of which @type is behind SNAP, too */
    uint8_t protocol;           /* of IP, behind extension headers */
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
    uint8_t nd_sll[PACKET_ETH_ADDR_LEN];        /* of a solicitation */
    uint8_t nd_tll[PACKET_ETH_ADDR_LEN];        /* of an advertisement */
    /* Offsets from the frame's first octet; 0: there is none. */
    uint16_t l3, l4;
} PacketFlow;

/**
 * packet_flow_parse: read a frame
 * @flow: filled in whatever the frame is
 * @head: the frame's first octets
 * @have: how many there are: PACKET_FLOW_LOOK, or less if the frame ends
 * @size: octets of the whole frame
 *
 * Checksums are not looked at: that of a guest's packet may be partial.
 *
 * Returns: false if a header is cut or is none. The fields of those before it
 * are there then, and of it none; a packet whose end is cut has all of its
 * headers' fields
 */
bool packet_flow_parse(PacketFlow *flow, const void *head, size_t have,
                       size_t size);

#endif /* NET_PACKET_FLOW_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Put IPv6 fragments together (RFC 8200 section 4.5), a few small packets at a
 * time
 *
 * Times are ns of a clock that never steps.
 */
#ifndef NET_PACKET_FRAGMENT_H
#define NET_PACKET_FRAGMENT_H

#include "net/packet/ip6.h"

/* Packets that are put together at the same time. */
#define PACKET_REASSEMBLY_SLOTS 8u
/* Octets behind the IPv6 header of such a packet. */
#define PACKET_REASSEMBLY_MAX   2048u

/* Private. */
typedef struct PacketFragments {
    int64_t until;              /* 0: the entry is free */
    uint32_t id;
    unsigned fragments;
    size_t have;                /* octets */
    size_t end;                 /* of what is there */
    size_t total;               /* 0: the last fragment has not come */
    uint64_t got[PACKET_REASSEMBLY_MAX / 8 / 64];       /* a bit 8 octets */
    uint8_t ecn;                /* bit N: a fragment had field N */
    uint8_t packet[PACKET_IP6_LEN + PACKET_REASSEMBLY_MAX];
} PacketFragments;

typedef struct PacketReassembly {
    PacketFragments slot[PACKET_REASSEMBLY_SLOTS];      /* 0 at first */
    uint64_t lost;              /* fragments that became no packet */
} PacketReassembly;

/**
 * packet_reassemble: take a fragment
 * @packet: from its IPv6 header on, @len octets without padding
 * @ext: of packet_ip6_walk(), with a fragment header
 *
 * A packet whose fragments overlap is given up, as section 4.5 has it, and so
 * is the oldest one when there is no room for another. Fragments wait for 60 s.
 * Between the IPv6 header and the fragment header nothing may stand. If a
 * router has marked one of them (ECN), the packet is marked, or lost if its
 * transport does not know marks (RFC 3168 section 5.3).
 *
 * Returns: the whole packet, until the next call, with @whole_len set; NULL if
 * it is not whole, or lost
 */
uint8_t *packet_reassemble(PacketReassembly *r, int64_t now,
                           const uint8_t *packet, size_t len,
                           const PacketIp6Ext *ext, size_t *whole_len);

#endif /* NET_PACKET_FRAGMENT_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reassembles IPv6 fragments (RFC 8200 section 4.5); for a few small packets
 *
 * Times are in ns, of a monotonic clock.
 */
#ifndef NET_PACKET_FRAGMENT_H
#define NET_PACKET_FRAGMENT_H

#include "net/packet/ip6.h"

/* Number of packets that can be reassembled at the same time. */
#define PACKET_REASSEMBLY_SLOTS 8u
/* Maximum length of such a packet after the IPv6 header. */
#define PACKET_REASSEMBLY_MAX   2048u

/* Private. */
typedef struct PacketFragments {
    int64_t until;              /* 0: the entry is unused */
    uint32_t id;
    unsigned fragments;
    size_t have;                /* octets received */
    size_t end;                 /* end of the octets received */
    size_t total;               /* 0: the last fragment is missing */
    uint64_t got[PACKET_REASSEMBLY_MAX / 8 / 64];       /* bits of 8 octets */
    uint8_t ecn;                /* bit N: a fragment had ECN field N */
    uint8_t packet[PACKET_IP6_LEN + PACKET_REASSEMBLY_MAX];
} PacketFragments;

typedef struct PacketReassembly {
    PacketFragments slot[PACKET_REASSEMBLY_SLOTS];      /* zeroed at first */
    uint64_t lost;              /* fragments that were dropped */
} PacketReassembly;

/**
 * packet_reassemble: process a fragment
 * @packet: from its IPv6 header on, @len octets without padding
 * @ext: from packet_ip6_walk(), with a fragment header
 *
 * A packet with overlapping fragments is dropped, as in section 4.5. The oldest
 * packet is dropped if all slots are in use. Fragments are kept for 60 s. There
 * must be no other header between the IPv6 header and the fragment header. If a
 * router has marked one of the fragments (ECN), the packet is marked, or
 * dropped if its transport does not support ECN (RFC 3168 section 5.3).
 *
 * Returns: the complete packet, valid until the next call, with @whole_len set;
 * NULL if it is incomplete or was dropped
 */
uint8_t *packet_reassemble(PacketReassembly *r, int64_t now,
                           const uint8_t *packet, size_t len,
                           const PacketIp6Ext *ext, size_t *whole_len);

#endif /* NET_PACKET_FRAGMENT_H */

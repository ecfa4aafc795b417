/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fragments IPv4 packets (RFC 791 section 3.2) */
#ifndef NET_PACKET_FRAGMENT4_H
#define NET_PACKET_FRAGMENT4_H

#include "net/packet/segment.h"

/* A packet while it is fragmented; private. */
typedef struct PacketCut4 {
    const struct iovec *iov;
    int iovcnt;
    uint8_t head[PACKET_SEGMENT_HEAD_MAX];      /* Ethernet and IP headers */
    size_t l3, head_len;
    size_t payload, done;       /* octets after the IP header; octets done */
    size_t size;                /* payload of a fragment; multiple of 8 */
    size_t offset;              /* not 0 if the packet is a fragment */
    bool more;
} PacketCut4;

/**
 * packet_cut4_begin: start to fragment a packet
 * @iov: the frame, from its Ethernet header on; the headers are copied once.
 *       Octets after the packet are padding and are left out
 * @mtu: maximum length of a fragment, including the IP header
 *
 * Returns: false if it is not an IPv4 packet that can be fragmented: DF is set,
 * the header is damaged, or no payload fits into @mtu
 */
bool packet_cut4_begin(PacketCut4 *c, const struct iovec *iov, int iovcnt,
                       size_t mtu);

/**
 * packet_cut4_next: the next fragment; see packet_segments_next()
 *
 * Returns: number of parts in @payload; -1 at the end, or if there are more
 * than @max
 */
int packet_cut4_next(PacketCut4 *c, uint8_t *head, size_t *head_len,
                     struct iovec *payload, int max);

#endif /* NET_PACKET_FRAGMENT4_H */

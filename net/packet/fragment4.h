/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cut IPv4 packets into fragments (RFC 791 section 3.2) */
#ifndef NET_PACKET_FRAGMENT4_H
#define NET_PACKET_FRAGMENT4_H

#include "net/packet/segment.h"

/* A packet on its way to be cut; private. */
typedef struct PacketCut4 {
    const struct iovec *iov;
    int iovcnt;
    uint8_t head[PACKET_SEGMENT_HEAD_MAX];      /* Ethernet and IP */
    size_t l3, head_len;
    size_t payload, done;       /* octets behind IP's header, and given out */
    size_t size;                /* of a fragment's payload, of whole units */
    size_t offset;              /* the packet may be a fragment already */
    bool more;
} PacketCut4;

/**
 * packet_cut4_begin: look at a packet
 * @iov: the frame, from its Ethernet header on; its headers are copied once.
 *       What is behind the packet is padding and left out
 * @mtu: octets of a fragment, IP header included
 *
 * Returns: false if it is no IPv4 packet that can be cut: fragments are
 * forbidden, its header is damaged, or no payload fits beside it
 */
bool packet_cut4_begin(PacketCut4 *c, const struct iovec *iov, int iovcnt,
                       size_t mtu);

/**
 * packet_cut4_next: the next fragment, as packet_segments_next() gives pieces
 *
 * Returns: how many parts @payload has; -1 at the end, or if they are more than
 * @max
 */
int packet_cut4_next(PacketCut4 *c, uint8_t *head, size_t *head_len,
                     struct iovec *payload, int max);

#endif /* NET_PACKET_FRAGMENT4_H */

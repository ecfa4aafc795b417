/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Explicit congestion notification: the field in an IPv6 traffic class (RFC
 * 3168 section 5), and its handling in tunnels (RFC 6040)
 */
#ifndef NET_PACKET_ECN_H
#define NET_PACKET_ECN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PACKET_ECN_NOT_ECT,         /* the transport does not support ECN */
    PACKET_ECN_ECT_1,
    PACKET_ECN_ECT_0,
    PACKET_ECN_CE,              /* a router has marked congestion */
};
#define PACKET_ECN_MASK         3u      /* the field in a traffic class */
#define PACKET_ECN_SHIFT6       4u      /* its bits in an IPv6 header's ... */
#define PACKET_ECN_AT6          1u      /* ... second octet */

/**
 * packet_ecn_decapsulate: the field of a decapsulated packet
 * @outer, @inner: traffic classes of both headers; the tunnel's entry has
 *                 copied the field to @outer (RFC 6040 section 4.1)
 * @field: set to the inner header's new field, 0..PACKET_ECN_MASK
 *
 * Returns: false if the packet must be dropped: a router has marked it, and its
 * transport does not support ECN (section 4.2)
 */
static inline bool packet_ecn_decapsulate(uint8_t outer, uint8_t inner,
                                          uint8_t *field)
{
    outer &= PACKET_ECN_MASK;
    *field = inner & PACKET_ECN_MASK;
    if (outer == PACKET_ECN_CE) {
        if (*field == PACKET_ECN_NOT_ECT) {
            return false;
        }
        *field = PACKET_ECN_CE;
    } else if (outer == PACKET_ECN_ECT_1 && *field == PACKET_ECN_ECT_0) {
        *field = PACKET_ECN_ECT_1;
    }
    return true;
}

/** packet_ecn_get6: the field of the IPv6 header at @header */
static inline uint8_t packet_ecn_get6(const uint8_t *header)
{
    return header[PACKET_ECN_AT6] >> PACKET_ECN_SHIFT6 & PACKET_ECN_MASK;
}

/**
 * packet_ecn_set6: set the field of the IPv6 header at @header; no checksum
 * includes it
 */
static inline void packet_ecn_set6(uint8_t *header, uint8_t field)
{
    header[PACKET_ECN_AT6] &= ~(PACKET_ECN_MASK << PACKET_ECN_SHIFT6);
    header[PACKET_ECN_AT6] |= field << PACKET_ECN_SHIFT6;
}

#endif /* NET_PACKET_ECN_H */

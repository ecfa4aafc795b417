/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flows for which a tunnel has recently carried packets of a kind
 *
 * An ICMPv6 error quotes a packet. A node that has seen no packet of such a
 * flow cannot forge one: it would have to guess addresses, flow label and
 * ports. (RFC 5927 section 4 uses the sequence number of TCP instead; a tunnel
 * has other protocols as well, and more packets in flight than could be
 * stored.)
 *
 * There is space for MIP6_SENT_FLOWS; a flow that was replaced is entered again
 * with its next packet.
 */
#ifndef NET_MIP6_SENT_H
#define NET_MIP6_SENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "net/packet/ip6.h"

#define MIP6_SENT_FLOWS 1024u   /* a power of 2 */
#define MIP6_SENT_LIVES (10 * SECOND)           /* ns */
/* Octets of a packet that are read. */
#define MIP6_SENT_LOOK  (PACKET_IP6_LEN + 4u)

/* Zeroed at first. */
typedef struct Mip6Sent {
    struct {
        uint64_t flow;
        int64_t until;          /* end of the entry, ns */
    } slot[MIP6_SENT_FLOWS];
} Mip6Sent;

/**
 * mip6_sent_note: a packet of a flow is sent
 * @packet: @len octets from its IPv6 header on; ignored if fewer than
 *          MIP6_SENT_LOOK
 */
void mip6_sent_note(Mip6Sent *s, int64_t now, const uint8_t *packet,
                    size_t len);

/** mip6_sent_lately: was a packet of the same flow sent? Arguments as above. */
bool mip6_sent_lately(const Mip6Sent *s, int64_t now, const uint8_t *packet,
                      size_t len);

#endif /* NET_MIP6_SENT_H */

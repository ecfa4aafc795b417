/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flows of which a tunnel has lately carried packets that are larger than what
 * every path has room for
 *
 * An ICMPv6 error quotes a packet. Who has seen none cannot make one up that is
 * of such a flow: addresses, flow label and ports would all have to be guessed
 * (RFC 5927 section 4 has the sequence number of TCP instead; here are more
 * protocols, and more packets on their way than anybody could remember).
 *
 * There is room for MIP6_SENT_FLOWS; one that sends on comes back by itself.
 */
#ifndef NET_MIP6_SENT_H
#define NET_MIP6_SENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/packet/ip6.h"

#define MIP6_SENT_FLOWS 1024u   /* a power of 2 */
#define MIP6_SENT_LIVES (10 * 1000000000ll)     /* ns */
/* Octets of a packet that are looked at. */
#define MIP6_SENT_LOOK  (PACKET_IP6_LEN + 4u)

/* 0 at first. */
typedef struct Mip6Sent {
    struct {
        uint64_t flow;
        int64_t until;          /* ns of a clock that never steps */
    } slot[MIP6_SENT_FLOWS];
} Mip6Sent;

/**
 * mip6_sent_note: a packet of a flow is sent
 * @packet: @len octets of it, from its IPv6 header on; less than MIP6_SENT_LOOK
 *          are of no flow
 */
void mip6_sent_note(Mip6Sent *s, int64_t now, const uint8_t *packet,
                    size_t len);

/** mip6_sent_lately: was a packet of this one's flow sent? As above. */
bool mip6_sent_lately(const Mip6Sent *s, int64_t now, const uint8_t *packet,
                      size_t len);

#endif /* NET_MIP6_SENT_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flows for which a tunnel has recently carried packets */
#include <string.h>

#include "net/mip6/core/sent.h"
#include "base/octets.h"

#define FLOW_LABEL      0xfffffu
#define ADDRESSES_AT    8u
#define ADDRESSES       4u      /* words of 8 octets */

static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
    return sum ^ sum >> 32;
}

/*
 * Hash of addresses, flow label, protocol, and the first octets after the
 * header: the ports of TCP and UDP. A collision of two flows does not help an
 * attacker, who would have to guess one of the flows.
 */
static uint64_t flow_of(const uint8_t *packet)
{
    uint64_t word[ADDRESSES], sum;

    memcpy(word, packet + ADDRESSES_AT, sizeof(word));
    sum = mix((uint64_t)packet[6] << 32 | (get_be32(packet) & FLOW_LABEL),
              get_be32(packet + PACKET_IP6_LEN));
    for (unsigned i = 0; i < ADDRESSES; i++) {
        sum = mix(sum, word[i]);
    }
    return sum;
}

void mip6_sent_note(Mip6Sent *s, int64_t now, const uint8_t *packet,
                    size_t len)
{
    uint64_t flow;

    if (len >= MIP6_SENT_LOOK) {
        flow = flow_of(packet);
        s->slot[flow % MIP6_SENT_FLOWS].flow = flow;
        s->slot[flow % MIP6_SENT_FLOWS].until = now + MIP6_SENT_LIVES;
    }
}

bool mip6_sent_lately(const Mip6Sent *s, int64_t now, const uint8_t *packet,
                      size_t len)
{
    uint64_t flow;

    if (len < MIP6_SENT_LOOK) {
        return false;
    }
    flow = flow_of(packet);
    return s->slot[flow % MIP6_SENT_FLOWS].flow == flow &&
           now < s->slot[flow % MIP6_SENT_FLOWS].until;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UDP headers (RFC 768) */
#include "net/packet/octets.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

bool packet_udp_parse(PacketUdp *udp, const void *buf, size_t len)
{
    const uint8_t *p = buf;

    if (len < PACKET_UDP_LEN) {
        return false;
    }
    udp->src = packet_get16(p);
    udp->dst = packet_get16(p + 2);
    udp->len = packet_get16(p + 4);
    udp->checksum = packet_get16(p + PACKET_UDP_CHECKSUM);
    return udp->len >= PACKET_UDP_LEN && udp->len <= len;
}

size_t packet_udp_build(void *buf, const PacketUdp *udp)
{
    uint8_t *p = buf;

    packet_put16(p, udp->src);
    packet_put16(p + 2, udp->dst);
    packet_put16(p + 4, udp->len);
    packet_put16(p + PACKET_UDP_CHECKSUM, udp->checksum);
    return PACKET_UDP_LEN;
}

void packet_udp_seal(void *datagram, size_t len, uint32_t pseudo)
{
    uint8_t *at = (uint8_t *)datagram + PACKET_UDP_CHECKSUM;

    packet_put16(at, 0);
    packet_put16(at, packet_udp_sum(packet_sum_fold(
                         packet_sum_add(pseudo, datagram, len))));
}

bool packet_udp_sum_is_good(const void *datagram, size_t len, uint32_t pseudo,
                            bool may_be_none)
{
    const uint8_t *p = datagram;

    if (packet_get16(p + PACKET_UDP_CHECKSUM) == 0) {
        return may_be_none;
    }
    return packet_sum_fold(packet_sum_add(pseudo, p, len)) == 0;
}

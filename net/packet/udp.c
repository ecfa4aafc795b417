/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UDP headers (RFC 768) */
#include "base/octets.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

bool packet_udp_parse(PacketUdp *udp, const void *buf, size_t len)
{
    const uint8_t *p = buf;

    if (len < PACKET_UDP_LEN) {
        return false;
    }
    udp->src = get_be16(p);
    udp->dst = get_be16(p + 2);
    udp->len = get_be16(p + 4);
    udp->checksum = get_be16(p + PACKET_UDP_CHECKSUM);
    return udp->len >= PACKET_UDP_LEN && udp->len <= len;
}

size_t packet_udp_build(void *buf, const PacketUdp *udp)
{
    uint8_t *p = buf;

    put_be16(p, udp->src);
    put_be16(p + 2, udp->dst);
    put_be16(p + 4, udp->len);
    put_be16(p + PACKET_UDP_CHECKSUM, udp->checksum);
    return PACKET_UDP_LEN;
}

void packet_udp_seal(void *datagram, size_t len, uint32_t pseudo)
{
    uint8_t *at = (uint8_t *)datagram + PACKET_UDP_CHECKSUM;

    put_be16(at, 0);
    put_be16(at, packet_udp_sum(packet_sum_fold(
                         packet_sum_add(pseudo, datagram, len))));
}

bool packet_udp_sum_is_good(const void *datagram, size_t len, uint32_t pseudo,
                            bool may_be_none)
{
    const uint8_t *p = datagram;

    if (get_be16(p + PACKET_UDP_CHECKSUM) == 0) {
        return may_be_none;
    }
    return packet_sum_fold(packet_sum_add(pseudo, p, len)) == 0;
}

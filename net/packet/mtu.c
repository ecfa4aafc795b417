/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MTU handling of a router: MSS clamping and ICMP errors */
#include <arpa/inet.h>
#include <string.h>

#include "base/octets.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/mtu.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"

#define HOPS                    64
#define INTERNETWORK_CONTROL    0xc0    /* RFC 1812 section 4.3.2.5 */
#define ICMP4_LEN               8u
/* RFC 1812 section 4.3.2.3. */
#define ICMP4_PACKET_MAX        576u
#define PROTO_ICMP4             1

enum {
    ICMP4_UNREACHABLE = 3,
    ICMP4_QUENCH = 4,
    ICMP4_REDIRECT = 5,
    ICMP4_TIME_EXCEEDED = 11,
    ICMP4_PARAMETER = 12,
};
#define FRAGMENTATION_NEEDED    4

static unsigned version_of(const uint8_t *packet, size_t len)
{
    return len ? packet[0] >> 4 : 0;
}

/* Reads the headers of a packet that may be truncated. */
static bool read_ip4(PacketIp4 *ip, const uint8_t *packet, size_t len)
{
    if (len < PACKET_IP4_LEN || version_of(packet, len) != 4) {
        return false;
    }
    packet_ip4_parse(ip, packet, len);
    return ip->len >= PACKET_IP4_LEN && ip->len <= len;
}

/* --- TCP ------------------------------------------------------------------ */

/* Returns: offset of the TCP header, or 0 if the packet has none */
static size_t find_tcp(const uint8_t *packet, size_t len, size_t *head)
{
    PacketIp6Ext ext;
    PacketIp4 ip;

    if (version_of(packet, len) == 6) {
        *head = PACKET_IP6_LEN + PACKET_TCP_LEN;
        return packet_ip6_walk(&ext, packet, len) &&
               ext.next == PACKET_PROTO_TCP && ext.fragment_offset == 0 ?
               ext.offset : 0;
    }
    *head = PACKET_IP4_LEN + PACKET_TCP_LEN;
    return read_ip4(&ip, packet, len) && ip.protocol == PACKET_PROTO_TCP &&
           ip.fragment_offset == 0 ? ip.len : 0;
}

bool packet_mtu_clamp(void *packet, size_t len, size_t mtu, bool partial)
{
    size_t head, at = find_tcp(packet, len, &head);

    if (at == 0 || mtu <= head || mtu - head > UINT16_MAX) {
        return false;
    }
    return packet_tcp_clamp_mss((uint8_t *)packet + at, len - at, mtu - head,
                                partial);
}

/* --- errors --------------------------------------------------------------- */

static bool is_station4(struct in_addr addr)
{
    uint8_t first = ntohl(addr.s_addr) >> 24;

    return first != 0 && first != IN_LOOPBACKNET && first < 224;
}

static bool is_icmp4_error(uint8_t type)
{
    return type == ICMP4_UNREACHABLE || type == ICMP4_QUENCH ||
           type == ICMP4_REDIRECT || type == ICMP4_TIME_EXCEEDED ||
           type == ICMP4_PARAMETER;
}

static bool may_answer4(const PacketIp4 *ip, const uint8_t *packet, size_t len)
{
    return ip->dont_fragment && ip->fragment_offset == 0 && len > ip->len &&
           is_station4(ip->src) && is_station4(ip->dst) &&
           !(ip->protocol == PROTO_ICMP4 && is_icmp4_error(packet[ip->len]));
}

static size_t error4(uint8_t *buf, size_t mtu, const uint8_t *cause,
                     size_t len)
{
    uint8_t *icmp = buf + PACKET_IP4_LEN;
    PacketIp4 ip, error;

    if (!read_ip4(&ip, cause, len) || !may_answer4(&ip, cause, len)) {
        return 0;
    }
    if (len > ICMP4_PACKET_MAX - PACKET_IP4_LEN - ICMP4_LEN) {
        len = ICMP4_PACKET_MAX - PACKET_IP4_LEN - ICMP4_LEN;
    }
    error = (PacketIp4) {
        .src = ip.dst,
        .dst = ip.src,
        .tos = INTERNETWORK_CONTROL,
        .ttl = HOPS,
        .protocol = PROTO_ICMP4,
        .dont_fragment = true,
        .total = PACKET_IP4_LEN + ICMP4_LEN + len,
    };
    packet_ip4_build(buf, &error);
    icmp[0] = ICMP4_UNREACHABLE;
    icmp[1] = FRAGMENTATION_NEEDED;
    put_be32(icmp + 2, 0);
    put_be16(icmp + 6, mtu < UINT16_MAX ? mtu : UINT16_MAX);
    memcpy(icmp + ICMP4_LEN, cause, len);
    put_be16(icmp + 2, packet_sum_fold(packet_sum_add(0, icmp,
                                                      ICMP4_LEN + len)));
    return error.total;
}

static size_t error6(uint8_t *buf, size_t mtu, const uint8_t *cause,
                     size_t len)
{
    PacketIp6 ip;

    if (len < PACKET_IP6_LEN) {
        return 0;
    }
    packet_ip6_parse(&ip, cause, len);
    if (IN6_IS_ADDR_MULTICAST(&ip.dst) ||
        PACKET_IP6_LEN + ip.payload <= PACKET_IP6_MTU_MIN) {
        return 0;
    }
    return packet_icmp6_error(buf, PACKET_MTU_ERROR_MAX, &ip.dst, HOPS,
                              PACKET_ICMP6_TOO_BIG, 0,
                              mtu < PACKET_IP6_MTU_MIN ? PACKET_IP6_MTU_MIN
                                                       : mtu, cause, len);
}

size_t packet_mtu_error(void *buf, size_t mtu, const void *cause,
                        size_t cause_len)
{
    switch (version_of(cause, cause_len)) {
    case 4:
        return error4(buf, mtu, cause, cause_len);
    case 6:
        return error6(buf, mtu, cause, cause_len);
    default:
        return 0;
    }
}

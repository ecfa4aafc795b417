/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ICMPv6 messages that the agent answers */
#include <stdbool.h>
#include <string.h>

#include "ha/parts/discovery.h"
#include "base/octets.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"

#define HOPS            64
#define HEAD_LEN        8u      /* type, code, checksum, identifier, … */

static bool is_answered(const PacketIp6 *ip, const struct in6_addr *agent,
                        uint8_t type)
{
    if (IN6_IS_ADDR_MULTICAST(&ip->src) || IN6_IS_ADDR_UNSPECIFIED(&ip->src)) {
        return false;
    }
    return type == MIP6_ICMP_AGENT_REQUEST ||
           (type == PACKET_ICMP6_ECHO && packet_ip6_equal(&ip->dst, agent));
}

static size_t build(uint8_t *buf, const struct in6_addr *agent,
                    const Mip6Icmp *agents, const struct in6_addr *to,
                    const uint8_t *icmp, size_t len)
{
    PacketIp6 ip = {
        .src = *agent,
        .dst = *to,
        .next = PACKET_PROTO_ICMP6,
        .hops = HOPS,
    };
    uint8_t *answer = buf + PACKET_IP6_LEN;
    Mip6Icmp reply = *agents;

    if (icmp[0] == PACKET_ICMP6_ECHO) {
        memcpy(answer, icmp, len);
        answer[0] = PACKET_ICMP6_ECHO_REPLY;
    } else {
        reply.id = get_be16(icmp + 4);
        len = mip6_icmp_build(answer, agent, to, &reply);
    }
    put_be16(answer + 2, 0);
    ip.payload = len;
    packet_ip6_build(buf, &ip);
    packet_icmp6_seal(buf, PACKET_IP6_LEN + len);
    return PACKET_IP6_LEN + len;
}

size_t mip6_discovery_answer(void *buf, const struct in6_addr *agent,
                             const Mip6Icmp *agents,
                             const uint8_t *p, size_t offset, size_t len)
{
    const uint8_t *icmp = p + offset;
    PacketIp6 ip;
    uint32_t sum;

    if (len > MIP6_DISCOVERY_MAX || len < offset + HEAD_LEN ||
        !packet_ip6_parse(&ip, p, len) || icmp[1] != 0 ||
        !is_answered(&ip, agent, icmp[0])) {
        return 0;
    }
    len -= offset;
    sum = packet_sum_pseudo6(&ip.src, &ip.dst, PACKET_PROTO_ICMP6, len);
    if (packet_sum_fold(packet_sum_add(sum, icmp, len)) != 0) {
        return 0;
    }
    return build(buf, agent, agents, &ip.src, icmp, len);
}

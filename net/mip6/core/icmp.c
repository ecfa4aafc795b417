/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ICMPv6 messages of Mobile IPv6 (RFC 6275 sections 6.5 to 6.8) */
#include <string.h>

#include "net/mip6/core/icmp.h"
#include "base/octets.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"

#define HEAD_LEN        8u      /* type, code, checksum, identifier, flags */
#define ADDRESS_LEN     16u
#define ADVERT_MANAGED  0x80
#define ADVERT_OTHER    0x40
#define AGENTS_ANYCAST  0xfeu   /* interface identifier: 126, RFC 2526 */

struct in6_addr mip6_icmp_anycast(const struct in6_addr *prefix, unsigned len)
{
    struct in6_addr addr = *prefix;

    if (len > MIP6_ICMP_PREFIX_BITS_MAX) {
        return in6addr_any;
    }
    for (unsigned bit = len; bit < 128; bit++) {
        addr.s6_addr[bit / 8] |= 0x80 >> bit % 8;
    }
    if (len == 64) {
        addr.s6_addr[8] &= ~0x02;       /* clear the universal/local bit */
    }
    addr.s6_addr[15] = AGENTS_ANYCAST;
    return addr;
}

static uint16_t sum_of(const struct in6_addr *src, const struct in6_addr *dst,
                       const void *buf, size_t len)
{
    uint32_t sum = packet_sum_pseudo6(src, dst, PACKET_PROTO_ICMP6, len);

    return packet_sum_fold(packet_sum_add(sum, buf, len));
}

/* --- parsing -------------------------------------------------------------- */

static bool read_agents(Mip6Icmp *m, const uint8_t *p, size_t len)
{
    if (len % ADDRESS_LEN) {
        return false;
    }
    for (; len && m->agents < MIP6_ICMP_AGENTS_MAX; len -= ADDRESS_LEN) {
        memcpy(&m->agent[m->agents++], p, ADDRESS_LEN);
        p += ADDRESS_LEN;
    }
    return true;
}

static bool read_prefixes(Mip6Icmp *m, const uint8_t *p, size_t len)
{
    for (unsigned i = 0; len && i < PACKET_ND_OPTIONS_MAX; i++) {
        size_t size = len < 2 ? 0 : p[1] * 8u;

        if (size == 0 || size > len) {
            return false;
        }
        if (p[0] == PACKET_ND_PREFIX_OPTION &&
            m->prefixes < PACKET_ND_PREFIX_MAX &&
            packet_nd_read_prefix(&m->prefix[m->prefixes], p, size)) {
            m->prefixes++;
        }
        p += size;
        len -= size;
    }
    return len == 0;
}

bool mip6_icmp_parse(Mip6Icmp *m, const struct in6_addr *src,
                     const struct in6_addr *dst, const void *buf, size_t len)
{
    const uint8_t *p = buf;

    memset(m, 0, sizeof(*m));
    if (len < HEAD_LEN || !mip6_icmp_is(p[0]) || p[1] != 0 ||
        sum_of(src, dst, buf, len) != 0) {
        return false;
    }
    m->type = p[0];
    m->id = get_be16(p + 4);
    switch (m->type) {
    case MIP6_ICMP_AGENT_REPLY:
        return read_agents(m, p + HEAD_LEN, len - HEAD_LEN);
    case MIP6_ICMP_PREFIX_ADVERT:
        m->managed = p[6] & ADVERT_MANAGED;
        m->other = p[6] & ADVERT_OTHER;
        return read_prefixes(m, p + HEAD_LEN, len - HEAD_LEN);
    default:
        return true;
    }
}

/* --- building ------------------------------------------------------------- */

size_t mip6_icmp_build(void *buf, const struct in6_addr *src,
                       const struct in6_addr *dst, const Mip6Icmp *m)
{
    uint8_t *p = buf;
    size_t len = HEAD_LEN;

    memset(p, 0, HEAD_LEN);
    p[0] = m->type;
    put_be16(p + 4, m->id);
    if (m->type == MIP6_ICMP_AGENT_REPLY) {
        memcpy(p + len, m->agent, m->agents * ADDRESS_LEN);
        len += m->agents * ADDRESS_LEN;
    } else if (m->type == MIP6_ICMP_PREFIX_ADVERT) {
        p[6] = (m->managed ? ADVERT_MANAGED : 0) |
               (m->other ? ADVERT_OTHER : 0);
        for (unsigned i = 0; i < m->prefixes; i++) {
            packet_nd_put_prefix(p + len, &m->prefix[i]);
            len += PACKET_ND_PREFIX_LEN;
        }
    }
    put_be16(p + 2, sum_of(src, dst, p, len));
    return len;
}

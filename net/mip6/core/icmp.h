/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ICMPv6 messages of Mobile IPv6: home agent address discovery and mobile
 * prefix discovery (RFC 6275 sections 6.5 to 6.8)
 *
 * Numbers are in host byte order.
 */
#ifndef NET_MIP6_ICMP_H
#define NET_MIP6_ICMP_H

#include "net/packet/nd.h"

enum {
    MIP6_ICMP_AGENT_REQUEST = 144,
    MIP6_ICMP_AGENT_REPLY = 145,
    MIP6_ICMP_PREFIX_SOLICIT = 146,
    MIP6_ICMP_PREFIX_ADVERT = 147,
};

/* Longest prefix with an anycast address, whose identifier has 7 bits. */
#define MIP6_ICMP_PREFIX_BITS_MAX 120u
#define MIP6_ICMP_AGENTS_MAX    16u     /* further ones are ignored */
/* Maximum length of each message. */
#define MIP6_ICMP_MAX           (8u + PACKET_ND_PREFIX_MAX * \
                                 PACKET_ND_PREFIX_LEN)

typedef struct Mip6Icmp {
    uint8_t type;               /* MIP6_ICMP_... */
    uint16_t id;                /* in request and answer */
    unsigned agents;            /* in a discovery reply, best first */
    struct in6_addr agent[MIP6_ICMP_AGENTS_MAX];
    bool managed, other;        /* in an advertisement: M, O */
    unsigned prefixes;
    PacketNdPrefix prefix[PACKET_ND_PREFIX_MAX];
} Mip6Icmp;

/** mip6_icmp_is: is @type one of these messages? */
static inline bool mip6_icmp_is(uint8_t type)
{
    return type >= MIP6_ICMP_AGENT_REQUEST && type <= MIP6_ICMP_PREFIX_ADVERT;
}

/**
 * mip6_icmp_anycast: the home agents' anycast address of a prefix (RFC 2526)
 * @len: length of @prefix, bits
 *
 * Returns: "::" if @len is more than MIP6_ICMP_PREFIX_BITS_MAX
 */
struct in6_addr mip6_icmp_anycast(const struct in6_addr *prefix, unsigned len);

/**
 * mip6_icmp_parse: parse and check a message, including its checksum
 * @src, @dst: addresses of the pseudo header: the mobile node's home address if
 *             a Home Address option or a type 2 routing header has it
 * @buf: the ICMPv6 header
 *
 * Unknown options are ignored.
 *
 * Returns: false if it is another message, truncated, malformed, or its
 * checksum is wrong
 */
bool mip6_icmp_parse(Mip6Icmp *m, const struct in6_addr *src,
                     const struct in6_addr *dst, const void *buf, size_t len);

/**
 * mip6_icmp_build: write a message with its checksum
 * @buf: space for MIP6_ICMP_MAX octets
 * @src, @dst: as for mip6_icmp_parse()
 *
 * Returns: octets at @buf
 */
size_t mip6_icmp_build(void *buf, const struct in6_addr *src,
                       const struct in6_addr *dst, const Mip6Icmp *m);

#endif /* NET_MIP6_ICMP_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Neighbour discovery (RFC 4861), with what RFC 6275 section 7 adds to router
 * advertisements, and ICMPv6 errors (RFC 4443)
 *
 * Packets are whole: from the IPv6 header on.  Numbers are in host order.
 */
#ifndef NET_PACKET_ND_H
#define NET_PACKET_ND_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_ND_PREFIX_MAX    16u     /* of one router advertisement */
#define PACKET_ND_OPTIONS_MAX   64u     /* of one message */
#define PACKET_ND_MAC_LEN       6u
#define PACKET_ND_INFINITE      UINT32_MAX

/* ICMPv6 types. */
enum {
    PACKET_ICMP6_UNREACHABLE = 1,
    PACKET_ICMP6_TOO_BIG = 2,
    PACKET_ICMP6_TIME_EXCEEDED = 3,
    PACKET_ICMP6_PARAMETER = 4,
    PACKET_ICMP6_ECHO = 128,
    PACKET_ICMP6_ECHO_REPLY = 129,
    PACKET_ND_RS = 133,
    PACKET_ND_RA = 134,
    PACKET_ND_NS = 135,
    PACKET_ND_NA = 136,
    PACKET_ND_REDIRECT = 137,
};

/* Flags of a neighbour advertisement. */
enum {
    PACKET_NA_ROUTER = 1 << 0,
    PACKET_NA_SOLICITED = 1 << 1,
    PACKET_NA_OVERRIDE = 1 << 2,
};

typedef struct PacketNdPrefix {
    struct in6_addr prefix;     /* with R: a whole address of the router */
    uint8_t len;                /* 0..128 */
    bool on_link;               /* L */
    bool autonomous;            /* A */
    bool router_address;        /* R (RFC 6275 section 7.2) */
    uint32_t valid, preferred;  /* s; PACKET_ND_INFINITE */
} PacketNdPrefix;

typedef struct PacketNdRa {
    uint8_t hop_limit;          /* 0: not said */
    bool managed, other;        /* M, O */
    bool home_agent;            /* H (RFC 6275 section 7.1) */
    int8_t preference;          /* -1, 0, 1 (RFC 4191 section 2.1) */
    uint16_t lifetime;          /* of the router, s; 0: no default router */
    uint32_t reachable, retrans;        /* ms; 0: not said */
    uint32_t mtu;               /* 0: not said */
    bool has_ha_info;           /* RFC 6275 section 7.4 */
    int16_t ha_preference;
    uint16_t ha_lifetime;       /* s */
    uint32_t interval;          /* ms (RFC 6275 section 7.3); 0: not said */
    unsigned prefixes;          /* those beyond PACKET_ND_PREFIX_MAX are lost */
    PacketNdPrefix prefix[PACKET_ND_PREFIX_MAX];
} PacketNdRa;

typedef struct PacketNd {
    uint8_t type;               /* PACKET_ND_... */
    struct in6_addr src, dst;
    struct in6_addr target;     /* of NS, NA, redirect */
    struct in6_addr redirected; /* redirect: whose next hop is the target */
    unsigned flags;             /* of NA */
    bool has_slla, has_tlla;    /* options of Ethernet's length */
    uint8_t slla[PACKET_ND_MAC_LEN], tlla[PACKET_ND_MAC_LEN];
    PacketNdRa ra;              /* of RA */
} PacketNd;

/**
 * packet_nd_parse: read and check a message
 * @packet: the IPv6 header, without extension headers behind it
 * @len: octets at @packet; what is behind the payload is not looked at
 *
 * All that RFC 4861 sections 6.1.1, 6.1.2, 7.1.1, 7.1.2 and 8.1 ask for is
 * checked.  Unknown options are passed over.
 *
 * Returns: false if it is no ND message or not valid
 */
bool packet_nd_parse(PacketNd *nd, const void *packet, size_t len);

/* Types of options. */
enum {
    PACKET_ND_OPTION_SLLA = 1,
    PACKET_ND_OPTION_TLLA = 2,
};

/**
 * packet_nd_option_next: take the next option of a message
 * @options: @len octets
 * @pos: where to look; 0 for the first
 *
 * Returns: the option, whose first octet is its type and whose length is
 * @option_len; NULL at the end, where @pos is @len, or if an option is cut,
 * where @pos is less
 */
const uint8_t *packet_nd_option_next(const void *options, size_t len,
                                     size_t *pos, size_t *option_len);

/* Room that each of the four below needs at most. */
#define PACKET_ND_SHORT_MAX     80u

/**
 * packet_nd_build_ns: write a neighbour solicitation
 * @src: "::" for duplicate address detection
 * @slla: the source link-layer address option; NULL: none
 *
 * Returns: octets at @buf
 */
size_t packet_nd_build_ns(void *buf, const struct in6_addr *src,
                          const struct in6_addr *dst,
                          const struct in6_addr *target, const uint8_t *slla);

/** packet_nd_build_na: write an advertisement, with @flags PACKET_NA_... */
size_t packet_nd_build_na(void *buf, const struct in6_addr *src,
                          const struct in6_addr *dst,
                          const struct in6_addr *target, unsigned flags,
                          const uint8_t *tlla);

/** packet_nd_build_rs: write a router solicitation to all routers */
size_t packet_nd_build_rs(void *buf, const struct in6_addr *src,
                          const uint8_t *slla);

/**
 * packet_nd_build_ra: write a router advertisement
 * @room: octets at @buf
 * @slla: NULL: none
 *
 * Returns: octets at @buf; 0 if they are more than @room
 */
size_t packet_nd_build_ra(void *buf, size_t room, const struct in6_addr *src,
                          const struct in6_addr *dst, const PacketNdRa *ra,
                          const uint8_t *slla);

/* The prefix information option (RFC 4861 section 4.6.2). */
#define PACKET_ND_PREFIX_OPTION 3u
#define PACKET_ND_PREFIX_LEN    32u

/** packet_nd_read_prefix: read one of @len octets; false: it is malformed */
bool packet_nd_read_prefix(PacketNdPrefix *prefix, const void *option,
                           size_t len);

/** packet_nd_put_prefix: write one, of PACKET_ND_PREFIX_LEN octets */
void packet_nd_put_prefix(void *buf, const PacketNdPrefix *prefix);

/**
 * packet_icmp6_error: write an error message
 * @room: octets at @buf, at least PACKET_IP6_MTU_MIN
 * @hops: the hop limit
 * @arg: the four octets behind the checksum: MTU, pointer, or 0
 * @cause: the packet that caused it, cut so that the message stays below
 *         PACKET_IP6_MTU_MIN (RFC 4443 section 2.4 (c))
 *
 * Returns: octets at @buf; 0 if there must be no error for @cause (section
 * 2.4 (e): it is an error itself, a redirect, from no single node, or to a
 * group, but for "packet too big" and code 2 of "parameter problem")
 */
size_t packet_icmp6_error(void *buf, size_t room, const struct in6_addr *src,
                          uint8_t hops, uint8_t type, uint8_t code,
                          uint32_t arg, const void *cause, size_t cause_len);

/** packet_icmp6_seal: write the checksum of the ICMPv6 packet at @packet */
void packet_icmp6_seal(void *packet, size_t len);

#endif /* NET_PACKET_ND_H */

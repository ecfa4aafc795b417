/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Neighbour discovery (RFC 4861), with the additions to router advertisements
 * of RFC 6275 section 7, and ICMPv6 errors (RFC 4443)
 *
 * Packets are complete, from the IPv6 header on.  Numbers are in host byte
 * order.
 */
#ifndef NET_PACKET_ND_H
#define NET_PACKET_ND_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_ND_PREFIX_MAX    16u     /* in one router advertisement */
#define PACKET_ND_OPTIONS_MAX   64u     /* in one message */
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
    struct in6_addr prefix;     /* with R: the router's complete address */
    uint8_t len;                /* 0..128 */
    bool on_link;               /* L */
    bool autonomous;            /* A */
    bool router_address;        /* R (RFC 6275 section 7.2) */
    uint32_t valid, preferred;  /* s; PACKET_ND_INFINITE */
} PacketNdPrefix;

typedef struct PacketNdRa {
    uint8_t hop_limit;          /* 0: unspecified */
    bool managed, other;        /* M, O */
    bool home_agent;            /* H (RFC 6275 section 7.1) */
    int8_t preference;          /* -1, 0, 1 (RFC 4191 section 2.1) */
    uint16_t lifetime;          /* as default router, s; 0: is none */
    uint32_t reachable, retrans;        /* ms; 0: unspecified */
    uint32_t mtu;               /* 0: unspecified */
    bool has_ha_info;           /* RFC 6275 section 7.4 */
    int16_t ha_preference;
    uint16_t ha_lifetime;       /* s */
    uint32_t interval;          /* ms (RFC 6275 sec. 7.3); 0: unspecified */
    unsigned prefixes;          /* further ones are ignored */
    PacketNdPrefix prefix[PACKET_ND_PREFIX_MAX];
} PacketNdRa;

typedef struct PacketNd {
    uint8_t type;               /* PACKET_ND_... */
    struct in6_addr src, dst;
    struct in6_addr target;     /* of NS, NA, redirect */
    struct in6_addr redirected; /* redirect: the packet's destination */
    unsigned flags;             /* in NA */
    bool has_slla, has_tlla;    /* options with length 8 (Ethernet) */
    uint8_t slla[PACKET_ND_MAC_LEN], tlla[PACKET_ND_MAC_LEN];
    PacketNdRa ra;              /* in RA */
} PacketNd;

/**
 * packet_nd_parse: parse and check a message
 * @packet: the IPv6 header, without extension headers
 * @len: octets at @packet; octets after the payload are ignored
 *
 * All checks of RFC 4861 sections 6.1.1, 6.1.2, 7.1.1, 7.1.2 and 8.1 are made.
 * Unknown options are ignored.
 *
 * Returns: false if it is not a valid ND message
 */
bool packet_nd_parse(PacketNd *nd, const void *packet, size_t len);

/* Option types. */
enum {
    PACKET_ND_OPTION_SLLA = 1,
    PACKET_ND_OPTION_TLLA = 2,
};

/**
 * packet_nd_option_next: get the next option of a message
 * @options: @len octets
 * @pos: position of the option; 0 for the first
 *
 * Returns: the option, from its type on, with its length in @option_len; NULL
 * at the end, where @pos is @len; NULL also if an option is truncated, where
 * @pos is less than @len
 */
const uint8_t *packet_nd_option_next(const void *options, size_t len,
                                     size_t *pos, size_t *option_len);

/* Space that each of the following four functions needs at most. */
#define PACKET_ND_SHORT_MAX     80u

/**
 * packet_nd_build_ns: write a neighbour solicitation
 * @src: "::" for duplicate address detection
 * @slla: for the source link-layer address option; NULL: no option
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
 * @room: space at @buf
 * @slla: for the source link-layer address option; NULL: no option
 *
 * Returns: octets at @buf; 0 if there is not enough space
 */
size_t packet_nd_build_ra(void *buf, size_t room, const struct in6_addr *src,
                          const struct in6_addr *dst, const PacketNdRa *ra,
                          const uint8_t *slla);

/* The prefix information option (RFC 4861 section 4.6.2). */
#define PACKET_ND_PREFIX_OPTION 3u
#define PACKET_ND_PREFIX_LEN    32u

/** packet_nd_read_prefix: parse the option, @len octets; false: malformed */
bool packet_nd_read_prefix(PacketNdPrefix *prefix, const void *option,
                           size_t len);

/** packet_nd_put_prefix: write the option, PACKET_ND_PREFIX_LEN octets */
void packet_nd_put_prefix(void *buf, const PacketNdPrefix *prefix);

/**
 * packet_icmp6_error: write an error message
 * @room: space at @buf, at least PACKET_IP6_MTU_MIN
 * @hops: the hop limit
 * @arg: the four octets after the checksum: MTU, pointer, or 0
 * @cause: the packet that caused the error; it is truncated so that the message
 *         is not longer than PACKET_IP6_MTU_MIN (RFC 4443 section 2.4 (c))
 *
 * Returns: octets at @buf; 0 if no error may be sent for @cause (section 2.4
 * (e)): it is an error, a redirect, its source is not a unicast address, or it
 * is multicast, except for "packet too big" and code 2 of "parameter problem"
 */
size_t packet_icmp6_error(void *buf, size_t room, const struct in6_addr *src,
                          uint8_t hops, uint8_t type, uint8_t code,
                          uint32_t arg, const void *cause, size_t cause_len);

/** packet_icmp6_seal: write the checksum of the ICMPv6 packet at @packet */
void packet_icmp6_seal(void *packet, size_t len);

#endif /* NET_PACKET_ND_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv6 headers, extension headers and their options (RFC 8200)
 *
 * A packet starts with its IPv6 header.  Offsets count from there.
 */
#ifndef NET_PACKET_IP6_H
#define NET_PACKET_IP6_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_IP6_LEN          40u
#define PACKET_IP6_FRAGMENT_LEN 8u
#define PACKET_IP6_MTU_MIN      1280u
/* Maximum number of extension headers that are parsed. */
#define PACKET_IP6_EXT_MAX      8u

/* Protocol numbers. */
enum {
    PACKET_PROTO_HOPOPTS = 0,
    PACKET_PROTO_IP4 = 4,
    PACKET_PROTO_TCP = 6,
    PACKET_PROTO_UDP = 17,
    PACKET_PROTO_IP6 = 41,
    PACKET_PROTO_ROUTING = 43,
    PACKET_PROTO_FRAGMENT = 44,
    PACKET_PROTO_ESP = 50,
    PACKET_PROTO_AH = 51,
    PACKET_PROTO_ICMP6 = 58,
    PACKET_PROTO_NONE = 59,
    PACKET_PROTO_DSTOPTS = 60,
    PACKET_PROTO_MH = 135,
};

/* A header; numbers in host byte order. */
typedef struct PacketIp6 {
    struct in6_addr src, dst;
    uint32_t flow;              /* flow label, 20 bits */
    uint8_t tclass;
    uint8_t next;               /* "next header" */
    uint8_t hops;               /* hop limit */
    uint16_t payload;           /* length after this header */
} PacketIp6;

/**
 * packet_ip6_parse: parse a header
 * @len: octets at @packet; octets after the payload are padding
 *
 * Returns: false if it is too short, is not IPv6, or the payload is truncated
 */
bool packet_ip6_parse(PacketIp6 *ip, const void *packet, size_t len);

/**
 * packet_ip6_build: write a header
 * @buf: space for PACKET_IP6_LEN octets
 *
 * Returns: PACKET_IP6_LEN
 */
size_t packet_ip6_build(void *buf, const PacketIp6 *ip);

/*
 * The extension headers of a packet, as the bits of OpenFlow's OXM field
 * IPV6_EXTHDR (OpenFlow 1.3.5 section 7.2.3.7).
 */
enum {
    PACKET_IP6_HAS_NONE_NEXT = 1 << 0,  /* "no next header" */
    PACKET_IP6_HAS_ESP = 1 << 1,
    PACKET_IP6_HAS_AH = 1 << 2,
    PACKET_IP6_HAS_DSTOPTS = 1 << 3,
    PACKET_IP6_HAS_FRAGMENT = 1 << 4,
    PACKET_IP6_HAS_ROUTING = 1 << 5,
    PACKET_IP6_HAS_HOPOPTS = 1 << 6,
    PACKET_IP6_REPEATED = 1 << 7,       /* more often than RFC 8200 allows */
    PACKET_IP6_UNORDERED = 1 << 8,      /* not in the order of RFC 8200 */
};

/*
 * The chain of extension headers.  An offset of 0 means that the packet has no
 * such header.  Destination options before a routing header are @dst1; other
 * destination options are @dst2.
 */
typedef struct PacketIp6Ext {
    uint8_t next;               /* protocol number after the chain */
    size_t offset;              /* offset after the chain */
    size_t hopopts, dst1, routing, dst2;
    size_t fragment;            /* of the fragment header */
    uint32_t fragment_id;
    uint16_t fragment_offset;   /* octets */
    bool more;                  /* M: more fragments follow */
    uint16_t has;               /* PACKET_IP6_HAS_... */
    uint8_t last_rank;          /* private: last header's place in the order */
} PacketIp6Ext;

/**
 * packet_ip6_walk: find the upper-layer header
 * @len: octets at @packet
 *
 * ESP and "no next header" end the chain, like upper-layer headers.  A fragment
 * header of a later fragment also ends it: @ext->offset is then the offset of
 * the fragment's data.
 *
 * Returns: false if a header is truncated or misplaced (hop-by-hop options that
 * are not first), or there are more than PACKET_IP6_EXT_MAX
 */
bool packet_ip6_walk(PacketIp6Ext *ext, const void *packet, size_t len);

/** packet_ip6_ext_len: length of an extension header, AH included */
size_t packet_ip6_ext_len(uint8_t number, const void *header);

/* An option of a hop-by-hop or destination options header. */
typedef struct PacketIp6Option {
    uint8_t type;
    uint8_t len;                /* length of @data */
    const uint8_t *data;
} PacketIp6Option;

/**
 * packet_ip6_option_next: get the next option; padding is skipped
 * @header: a complete hop-by-hop or destination options header
 * @len: length of @header
 * @pos: position of the option; 0 for the first
 *
 * Returns: false at the end, where @pos is @len; also if an option is
 * truncated, where @pos is less than @len
 */
bool packet_ip6_option_next(const void *header, size_t len, size_t *pos,
                            PacketIp6Option *option);

/* What a destination processes of a packet's extension headers. */
typedef struct PacketIp6Known {
    uint8_t option;             /* destination option; 0: none */
    uint8_t routing;            /* type of routing header; 0: none */
} PacketIp6Known;

/* Codes of ICMPv6 "parameter problem" (RFC 4443 section 3.4). */
enum {
    PACKET_IP6_WRONG_FIELD = 0,
    PACKET_IP6_UNKNOWN_HEADER = 1,
    PACKET_IP6_UNKNOWN_OPTION = 2,
};

/* Why a destination must discard a packet. */
typedef struct PacketIp6Fault {
    bool is_told;               /* by ICMPv6 "parameter problem" */
    uint8_t code;
    uint32_t pointer;           /* offset of the octet at fault */
} PacketIp6Fault;

/**
 * packet_ip6_accept: may the destination process the packet?
 * @fault: set if not
 * @ext: from packet_ip6_walk(), of a packet that is no fragment
 *
 * An unknown option says itself whether the packet is discarded (RFC 8200
 * section 4.2).  A routing header of an unknown type is ignored without
 * segments left, otherwise the packet is discarded (section 4.4; RFC 5095 for
 * type 0).  No destination here verifies AH.
 *
 * Returns: false also if options are truncated, or the known one is repeated
 */
bool packet_ip6_accept(PacketIp6Fault *fault, const PacketIp6Known *known,
                       const PacketIp6Ext *ext, const void *packet);

/* --- addresses (RFC 4291) ------------------------------------------------- */

static inline bool packet_ip6_equal(const struct in6_addr *a,
                                    const struct in6_addr *b)
{
    return IN6_ARE_ADDR_EQUAL(a, b);
}

/** packet_ip6_in_prefix: are the first @len bits (0..128) equal? */
bool packet_ip6_in_prefix(const struct in6_addr *addr,
                          const struct in6_addr *prefix, unsigned len);

/**
 * packet_ip6_is_routable: is it a unicast address that routers forward to?
 *
 * Not those of ::/64 (unspecified, loopback, with an IPv4 address in it), of
 * 100::/64 (discard only, RFC 6666), link-local ones and groups.  Unique local
 * ones are, within their site.
 */
bool packet_ip6_is_routable(const struct in6_addr *addr);

/** packet_ip6_solicited: the solicited-node group of @addr (section 2.7.1) */
struct in6_addr packet_ip6_solicited(const struct in6_addr *addr);

/**
 * packet_ip6_from_mac: an address from a 64-bit prefix and a modified EUI-64
 * interface identifier
 * @prefix: its first 64 bits are used
 */
struct in6_addr packet_ip6_from_mac(const struct in6_addr *prefix,
                                    const uint8_t mac[6]);

/** packet_ip6_link_local: fe80::/64 with the interface identifier of @mac */
struct in6_addr packet_ip6_link_local(const uint8_t mac[6]);

extern const struct in6_addr packet_ip6_all_nodes;      /* ff02::1 */
extern const struct in6_addr packet_ip6_all_routers;    /* ff02::2 */

#endif /* NET_PACKET_IP6_H */

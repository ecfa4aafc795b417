/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multicast listener discovery (RFC 2710, RFC 3810)
 *
 * Packets are whole: from the IPv6 header on.
 */
#ifndef NET_PACKET_MLD_H
#define NET_PACKET_MLD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ICMPv6 types. */
enum {
    PACKET_MLD_QUERY = 130,
    PACKET_MLD_REPORT = 131,
    PACKET_MLD_DONE = 132,
    PACKET_MLD2_REPORT = 143,
};

/* Records of one report that are read; one of 1500 octets has at most 72. */
#define PACKET_MLD_RECORDS_MAX  72u

typedef struct PacketMldRecord {
    struct in6_addr group;
    bool listens;               /* else it does not any more */
} PacketMldRecord;

typedef struct PacketMld {
    uint8_t type;               /* PACKET_MLD_... */
    struct in6_addr src, dst;
    unsigned records;           /* of a report, or the one of "done" */
    PacketMldRecord record[PACKET_MLD_RECORDS_MAX];
} PacketMld;

/**
 * packet_mld_parse: read and check a message
 * @len: octets at @packet
 *
 * It must have what RFC 3810 section 5 asks for: hop limit 1, a link-local or
 * unspecified source, the Router Alert option, a right checksum. Sources of a
 * record are not kept: to listen to some is to listen. A record that only
 * blocks sources says nothing.
 *
 * Returns: false if it is no message of MLD or not valid
 */
bool packet_mld_parse(PacketMld *mld, const void *packet, size_t len);

/**
 * packet_mld_is_beyond_link: a report about a group that routers forward?
 * @len: octets at @packet, which may be cut: then of the records that are there
 */
bool packet_mld_is_beyond_link(const void *packet, size_t len);

/** packet_mld_is_query: could it be a query? @len octets may be cut. */
bool packet_mld_is_query(const void *packet, size_t len);

/** packet_mld_forwards: has @group a scope beyond that of a link? */
bool packet_mld_forwards(const struct in6_addr *group);

/**
 * packet_mld_build_query: write a general query of version 2
 * @buf: room for PACKET_MLD_QUERY_LEN octets
 * @src: a link-local address
 * @delay: ms in which listeners answer, at most 32767
 *
 * Returns: PACKET_MLD_QUERY_LEN
 */
#define PACKET_MLD_QUERY_LEN    76u
size_t packet_mld_build_query(void *buf, const struct in6_addr *src,
                              uint16_t delay);

#endif /* NET_PACKET_MLD_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multicast listener discovery (RFC 2710, RFC 3810)
 *
 * Packets are complete, from the IPv6 header on.
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

/* Maximum number of records in a report; 1500 octets have at most 72. */
#define PACKET_MLD_RECORDS_MAX  72u

typedef struct PacketMldRecord {
    struct in6_addr group;
    bool listens;               /* false: it stops to listen */
} PacketMldRecord;

typedef struct PacketMld {
    uint8_t type;               /* PACKET_MLD_... */
    struct in6_addr src, dst;
    struct in6_addr group;      /* in a query; "::": a general one */
    bool is_v1;                 /* the query is one of RFC 2710 */
    uint32_t delay;             /* in a query: maximum response delay, ms */
    unsigned records;           /* in a report; 1 in "done" */
    PacketMldRecord record[PACKET_MLD_RECORDS_MAX];
} PacketMld;

/**
 * packet_mld_parse: parse and check a message
 * @len: octets at @packet
 *
 * A valid message has, as in RFC 3810 section 5: hop limit 1, a link-local or
 * unspecified source, the Router Alert option, a correct checksum. The sources
 * in a record are ignored: listening to some sources counts as listening. A
 * record that only blocks sources has no effect.
 *
 * Returns: false if it is not a valid MLD message
 */
bool packet_mld_parse(PacketMld *mld, const void *packet, size_t len);

/**
 * packet_mld_is_beyond_link: is it a report about a group that routers forward?
 * @len: octets at @packet; if it is truncated, only its complete records count
 */
bool packet_mld_is_beyond_link(const void *packet, size_t len);

/** packet_mld_is_query: can it be a query? It may be truncated to @len. */
bool packet_mld_is_query(const void *packet, size_t len);

/** packet_mld_forwards: is the scope of @group larger than link-local? */
bool packet_mld_forwards(const struct in6_addr *group);

/**
 * packet_mld_build_query: write a general query of version 2
 * @buf: space for PACKET_MLD_QUERY_LEN octets
 * @src: a link-local address
 * @delay: maximum response delay in ms, at most 32767
 *
 * Returns: PACKET_MLD_QUERY_LEN
 */
#define PACKET_MLD_QUERY_LEN    76u
size_t packet_mld_build_query(void *buf, const struct in6_addr *src,
                              uint16_t delay);

/** Maximum number of groups that packet_mld_build_report() takes. */
#define PACKET_MLD_REPORT_GROUPS    16u
#define PACKET_MLD_REPORT_MAX       (56u + 20u * PACKET_MLD_REPORT_GROUPS)

/**
 * packet_mld_build_report: write a report of version 2 (RFC 3810 section 5.2)
 * @buf: space for PACKET_MLD_REPORT_MAX octets
 * @src: a link-local address, or "::" (RFC 3590)
 * @groups: all are listened to, from any source; PACKET_MLD_REPORT_GROUPS or
 *          less
 * @joins: the groups are new; otherwise it is the answer to a query
 *
 * Returns: length of the packet, which is for packet_mld_all_routers
 */
size_t packet_mld_build_report(void *buf, const struct in6_addr *src,
                               const struct in6_addr *groups, unsigned count,
                               bool joins);

/**
 * packet_mld_build_report1: write a report of version 1 (RFC 2710 section 3)
 * @buf: space for PACKET_MLD_REPORT_MAX octets
 * @src: a link-local address, or "::" (RFC 3590)
 *
 * Returns: length of the packet, which is for @group
 */
size_t packet_mld_build_report1(void *buf, const struct in6_addr *src,
                                const struct in6_addr *group);

/** The destination of reports of version 2: ff02::16. */
extern const struct in6_addr packet_mld_all_routers;

#endif /* NET_PACKET_MLD_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of guests to switches: layer 2 control protocols, IGMP and MLD queries
 *
 * Theory of operation
 *
 * A switch acts on two kinds of multicast frames. Both affect all tenants that
 * share the switch.
 *
 * Layer 2 control protocols (STP, LACP, LLDP, MVRP, CDP, ...) use reserved
 * destination addresses, so only the address is checked.
 *
 * A switch with IGMP and MLD snooping (RFC 4541) forwards a group to the ports
 * that report it, as long as it sees queries; a port whose guest does not
 * receive the queries gets nothing. So there are two different checks:
 *
 *   hostvlan_query_sent()      Could any switch take this frame for a query?
 *                              Then it must not leave a tenant's port. A Linux
 *                              bridge accepts IGMP in fragments, and an MLD
 *                              query after any number of extension headers,
 *                              also in a first fragment; it does not parse
 *                              later fragments. A wrong checksum, TTL or
 *                              length does not make a frame harmless: another
 *                              switch may not check it.
 *   hostvlan_query_received()  Is this frame a query, and nothing else? It
 *                              passes to a guest from any source, so every
 *                              octet must be as the RFCs require, where they
 *                              leave no choice. So it can carry no other
 *                              information than a group and
 *                              HOSTVLAN_QUERY_SOURCES_MAX sources.
 *
 * Both data paths include this file (see headers.h).
 */
#ifndef NET_HOSTVLAN_GROUP_H
#define NET_HOSTVLAN_GROUP_H

#include "net/hostvlan/headers.h"

/* The maximum of sources for a group in a Linux bridge (PG_SRC_ENT_LIMIT). */
#define HOSTVLAN_QUERY_SOURCES_MAX      32

/* The all-hosts group, 224.0.0.1. */
#define HOSTVLAN_ALL_HOSTS              0xe0000001u

/* Octets of a frame that hostvlan_query_received() reads. */
#define HOSTVLAN_QUERY_LEN              98u

/* Minimum length of an Ethernet frame with two tags, without FCS. */
#define HOSTVLAN_PADDED_MAX             68u

enum {
    HOSTVLAN_IGMP_QUERY = 0x11,
    HOSTVLAN_MLD_QUERY = 130,
};

/** hostvlan_is_group: is the destination a multicast address? */
static inline bool hostvlan_is_group(const uint8_t *frame)
{
    return frame[0] & 1;
}

/**
 * hostvlan_is_l2_control: do switches themselves listen to this destination?
 *
 * These are the bridge block (IEEE 802.1Q, table 8-1) and the MRP block (table
 * 10-1), which together are layer 2 control protocol frames (MEF 45), and two
 * addresses of Cisco: CDP, VTP, DTP, PAgP, UDLD; PVST+.
 */
static inline bool hostvlan_is_l2_control(uint64_t dest)
{
    uint64_t block = dest & ~0xfull;

    return block == 0x0180c2000000ull || block == 0x0180c2000020ull ||
           dest == 0x01000cccccccull || dest == 0x01000ccccccdull;
}

/* --- sent by a port ----------------------------------------------------- */

static inline enum hostvlan_reason
hostvlan_igmp_sent(const struct hostvlan_frame *f, uint32_t offset,
                   uint32_t *fixed)
{
    uint8_t ip[20], type;
    uint32_t header;

    if (!hostvlan_read(f, offset, ip, sizeof(ip))) {
        return HOSTVLAN_MALFORMED;
    }
    *fixed = offset + sizeof(ip);
    if (ip[9] != HOSTVLAN_PROTO_IGMP) {
        return HOSTVLAN_PASSED;
    }
    header = (ip[0] & 0xf) * 4;
    if (header < sizeof(ip) || !hostvlan_read(f, offset + header, &type, 1)) {
        return HOSTVLAN_MALFORMED;
    }
    *fixed = offset + header + 1;
    return type == HOSTVLAN_IGMP_QUERY ? HOSTVLAN_QUERY : HOSTVLAN_PASSED;
}

static inline enum hostvlan_reason
hostvlan_mld_sent(const struct hostvlan_frame *f, uint32_t offset,
                  uint32_t *fixed)
{
    struct hostvlan_upper upper = { .offset = offset + 40 };
    uint8_t type;

    if (!hostvlan_read(f, offset + 6, &upper.proto, 1) ||
        !hostvlan_find_upper(f, &upper)) {
        return HOSTVLAN_MALFORMED;
    }
    *fixed = upper.offset;
    if (upper.proto != HOSTVLAN_PROTO_ICMP6 || upper.later_fragment) {
        return HOSTVLAN_PASSED;
    }
    if (!hostvlan_read(f, upper.offset, &type, 1)) {
        return HOSTVLAN_MALFORMED;
    }
    *fixed = upper.offset + 1;
    return type == HOSTVLAN_MLD_QUERY ? HOSTVLAN_QUERY : HOSTVLAN_PASSED;
}

/**
 * hostvlan_query_sent: could a switch take this multicast frame for a query?
 * @fixed: if the frame passes, set to the number of octets that the verdict
 *         depends on; no checksum offload may write to them
 *
 * Returns: HOSTVLAN_PASSED if not, HOSTVLAN_QUERY if so, HOSTVLAN_MALFORMED if
 * the frame cannot be parsed far enough
 */
static inline enum hostvlan_reason
hostvlan_query_sent(const struct hostvlan_frame *f, uint32_t *fixed)
{
    struct hostvlan_packet p;

    if (!hostvlan_find_packet(f, &p)) {
        return HOSTVLAN_MALFORMED;
    }
    /*
     * After a length field, include the octets of a possible LLC/SNAP header.
     */
    *fixed = p.type < HOSTVLAN_TYPE_MIN ? p.offset + 8 : p.offset;
    if (p.type == HOSTVLAN_TYPE_IP4) {
        return hostvlan_igmp_sent(f, p.offset, fixed);
    }
    return p.type == HOSTVLAN_TYPE_IP6 ? hostvlan_mld_sent(f, p.offset, fixed) :
                                         HOSTVLAN_PASSED;
}

/* --- received by a port -------------------------------------------------- */

/*
 * Checks the length of an IGMPv3 or MLDv2 query with @num sources. A general
 * query has no sources (RFC 3376, 4.1.9; RFC 3810, 5.1.10).
 */
static inline bool hostvlan_sources_fit(uint32_t num, bool general,
                                        uint32_t octets, uint32_t each)
{
    return num <= (general ? 0 : HOSTVLAN_QUERY_SOURCES_MAX) &&
           octets == num * each;
}

/* RFC 1112, 2236 and 3376; @offset is that of the IP header. */
static inline bool hostvlan_igmp_received(const struct hostvlan_frame *f,
                                          uint32_t offset, uint64_t dest)
{
    uint8_t ip[20], option[4], igmp[8], num[2];
    uint32_t header, total, length, group, to;

    if (!hostvlan_read(f, offset, ip, sizeof(ip)) ||
        (ip[0] != 0x45 && ip[0] != 0x46)) {
        return false;
    }
    header = (ip[0] & 0xf) * 4;
    total = get_be16(ip + 2);
    to = get_be32(ip + 16);
    /* Not fragmented, TTL 1, from a unicast address or 0.0.0.0. */
    if (total < header + sizeof(igmp) || get_be16(ip + 6) & 0xbfff ||
        ip[8] != 1 || ip[9] != HOSTVLAN_PROTO_IGMP || ip[12] >= 0xe0 ||
        to >> 28 != 0xe || dest != (0x01005e000000ull | (to & 0x7fffff))) {
        return false;
    }
    /* IGMPv2 and later require Router Alert (RFC 2113). */
    if (header > sizeof(ip) &&
        (!hostvlan_read(f, offset + sizeof(ip), option, sizeof(option)) ||
         get_be32(option) != 0x94040000)) {
        return false;
    }
    if (!hostvlan_read(f, offset + header, igmp, sizeof(igmp)) ||
        igmp[0] != HOSTVLAN_IGMP_QUERY) {
        return false;
    }
    /*
     * The destination is the group, or, as a Linux bridge sends it, all hosts.
     */
    group = get_be32(igmp + 4);
    if (group && (group >> 28 != 0xe ||
                  (to != group && to != HOSTVLAN_ALL_HOSTS))) {
        return false;
    }
    if (!group && to != HOSTVLAN_ALL_HOSTS) {
        return false;
    }
    length = total - header;
    if (header == sizeof(ip)) {
        /* IGMPv1 has only general queries. */
        return length == sizeof(igmp) && igmp[1] == 0 && group == 0;
    }
    return length == sizeof(igmp) ||
           (length >= 12 &&
            hostvlan_read(f, offset + header + 10, num, sizeof(num)) &&
            hostvlan_sources_fit(get_be16(num), group == 0, length - 12,
                                 4));
}

/* Is it Pad1 twice, or PadN? */
static inline bool hostvlan_is_padding(const uint8_t *p)
{
    return p[0] <= 1 && p[1] == 0;
}

/*
 * A hop-by-hop header with the Router Alert option of MLD (RFC 2711) and
 * padding. The option has alignment 2n, so it is the first or the last.
 */
static inline bool hostvlan_is_mld_alert(const uint8_t *p)
{
    const uint32_t alert = 0x05020000;

    return p[0] == HOSTVLAN_PROTO_ICMP6 && p[1] == 0 &&
           ((get_be32(p + 2) == alert && hostvlan_is_padding(p + 6)) ||
            (get_be32(p + 4) == alert && hostvlan_is_padding(p + 2)));
}

/* RFC 2710 and 3810; @offset is that of the IPv6 header. */
static inline bool hostvlan_mld_received(const struct hostvlan_frame *f,
                                         uint32_t offset, uint64_t dest)
{
    uint8_t ip[40], alert[8], mld[28];
    uint32_t payload, length, group = 0, differs = 0, to_some = 0;

    if (!hostvlan_read(f, offset, ip, sizeof(ip)) ||
        !hostvlan_read(f, offset + 40, alert, sizeof(alert)) ||
        !hostvlan_read(f, offset + 48, mld, 24)) {
        return false;
    }
    payload = get_be16(ip + 4);
    /* Hop limit 1, from a link-local address to a multicast address. */
    if (ip[0] >> 4 != 6 || ip[6] != HOSTVLAN_PROTO_HOP_BY_HOP || ip[7] != 1 ||
        ip[8] != 0xfe || (ip[9] & 0xc0) != 0x80 || ip[24] != 0xff ||
        dest != (0x333300000000ull | get_be32(ip + 36)) ||
        !hostvlan_is_mld_alert(alert) || mld[0] != HOSTVLAN_MLD_QUERY ||
        mld[1] != 0 || payload < sizeof(alert) + 24) {
        return false;
    }
    for (unsigned i = 0; i < 16; i += 4) {
        group |= get_be32(mld + 8 + i);
        differs |= get_be32(mld + 8 + i) ^ get_be32(ip + 24 + i);
    }
    /* Not to all nodes, ff02::1. */
    to_some = (get_be32(ip + 24) ^ 0xff020000) |
              get_be32(ip + 28) | get_be32(ip + 32) |
              (get_be32(ip + 36) ^ 1);
    if (group ? mld[8] != 0xff || (differs && to_some) : to_some) {
        return false;
    }
    length = payload - sizeof(alert);
    return length == 24 ||
           (length >= 28 && hostvlan_read(f, offset + 72, mld + 24, 4) &&
            hostvlan_sources_fit(get_be16(mld + 26), group == 0,
                                 length - 28, 16));
}

/* @packet: length of the packet at @offset; only padding may follow it */
static inline bool hostvlan_fits(uint32_t size, uint32_t offset,
                                 uint32_t packet)
{
    return size >= offset + packet &&
           (size == offset + packet || size <= HOSTVLAN_PADDED_MAX);
}

/**
 * hostvlan_query_received: is this frame an IGMP or MLD query, and nothing
 * else?
 * @f: at least HOSTVLAN_QUERY_LEN octets of the frame, or all
 * @size: length of the whole frame
 * @dest: its destination address
 */
static inline bool hostvlan_query_received(const struct hostvlan_frame *f,
                                           uint32_t size, uint64_t dest)
{
    struct hostvlan_packet p;
    uint8_t length[2];

    if (!hostvlan_find_packet(f, &p) || p.snap) {
        return false;
    }
    if (p.type == HOSTVLAN_TYPE_IP4) {
        return hostvlan_read(f, p.offset + 2, length, sizeof(length)) &&
               hostvlan_fits(size, p.offset, get_be16(length)) &&
               hostvlan_igmp_received(f, p.offset, dest);
    }
    return p.type == HOSTVLAN_TYPE_IP6 &&
           hostvlan_read(f, p.offset + 4, length, sizeof(length)) &&
           hostvlan_fits(size, p.offset, 40 + get_be16(length)) &&
           hostvlan_mld_received(f, p.offset, dest);
}

#endif /* NET_HOSTVLAN_GROUP_H */

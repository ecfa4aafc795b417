/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of guests to switches: layer 2 control protocols, IGMP and MLD queries
 *
 * Theory of operation
 *
 * A switch believes two kinds of frames to a group. Both act on all tenants
 * that share it.
 *
 * Layer 2 control protocols (STP, LACP, LLDP, MVRP, CDP, ...) have destination
 * addresses of their own, and the address is what is looked at.
 *
 * A switch that snoops IGMP and MLD (RFC 4541) passes a group on to the ports
 * that report it, as long as it sees queries; a port whose guest does not hear
 * the queries gets nothing. So two questions are asked:
 *
 *   hostvlan_query_sent()      Could any switch take this for a query? It must
 *                              not leave a tenant's port. Linux's bridge takes
 *                              IGMP in fragments, and an MLD query behind any
 *                              number of extension headers, in a first
 *                              fragment too; it does not look into later ones.
 *                              A checksum, a TTL or a length that is wrong is
 *                              no excuse: another switch may be content.
 *   hostvlan_query_received()  Is this a query, and nothing else? It passes to
 *                              a guest whoever sent it, so it must be as the
 *                              RFCs demand it, octet by octet as far as they
 *                              leave no choice. What can be said with one is a
 *                              group and HOSTVLAN_QUERY_SOURCES_MAX sources.
 *
 * Both data paths include this file (see headers.h).
 */
#ifndef NET_HOSTVLAN_GROUP_H
#define NET_HOSTVLAN_GROUP_H

#include "net/hostvlan/headers.h"

/* A Linux bridge knows no more sources of a group (PG_SRC_ENT_LIMIT). */
#define HOSTVLAN_QUERY_SOURCES_MAX      32

/* 224.0.0.1. */
#define HOSTVLAN_ALL_HOSTS              0xe0000001u

/* Octets of a frame that hostvlan_query_received() reads. */
#define HOSTVLAN_QUERY_LEN              98u

/* Ethernet pads a frame to this, with two tags. */
#define HOSTVLAN_PADDED_MAX             68u

enum {
    HOSTVLAN_IGMP_QUERY = 0x11,
    HOSTVLAN_MLD_QUERY = 130,
};

/** hostvlan_is_group: is this destination more than one station? */
static inline bool hostvlan_is_group(const uint8_t *frame)
{
    return frame[0] & 1;
}

/**
 * hostvlan_is_l2_control: do switches themselves listen to this destination?
 *
 * The bridge block (IEEE 802.1Q, table 8-1) and the MRP block (table 10-1),
 * which together make a layer 2 control protocol frame (MEF 45), and Cisco's
 * two: CDP, VTP, DTP, PAgP, UDLD; PVST+.
 */
static inline bool hostvlan_is_l2_control(uint64_t dest)
{
    uint64_t block = dest & ~0xfull;

    return block == 0x0180c2000000ull || block == 0x0180c2000020ull ||
           dest == 0x01000cccccccull || dest == 0x01000ccccccdull;
}

/* --- out of a port ------------------------------------------------------ */

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
 * hostvlan_query_sent: could a switch take this frame to a group for a query?
 * @fixed: filled in when it passes: its first octets that were looked at, and
 *         that no checksum offload may write to
 *
 * Returns: HOSTVLAN_PASSED if not, HOSTVLAN_QUERY if so, HOSTVLAN_MALFORMED if
 * that cannot be found out
 */
static inline enum hostvlan_reason
hostvlan_query_sent(const struct hostvlan_frame *f, uint32_t *fixed)
{
    struct hostvlan_packet p;

    if (!hostvlan_find_packet(f, &p)) {
        return HOSTVLAN_MALFORMED;
    }
    /* Behind a length, what would be LLC/SNAP. */
    *fixed = p.type < HOSTVLAN_TYPE_MIN ? p.offset + 8 : p.offset;
    if (p.type == HOSTVLAN_TYPE_IP4) {
        return hostvlan_igmp_sent(f, p.offset, fixed);
    }
    return p.type == HOSTVLAN_TYPE_IP6 ? hostvlan_mld_sent(f, p.offset, fixed) :
                                         HOSTVLAN_PASSED;
}

/* --- in to a port ------------------------------------------------------- */

/*
 * The length of an IGMPv3 or MLDv2 query: @num is its number of sources. One
 * to all groups names none (RFC 3376, 4.1.9; RFC 3810, 5.1.10).
 */
static inline bool hostvlan_sources_fit(uint32_t num, bool general,
                                        uint32_t octets, uint32_t each)
{
    return num <= (general ? 0 : HOSTVLAN_QUERY_SOURCES_MAX) &&
           octets == num * each;
}

/* RFC 1112, 2236 and 3376; the IP header is at @offset. */
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
    total = hostvlan_get16(ip + 2);
    to = hostvlan_get32(ip + 16);
    /* In one piece, TTL 1, from one station or none. */
    if (total < header + sizeof(igmp) || hostvlan_get16(ip + 6) & 0xbfff ||
        ip[8] != 1 || ip[9] != HOSTVLAN_PROTO_IGMP || ip[12] >= 0xe0 ||
        to >> 28 != 0xe || dest != (0x01005e000000ull | (to & 0x7fffff))) {
        return false;
    }
    /* Router Alert (RFC 2113), of IGMPv2 on. */
    if (header > sizeof(ip) &&
        (!hostvlan_read(f, offset + sizeof(ip), option, sizeof(option)) ||
         hostvlan_get32(option) != 0x94040000)) {
        return false;
    }
    if (!hostvlan_read(f, offset + header, igmp, sizeof(igmp)) ||
        igmp[0] != HOSTVLAN_IGMP_QUERY) {
        return false;
    }
    /* About a group: to that, or to all hosts, as Linux's bridge does it. */
    group = hostvlan_get32(igmp + 4);
    if (group && (group >> 28 != 0xe || (to != group && to != HOSTVLAN_ALL_HOSTS))) {
        return false;
    }
    if (!group && to != HOSTVLAN_ALL_HOSTS) {
        return false;
    }
    length = total - header;
    if (header == sizeof(ip)) {
        /* IGMPv1, which asks about all groups. */
        return length == sizeof(igmp) && igmp[1] == 0 && group == 0;
    }
    return length == sizeof(igmp) ||
           (length >= 12 &&
            hostvlan_read(f, offset + header + 10, num, sizeof(num)) &&
            hostvlan_sources_fit(hostvlan_get16(num), group == 0, length - 12,
                                 4));
}

/* Two times Pad1, or PadN. */
static inline bool hostvlan_is_padding(const uint8_t *p)
{
    return p[0] <= 1 && p[1] == 0;
}

/*
 * A hop-by-hop header with Router Alert of MLD (RFC 2711) and padding. The
 * alignment of the option is 2n: it comes first or last.
 */
static inline bool hostvlan_is_mld_alert(const uint8_t *p)
{
    const uint32_t alert = 0x05020000;

    return p[0] == HOSTVLAN_PROTO_ICMP6 && p[1] == 0 &&
           ((hostvlan_get32(p + 2) == alert && hostvlan_is_padding(p + 6)) ||
            (hostvlan_get32(p + 4) == alert && hostvlan_is_padding(p + 2)));
}

/* RFC 2710 and 3810; the IPv6 header is at @offset. */
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
    payload = hostvlan_get16(ip + 4);
    /* Hop limit 1, from a link-local address, to a group. */
    if (ip[0] >> 4 != 6 || ip[6] != HOSTVLAN_PROTO_HOP_BY_HOP || ip[7] != 1 ||
        ip[8] != 0xfe || (ip[9] & 0xc0) != 0x80 || ip[24] != 0xff ||
        dest != (0x333300000000ull | hostvlan_get32(ip + 36)) ||
        !hostvlan_is_mld_alert(alert) || mld[0] != HOSTVLAN_MLD_QUERY ||
        mld[1] != 0 || payload < sizeof(alert) + 24) {
        return false;
    }
    for (unsigned i = 0; i < 16; i += 4) {
        group |= hostvlan_get32(mld + 8 + i);
        differs |= hostvlan_get32(mld + 8 + i) ^ hostvlan_get32(ip + 24 + i);
    }
    /* Not to all nodes, ff02::1. */
    to_some = (hostvlan_get32(ip + 24) ^ 0xff020000) |
              hostvlan_get32(ip + 28) | hostvlan_get32(ip + 32) |
              (hostvlan_get32(ip + 36) ^ 1);
    if (group ? mld[8] != 0xff || (differs && to_some) : to_some) {
        return false;
    }
    length = payload - sizeof(alert);
    return length == 24 ||
           (length >= 28 && hostvlan_read(f, offset + 72, mld + 24, 4) &&
            hostvlan_sources_fit(hostvlan_get16(mld + 26), group == 0,
                                 length - 28, 16));
}

/* @packet: octets of the packet at @offset, behind which is padding at most */
static inline bool hostvlan_fits(uint32_t size, uint32_t offset,
                                 uint32_t packet)
{
    return size >= offset + packet &&
           (size == offset + packet || size <= HOSTVLAN_PADDED_MAX);
}

/**
 * hostvlan_query_received: is this frame an IGMP or MLD query, and no more?
 * @f: at least HOSTVLAN_QUERY_LEN octets of it, or all
 * @size: octets of the whole frame
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
               hostvlan_fits(size, p.offset, hostvlan_get16(length)) &&
               hostvlan_igmp_received(f, p.offset, dest);
    }
    return p.type == HOSTVLAN_TYPE_IP6 &&
           hostvlan_read(f, p.offset + 4, length, sizeof(length)) &&
           hostvlan_fits(size, p.offset, 40 + hostvlan_get16(length)) &&
           hostvlan_mld_received(f, p.offset, dest);
}

#endif /* NET_HOSTVLAN_GROUP_H */

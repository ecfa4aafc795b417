/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multicast listener discovery
 *
 * Every message is an ICMPv6 message after a hop-by-hop options header with the
 * Router Alert option (RFC 2711), which is the first and only extension header.
 */
#include <string.h>

#include "base/octets.h"
#include "net/packet/ip6.h"
#include "net/packet/mld.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"

#define ALERT_TYPE      5       /* RFC 2711 section 2.1 */
#define ALERT_LEN       2
#define V1_LEN          24u     /* length of a message of RFC 2710 */
#define V2_QUERY_LEN    28u
#define V2_HEAD_LEN     8u
#define RECORD_LEN      20u
#define HOPOPTS_LEN     8u
#define MESSAGE_AT      (PACKET_IP6_LEN + HOPOPTS_LEN)

const struct in6_addr packet_mld_all_routers = {
    .s6_addr = { 0xff, 2, [15] = 0x16 },
};

/* Types of records (RFC 3810 section 5.2.12). */
enum {
    MODE_IS_INCLUDE = 1,
    MODE_IS_EXCLUDE,
    CHANGE_TO_INCLUDE_MODE,
    CHANGE_TO_EXCLUDE_MODE,
    ALLOW_NEW_SOURCES,
    BLOCK_OLD_SOURCES,
};

bool packet_mld_forwards(const struct in6_addr *group)
{
    return IN6_IS_ADDR_MULTICAST(group) && (group->s6_addr[1] & 0xf) > 2;
}

/* Returns: offset of the message; 0: no hop-by-hop options, or truncated */
static size_t message(const uint8_t *p, size_t len)
{
    PacketIp6Ext ext;

    if (len < PACKET_IP6_LEN + HOPOPTS_LEN + 4 || p[0] >> 4 != 6 ||
        p[6] != PACKET_PROTO_HOPOPTS || p[7] != 1 ||
        !packet_ip6_walk(&ext, p, len) || ext.fragment ||
        ext.next != PACKET_PROTO_ICMP6 || ext.offset + 4 > len) {
        return 0;
    }
    return ext.offset;
}

static bool has_alert(const uint8_t *p)
{
    const uint8_t *header = p + PACKET_IP6_LEN;
    PacketIp6Option option;
    size_t pos = 0;

    while (packet_ip6_option_next(header,
                                  packet_ip6_ext_len(PACKET_PROTO_HOPOPTS,
                                                     header), &pos, &option)) {
        if (option.type == ALERT_TYPE && option.len == ALERT_LEN) {
            return true;
        }
    }
    return false;
}

static bool is_right(const PacketIp6 *ip, const uint8_t *icmp, size_t len)
{
    uint32_t sum = packet_sum_pseudo6(&ip->src, &ip->dst, PACKET_PROTO_ICMP6,
                                      len);

    return packet_sum_fold(packet_sum_add(sum, icmp, len)) == 0;
}

/* Returns: false if the complete record at @p has no effect */
static bool read_record(PacketMldRecord *record, const uint8_t *p)
{
    bool sources = get_be16(p + 2) > 0;

    memcpy(&record->group, p + 4, sizeof(record->group));
    switch (p[0]) {
    case MODE_IS_EXCLUDE:
    case CHANGE_TO_EXCLUDE_MODE:
        record->listens = true;
        return true;
    case MODE_IS_INCLUDE:
    case CHANGE_TO_INCLUDE_MODE:
        record->listens = sources;
        return true;
    case ALLOW_NEW_SOURCES:
        record->listens = true;
        return sources;
    default:
        return false;
    }
}

/* Returns: false if a record is truncated; it is not read then */
static bool read_records(PacketMld *mld, const uint8_t *icmp, size_t len)
{
    unsigned count = len < V2_HEAD_LEN ? 0 : get_be16(icmp + 6);
    size_t at = V2_HEAD_LEN;

    for (unsigned i = 0; i < count; i++) {
        size_t record_len;

        if (len < at + RECORD_LEN) {
            return false;
        }
        record_len = RECORD_LEN + get_be16(icmp + at + 2) * 16u +
                     icmp[at + 1] * 4u;
        if (mld->records < PACKET_MLD_RECORDS_MAX) {
            mld->records += read_record(&mld->record[mld->records], icmp + at);
        }
        if (len - at < record_len) {
            return false;
        }
        at += record_len;
    }
    return len >= V2_HEAD_LEN;
}

/* RFC 3810 sections 5.1.3, 8.1 */
static bool read_query(PacketMld *mld, const uint8_t *icmp, size_t len)
{
    uint32_t code;

    if (len < V1_LEN) {
        return false;
    }
    code = get_be16(icmp + 4);
    mld->is_v1 = len < V2_QUERY_LEN;
    mld->delay = mld->is_v1 || code < 0x8000
                 ? code
                 : ((code & 0xfff) | 0x1000) << ((code >> 12 & 7) + 3);
    memcpy(&mld->group, icmp + 8, sizeof(mld->group));
    return true;
}

static bool read_message(PacketMld *mld, const uint8_t *icmp, size_t len)
{
    mld->type = icmp[0];
    mld->records = 0;
    switch (mld->type) {
    case PACKET_MLD_QUERY:
        return read_query(mld, icmp, len);
    case PACKET_MLD_REPORT:
    case PACKET_MLD_DONE:
        if (len < V1_LEN) {
            return false;
        }
        memcpy(&mld->record[0].group, icmp + 8, sizeof(struct in6_addr));
        mld->record[0].listens = mld->type == PACKET_MLD_REPORT;
        mld->records = 1;
        return true;
    case PACKET_MLD2_REPORT:
        return read_records(mld, icmp, len);
    default:
        return false;
    }
}

bool packet_mld_parse(PacketMld *mld, const void *packet, size_t len)
{
    const uint8_t *p = packet;
    size_t at = message(p, len);
    PacketIp6 ip;

    if (!at || !packet_ip6_parse(&ip, p, len) || !has_alert(p) ||
        !(IN6_IS_ADDR_LINKLOCAL(&ip.src) || IN6_IS_ADDR_UNSPECIFIED(&ip.src))) {
        return false;
    }
    len = PACKET_IP6_LEN + ip.payload;
    mld->src = ip.src;
    mld->dst = ip.dst;
    return len >= at + 4 && is_right(&ip, p + at, len - at) &&
           read_message(mld, p + at, len - at);
}

bool packet_mld_is_beyond_link(const void *packet, size_t len)
{
    const uint8_t *p = packet;
    size_t at = message(p, len);
    PacketMld mld;

    if (!at || p[at] == PACKET_MLD_QUERY) {
        return false;
    }
    read_message(&mld, p + at, len - at);
    for (unsigned i = 0; i < mld.records; i++) {
        if (packet_mld_forwards(&mld.record[i].group)) {
            return true;
        }
    }
    return false;
}

bool packet_mld_is_query(const void *packet, size_t len)
{
    const uint8_t *p = packet;
    size_t at = message(p, len);

    return at && p[at] == PACKET_MLD_QUERY;
}

/*
 * Writes what is around the message of @len octets, which is complete but for
 * its checksum. Returns: length of the packet.
 */
static size_t build(uint8_t *p, const struct in6_addr *src,
                    const struct in6_addr *dst, size_t len)
{
    static const uint8_t alert[HOPOPTS_LEN] = {
        PACKET_PROTO_ICMP6, 0, ALERT_TYPE, ALERT_LEN, 0, 0, /* PadN: */ 1, 0,
    };
    PacketIp6 ip = {
        .src = *src,
        .dst = *dst,
        .next = PACKET_PROTO_HOPOPTS,
        .hops = 1,
        .payload = HOPOPTS_LEN + len,
    };
    uint8_t *icmp = p + MESSAGE_AT;
    uint32_t sum = packet_sum_pseudo6(src, dst, PACKET_PROTO_ICMP6, len);

    packet_ip6_build(p, &ip);
    memcpy(p + PACKET_IP6_LEN, alert, sizeof(alert));
    put_be16(icmp + 2, packet_sum_fold(packet_sum_add(sum, icmp, len)));
    return MESSAGE_AT + len;
}

size_t packet_mld_build_query(void *buf, const struct in6_addr *src,
                              uint16_t delay)
{
    uint8_t *icmp = (uint8_t *)buf + MESSAGE_AT;

    memset(icmp, 0, V2_QUERY_LEN);
    icmp[0] = PACKET_MLD_QUERY;
    put_be16(icmp + 4, delay);
    icmp[24] = 2;               /* robustness variable */
    icmp[25] = 125;             /* query interval, s */
    return build(buf, src, &packet_ip6_all_nodes, V2_QUERY_LEN);
}

size_t packet_mld_build_report(void *buf, const struct in6_addr *src,
                               const struct in6_addr *groups, unsigned count,
                               bool joins)
{
    uint8_t *icmp = (uint8_t *)buf + MESSAGE_AT;
    size_t len = V2_HEAD_LEN + count * RECORD_LEN;

    memset(icmp, 0, len);
    icmp[0] = PACKET_MLD2_REPORT;
    put_be16(icmp + 6, count);
    for (unsigned i = 0; i < count; i++) {
        uint8_t *record = icmp + V2_HEAD_LEN + i * RECORD_LEN;

        record[0] = joins ? CHANGE_TO_EXCLUDE_MODE : MODE_IS_EXCLUDE;
        memcpy(record + 4, &groups[i], sizeof(groups[i]));
    }
    return build(buf, src, &packet_mld_all_routers, len);
}

size_t packet_mld_build_report1(void *buf, const struct in6_addr *src,
                                const struct in6_addr *group)
{
    uint8_t *icmp = (uint8_t *)buf + MESSAGE_AT;

    memset(icmp, 0, V1_LEN);
    icmp[0] = PACKET_MLD_REPORT;
    memcpy(icmp + 8, group, sizeof(*group));
    return build(buf, src, group, V1_LEN);
}

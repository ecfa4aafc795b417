/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IGMP, MLD, ARP and ND messages, as real senders make them; without checksums
 */
#ifndef TESTS_UNIT_HOSTVLAN_FRAMES_H
#define TESTS_UNIT_HOSTVLAN_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HV_IGMP_QUERY   0x11
#define HV_MLD_QUERY    130
#define HV_ALL_HOSTS    0xe0000001u     /* 224.0.0.1 */

static inline size_t hv_put(uint8_t *frame, size_t at, uint64_t number,
                            unsigned octets)
{
    for (unsigned i = 0; i < octets; i++) {
        frame[at + i] = number >> 8 * (octets - 1 - i) & 0xff;
    }
    return at + octets;
}

/* The Ethernet header, with tags of 802.1ad and then 802.1Q. */
static inline size_t hv_ethernet(uint8_t *frame, uint64_t dest, uint64_t source,
                                 unsigned tags, uint16_t type)
{
    size_t at = hv_put(frame, hv_put(frame, 0, dest, 6), source, 6);

    while (tags) {
        at = hv_put(frame, at, tags-- > 1 ? 0x88a80064 : 0x81000065, 4);
    }
    return hv_put(frame, at, type, 2);
}

/*
 * An IGMP query of version 1 to 3 about @group (0: all) and, in version 3, its
 * sources.  Returns: its length.
 */
static inline size_t hv_igmp_query(uint8_t *frame, uint64_t source,
                                   unsigned tags, unsigned version,
                                   uint32_t group, unsigned sources)
{
    uint32_t to = group ? group : HV_ALL_HOSTS;
    unsigned header = version > 1 ? 24 : 20;
    unsigned igmp = version > 2 ? 12 + 4 * sources : 8;
    size_t at = hv_ethernet(frame, 0x01005e000000ull | (to & 0x7fffff), source,
                            tags, 0x0800);

    memset(frame + at, 0, header + igmp);
    hv_put(frame, at, 0x40 + header / 4, 1);
    hv_put(frame, at + 2, header + igmp, 2);
    hv_put(frame, at + 8, 0x0102, 2);           /* TTL, protocol */
    hv_put(frame, at + 16, to, 4);
    if (version > 1) {
        hv_put(frame, at + 20, 0x94040000, 4);  /* Router Alert */
    }
    at += header;
    hv_put(frame, at, HV_IGMP_QUERY, 1);
    hv_put(frame, at + 1, version > 1 ? 100 : 0, 1);
    hv_put(frame, at + 4, group, 4);
    if (version > 2) {
        hv_put(frame, at + 10, sources, 2);
    }
    return at + igmp;
}

/* An MLD query of version 1 or 2 about ff02::@group, 0: all. */
static inline size_t hv_mld_query(uint8_t *frame, uint64_t source,
                                  unsigned tags, unsigned version,
                                  uint32_t group, unsigned sources)
{
    unsigned mld = version > 1 ? 28 + 16 * sources : 24;
    size_t at = hv_ethernet(frame, 0x333300000000ull | (group ? group : 1),
                            source, tags, 0x86dd);

    memset(frame + at, 0, 48 + mld);
    hv_put(frame, at, 0x60, 1);
    hv_put(frame, at + 4, 8 + mld, 2);
    hv_put(frame, at + 6, 0x0001, 2);           /* hop-by-hop, hop limit */
    hv_put(frame, at + 8, 0xfe80, 2);
    hv_put(frame, at + 16, source, 8);
    hv_put(frame, at + 24, 0xff02, 2);
    hv_put(frame, at + 36, group ? group : 1, 4);
    hv_put(frame, at + 40, 58, 1);
    hv_put(frame, at + 42, 0x050200000100ull, 6);       /* Router Alert, PadN */
    at += 48;
    hv_put(frame, at, HV_MLD_QUERY, 1);
    if (group) {
        hv_put(frame, at + 8, 0xff02, 2);
        hv_put(frame, at + 20, group, 4);
    }
    if (version > 1) {
        hv_put(frame, at + 26, sources, 2);
    }
    return at + mld;
}

/* A broadcast ARP message.  Returns: its length. */
static inline size_t hv_arp(uint8_t *frame, size_t at, unsigned operation,
                            uint64_t sha, uint32_t spa, uint32_t tpa)
{
    at = hv_put(frame, at, 0x000108000604ull, 6);
    at = hv_put(frame, at, operation, 2);
    at = hv_put(frame, hv_put(frame, at, sha, 6), spa, 4);
    return hv_put(frame, hv_put(frame, at, 0, 6), tpa, 4);
}

/* An IPv6 header, between addresses of four words each. */
static inline size_t hv_ip6(uint8_t *frame, size_t at, uint8_t proto,
                            size_t payload, const uint32_t *source,
                            const uint32_t *dest)
{
    at = hv_put(frame, hv_put(frame, at, 0x60000000, 4), payload, 2);
    at = hv_put(frame, at, proto << 8 | 255, 2);
    for (unsigned i = 0; i < 4; i++) {
        hv_put(frame, at + 16 + 4 * i, dest[i], 4);
        hv_put(frame, at + 4 * i, source[i], 4);
    }
    return at + 32;
}

/* @header octets of an ND message about @target, and @options of an address. */
static inline size_t hv_nd(uint8_t *frame, size_t at, uint8_t type,
                           size_t header, const uint32_t *target,
                           unsigned options, uint8_t option, uint64_t mac)
{
    memset(frame + at, 0, header);
    hv_put(frame, at, type, 1);
    for (unsigned i = 0; header >= 24 && i < 4; i++) {
        hv_put(frame, at + 8 + 4 * i, target[i], 4);
    }
    at += header;
    while (options--) {
        at = hv_put(frame, hv_put(frame, at, option << 8 | 1, 2), mac, 6);
    }
    return at;
}

#endif /* TESTS_UNIT_HOSTVLAN_FRAMES_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A frame of a guest: it passes only with the guest's own addresses
 *
 * The first octet selects the listed addresses (bit 0: IPv4, bit 1: IPv6; bit
 * 4: prefixes of 24 and 64 bits), the rest is the frame after its two MAC
 * addresses, which are valid.
 */
#include <string.h>

#include "net/hostvlan/group.h"
#include "net/hostvlan/offers.h"
#include "net/hostvlan/sender.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAC     0x020000000001ull
#define IP4     0xc0000201u

static const uint8_t mac[6] = { 0x02, 0, 0, 0, 0, 0x01 };
static const uint8_t ip4[4] = { 192, 0, 2, 1 };
static const uint8_t ip6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };
static const uint8_t local[16] = {
    0xfe, 0x80, [11] = 0xff, 0xfe, [15] = 0x01
};
static const uint8_t zero[16];

static bool is(const uint8_t *a, const uint8_t *b, size_t len)
{
    return !memcmp(a, b, len);
}

/* Is it the listed address, or in the listed prefix? */
static bool is_own4(const HostvlanAddresses *own, const uint8_t *a)
{
    return own->num_ip4 && is(a, ip4, own->host_bits4[0] ? 3 : 4);
}

static bool is_own6(const HostvlanAddresses *own, const uint8_t *a)
{
    return own->num_ip6 && is(a, ip6, own->host_bits6[0] ? 8 : 16);
}

/* An independent parser for frames of the simplest form. */
static void check_passed(const uint8_t *f, size_t len,
                         const HostvlanAddresses *own)
{
    unsigned type = f[12] << 8 | f[13];
    bool listed = own->num_ip4 || own->num_ip6;

    if (type == 0x0800 && listed) {
        g_assert(is(f + 26, zero, 4) || is_own4(own, f + 26));
    }
    if (type == 0x0806) {
        g_assert(is(f + 22, mac, 6));
        g_assert(!listed || is(f + 28, zero, 4) || is_own4(own, f + 28));
    }
    if (type == 0x86dd && listed) {
        g_assert(is(f + 22, zero, 16) || is(f + 22, local, 16) ||
                 is_own6(own, f + 22));
    }
    /* An advertisement with no headers before it and one option. */
    if (type == 0x86dd && f[20] == 58 && len >= 86 && f[54] == 136) {
        size_t payload = f[18] << 8 | f[19];

        g_assert(!listed || is(f + 62, local, 16) || is_own6(own, f + 62));
        g_assert((payload && payload < 32) || f[78] != 2 ||
                 is(f + 80, mac, 6));
    }
}

/* A client's message without headers before it names nobody else. */
static void check_dhcp(const uint8_t *f, size_t len, size_t size,
                       const HostvlanAddresses *own)
{
    bool listed = own->num_ip4 || own->num_ip6;
    size_t fixed = 0, checksum;
    enum hostvlan_reason reason =
        hostvlan_sender_dhcp(f, len, size, MAC, own, &fixed, &checksum);
    uint8_t vnet[10] = { 1 };

    g_assert(reason == HOSTVLAN_PASSED || reason == HOSTVLAN_FORGED_ADDRESS ||
             reason == HOSTVLAN_MALFORMED);
    if (reason != HOSTVLAN_PASSED) {
        return;
    }
    g_assert(fixed <= len && (!checksum || checksum + 2 <= fixed));
    vnet[6] = checksum;
    vnet[7] = checksum >> 8;
    g_assert(!checksum || hostvlan_sender_offload(vnet, fixed, checksum));
    if ((f[12] << 8 | f[13]) == 0x0800 && f[14] == 0x45 && f[23] == 17 &&
        !(f[20] & 0x3f) && !f[21] && (f[16] << 8 | f[17]) >= 24 && len >= 38 &&
        (f[36] << 8 | f[37]) == 67) {
        g_assert(checksum == 40 && fixed >= 282);
        g_assert(is(f + 70, mac, 6) && is(f + 66, zero, 4));
        g_assert(!listed || is(f + 54, zero, 4) || is_own4(own, f + 54));
    }
}

/* As a frame to a group: a received query is also a sent query. */
static void check_group(const uint8_t *data, size_t len, size_t size)
{
    struct hostvlan_frame sent = { .data = data, .len = len, .size = len };
    struct hostvlan_frame received = {
        .data = data, .len = MIN(len, HOSTVLAN_QUERY_LEN), .size = size,
    };
    static const uint64_t to[] = {
        0x01005e000001ull, 0x333300000001ull, 0x01005e020304ull,
    };
    enum hostvlan_reason reason;
    uint32_t fixed = 0;

    reason = hostvlan_query_sent(&sent, &fixed);
    g_assert(reason == HOSTVLAN_PASSED || reason == HOSTVLAN_QUERY ||
             reason == HOSTVLAN_MALFORMED);
    g_assert(reason != HOSTVLAN_PASSED || fixed >= HOSTVLAN_ETH_LEN);
    for (size_t i = 0; i < G_N_ELEMENTS(to); i++) {
        if (hostvlan_query_received(&received, size, to[i])) {
            g_assert(reason == HOSTVLAN_QUERY);
            g_assert(size <= 22 + 76 + 16 * HOSTVLAN_QUERY_SOURCES_MAX);
        }
    }
}

/* A frame that passes offers no service, as far as a simple parser sees. */
static void check_offer(const uint8_t *f, size_t len, size_t size,
                        uint32_t guards)
{
    struct hostvlan_frame frame = { .data = f, .len = len, .size = size };
    enum hostvlan_reason reason;
    uint32_t fixed = 0;
    unsigned type, payload;

    if (!guards) {
        return;
    }
    reason = hostvlan_offered(&frame, guards, &fixed);
    g_assert(reason == HOSTVLAN_PASSED || reason == HOSTVLAN_MALFORMED ||
             (reason == HOSTVLAN_RA_GUARD && guards & HOSTVLAN_OFFER_ROUTER) ||
             (reason == HOSTVLAN_DHCP_GUARD && guards & HOSTVLAN_OFFER_DHCP));
    if (reason != HOSTVLAN_PASSED || len < 63) {
        return;
    }
    g_assert(fixed >= HOSTVLAN_ETH_LEN);
    type = f[12] << 8 | f[13];
    payload = f[18] << 8 | f[19];
    if (type == 0x86dd && payload > 8 && guards & HOSTVLAN_OFFER_ROUTER) {
        g_assert(f[20] != 58 || f[54] != 134);
        /* In the first of fragments. */
        g_assert(f[20] != 44 || f[54] != 58 || f[56] || f[57] & 0xf8 ||
                 f[62] != 134);
    }
    if (type == 0x86dd && payload >= 8 && guards & HOSTVLAN_OFFER_DHCP) {
        g_assert(f[20] != 17 || f[56] != 2 || f[57] != 34);
    }
    if (type == 0x0800 && guards & HOSTVLAN_OFFER_DHCP && f[14] == 0x45 &&
        (f[16] << 8 | f[17]) >= 28) {
        g_assert(f[23] != 17 || f[20] & 0x1f || f[21] || f[36] || f[37] != 68);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    HostvlanAddresses own = { .ip4 = { IP4 }, .ip6 = { { 0x20010db8u } } };
    size_t whole, len, fixed = 0;
    g_autofree uint8_t *f = NULL;
    enum hostvlan_reason reason;
    uint8_t vnet[10] = { 0 };

    if (size < 1) {
        return 0;
    }
    own.ip6[0][3] = 1;
    own.num_ip4 = data[0] & 1;
    own.num_ip6 = data[0] >> 1 & 1;
    if (data[0] >> 4 & 1) {
        own.ip4[0] &= ~0xffu;
        own.host_bits4[0] = 8;
        own.ip6[0][3] = 0;
        own.host_bits6[0] = 64;
    }
    whole = 12 + size - 1;
    len = MIN(whole, HOSTVLAN_LOOK_LEN);
    f = g_malloc(len);
    memcpy(f, mac, 6);
    memcpy(f + 6, mac, 6);
    memcpy(f + 12, data + 1, len - 12);
    check_group(f, len, whole);
    check_offer(f, len, whole, data[0] >> 2 & 3);
    reason = hostvlan_sender_check(f, len, whole, MAC, &own, &fixed);
    g_assert(reason == HOSTVLAN_PASSED || reason == HOSTVLAN_FORGED_ADDRESS ||
             reason == HOSTVLAN_MALFORMED);
    if (reason == HOSTVLAN_PASSED) {
        g_assert(fixed >= 14 && fixed <= len);
        check_passed(f, len, &own);
        check_dhcp(f, len, whole, &own);
    }
    memcpy(vnet, data, MIN(size, sizeof(vnet)));
    hostvlan_sender_offload(vnet, fixed, 0);
    return 0;
}

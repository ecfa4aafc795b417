/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a DHCP client speak only for itself? */

#include <glib.h>
#include <string.h>

#include "net/hostvlan/sender.h"
#include "tests/fixtures/hostvlan-frames.h"

#define MAC             0x020000000001ull
#define OTHER_MAC       0x020000000002ull
#define IP4             0xc0000201u     /* 192.0.2.1 */
#define OTHER_IP4       0xc0000202u

#define PASS            HOSTVLAN_PASSED
#define FORGED          HOSTVLAN_FORGED_ADDRESS
#define MALFORMED       HOSTVLAN_MALFORMED

#define UDP4            34
#define UDP6            54
#define DISCOVER        1
#define DECLINE         4
#define RELEASE         7
#define SOLICIT6        1
#define RELEASE6        8
#define DECLINE6        9

static const uint32_t local[4] = { 0xfe800000, 0, 0x000000ff, 0xfe000001 };

static const HostvlanAddresses own = {
    .num_ip4 = 1, .ip4 = { IP4 },
    .num_ip6 = 2, .ip6 = { { 0x20010db8u, 0, 0, 1 }, { 0x20010db8u, 1 } },
    .host_bits6 = { 0, 64 },
};

typedef struct Message {
    uint8_t data[4096];
    size_t len, fixed, checksum;
} Message;

static void put(Message *m, uint64_t number, unsigned octets)
{
    m->len = hv_put(m->data, m->len, number, octets);
}

/* --- what is said of them ------------------------------------------------ */

static enum hostvlan_reason check_as(Message *m,
                                     const HostvlanAddresses *addresses)
{
    size_t len = MIN(m->len, HOSTVLAN_LOOK_LEN);
    /* A copy of the exact length, so that a sanitizer finds overruns. */
    g_autofree uint8_t *copy = g_memdup2(m->data, len);
    enum hostvlan_reason reason =
        hostvlan_sender_check(copy, len, m->len, MAC, addresses, &m->fixed);

    g_assert_cmpint(reason, ==, PASS);
    return hostvlan_sender_dhcp(copy, len, m->len, MAC, addresses, &m->fixed,
                                &m->checksum);
}

/* With the lengths of IP and UDP that the message has. */
static enum hostvlan_reason check(Message *m)
{
    bool is4 = m->data[12] == 8;
    unsigned udp = is4 ? UDP4 : UDP6;

    hv_put(m->data, is4 ? 16 : 18, m->len - (is4 ? 14 : UDP6), 2);
    hv_put(m->data, udp + 4, m->len - udp, 2);
    return check_as(m, &own);
}

/* --- DHCPv4 -------------------------------------------------------------- */

/* Without options; they may follow. */
static Message bootp(uint64_t chaddr, uint32_t ciaddr)
{
    Message m = { .len = UDP4 + 8 };

    hv_ethernet(m.data, 0xffffffffffffull, MAC, 0, 0x0800);
    hv_put(m.data, 14, 0x45, 1);
    hv_put(m.data, 23, 17, 1);
    hv_put(m.data, 30, 0xffffffff, 4);
    hv_put(m.data, UDP4, 68 << 16 | 67, 4);
    put(&m, 0x01010600, 4);
    m.len += 8;
    put(&m, ciaddr, 4);
    m.len += 12;
    put(&m, chaddr, 6);
    m.len += 10 + 64 + 128;
    put(&m, 0x63825363, 4);
    return m;
}

static Message dhcp4(uint8_t type, uint64_t chaddr, uint32_t ciaddr)
{
    Message m = bootp(chaddr, ciaddr);

    put(&m, 0x350100 | type, 3);
    return m;
}

static void put_client(Message *m, uint8_t type, uint64_t mac)
{
    put(m, 0x3d0700 | type, 3);
    put(m, mac, 6);
}

static enum hostvlan_reason plain(uint8_t type, uint64_t chaddr,
                                  uint32_t ciaddr)
{
    Message m = dhcp4(type, chaddr, ciaddr);

    put(&m, 0xff, 1);
    return check(&m);
}

static void test_header4(void)
{
    for (uint8_t type = 1; type <= 8; type++) {
        g_assert_cmpint(plain(type, MAC, 0), ==, PASS);
        g_assert_cmpint(plain(type, MAC, IP4), ==, PASS);
        g_assert_cmpint(plain(type, OTHER_MAC, 0), ==, FORGED);
        g_assert_cmpint(plain(type, MAC ^ 1ull << 40, 0), ==, FORGED);
        g_assert_cmpint(plain(type, MAC, OTHER_IP4), ==, FORGED);
    }
    /* A reply, a network other than Ethernet, a relay agent. */
    for (unsigned at = 0; at < 3; at++) {
        Message m = dhcp4(DISCOVER, MAC, 0);

        m.data[UDP4 + 8 + at]++;
        g_assert_cmpint(check(&m), ==, FORGED);
    }
    for (unsigned at = 24; at < 28; at++) {
        Message m = dhcp4(DISCOVER, MAC, 0);

        m.data[UDP4 + 8 + at]++;
        g_assert_cmpint(check(&m), ==, FORGED);
    }
    /* No cookie: whatever follows, it is not DHCP. */
    for (unsigned at = 236; at < 240; at++) {
        Message m = dhcp4(DISCOVER, MAC, 0);

        m.data[UDP4 + 8 + at]++;
        g_assert_cmpint(check(&m), ==, MALFORMED);
    }
}

static void test_other_ports(void)
{
    Message m = dhcp4(DISCOVER, OTHER_MAC, OTHER_IP4);

    g_assert_cmpint(check(&m), ==, FORGED);
    m.data[UDP4 + 3] = 69;
    g_assert_cmpint(check(&m), ==, PASS);
    g_assert_cmpuint(m.checksum, ==, 0);
    /* The source port is free: a forwarded port, an agent. */
    m.data[UDP4 + 3] = 67;
    hv_put(m.data, UDP4, 40000, 2);
    g_assert_cmpint(check(&m), ==, FORGED);
    /* TCP. */
    m.data[23] = 6;
    g_assert_cmpint(check(&m), ==, PASS);
}

static enum hostvlan_reason client(uint8_t type, uint64_t mac)
{
    Message m = dhcp4(DISCOVER, MAC, 0);

    put_client(&m, type, mac);
    put(&m, 0xff, 1);
    return check(&m);
}

static void test_client_identifier(void)
{
    Message m = dhcp4(DISCOVER, MAC, 0);

    g_assert_cmpint(client(1, MAC), ==, PASS);
    g_assert_cmpint(client(1, OTHER_MAC), ==, FORGED);
    /* A name. */
    g_assert_cmpint(client(0, OTHER_MAC), ==, PASS);
    /* Behind pads, twice, too long, too short. */
    put(&m, 0, 5);
    put_client(&m, 1, MAC);
    g_assert_cmpint(check(&m), ==, PASS);
    put_client(&m, 1, OTHER_MAC);
    g_assert_cmpint(check(&m), ==, FORGED);
    m = dhcp4(DISCOVER, MAC, 0);
    put_client(&m, 1, MAC);
    put(&m, 0, 1);
    m.data[m.len - 9] = 8;
    g_assert_cmpint(check(&m), ==, FORGED);
    m = dhcp4(DISCOVER, MAC, 0);
    put(&m, 0x3d0101, 3);
    g_assert_cmpint(check(&m), ==, MALFORMED);
    /* What is behind the end is none. */
    m = dhcp4(DISCOVER, MAC, 0);
    put(&m, 0xff, 1);
    put_client(&m, 1, OTHER_MAC);
    g_assert_cmpint(check(&m), ==, PASS);
}

/* @first: put before the type of the message. */
static enum hostvlan_reason requested(uint8_t type, uint32_t ip4, bool first)
{
    Message m = first ? bootp(MAC, 0) : dhcp4(type, MAC, 0);

    put(&m, 0x3204, 2);
    put(&m, ip4, 4);
    if (first) {
        put(&m, 0x350100 | type, 3);
    }
    return check(&m);
}

static void test_requested(void)
{
    for (int first = 0; first < 2; first++) {
        /* It had that address elsewhere, or the server has offered it. */
        g_assert_cmpint(requested(DISCOVER, OTHER_IP4, first), ==, PASS);
        g_assert_cmpint(requested(3, OTHER_IP4, first), ==, PASS);
        g_assert_cmpint(requested(DECLINE, IP4, first), ==, PASS);
        g_assert_cmpint(requested(DECLINE, OTHER_IP4, first), ==, FORGED);
        g_assert_cmpint(requested(RELEASE, OTHER_IP4, first), ==, FORGED);
    }
}

/* A client identifier of RFC 4361. */
static enum hostvlan_reason duid4(uint8_t type, unsigned duid, uint64_t mac)
{
    Message m = dhcp4(type, MAC, IP4);
    size_t begin;

    put(&m, 0x3d00ff, 3);
    begin = m.len - 1;
    put(&m, 7, 4);
    put(&m, duid << 16 | 1, 4);
    if (duid == 1) {
        put(&m, 0x12345678, 4);
    }
    put(&m, mac, 6);
    m.data[begin - 1] = m.len - begin;
    return check(&m);
}

static void test_duid4(void)
{
    for (unsigned duid = 1; duid <= 3; duid++) {
        bool has_mac = duid != 2;       /* 2: of an enterprise */

        g_assert_cmpint(duid4(DISCOVER, duid, OTHER_MAC), ==, PASS);
        g_assert_cmpint(duid4(RELEASE, duid, MAC), ==, PASS);
        g_assert_cmpint(duid4(RELEASE, duid, OTHER_MAC), ==,
                        has_mac ? FORGED : PASS);
        g_assert_cmpint(duid4(DECLINE, duid, OTHER_MAC), ==,
                        has_mac ? FORGED : PASS);
    }
}

/* What a server could read in another way than we do. */
static void test_ambiguous(void)
{
    Message m = dhcp4(DISCOVER, MAC, 0), whole;

    put(&m, 0x340103, 3);       /* more options in "file" and "sname" */
    g_assert_cmpint(check(&m), ==, MALFORMED);
    m = dhcp4(DISCOVER, MAC, 0);
    put(&m, 0x3504, 2);         /* breaks off */
    g_assert_cmpint(check(&m), ==, MALFORMED);
    m = dhcp4(DISCOVER, MAC, 0);
    put(&m, 0x35, 1);
    g_assert_cmpint(check(&m), ==, MALFORMED);

    /* The lengths of IP and UDP differ. */
    whole = dhcp4(DISCOVER, MAC, 0);
    put(&whole, 0xff, 1);
    g_assert_cmpint(check(&whole), ==, PASS);
    m = whole;
    m.data[17]--;
    g_assert_cmpint(check_as(&m, &own), ==, MALFORMED);
    m = whole;
    m.data[UDP4 + 5]--;
    g_assert_cmpint(check_as(&m, &own), ==, MALFORMED);
    m.data[UDP4 + 5] += 2;
    g_assert_cmpint(check_as(&m, &own), ==, MALFORMED);
    /* Padding of Ethernet is no matter. */
    m = whole;
    put(&m, 0x3d0701, 3);
    g_assert_cmpint(check_as(&m, &own), ==, PASS);

    /* The first fragment, and a later one, which is of no use alone. */
    m = whole;
    m.data[20] = 0x20;
    g_assert_cmpint(check(&m), ==, MALFORMED);
    m.data[21] = 30;
    g_assert_cmpint(check(&m), ==, PASS);
    /* A fragment without ports. */
    m = whole;
    m.data[20] = 0x20;
    m.len = UDP4 + 3;
    hv_put(m.data, 16, 23, 2);
    g_assert_cmpint(check_as(&m, &own), ==, MALFORMED);
}

/* Cut at any length, it does not pass; nor does it read beyond. */
static void test_cut(void)
{
    Message whole = dhcp4(RELEASE, MAC, IP4);

    put_client(&whole, 1, MAC);
    put(&whole, 0x3204, 2);
    put(&whole, IP4, 4);
    put(&whole, 0xff, 1);
    g_assert_cmpint(check(&whole), ==, PASS);
    for (size_t len = UDP4; len < whole.len; len++) {
        Message m = whole;

        m.len = len;
        g_assert_cmpint(check_as(&m, &own), ==, MALFORMED);
    }
}

/* More options than are looked at. */
static void test_long(void)
{
    Message m = dhcp4(DISCOVER, MAC, 0);

    while (m.len < HOSTVLAN_LOOK_LEN) {
        put(&m, 0, 1);
    }
    g_assert_cmpint(check(&m), ==, PASS);
    put_client(&m, 1, OTHER_MAC);
    g_assert_cmpint(check(&m), ==, MALFORMED);
}

/* The table has no addresses: only MAC addresses are compared. */
static void test_no_addresses(void)
{
    Message m = dhcp4(RELEASE, MAC, OTHER_IP4);

    g_assert_cmpint(check(&m), ==, FORGED);
    g_assert_cmpint(check_as(&m, NULL), ==, PASS);
    put_client(&m, 1, OTHER_MAC);
    check(&m);
    g_assert_cmpint(check_as(&m, NULL), ==, FORGED);
}

/* --- DHCPv6 -------------------------------------------------------------- */

static Message dhcp6(uint8_t type)
{
    Message m = { .len = 0 };
    size_t at = hv_ethernet(m.data, 0x333300010002ull, MAC, 0, 0x86dd);

    hv_ip6(m.data, at, 17, 0, local, local);
    hv_put(m.data, UDP6, 546 << 16 | 547, 4);
    m.len = UDP6 + 8;
    put(&m, (uint32_t)type << 24 | 0x123456, 4);
    return m;
}

static void put_duid(Message *m, unsigned duid, uint64_t mac)
{
    put(m, 1, 2);
    put(m, duid == 1 ? 14 : 10, 2);
    put(m, duid << 16 | 1, 4);
    if (duid == 1) {
        put(m, 0x12345678, 4);
    }
    put(m, mac, 6);
}

/* An address or prefix of 2001:db8::/32, in an identity association. */
static void put_ia(Message *m, unsigned ia, uint32_t second, uint32_t last)
{
    unsigned header = ia == 4 ? 4 : 12, content = ia == 25 ? 25 : 24;

    put(m, ia, 2);
    put(m, header + 4 + content, 2);
    m->len += header;
    put(m, ia == 25 ? 26 : 5, 2);
    put(m, content, 2);
    m->len += ia == 25 ? 9 : 0;
    put(m, 0x20010db8, 4);
    put(m, second, 4);
    put(m, 0, 4);
    put(m, last, 4);
    m->len += ia == 25 ? 0 : 8;
}

static enum hostvlan_reason with_duid(uint8_t type, unsigned duid, uint64_t mac)
{
    Message m = dhcp6(type);

    put_duid(&m, duid, mac);
    return check(&m);
}

static void test_duid6(void)
{
    for (unsigned duid = 1; duid <= 3; duid++) {
        bool has_mac = duid != 2;

        /* Its first NIC has given the DUID, and this is its second. */
        g_assert_cmpint(with_duid(SOLICIT6, duid, OTHER_MAC), ==, PASS);
        for (unsigned type = RELEASE6; type <= DECLINE6; type++) {
            g_assert_cmpint(with_duid(type, duid, MAC), ==, PASS);
            g_assert_cmpint(with_duid(type, duid, OTHER_MAC), ==,
                            has_mac ? FORGED : PASS);
        }
    }
}

static enum hostvlan_reason with_ia(uint8_t type, unsigned ia, uint32_t second,
                                    uint32_t last)
{
    Message m = dhcp6(type);

    put_duid(&m, 2, 0);
    put_ia(&m, ia, 0, ia == 25 ? 0 : 1);
    hv_put(m.data, m.len - (ia == 25 ? 12 : 20), ia == 25, 4);
    put_ia(&m, ia, second, last);
    return check(&m);
}

static void test_ia(void)
{
    for (unsigned type = RELEASE6; type <= DECLINE6; type++) {
        for (unsigned ia = 3; ia <= 4; ia++) {
            g_assert_cmpint(with_ia(type, ia, 0, 1), ==, PASS);
            g_assert_cmpint(with_ia(type, ia, 0, 2), ==, FORGED);
        }
        g_assert_cmpint(with_ia(type, 25, 1, 0), ==, PASS);
        g_assert_cmpint(with_ia(type, 25, 2, 0), ==, FORGED);
    }
    g_assert_cmpint(with_ia(SOLICIT6, 3, 0, 2), ==, PASS);
}

/* Options that leave their association, or the message. */
static void test_ambiguous6(void)
{
    Message m = dhcp6(RELEASE6), whole;
    size_t ia = m.len;

    put_ia(&m, 3, 0, 1);
    g_assert_cmpint(check(&m), ==, PASS);
    whole = m;
    m.data[ia + 19]++;          /* the address' option */
    put(&m, 0, 5);
    g_assert_cmpint(check(&m), ==, MALFORMED);
    m = whole;
    m.data[ia + 3]++;           /* the association */
    g_assert_cmpint(check(&m), ==, MALFORMED);
    m.data[ia + 3] = 11;        /* is shorter than its header */
    g_assert_cmpint(check(&m), ==, MALFORMED);
    m = whole;
    m.data[ia + 3] = 12;        /* the address is behind it */
    m.data[ia + 16 + 4 + 15] = 2;
    g_assert_cmpint(check(&m), ==, FORGED);
    for (size_t len = UDP6; len < whole.len; len++) {
        m = whole;
        m.len = len;
        g_assert_cmpint(check_as(&m, &own), ==, MALFORMED);
    }
}

/* Messages with those of others in them. */
static void test_relays6(void)
{
    for (unsigned type = 1; type < 40; type++) {
        Message m = dhcp6(type);

        g_assert_cmpint(check(&m), ==, type == 12 || type == 13 || type == 20 ?
                        FORGED : PASS);
    }
}

/* --- checksum offload ---------------------------------------------------- */

static bool offload(const Message *m, unsigned offset)
{
    uint8_t vnet[10] = { 1, [6] = offset & 0xff, [7] = offset >> 8 };

    return hostvlan_sender_offload(vnet, m->fixed, m->checksum);
}

/* UDP's checksum may change, what has been checked may not. */
static void test_offload(void)
{
    Message m = dhcp4(RELEASE, MAC, IP4);

    put(&m, 0xff, 1);
    put(&m, 0, 8);
    g_assert_cmpint(check(&m), ==, PASS);
    for (unsigned at = 0; at < m.len; at++) {
        g_assert_cmpint(offload(&m, at), ==,
                        at == UDP4 + 6 || at >= m.len - 8);
    }
    m = dhcp6(RELEASE6);
    put_ia(&m, 3, 0, 1);
    g_assert_cmpint(check(&m), ==, PASS);
    for (unsigned at = 0; at < m.len; at++) {
        g_assert_cmpint(offload(&m, at), ==, at == UDP6 + 6);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hostvlan/dhcp/header4", test_header4);
    g_test_add_func("/hostvlan/dhcp/other-ports", test_other_ports);
    g_test_add_func("/hostvlan/dhcp/client-identifier", test_client_identifier);
    g_test_add_func("/hostvlan/dhcp/requested", test_requested);
    g_test_add_func("/hostvlan/dhcp/duid4", test_duid4);
    g_test_add_func("/hostvlan/dhcp/ambiguous", test_ambiguous);
    g_test_add_func("/hostvlan/dhcp/cut", test_cut);
    g_test_add_func("/hostvlan/dhcp/long", test_long);
    g_test_add_func("/hostvlan/dhcp/no-addresses", test_no_addresses);
    g_test_add_func("/hostvlan/dhcp/duid6", test_duid6);
    g_test_add_func("/hostvlan/dhcp/ia", test_ia);
    g_test_add_func("/hostvlan/dhcp/ambiguous6", test_ambiguous6);
    g_test_add_func("/hostvlan/dhcp/relays6", test_relays6);
    g_test_add_func("/hostvlan/dhcp/offload", test_offload);
    return g_test_run();
}

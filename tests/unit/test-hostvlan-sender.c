/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a frame name only its sender's addresses? */

#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "net/hostvlan/sender.h"

#define MAC             0x020000000001ull
#define OTHER_MAC       0x020000000002ull
#define IP4             "192.0.2.1"
#define OTHER_IP4       "192.0.2.2"
#define IP6             "2001:db8::1"
#define OTHER_IP6       "2001:db8::2"
#define LINK_LOCAL      "fe80::ff:fe00:1"       /* made from MAC */
#define OTHER_LOCAL     "fe80::ff:fe00:2"

/* IEEE 802.1H. */
#define BRIDGE_OUI      0x0000f8

#define PASS            HOSTVLAN_PASSED
#define FORGED          HOSTVLAN_FORGED_ADDRESS
#define MALFORMED       HOSTVLAN_MALFORMED

/* --- frames -------------------------------------------------------------- */

typedef struct Packet {
    uint8_t data[4096];
    size_t len;
} Packet;

static void put(Packet *p, const void *data, size_t len)
{
    g_assert_cmpuint(p->len + len, <=, sizeof(p->data));
    memcpy(p->data + p->len, data, len);
    p->len += len;
}

static void put8(Packet *p, uint8_t n)
{
    put(p, &n, 1);
}

static void put16(Packet *p, uint16_t n)
{
    n = htons(n);
    put(p, &n, 2);
}

static void put_mac(Packet *p, uint64_t mac)
{
    put16(p, mac >> 32);
    put16(p, mac >> 16 & 0xffff);
    put16(p, mac & 0xffff);
}

static void put_zeros(Packet *p, size_t num)
{
    while (num--) {
        put8(p, 0);
    }
}

static void put_ip(Packet *p, int family, const char *text)
{
    uint8_t addr[16];

    g_assert_cmpint(inet_pton(family, text, addr), ==, 1);
    put(p, addr, family == AF_INET ? 4 : 16);
}

static Packet ether(uint16_t type)
{
    Packet p = { .len = 0 };

    put_mac(&p, OTHER_MAC);
    put_mac(&p, MAC);
    put16(&p, type);
    return p;
}

static void put_arp(Packet *p, uint64_t sha, const char *spa, const char *tpa)
{
    static const uint8_t head[] = { 0, 1, 8, 0, 6, 4, 0, 1 };

    put(p, head, sizeof(head));
    put_mac(p, sha);
    put_ip(p, AF_INET, spa);
    put_zeros(p, 6);
    put_ip(p, AF_INET, tpa);
}

static void put_ip4(Packet *p, const char *source)
{
    put8(p, 0x45);
    put_zeros(p, 11);
    put_ip(p, AF_INET, source);
    put_ip(p, AF_INET, OTHER_IP4);
}

static void put_ip6(Packet *p, const char *source, uint8_t next,
                    uint16_t payload)
{
    put8(p, 0x60);
    put_zeros(p, 3);
    put16(p, payload);
    put8(p, next);
    put8(p, 255);
    put_ip(p, AF_INET6, source);
    put_ip(p, AF_INET6, "ff02::1");
}

/* ICMPv6, with the target if the type has one. */
static void put_icmp6(Packet *p, uint8_t type, const char *target)
{
    put8(p, type);
    put_zeros(p, type == 134 ? 15 : 7);
    if (target) {
        put_ip(p, AF_INET6, target);
    }
}

static void put_option(Packet *p, uint8_t option, uint64_t mac)
{
    put8(p, option);
    put8(p, 1);
    put_mac(p, mac);
}

/* --- what is said of them ------------------------------------------------ */

static const HostvlanAddresses own = {
    .num_ip4 = 1, .ip4 = { 0xc0000201u },
    .num_ip6 = 1, .ip6 = { { 0x20010db8u, 0, 0, 1 } },
};

static enum hostvlan_reason check_as(const Packet *p,
                                     const HostvlanAddresses *addresses,
                                     size_t *fixed)
{
    size_t len = MIN(p->len, HOSTVLAN_LOOK_LEN);
    /* A copy of the exact length, so that a sanitizer finds overruns. */
    g_autofree uint8_t *copy = g_memdup2(p->data, len);

    return hostvlan_sender_check(copy, len, p->len, MAC, addresses, fixed);
}

static enum hostvlan_reason check(const Packet *p)
{
    size_t fixed;

    return check_as(p, &own, &fixed);
}

/* A frame cut at any length never passes where the whole frame does not. */
static void assert_cut(const Packet *whole)
{
    enum hostvlan_reason reason = check(whole);

    for (size_t len = 0; len < whole->len; len++) {
        Packet p = *whole;
        enum hostvlan_reason cut;

        p.len = len;
        cut = check(&p);
        if (cut != reason && cut != MALFORMED && cut != PASS) {
            g_error("cut at %zu: %d", len, cut);
        }
    }
}

/* --- ARP ----------------------------------------------------------------- */

static enum hostvlan_reason arp(uint16_t type, uint64_t sha, const char *spa,
                                const char *tpa)
{
    Packet p = ether(type);

    put_arp(&p, sha, spa, tpa);
    assert_cut(&p);
    return check(&p);
}

static void test_arp(void)
{
    Packet p;

    for (int i = 0; i < 2; i++) {
        uint16_t type = i ? 0x8035 : 0x0806;

        g_assert_cmpint(arp(type, MAC, IP4, OTHER_IP4), ==, PASS);
        g_assert_cmpint(arp(type, MAC, IP4, IP4), ==, PASS);
        g_assert_cmpint(arp(type, MAC, OTHER_IP4, IP4), ==, FORGED);
        g_assert_cmpint(arp(type, MAC, OTHER_IP4, OTHER_IP4), ==, FORGED);
        g_assert_cmpint(arp(type, OTHER_MAC, IP4, OTHER_IP4), ==, FORGED);
        g_assert_cmpint(arp(type, 0, IP4, OTHER_IP4), ==, FORGED);
    }
    /* A probe of its own address, and of another's. */
    g_assert_cmpint(arp(0x0806, MAC, "0.0.0.0", IP4), ==, PASS);
    g_assert_cmpint(arp(0x0806, MAC, "0.0.0.0", OTHER_IP4), ==, FORGED);
    g_assert_cmpint(arp(0x0806, OTHER_MAC, "0.0.0.0", IP4), ==, FORGED);
    /* What QEMU announces after a migration. */
    g_assert_cmpint(arp(0x8035, MAC, "0.0.0.0", "0.0.0.0"), ==, PASS);

    /* Cut off; of another network; padded. */
    p = ether(0x0806);
    put_arp(&p, MAC, IP4, OTHER_IP4);
    p.len--;
    g_assert_cmpint(check(&p), ==, MALFORMED);
    p.len++;
    for (int i = 14; i < 20; i++) {
        Packet q = p;

        q.data[i] ^= 1;
        g_assert_cmpint(check(&q), ==, MALFORMED);
    }
    put_zeros(&p, 18);
    g_assert_cmpint(check(&p), ==, PASS);
}

/* --- IPv4 ---------------------------------------------------------------- */

static enum hostvlan_reason ip4(const char *source)
{
    Packet p = ether(0x0800);

    put_ip4(&p, source);
    put_zeros(&p, 8);
    assert_cut(&p);
    return check(&p);
}

static void test_ip4(void)
{
    Packet p = ether(0x0800);

    g_assert_cmpint(ip4(IP4), ==, PASS);
    g_assert_cmpint(ip4("0.0.0.0"), ==, PASS);
    g_assert_cmpint(ip4(OTHER_IP4), ==, FORGED);
    g_assert_cmpint(ip4("255.255.255.255"), ==, FORGED);
    g_assert_cmpint(ip4("224.0.0.1"), ==, FORGED);
    g_assert_cmpint(ip4("127.0.0.1"), ==, FORGED);
    put_ip4(&p, IP4);
    p.data[14] = 0x44;
    g_assert_cmpint(check(&p), ==, MALFORMED);
    p.data[14] = 0x65;
    g_assert_cmpint(check(&p), ==, MALFORMED);
    p.data[14] = 0x45;
    p.len--;
    g_assert_cmpint(check(&p), ==, MALFORMED);
    p.len++;
    /* Each fragment has a source address. */
    p.data[20] = 0x20;
    g_assert_cmpint(check(&p), ==, PASS);
    p.data[21] = 0x99;
    g_assert_cmpint(check(&p), ==, PASS);
    p.data[29]++;
    g_assert_cmpint(check(&p), ==, FORGED);
}

/* --- IPv6 and neighbour discovery ---------------------------------------- */

static enum hostvlan_reason ip6(const char *source)
{
    Packet p = ether(0x86dd);

    put_ip6(&p, source, 17, 8);
    put_zeros(&p, 8);
    assert_cut(&p);
    return check(&p);
}

static void test_ip6(void)
{
    Packet p = ether(0x86dd);

    g_assert_cmpint(ip6(IP6), ==, PASS);
    g_assert_cmpint(ip6("::"), ==, PASS);
    g_assert_cmpint(ip6(LINK_LOCAL), ==, PASS);
    g_assert_cmpint(ip6(OTHER_IP6), ==, FORGED);
    g_assert_cmpint(ip6(OTHER_LOCAL), ==, FORGED);
    g_assert_cmpint(ip6("fe80:0:0:1:0:ff:fe00:1"), ==, FORGED);
    g_assert_cmpint(ip6("2001:db8::ff:fe00:1"), ==, FORGED);
    g_assert_cmpint(ip6("::1"), ==, FORGED);
    g_assert_cmpint(ip6("ff02::1"), ==, FORGED);
    put_ip6(&p, IP6, 59, 0);
    g_assert_cmpint(check(&p), ==, PASS);
    p.data[14] = 0x40;
    g_assert_cmpint(check(&p), ==, MALFORMED);
}

/* Unspecified source or not, a message with one option. */
static enum hostvlan_reason nd(const char *source, uint8_t type,
                               const char *target, uint8_t option,
                               uint64_t mac)
{
    Packet p = ether(0x86dd);
    size_t begin;

    put_ip6(&p, source, 58, 0);
    begin = p.len;
    put_icmp6(&p, type, target);
    if (type == 137) {
        put_ip(&p, AF_INET6, OTHER_IP6);
    }
    if (option) {
        put_option(&p, option, mac);
    }
    p.data[19] = p.len - begin;
    assert_cut(&p);
    return check(&p);
}

static void test_nd(void)
{
    /* Solicitations: the source is checked, the target is free. */
    g_assert_cmpint(nd(IP6, 135, OTHER_IP6, 1, MAC), ==, PASS);
    g_assert_cmpint(nd(LINK_LOCAL, 135, OTHER_IP6, 1, MAC), ==, PASS);
    g_assert_cmpint(nd(IP6, 135, OTHER_IP6, 1, OTHER_MAC), ==, FORGED);
    g_assert_cmpint(nd(OTHER_IP6, 135, IP6, 1, MAC), ==, FORGED);
    g_assert_cmpint(nd(IP6, 135, OTHER_IP6, 0, 0), ==, PASS);
    /* Duplicate address detection, of its own address and of another's. */
    g_assert_cmpint(nd("::", 135, IP6, 0, 0), ==, PASS);
    g_assert_cmpint(nd("::", 135, LINK_LOCAL, 0, 0), ==, PASS);
    g_assert_cmpint(nd("::", 135, OTHER_IP6, 0, 0), ==, FORGED);
    g_assert_cmpint(nd("::", 135, OTHER_LOCAL, 0, 0), ==, FORGED);
    /* Advertisements: only of own addresses. */
    g_assert_cmpint(nd(IP6, 136, IP6, 2, MAC), ==, PASS);
    g_assert_cmpint(nd(IP6, 136, LINK_LOCAL, 2, MAC), ==, PASS);
    g_assert_cmpint(nd(LINK_LOCAL, 136, IP6, 0, 0), ==, PASS);
    g_assert_cmpint(nd(IP6, 136, OTHER_IP6, 2, MAC), ==, FORGED);
    g_assert_cmpint(nd(IP6, 136, IP6, 2, OTHER_MAC), ==, FORGED);
    /* Routers. */
    g_assert_cmpint(nd("::", 133, NULL, 0, 0), ==, PASS);
    g_assert_cmpint(nd(LINK_LOCAL, 133, NULL, 1, MAC), ==, PASS);
    g_assert_cmpint(nd(LINK_LOCAL, 133, NULL, 1, OTHER_MAC), ==, FORGED);
    g_assert_cmpint(nd(LINK_LOCAL, 134, NULL, 1, MAC), ==, PASS);
    g_assert_cmpint(nd(LINK_LOCAL, 134, NULL, 1, OTHER_MAC), ==, FORGED);
    g_assert_cmpint(nd(OTHER_LOCAL, 134, NULL, 1, MAC), ==, FORGED);
    /* In a redirect, the target is another router. */
    g_assert_cmpint(nd(LINK_LOCAL, 137, OTHER_LOCAL, 2, OTHER_MAC), ==, PASS);
    g_assert_cmpint(nd(OTHER_LOCAL, 137, LINK_LOCAL, 2, MAC), ==, FORGED);
    /* Not ND: octets that look like an option are none. */
    g_assert_cmpint(nd(IP6, 128, OTHER_IP6, 1, OTHER_MAC), ==, PASS);
}

static void test_nd_options(void)
{
    Packet p = ether(0x86dd);
    size_t options;

    put_ip6(&p, IP6, 58, 0);
    put_icmp6(&p, 136, IP6);
    options = p.len;
    /* An unknown option of 16 octets, followed by the wrong one. */
    put8(&p, 200);
    put8(&p, 2);
    put_zeros(&p, 14);
    put_option(&p, 2, MAC);
    g_assert_cmpint(check(&p), ==, PASS);
    put_option(&p, 2, OTHER_MAC);
    g_assert_cmpint(check(&p), ==, FORGED);
    /* Behind the packet's end the octets are padding. */
    p.data[19] = p.len - 8 - 54;
    g_assert_cmpint(check(&p), ==, PASS);
    p.data[19] = 0;
    p.len -= 8;
    /* Length 0; longer than the packet; a link-layer address of 14 octets. */
    p.data[options + 1] = 0;
    g_assert_cmpint(check(&p), ==, MALFORMED);
    p.data[options + 1] = 4;
    g_assert_cmpint(check(&p), ==, MALFORMED);
    p.data[options] = 2;
    p.data[options + 1] = 2;
    g_assert_cmpint(check(&p), ==, MALFORMED);
}

static void put_extension(Packet *p, uint8_t next)
{
    put8(p, next);
    put_zeros(p, 7);
}

/* A forged advertisement behind @num headers of a kind. */
static enum hostvlan_reason behind(uint8_t kind, unsigned num)
{
    Packet p = ether(0x86dd);

    put_ip6(&p, IP6, num ? kind : 58, 0);
    for (unsigned i = 0; i < num; i++) {
        put_extension(&p, i + 1 < num ? kind : 58);
    }
    put_icmp6(&p, 136, OTHER_IP6);
    put_option(&p, 2, MAC);
    assert_cut(&p);
    return check(&p);
}

static void test_extensions(void)
{
    static const uint8_t kinds[] = { 0, 43, 60, 135, 139, 140 };
    Packet p = ether(0x86dd);

    g_assert_cmpint(behind(0, 0), ==, FORGED);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_assert_cmpint(behind(kinds[i], 1), ==, FORGED);
        g_assert_cmpint(behind(kinds[i], 8), ==, FORGED);
        g_assert_cmpint(behind(kinds[i], 9), ==, MALFORMED);
    }
    /* An authentication header counts in words. */
    put_ip6(&p, IP6, 51, 0);
    put8(&p, 58);
    put8(&p, 4);
    put_zeros(&p, 22);
    put_icmp6(&p, 136, OTHER_IP6);
    g_assert_cmpint(check(&p), ==, FORGED);
    /* The packet ends within a header. */
    p = ether(0x86dd);
    put_ip6(&p, IP6, 0, 0);
    put8(&p, 58);
    put8(&p, 200);
    put_zeros(&p, 6);
    put_icmp6(&p, 136, OTHER_IP6);
    g_assert_cmpint(check(&p), ==, MALFORMED);
}

static enum hostvlan_reason fragment(uint16_t offset, uint8_t next,
                                     uint8_t type, bool empty)
{
    Packet p = ether(0x86dd);

    put_ip6(&p, IP6, 44, 0);
    put8(&p, next);
    put8(&p, 0);
    put16(&p, offset);
    put_zeros(&p, 4);
    if (!empty) {
        put_icmp6(&p, type, IP6);
    }
    assert_cut(&p);
    return check(&p);
}

static void test_fragments(void)
{
    /* Neighbour discovery, also for its own address, also in one fragment. */
    g_assert_cmpint(fragment(1, 58, 136, false), ==, MALFORMED);
    g_assert_cmpint(fragment(0, 58, 136, false), ==, MALFORMED);
    /* The type is in a later one; so is the header before it. */
    g_assert_cmpint(fragment(1, 58, 0, true), ==, MALFORMED);
    g_assert_cmpint(fragment(1, 60, 0, true), ==, MALFORMED);
    /* A ping, a datagram, and what follows. */
    g_assert_cmpint(fragment(1, 58, 128, false), ==, PASS);
    g_assert_cmpint(fragment(1, 17, 0, false), ==, PASS);
    g_assert_cmpint(fragment(9, 58, 136, false), ==, PASS);
}

/* A neighbour advertisement too long to be checked to its end. */
static void test_long(void)
{
    Packet p = ether(0x86dd);

    put_ip6(&p, IP6, 58, 0);
    put_icmp6(&p, 136, IP6);
    while (p.len < HOSTVLAN_LOOK_LEN) {
        put_option(&p, 200, 0);
    }
    put_option(&p, 2, OTHER_MAC);
    g_assert_cmpint(check(&p), ==, MALFORMED);
    /* A long datagram is not affected. */
    p = ether(0x86dd);
    put_ip6(&p, IP6, 17, 3000);
    put_zeros(&p, 3000);
    g_assert_cmpint(check(&p), ==, PASS);
}

/* --- tags ---------------------------------------------------------------- */

/* @oui: of SNAP; -1: without. */
static enum hostvlan_reason tagged(unsigned tags, uint16_t tpid, int oui)
{
    uint16_t type = oui >= 0 ? 36 : 0x0806;
    Packet p = ether(tags ? tpid : type);

    for (unsigned i = 0; i < tags; i++) {
        put16(&p, 100);
        put16(&p, i + 1 < tags ? tpid : type);
    }
    if (oui >= 0) {
        put16(&p, 0xaaaa);
        put16(&p, 0x0300 | oui >> 16);
        put16(&p, oui & 0xffff);
        put16(&p, 0x0806);
    }
    put_arp(&p, MAC, OTHER_IP4, IP4);
    assert_cut(&p);
    return check(&p);
}

static void test_tags(void)
{
    static const uint16_t tpids[] = { 0x8100, 0x88a8, 0x9100 };
    Packet p = ether(0x8100);

    g_assert_cmpint(tagged(0, 0, 0), ==, FORGED);
    g_assert_cmpint(tagged(0, 0, BRIDGE_OUI), ==, FORGED);
    g_assert_cmpint(tagged(0, 0, 1), ==, PASS);         /* no type is behind */
    g_assert_cmpint(tagged(0, 0, 0x0000f8 + 1), ==, PASS);
    g_assert_cmpint(tagged(0, 0, 0xf80000), ==, PASS);
    for (size_t i = 0; i < G_N_ELEMENTS(tpids); i++) {
        g_assert_cmpint(tagged(1, tpids[i], -1), ==, FORGED);
        g_assert_cmpint(tagged(2, tpids[i], -1), ==, FORGED);
        g_assert_cmpint(tagged(2, tpids[i], 0), ==, FORGED);
        g_assert_cmpint(tagged(2, tpids[i], BRIDGE_OUI), ==, FORGED);
        g_assert_cmpint(tagged(3, tpids[i], -1), ==, MALFORMED);
    }
    put16(&p, 100);
    put16(&p, 0x0806);
    put_arp(&p, MAC, IP4, OTHER_IP4);
    g_assert_cmpint(check(&p), ==, PASS);
    p.len = 17;
    g_assert_cmpint(check(&p), ==, MALFORMED);
}

/* Frames with neither ARP nor IP are not checked. */
static void test_others(void)
{
    static const uint16_t types[] = { 0x88cc, 0x8847, 0x8864, 0x88e5, 38 };
    Packet p;

    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        p = ether(types[i]);
        put_zeros(&p, 46);
        g_assert_cmpint(check(&p), ==, PASS);
    }
    p.len = 13;
    g_assert_cmpint(check(&p), ==, MALFORMED);
}

/* --- lists --------------------------------------------------------------- */

/* Without addresses in the table, MAC addresses are checked all the same. */
static void test_no_addresses(void)
{
    static const HostvlanAddresses none;
    Packet p = ether(0x0806), q = ether(0x0806), r = ether(0x86dd);
    size_t fixed;

    put_arp(&p, MAC, OTHER_IP4, IP4);
    put_arp(&q, OTHER_MAC, OTHER_IP4, IP4);
    put_ip6(&r, OTHER_IP6, 58, 0);
    put_icmp6(&r, 136, OTHER_IP6);
    for (int i = 0; i < 2; i++) {
        const HostvlanAddresses *list = i ? &none : NULL;

        g_assert_cmpint(check_as(&p, list, &fixed), ==, PASS);
        g_assert_cmpint(check_as(&q, list, &fixed), ==, FORGED);
        g_assert_cmpint(check_as(&r, list, &fixed), ==, PASS);
    }
    put_option(&r, 2, OTHER_MAC);
    g_assert_cmpint(check_as(&r, NULL, &fixed), ==, FORGED);
}

/* A list of one family permits no address of the other. */
static void test_one_family(void)
{
    HostvlanAddresses only4 = own, only6 = own;
    Packet p = ether(0x0800), q = ether(0x86dd), r = ether(0x86dd);
    size_t fixed;

    only4.num_ip6 = only6.num_ip4 = 0;
    put_ip4(&p, IP4);
    put_ip6(&q, IP6, 59, 0);
    put_ip6(&r, LINK_LOCAL, 59, 0);
    g_assert_cmpint(check_as(&p, &only4, &fixed), ==, PASS);
    g_assert_cmpint(check_as(&q, &only4, &fixed), ==, FORGED);
    g_assert_cmpint(check_as(&r, &only4, &fixed), ==, PASS);
    g_assert_cmpint(check_as(&p, &only6, &fixed), ==, FORGED);
    g_assert_cmpint(check_as(&q, &only6, &fixed), ==, PASS);
}

static void test_full_list(void)
{
    HostvlanAddresses full = {
        .num_ip4 = HOSTVLAN_IP4_MAX, .num_ip6 = HOSTVLAN_IP6_MAX,
    };
    Packet p = ether(0x0800), q = ether(0x86dd);
    size_t fixed;

    full.ip4[HOSTVLAN_IP4_MAX - 1] = own.ip4[0];
    memcpy(full.ip6[HOSTVLAN_IP6_MAX - 1], own.ip6[0], 16);
    put_ip4(&p, IP4);
    put_ip6(&q, IP6, 59, 0);
    g_assert_cmpint(check_as(&p, &full, &fixed), ==, PASS);
    g_assert_cmpint(check_as(&q, &full, &fixed), ==, PASS);
    full.num_ip4--;
    full.num_ip6--;
    g_assert_cmpint(check_as(&p, &full, &fixed), ==, FORGED);
    g_assert_cmpint(check_as(&q, &full, &fixed), ==, FORGED);
}

/* --- prefixes ------------------------------------------------------------ */

static const HostvlanAddresses routed = {
    .num_ip4 = 2, .ip4 = { 0xc0000201u, 0x0a080000u },
    .host_bits4 = { 0, 8 },             /* 192.0.2.1, 10.8.0.0/24 */
    .num_ip6 = 2, .ip6 = { { 0x20010db8u, 0, 0, 1 }, { 0x20010db8u, 1 } },
    .host_bits6 = { 0, 64 },            /* 2001:db8::1, 2001:db8:0:1::/64 */
};

static enum hostvlan_reason routed4(const char *source)
{
    Packet p = ether(0x0800);
    size_t fixed;

    put_ip4(&p, source);
    return check_as(&p, &routed, &fixed);
}

static enum hostvlan_reason routed6(const char *source)
{
    Packet p = ether(0x86dd);
    size_t fixed;

    put_ip6(&p, source, 59, 0);
    return check_as(&p, &routed, &fixed);
}

static enum hostvlan_reason routed_arp(const char *spa, const char *tpa)
{
    Packet p = ether(0x0806);
    size_t fixed;

    put_arp(&p, MAC, spa, tpa);
    return check_as(&p, &routed, &fixed);
}

static enum hostvlan_reason routed_nd(const char *source, uint8_t type,
                                      const char *target)
{
    Packet p = ether(0x86dd);
    size_t fixed;

    put_ip6(&p, source, 58, 0);
    put_icmp6(&p, type, target);
    return check_as(&p, &routed, &fixed);
}

/* All addresses of a prefix are its own, the first and the last one, too. */
static void test_prefixes(void)
{
    g_assert_cmpint(routed4(IP4), ==, PASS);
    g_assert_cmpint(routed4(OTHER_IP4), ==, FORGED);
    g_assert_cmpint(routed4("10.8.0.0"), ==, PASS);
    g_assert_cmpint(routed4("10.8.0.77"), ==, PASS);
    g_assert_cmpint(routed4("10.8.0.255"), ==, PASS);
    g_assert_cmpint(routed4("10.7.255.255"), ==, FORGED);
    g_assert_cmpint(routed4("10.8.1.0"), ==, FORGED);
    g_assert_cmpint(routed6(IP6), ==, PASS);
    g_assert_cmpint(routed6(OTHER_IP6), ==, FORGED);
    g_assert_cmpint(routed6("2001:db8:0:1::"), ==, PASS);
    g_assert_cmpint(routed6("2001:db8:0:1:1234:5678:9abc:def0"), ==, PASS);
    g_assert_cmpint(routed6("2001:db8:0:1:ffff:ffff:ffff:ffff"), ==, PASS);
    g_assert_cmpint(routed6("2001:db8:0:2::"), ==, FORGED);
    g_assert_cmpint(routed6("2001:db8:0:0:ffff:ffff:ffff:ffff"), ==, FORGED);

    g_assert_cmpint(routed_arp("10.8.0.77", OTHER_IP4), ==, PASS);
    g_assert_cmpint(routed_arp("10.8.1.77", OTHER_IP4), ==, FORGED);
    /* Probes. */
    g_assert_cmpint(routed_arp("0.0.0.0", "10.8.0.77"), ==, PASS);
    g_assert_cmpint(routed_arp("0.0.0.0", "10.8.1.77"), ==, FORGED);

    g_assert_cmpint(routed_nd(IP6, 136, "2001:db8:0:1::77"), ==, PASS);
    g_assert_cmpint(routed_nd(IP6, 136, "2001:db8:0:2::77"), ==, FORGED);
    g_assert_cmpint(routed_nd("2001:db8:0:1::77", 135, OTHER_IP6), ==, PASS);
    g_assert_cmpint(routed_nd("2001:db8:0:2::77", 135, OTHER_IP6), ==, FORGED);
    /* Duplicate address detection. */
    g_assert_cmpint(routed_nd("::", 135, "2001:db8:0:1::77"), ==, PASS);
    g_assert_cmpint(routed_nd("::", 135, "2001:db8:0:2::77"), ==, FORGED);
}

/* Of each length: one bit that differs decides. */
static void test_prefix_lengths(void)
{
    for (unsigned bits = 0; bits < 256; bits++) {
        for (unsigned bit = 0; bit < 128; bit++) {
            uint32_t ip6[4] = { 0x20010db8u, 0x55555555u, 0xaaaaaaaau, 1 };
            uint32_t other[4];

            memcpy(other, ip6, sizeof(ip6));
            other[3 - bit / 32] ^= 1u << bit % 32;
            g_assert_cmpint(hostvlan_within6(ip6, ip6, bits), ==, bits < 128);
            g_assert_cmpint(hostvlan_within6(other, ip6, bits), ==,
                            bit < bits && bits < 128);
            g_assert_cmpint(bit < 32 && hostvlan_within4(other[3], ip6[3],
                                                         bits), ==,
                            bit < 32 && bit < bits && bits < 32);
        }
    }
}

/* --- checksum offload ---------------------------------------------------- */

static bool offload(uint8_t flags, unsigned start, unsigned offset, bool big,
                    size_t fixed)
{
    uint8_t vnet[10] = { flags };

    vnet[6 + big] = start & 0xff;
    vnet[6 + !big] = start >> 8;
    vnet[8 + big] = offset & 0xff;
    vnet[8 + !big] = offset >> 8;
    return hostvlan_sender_offload(vnet, fixed, 0);
}

static void test_offload(void)
{
    Packet p = ether(0x0800), q = ether(0x86dd), r = ether(0x0806);
    size_t fixed;

    for (int big = 0; big < 2; big++) {
        /* TCP over IPv4, and into the source MAC address. */
        g_assert_true(offload(1, 34, 16, big, 34));
        g_assert_true(offload(3, 34, 0, big, 34));
        g_assert_false(offload(1, 33, 0, big, 34));
        g_assert_false(offload(1, 6, 0, big, 14));
        g_assert_false(offload(1, 0, 6, big, 14));
        g_assert_true(offload(1, 14, 0, big, 14));
        g_assert_true(offload(1, 0x1234, 0xfff0, big, 34));
        /* Not requested. */
        g_assert_true(offload(0, 0, 6, big, 14));
        g_assert_true(offload(2, 0, 6, big, 14));
    }
    /* Only the IP header is checked; of ARP and ND, all of it. */
    put_ip4(&p, IP4);
    put_zeros(&p, 20);
    g_assert_cmpint(check_as(&p, &own, &fixed), ==, PASS);
    g_assert_cmpuint(fixed, ==, 34);
    put_ip6(&q, IP6, 58, 0);
    put_icmp6(&q, 136, IP6);
    put_option(&q, 2, MAC);
    g_assert_cmpint(check_as(&q, &own, &fixed), ==, PASS);
    g_assert_cmpuint(fixed, ==, q.len);
    put_arp(&r, MAC, IP4, OTHER_IP4);
    g_assert_cmpint(check_as(&r, &own, &fixed), ==, PASS);
    g_assert_cmpuint(fixed, ==, 42);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hostvlan/sender/arp", test_arp);
    g_test_add_func("/hostvlan/sender/ip4", test_ip4);
    g_test_add_func("/hostvlan/sender/ip6", test_ip6);
    g_test_add_func("/hostvlan/sender/nd", test_nd);
    g_test_add_func("/hostvlan/sender/nd-options", test_nd_options);
    g_test_add_func("/hostvlan/sender/extensions", test_extensions);
    g_test_add_func("/hostvlan/sender/fragments", test_fragments);
    g_test_add_func("/hostvlan/sender/long", test_long);
    g_test_add_func("/hostvlan/sender/tags", test_tags);
    g_test_add_func("/hostvlan/sender/others", test_others);
    g_test_add_func("/hostvlan/sender/no-addresses", test_no_addresses);
    g_test_add_func("/hostvlan/sender/one-family", test_one_family);
    g_test_add_func("/hostvlan/sender/full-list", test_full_list);
    g_test_add_func("/hostvlan/sender/prefixes", test_prefixes);
    g_test_add_func("/hostvlan/sender/prefix-lengths", test_prefix_lengths);
    g_test_add_func("/hostvlan/sender/offload", test_offload);
    return g_test_run();
}

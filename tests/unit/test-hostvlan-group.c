/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of guests to switches, and of switches to guests */

#include <glib/gstdio.h>
#include <string.h>

#include "tests/fixtures/hostvlan-fixture.h"
#include "tests/fixtures/hostvlan-frames.h"
#include "net/hostvlan/verdict.h"

#define TENANT          0x020000000001ull
#define ROUTER          0x020000000002ull       /* in the global LNID, too */
#define OTHER           0x020000000003ull
#define SWITCH          0x020000000009ull       /* is not in the table */
#define GROUP4          0xe1020304u             /* 225.2.3.4 */
#define GROUP6          0xff010203u

#define PASSED          HOSTVLAN_PASSED
#define QUERY           HOSTVLAN_QUERY
#define UNKNOWN         HOSTVLAN_UNKNOWN_SOURCE
#define MALFORMED       HOSTVLAN_MALFORMED

/* Where the IP header begins, untagged. */
#define IP              14

static char *path;
static HvWriter *writer;
static HostvlanTable *table;

typedef struct Packet {
    uint8_t data[2048];
    size_t len;
} Packet;

static enum hostvlan_reason sent_by(uint64_t port, const Packet *p,
                                    bool l2_control, size_t *fixed)
{
    size_t len = MIN(p->len, HOSTVLAN_LOOK_LEN);
    /* A copy of the exact length, so that a sanitizer finds overruns. */
    g_autofree uint8_t *copy = g_memdup2(p->data, len);

    hv_put(copy, 6, port, 6);
    return hostvlan_verdict_send(table, port, l2_control, copy, len, fixed);
}

static enum hostvlan_reason sent(const Packet *p)
{
    size_t fixed;

    return sent_by(TENANT, p, false, &fixed);
}

static enum hostvlan_reason received_from(uint64_t source, const Packet *p)
{
    size_t len = MIN(p->len, HOSTVLAN_QUERY_LEN);
    g_autofree uint8_t *copy = g_memdup2(p->data, len);

    hv_put(copy, 6, source, 6);
    return hostvlan_verdict_receive(table, TENANT, copy, len, p->len);
}

static enum hostvlan_reason received(const Packet *p)
{
    return received_from(SWITCH, p);
}

static Packet igmp(unsigned tags, unsigned version, uint32_t group,
                   unsigned sources)
{
    Packet p;

    p.len = hv_igmp_query(p.data, SWITCH, tags, version, group, sources);
    return p;
}

static Packet mld(unsigned tags, unsigned version, uint32_t group,
                  unsigned sources)
{
    Packet p;

    p.len = hv_mld_query(p.data, SWITCH, tags, version, group, sources);
    return p;
}

/* The frame with other octets in one place. */
static Packet with(const Packet *from, size_t at, uint64_t number,
                   unsigned octets)
{
    Packet p = *from;

    hv_put(p.data, at, number, octets);
    return p;
}

#define assert_with(verdict, packet, at, number, octets, reason) do {       \
    Packet with_ = with(&(packet), at, number, octets);                     \
    g_assert_cmpint(verdict(&with_), ==, reason);                           \
} while (0)

/* --- layer 2 control protocols -------------------------------------------- */

static enum hostvlan_reason sent_to(uint64_t dest, unsigned tags,
                                    bool l2_control)
{
    Packet p = { .len = 64 };
    size_t fixed;

    hv_ethernet(p.data, dest, TENANT, tags, 38);
    return sent_by(TENANT, &p, l2_control, &fixed);
}

static bool is_control(uint64_t dest)
{
    for (unsigned tags = 0; tags <= 2; tags++) {
        bool refused = sent_to(dest, tags, false) == HOSTVLAN_L2_CONTROL;

        g_assert_cmpint(sent_to(dest, tags, true), ==, PASSED);
        g_assert_true(refused || sent_to(dest, tags, false) == PASSED);
        if (tags) {
            g_assert_true(refused == (sent_to(dest, 0, false) ==
                                      HOSTVLAN_L2_CONTROL));
        }
    }
    return sent_to(dest, 0, false) == HOSTVLAN_L2_CONTROL;
}

static void test_control(void)
{
    for (uint64_t n = 0; n < 0x100; n++) {
        g_assert_true(is_control(0x0180c2000000ull + n) ==
                      (n < 0x10 || (n >= 0x20 && n < 0x30)));
        g_assert_true(is_control(0x01000ccccc00ull + n) ==
                      (n == 0xcc || n == 0xcd));
    }
    for (unsigned bit = 8; bit < 48; bit++) {
        g_assert_false(bit != 40 && is_control(0x0180c2000000ull ^
                                               1ull << bit));
    }
    g_assert_false(is_control(0xffffffffffffull));
    g_assert_false(is_control(0x333300000001ull));
    g_assert_false(is_control(0x01005e000001ull));
    g_assert_false(is_control(OTHER));
}

/* A switch's own frames are checked as all frames. */
static void test_control_received(void)
{
    Packet p = { .len = 64 };

    hv_ethernet(p.data, 0x0180c200000eull, SWITCH, 0, 0x88cc);
    g_assert_cmpint(received(&p), ==, UNKNOWN);
    g_assert_cmpint(received_from(ROUTER, &p), ==, PASSED);
    g_assert_cmpint(received_from(OTHER, &p), ==, HOSTVLAN_OTHER_TENANT);
}

/* --- queries out of a port ------------------------------------------------ */

static void test_sent(void)
{
    for (unsigned tags = 0; tags <= 2; tags++) {
        for (unsigned version = 1; version <= 3; version++) {
            Packet p = igmp(tags, version, version > 1 ? GROUP4 : 0, 0);
            size_t fixed;

            g_assert_cmpint(sent(&p), ==, QUERY);
            g_assert_cmpint(sent_by(ROUTER, &p, false, &fixed), ==, PASSED);
            /* Not even from a VM without a network. */
            g_assert_cmpint(sent_by(SWITCH, &p, false, &fixed), ==, QUERY);
            g_assert_cmpint(sent_by(TENANT, &p, true, &fixed), ==, QUERY);
        }
        for (unsigned version = 1; version <= 2; version++) {
            Packet p = mld(tags, version, GROUP6, 0);
            size_t fixed;

            g_assert_cmpint(sent(&p), ==, QUERY);
            g_assert_cmpint(sent_by(ROUTER, &p, false, &fixed), ==, PASSED);
        }
    }
}

/* A malformed query does not pass. */
static void test_sent_anyhow(void)
{
    Packet v4 = igmp(0, 2, 0, 0), v6 = mld(0, 1, 0, 0), p;

    assert_with(sent, v4, IP + 8, 64, 1, QUERY);                /* TTL */
    assert_with(sent, v4, IP + 6, 0x2000, 2, QUERY);    /* first fragment */
    assert_with(sent, v4, IP + 6, 0x0001, 2, QUERY);    /* a later one */
    assert_with(sent, v4, IP + 2, 0, 2, QUERY);                 /* length */
    assert_with(sent, v4, IP + 12, 0xc0000201, 4, QUERY);       /* source */
    assert_with(sent, v4, IP + 24 + 1, 0, 1, QUERY);
    assert_with(sent, v4, 0, 0xffffffffffffull, 6, QUERY);
    assert_with(sent, v4, IP, 0x56, 1, QUERY);                  /* version */
    assert_with(sent, v6, IP + 7, 255, 1, QUERY);               /* hop limit */
    assert_with(sent, v6, IP + 4, 0, 2, QUERY);                 /* length */
    assert_with(sent, v6, IP + 8, 0x20010db8, 4, QUERY);        /* source */
    assert_with(sent, v6, IP + 6, 60, 1, QUERY);    /* no hop-by-hop options */
    assert_with(sent, v6, 0, 0x333300000016ull, 6, QUERY);
    /* Without an extension header. */
    p = with(&v6, IP + 6, 58, 1);
    p = with(&p, IP + 40, 130, 1);
    g_assert_cmpint(sent(&p), ==, QUERY);
    /* Behind LLC/SNAP. */
    p = (Packet) { .len = v4.len + 8 };
    memcpy(p.data, v4.data, 12);
    hv_put(p.data, 12, v4.len - 14 + 8, 2);
    hv_put(p.data, 14, 0xaaaa030000000800ull, 8);
    memcpy(p.data + 22, v4.data + 14, v4.len - 14);
    g_assert_cmpint(sent(&p), ==, QUERY);
    hv_put(p.data, 14, 0xaaaa030000f80800ull, 8);
    g_assert_cmpint(sent(&p), ==, QUERY);
    /* To one station: no switch reads it. */
    assert_with(sent, v4, 0, OTHER, 6, PASSED);
    assert_with(sent, v6, 0, OTHER, 6, PASSED);
}

/* @num headers of a kind between the IPv6 header and an MLD query. */
static Packet extended(uint8_t proto, unsigned num, unsigned octets)
{
    Packet p = mld(0, 1, 0, 0);
    uint8_t query[24];
    size_t at = IP + 48;

    memcpy(query, p.data + at, sizeof(query));
    for (unsigned i = 1; i < num; i++) {
        p.data[at - (i > 1 ? octets : 8)] = proto;
        memset(p.data + at, 0, octets);
        p.data[at] = 58;
        p.data[at + 1] = proto == 51 ? octets / 4 - 2 : octets / 8 - 1;
        at += octets;
    }
    memcpy(p.data + at, query, sizeof(query));
    p.len = at + sizeof(query);
    return p;
}

static void test_sent_extended(void)
{
    static const uint8_t protos[] = { 0, 43, 51, 60, 135, 139, 140 };
    Packet p;

    for (size_t i = 0; i < G_N_ELEMENTS(protos); i++) {
        for (unsigned num = 1; num <= 8; num++) {
            p = extended(protos[i], num, 16);
            g_assert_cmpint(sent(&p), ==, QUERY);
        }
        p = extended(protos[i], 9, 16);
        g_assert_cmpint(sent(&p), ==, MALFORMED);
        /* The query is behind the limit of the check. */
        p = extended(protos[i], 3, 800);
        g_assert_cmpuint(p.len, >, HOSTVLAN_LOOK_LEN);
        g_assert_cmpint(sent(&p), ==, MALFORMED);
    }
    /* The first fragment, and a later one, which is not checked. */
    p = extended(44, 2, 8);
    assert_with(sent, p, IP + 50, 0x0001, 2, QUERY);
    assert_with(sent, p, IP + 50, 0x0009, 2, PASSED);
    /* A first one that ends before its ICMPv6. */
    p.len = IP + 56;
    assert_with(sent, p, IP + 50, 0x0001, 2, MALFORMED);
}

static void test_sent_unreadable(void)
{
    Packet v4 = igmp(0, 2, 0, 0), v6 = mld(0, 1, 0, 0), p;

    for (size_t len = 14; len < v4.len; len++) {
        p = v4;
        p.len = len;
        g_assert_cmpint(sent(&p), ==, len > IP + 24 ? QUERY : MALFORMED);
    }
    for (size_t len = 14; len < v6.len; len++) {
        p = v6;
        p.len = len;
        g_assert_cmpint(sent(&p), ==, len > IP + 48 ? QUERY : MALFORMED);
    }
    assert_with(sent, v4, IP, 0x44, 1, MALFORMED);      /* header length */
    p = igmp(3, 2, 0, 0);
    g_assert_cmpint(sent(&p), ==, MALFORMED);
    /* The router may use tags. */
    {
        size_t fixed;

        g_assert_cmpint(sent_by(ROUTER, &p, false, &fixed), ==, PASSED);
    }
}

/* Reports, leaves and all other frames are unaffected. */
static void test_sent_others(void)
{
    static const uint8_t v4_types[] = { 0x12, 0x16, 0x17, 0x22, 0x30, 0x13 };
    static const uint8_t v6_types[] = { 128, 131, 132, 133, 135, 136, 143 };
    Packet v4 = igmp(0, 3, 0, 0), v6 = mld(0, 2, 0, 0), p;
    size_t fixed;

    for (size_t i = 0; i < G_N_ELEMENTS(v4_types); i++) {
        p = with(&v4, IP + 24, v4_types[i], 1);
        g_assert_cmpint(sent_by(TENANT, &p, false, &fixed), ==, PASSED);
        /* No checksum is written over the type. */
        g_assert_cmpuint(fixed, ==, IP + 24 + 1);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(v6_types); i++) {
        p = with(&v6, IP + 48, v6_types[i], 1);
        g_assert_cmpint(sent_by(TENANT, &p, false, &fixed), ==, PASSED);
        g_assert_cmpuint(fixed, ==, IP + 48 + 1);
    }
    /* UDP whose octets are those of a query. */
    p = with(&v4, IP + 9, 17, 1);
    g_assert_cmpint(sent_by(TENANT, &p, false, &fixed), ==, PASSED);
    g_assert_cmpuint(fixed, ==, IP + 20);
    p = with(&v6, IP + 40, 17, 1);
    g_assert_cmpint(sent_by(TENANT, &p, false, &fixed), ==, PASSED);
    g_assert_cmpuint(fixed, ==, IP + 48);
    assert_with(sent, v4, 12, 0x88b5, 2, PASSED);
    p = (Packet) { .len = 14 };
    hv_ethernet(p.data, 0xffffffffffffull, TENANT, 0, 0x0806);
    g_assert_cmpint(sent(&p), ==, PASSED);
}

/* --- queries in to a port ------------------------------------------------- */

static void test_received(void)
{
    for (unsigned tags = 0; tags <= 2; tags++) {
        for (unsigned specific = 0; specific < 2; specific++) {
            unsigned sources = specific ? HOSTVLAN_QUERY_SOURCES_MAX : 0;
            Packet all[] = {
                igmp(tags, 1, 0, 0),
                igmp(tags, 2, specific ? GROUP4 : 0, 0),
                igmp(tags, 3, specific ? GROUP4 : 0, sources),
                mld(tags, 1, specific ? GROUP6 : 0, 0),
                mld(tags, 2, specific ? GROUP6 : 0, sources),
            };

            for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
                g_assert_cmpint(received(&all[i]), ==, PASSED);
                /* With the source of a tenant, it counts as the tenant's. */
                g_assert_cmpint(received_from(OTHER, &all[i]), ==,
                                HOSTVLAN_OTHER_TENANT);
                g_assert_cmpint(received_from(ROUTER, &all[i]), ==, PASSED);
                g_assert_cmpint(received_from(0, &all[i]), ==, UNKNOWN);
                g_assert_cmpint(received_from(SWITCH | 1ull << 40, &all[i]),
                                ==, UNKNOWN);
            }
        }
    }
}

/* Checks octets that may have any value, and octets with one value. */
static void assert_octets(const Packet *p, const uint8_t *any, size_t num)
{
    for (size_t at = 12; at < p->len; at++) {
        bool is_any = memchr(any, at - IP, num) && at >= IP;

        for (unsigned bit = 0; bit < 8; bit++) {
            Packet other = *p;

            other.data[at] ^= 1 << bit;
            if (received(&other) == PASSED && !is_any) {
                g_error("octet %zu, bit %u may be another", at - IP, bit);
            }
        }
    }
}

/* With any flipped bit it is no query, except in these octets. */
static void test_received_exactly(void)
{
    /*
     * Service, length (of IGMPv2), identification, checksums, source, response
     * code, S, QRV, QQI
     */
    static const uint8_t v4[] = {
        1, 3, 4, 5, 6, 10, 11, 12, 13, 14, 15, 25, 26, 27, 32, 33,
    };
    /* Class, flow, source, padding, checksum, response code, S, QRV, QQI */
    static const uint8_t v6[] = {
        0, 1, 2, 3, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
        46, 50, 51, 52, 53, 54, 55, 72, 73,
    };
    Packet p = igmp(0, 3, 0, 0);

    assert_octets(&p, v4, sizeof(v4));
    p = igmp(0, 3, GROUP4, 2);
    for (size_t at = IP + 36; at < p.len; at++) {
        /* Sources may be any addresses. */
        assert_with(received, p, at, 0xff, 1, PASSED);
    }
    p = mld(0, 2, 0, 0);
    assert_octets(&p, v6, sizeof(v6));
}

static void test_received_forms(void)
{
    Packet v4 = igmp(0, 2, 0, 0), v6 = mld(0, 1, 0, 0), p;

    /* The queried group is the destination in all three headers; */
    p = igmp(0, 2, GROUP4, 0);
    assert_with(received, p, IP + 28, GROUP4 + 1, 4, UNKNOWN);
    assert_with(received, p, IP + 16, HV_ALL_HOSTS, 4, UNKNOWN);
    assert_with(received, p, 0, 0x01005e000001ull, 6, UNKNOWN);
    p = mld(0, 1, GROUP6, 0);
    assert_with(received, p, IP + 68, GROUP6 + 1, 4, UNKNOWN);
    assert_with(received, p, 0, 0x333300000001ull, 6, UNKNOWN);
    /* or it goes to all, as from Linux's bridge. */
    assert_with(received, v4, IP + 28, GROUP4, 4, PASSED);
    assert_with(received, v4, IP + 28, 0xc0000201, 4, UNKNOWN);
    assert_with(received, v6, IP + 56, 0xff05000000000000ull, 8, PASSED);
    assert_with(received, v6, IP + 56, 0x20010db800000000ull, 8, UNKNOWN);
    /* To one station, or to all. */
    assert_with(received, v4, 0, TENANT, 6, UNKNOWN);
    assert_with(received, v6, 0, 0xffffffffffffull, 6, UNKNOWN);
    /* Router Alert is required except in IGMPv1. */
    p = igmp(0, 1, 0, 0);
    assert_with(received, p, IP + 21, 100, 1, UNKNOWN);
    assert_with(received, v4, IP + 20, 0x01010101, 4, UNKNOWN);
    /* The option may follow the padding; padding is Pad1 or PadN. */
    assert_with(received, v6, IP + 42, 0x010005020000ull, 6, PASSED);
    assert_with(received, v6, IP + 42, 0x050200000000ull, 6, PASSED);
    assert_with(received, v6, IP + 42, 0x050200010100ull, 6, UNKNOWN);
    assert_with(received, v6, IP + 42, 0x0502000001ffull, 6, UNKNOWN);
    /*
     * Hosts ignore messages that are not from a link-local address (RFC 3810).
     */
    assert_with(received, v6, IP + 8, 0, 8, UNKNOWN);
    assert_with(received, v4, IP + 12, 0xc0000201, 4, PASSED);
    assert_with(received, v4, IP + 12, 0xe0000001, 4, UNKNOWN);
    /* In one piece. */
    assert_with(received, v4, IP + 6, 0x2000, 2, UNKNOWN);
    assert_with(received, v4, IP + 6, 0x0001, 2, UNKNOWN);
    assert_with(received, v4, IP + 6, 0x4000, 2, PASSED);
    p = extended(44, 2, 8);
    g_assert_cmpint(received(&p), ==, UNKNOWN);
    /* Other messages with the shape of a query. */
    assert_with(received, v4, IP + 24, 0x16, 1, UNKNOWN);
    assert_with(received, v6, IP + 48, 131, 1, UNKNOWN);
    assert_with(received, v6, IP + 48, 134, 1, UNKNOWN);
    p = igmp(3, 2, 0, 0);
    g_assert_cmpint(received(&p), ==, UNKNOWN);
}

/* A query has its stated length, and a frame may have padding. */
static void test_received_length(void)
{
    Packet v4 = igmp(0, 2, 0, 0), v6 = mld(0, 2, GROUP6, 0), p;

    p = v4;
    memset(p.data + p.len, 0, 100);
    p.len = 60;
    g_assert_cmpint(received(&p), ==, PASSED);
    p.len = HOSTVLAN_PADDED_MAX + 1;
    g_assert_cmpint(received(&p), ==, UNKNOWN);
    for (size_t len = 14; len < v4.len; len++) {
        p.len = len;
        g_assert_cmpint(received(&p), ==, UNKNOWN);
    }
    p = v6;
    p.len++;
    g_assert_cmpint(received(&p), ==, UNKNOWN);
    for (size_t len = 14; len < v6.len; len++) {
        p.len = len;
        g_assert_cmpint(received(&p), ==, UNKNOWN);
    }
    /* Sources: the stated number, within the limit; none for all groups. */
    p = igmp(0, 3, GROUP4, 3);
    assert_with(received, p, IP + 34, 2, 2, UNKNOWN);
    assert_with(received, p, IP + 34, 4, 2, UNKNOWN);
    p = igmp(0, 3, GROUP4, HOSTVLAN_QUERY_SOURCES_MAX + 1);
    g_assert_cmpint(received(&p), ==, UNKNOWN);
    p = igmp(0, 3, 0, 1);
    g_assert_cmpint(received(&p), ==, UNKNOWN);
    p = mld(0, 2, GROUP6, 3);
    assert_with(received, p, IP + 74, 4, 2, UNKNOWN);
    p = mld(0, 2, GROUP6, HOSTVLAN_QUERY_SOURCES_MAX + 1);
    g_assert_cmpint(received(&p), ==, UNKNOWN);
    p = mld(0, 2, 0, 1);
    g_assert_cmpint(received(&p), ==, UNKNOWN);
}

/* Random octets: no reads beyond them (the sanitizers would find it). */
static void test_random(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(4541);

    for (unsigned n = 0; n < 20000; n++) {
        Packet p = n % 2 ? igmp(n / 2 % 4, 1 + n % 3, n % 5 ? GROUP4 : 0, n % 7)
                         : mld(n / 2 % 4, 1 + n % 2, n % 5 ? GROUP6 : 0, n % 7);

        for (int i = g_rand_int_range(rand, 0, 4); i; i--) {
            p.data[g_rand_int_range(rand, 12, p.len)] = g_rand_int(rand);
        }
        p.len = g_rand_int_range(rand, 14, p.len + 1);
        g_assert_cmpint(sent(&p), <, HOSTVLAN_REASONS);
        g_assert_cmpint(received(&p), <, HOSTVLAN_REASONS);
    }
}

static void make_table(void)
{
    path = g_build_filename(hv_tmp(), "table", NULL);
    writer = hv_create(path, 16, 1024);
    hv_set_lnids(writer, TENANT, 1, 1);
    hv_set_lnids(writer, ROUTER, 2, HOSTVLAN_LNID_GLOBAL, 7);
    hv_set_lnids(writer, OTHER, 1, 2);
    table = hostvlan_table_open(path, NULL);
    g_assert_nonnull(table);
}

static void end_table(void)
{
    hostvlan_table_close(table);
    hv_close(writer);
    g_free(path);
}

int main(int argc, char **argv)
{
    int status;

    hv_test_init(&argc, &argv);
    make_table();
    g_test_add_func("/hostvlan/group/control", test_control);
    g_test_add_func("/hostvlan/group/control-received", test_control_received);
    g_test_add_func("/hostvlan/group/sent", test_sent);
    g_test_add_func("/hostvlan/group/sent-anyhow", test_sent_anyhow);
    g_test_add_func("/hostvlan/group/sent-extended", test_sent_extended);
    g_test_add_func("/hostvlan/group/sent-unreadable", test_sent_unreadable);
    g_test_add_func("/hostvlan/group/sent-others", test_sent_others);
    g_test_add_func("/hostvlan/group/received", test_received);
    g_test_add_func("/hostvlan/group/received-exactly", test_received_exactly);
    g_test_add_func("/hostvlan/group/received-forms", test_received_forms);
    g_test_add_func("/hostvlan/group/received-length", test_received_length);
    g_test_add_func("/hostvlan/group/random", test_random);
    status = g_test_run();
    end_table();
    return status;
}

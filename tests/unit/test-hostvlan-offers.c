/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a frame offer router or DHCP services, and may the port? Extension
 * headers and fragments as in RFC 7113
 */
#include <string.h>

#include "tests/fixtures/hostvlan-file.h"
#include "tests/fixtures/hostvlan-frames.h"
#include "net/hostvlan/verdict.h"

#define BOTH    (HOSTVLAN_OFFER_ROUTER | HOSTVLAN_OFFER_DHCP)
#define RA      134
#define UDP     17
#define ICMP6   58
#define IP6     14              /* where the IPv6 header is */
#define UPPER   54              /* header after it */

#define PASSED          HOSTVLAN_PASSED
#define RA_GUARD        HOSTVLAN_RA_GUARD
#define DHCP_GUARD      HOSTVLAN_DHCP_GUARD
#define MALFORMED       HOSTVLAN_MALFORMED

typedef struct Frame {
    uint8_t data[256];
    size_t len;
} Frame;

static const uint32_t address[4] = { 0xfe800000u, 0, 0, 1 };

static enum hostvlan_reason offered(const Frame *f, uint32_t guards)
{
    struct hostvlan_frame frame = {
        .data = f->data, .len = f->len, .size = f->len,
    };
    uint32_t fixed;

    return hostvlan_offered(&frame, guards, &fixed);
}

#define assert_offered(f, guards, reason) \
    g_assert_cmpint(offered(f, guards), ==, reason)

/* Sets the length in the IPv6 header. */
static void end(Frame *f, size_t at)
{
    f->len = at;
    hv_put(f->data, IP6 + 4, at - UPPER, 2);
}

/* ICMPv6 of a @type or UDP to a port, behind an IPv6 header. */
static Frame plain6(uint8_t proto, unsigned number)
{
    Frame f = { .len = 0 };

    hv_ethernet(f.data, 0x333300000001ull, MAC_A, 0, 0x86dd);
    hv_ip6(f.data, IP6, proto, 0, address, address);
    if (proto == ICMP6) {
        hv_put(f.data, UPPER, number, 1);
    } else {
        hv_put(f.data, UPPER + 2, number, 2);
    }
    end(&f, UPPER + 16);
    return f;
}

/* Inserts @octets of extension headers, the last of which names @proto. */
static void insert(Frame *f, const uint8_t *headers, size_t octets,
                   uint8_t first)
{
    memmove(f->data + UPPER + octets, f->data + UPPER, f->len - UPPER);
    memcpy(f->data + UPPER, headers, octets);
    hv_put(f->data, IP6 + 6, first, 1);
    end(f, f->len + octets);
}

static Frame plain4(unsigned port)
{
    Frame f = { .len = 14 + 28 };

    hv_ethernet(f.data, 0xffffffffffffull, MAC_A, 0, 0x0800);
    hv_put(f.data, 14, 0x4500001c, 4);
    hv_put(f.data, 14 + 9, UDP, 1);
    hv_put(f.data, 14 + 22, port, 2);
    return f;
}

static void test_plain(void)
{
    Frame ra = plain6(ICMP6, RA), rs = plain6(ICMP6, 133);
    Frame na = plain6(ICMP6, 136), dhcp6 = plain6(UDP, 546);
    Frame server6 = plain6(UDP, 547), dhcp4 = plain4(68), server4 = plain4(67);

    assert_offered(&ra, BOTH, RA_GUARD);
    assert_offered(&ra, HOSTVLAN_OFFER_ROUTER, RA_GUARD);
    assert_offered(&ra, HOSTVLAN_OFFER_DHCP, PASSED);
    assert_offered(&rs, BOTH, PASSED);
    assert_offered(&na, BOTH, PASSED);
    assert_offered(&dhcp6, HOSTVLAN_OFFER_DHCP, DHCP_GUARD);
    assert_offered(&dhcp6, HOSTVLAN_OFFER_ROUTER, PASSED);
    assert_offered(&server6, BOTH, PASSED);
    assert_offered(&dhcp4, HOSTVLAN_OFFER_DHCP, DHCP_GUARD);
    assert_offered(&dhcp4, HOSTVLAN_OFFER_ROUTER, PASSED);
    assert_offered(&server4, BOTH, PASSED);
}

/* Hop-by-hop, destination options, routing: all of them, eight at most. */
static void test_extensions(void)
{
    static const uint8_t options[16] = { 60, 0, 1, 4, 0, 0, 0, 0, ICMP6, 0 };
    static const uint8_t link[8] = { 60, 0, 1, 4 };
    Frame f = plain6(ICMP6, RA);

    insert(&f, options, sizeof(options), 0);
    assert_offered(&f, HOSTVLAN_OFFER_ROUTER, RA_GUARD);
    f = plain6(ICMP6, RA);
    insert(&f, options + 8, 8, 60);
    for (int i = 0; i < 7; i++) {
        assert_offered(&f, HOSTVLAN_OFFER_ROUTER, RA_GUARD);
        insert(&f, link, sizeof(link), 60);
    }
    assert_offered(&f, HOSTVLAN_OFFER_ROUTER, RA_GUARD);
    insert(&f, link, sizeof(link), 60);
    assert_offered(&f, HOSTVLAN_OFFER_ROUTER, MALFORMED);
    /* The same for DHCP, as the end of the headers is unknown. */
    assert_offered(&f, HOSTVLAN_OFFER_DHCP, MALFORMED);
}

/* A first fragment must have all headers; a later one has none. */
static void test_fragments(void)
{
    static const uint8_t first[8] = { ICMP6, 0, 0, 1 };
    static const uint8_t hides[16] = { 60, 0, 0, 1, 0, 0, 0, 9, ICMP6, 2 };
    static const uint8_t later[8] = { ICMP6, 0, 0, 8 };
    Frame f = plain6(ICMP6, RA);

    insert(&f, first, sizeof(first), 44);
    assert_offered(&f, HOSTVLAN_OFFER_ROUTER, RA_GUARD);
    /* Its destination options continue in the second. */
    f = plain6(ICMP6, RA);
    insert(&f, hides, sizeof(hides), 44);
    end(&f, UPPER + 24);
    assert_offered(&f, HOSTVLAN_OFFER_ROUTER, MALFORMED);
    /* The header after them is no UDP. */
    assert_offered(&f, HOSTVLAN_OFFER_DHCP, PASSED);
    f = plain6(UDP, 546);
    insert(&f, hides, sizeof(hides), 44);
    hv_put(f.data, UPPER + 8, UDP, 1);
    end(&f, UPPER + 24);
    assert_offered(&f, HOSTVLAN_OFFER_DHCP, MALFORMED);
    f = plain6(ICMP6, RA);
    insert(&f, later, sizeof(later), 44);
    assert_offered(&f, BOTH, PASSED);
}

/* Octets behind the end of the packet are no header. */
static void test_behind_the_end(void)
{
    static const uint8_t hides[16] = { 60, 0, 0, 1, 0, 0, 0, 9, ICMP6, 0 };
    Frame f = plain6(ICMP6, 128);

    insert(&f, hides, sizeof(hides), 44);
    assert_offered(&f, HOSTVLAN_OFFER_ROUTER, PASSED);
    hv_put(f.data, IP6 + 4, 16, 2);
    assert_offered(&f, HOSTVLAN_OFFER_ROUTER, MALFORMED);
    f = plain4(80);
    hv_put(f.data, 16, 23, 2);
    assert_offered(&f, HOSTVLAN_OFFER_DHCP, MALFORMED);
}

static void test_ip4(void)
{
    Frame f = plain4(68);

    /* Options of four octets. */
    memmove(f.data + 38, f.data + 34, 8);
    memset(f.data + 34, 1, 4);
    hv_put(f.data, 14, 0x46000020, 4);
    f.len += 4;
    assert_offered(&f, HOSTVLAN_OFFER_DHCP, DHCP_GUARD);
    /* The first of fragments, and a later one. */
    f = plain4(68);
    hv_put(f.data, 20, 0x2000, 2);
    assert_offered(&f, HOSTVLAN_OFFER_DHCP, DHCP_GUARD);
    hv_put(f.data, 20, 0x2001, 2);
    assert_offered(&f, HOSTVLAN_OFFER_DHCP, PASSED);
    f = plain4(68);
    hv_put(f.data, 23, 6, 1);
    assert_offered(&f, HOSTVLAN_OFFER_DHCP, PASSED);
}

/* Tags and LLC/SNAP are skipped; more than two tags are too many. */
static void test_headers(void)
{
    Frame f = { .len = 0 }, ra = plain6(ICMP6, RA);

    for (unsigned tags = 0; tags <= 3; tags++) {
        size_t at = hv_ethernet(f.data, 0x333300000001ull, MAC_A, tags,
                                0x86dd);

        memcpy(f.data + at, ra.data + 14, ra.len - 14);
        f.len = at + ra.len - 14;
        assert_offered(&f, HOSTVLAN_OFFER_ROUTER,
                       tags <= 2 ? RA_GUARD : MALFORMED);
    }
    f.len = hv_ethernet(f.data, 0x333300000001ull, MAC_A, 0, 100);
    f.len = hv_put(f.data, f.len, 0xaaaa0300000086ddull, 8);
    memcpy(f.data + f.len, ra.data + 14, ra.len - 14);
    f.len += ra.len - 14;
    assert_offered(&f, HOSTVLAN_OFFER_ROUTER, RA_GUARD);
}

/* Cut at any octet, it is malformed, or passes as a frame of another kind. */
static void test_short(void)
{
    Frame f = plain6(ICMP6, RA);

    for (f.len = 14; f.len <= UPPER; f.len++) {
        assert_offered(&f, BOTH, MALFORMED);
    }
}

/* --- whose port ----------------------------------------------------------- */

static enum hostvlan_reason sent(const HostvlanTable *t, uint64_t port,
                                 uint32_t guards, const Frame *f)
{
    size_t fixed;

    return hostvlan_verdict_offer(t, port, guards, f->data, f->len, f->len,
                                  &fixed);
}

static void allow(HvFile *fx, uint32_t offers)
{
    HvEntry e = { .num_lnids = 1, .lnid = { 7 }, .offers = offers };

    g_assert_true(hv_set(fx->w, MAC_A, &e));
}

/* A change of the table applies to the next frame. */
static void test_allowed(void)
{
    Frame ra = plain6(ICMP6, RA), dhcp = plain4(68), cut = plain6(0, 0);
    HvFile fx = hv_begin(16, 64);
    g_autoptr(HostvlanTable) t = NULL;

    end(&cut, UPPER);
    allow(&fx, 0);
    t = hv_open(fx.path);
    g_assert_cmpint(sent(t, MAC_A, 0, &ra), ==, PASSED);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &ra), ==, RA_GUARD);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &dhcp), ==, DHCP_GUARD);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &cut), ==, MALFORMED);
    g_assert_cmpint(sent(t, MAC_B, BOTH, &ra), ==, RA_GUARD);
    allow(&fx, HOSTVLAN_OFFER_ROUTER);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &ra), ==, PASSED);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &dhcp), ==, DHCP_GUARD);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &cut), ==, MALFORMED);
    g_assert_cmpint(sent(t, MAC_A, HOSTVLAN_OFFER_ROUTER, &cut), ==, PASSED);
    allow(&fx, HOSTVLAN_OFFER_DHCP);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &ra), ==, RA_GUARD);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &dhcp), ==, PASSED);
    allow(&fx, BOTH);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &ra), ==, PASSED);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &cut), ==, PASSED);
    hv_remove(fx.w, MAC_A);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &ra), ==, RA_GUARD);
    hv_end(&fx);
}

/* Permissions are unknown: frames that need none pass. */
static void test_damaged(void)
{
    Frame ra = plain6(ICMP6, RA), na = plain6(ICMP6, 136);
    HvFile fx = hv_begin(16, 64);
    g_autoptr(HostvlanTable) t = NULL;

    allow(&fx, HOSTVLAN_OFFER_ROUTER);
    t = hv_open(fx.path);
    fx.w->word[1] ^= 4;
    g_assert_cmpint(sent(t, MAC_A, BOTH, &ra), ==, HOSTVLAN_DAMAGED);
    g_assert_cmpint(sent(t, MAC_A, BOTH, &na), ==, PASSED);
    hv_end(&fx);
}

/* --- with other MAC addresses --------------------------------------------- */

static enum hostvlan_reason send_from(const HostvlanTable *t, uint64_t source)
{
    uint8_t frame[14];
    size_t fixed;

    hv_ethernet(frame, MAC_B, source, 0, 0x0800);
    return hostvlan_verdict_send(t, MAC_A, false, frame, sizeof(frame),
                                 &fixed);
}

/* All addresses of the port in the table, and no others. */
static void test_also(void)
{
    HvEntry e = {
        .num_lnids = 2, .lnid = { 7, 8 }, .num_ip4 = 1, .ip4 = { 0xc0000201u },
    };
    HvFile fx = hv_begin(16, 256);
    g_autoptr(HostvlanTable) t = NULL;

    g_assert_true(hv_set(fx.w, MAC_A, &e));
    t = hv_open(fx.path);
    g_assert_cmpint(send_from(t, MAC_C), ==, HOSTVLAN_SPOOFED);
    for (unsigned num = 1; num <= HOSTVLAN_ALSO_MAX; num++) {
        e.num_also = num;
        e.also[num - 1] = MAC_C + 2 * num;
        g_assert_true(hv_set(fx.w, MAC_A, &e));
        for (unsigned i = 0; i < num; i++) {
            g_assert_cmpint(send_from(t, e.also[i]), ==, HOSTVLAN_PASSED);
            g_assert_cmpint(send_from(t, e.also[i] + 1), ==,
                            HOSTVLAN_SPOOFED);
        }
        g_assert_cmpint(send_from(t, MAC_A), ==, HOSTVLAN_PASSED);
        fx.w->header->words_used = 0;
    }
    /* A damaged address permits nothing. */
    fx.w->word[2] ^= 1;
    g_assert_cmpint(send_from(t, e.also[0]), ==, HOSTVLAN_SPOOFED);
    g_assert_cmpint(send_from(t, MAC_A), ==, HOSTVLAN_PASSED);
    hv_end(&fx);
}

/* Invalid lists: not ascending, duplicates, a group, the port's own address. */
static void test_refused(void)
{
    static const uint64_t wrong[][2] = {
        { MAC_C, MAC_B }, { MAC_B, MAC_B }, { MAC_B, 0x030000000000ull },
        { 0, MAC_B }, { MAC_A, MAC_B }, { MAC_B, 1ull << 48 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        HvFile fx = hv_begin(16, 64);
        HvEntry e = {
            .num_lnids = 1, .lnid = { 7 }, .num_also = 2,
            .also = { wrong[i][0], wrong[i][1] },
        };

        g_assert_true(hv_set(fx.w, MAC_A, &e));
        hv_assert_refused(fx.path, HOSTVLAN_TABLE_ERROR_RECORD);
        hv_end(&fx);
    }
}

int main(int argc, char **argv)
{
    hv_test_init(&argc, &argv);
    g_test_add_func("/hostvlan/offers/plain", test_plain);
    g_test_add_func("/hostvlan/offers/extensions", test_extensions);
    g_test_add_func("/hostvlan/offers/fragments", test_fragments);
    g_test_add_func("/hostvlan/offers/behind-the-end", test_behind_the_end);
    g_test_add_func("/hostvlan/offers/ip4", test_ip4);
    g_test_add_func("/hostvlan/offers/headers", test_headers);
    g_test_add_func("/hostvlan/offers/short", test_short);
    g_test_add_func("/hostvlan/offers/allowed", test_allowed);
    g_test_add_func("/hostvlan/offers/damaged", test_damaged);
    g_test_add_func("/hostvlan/also/sent", test_also);
    g_test_add_func("/hostvlan/also/refused", test_refused);
    return g_test_run();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDATA from the network: checked, in canonical form, in order */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "net/dns/wire/fields.h"
#include "net/dns/wire/wire.h"

#define OCTETS(text)    ((const uint8_t *)(text))
#define WIRE(number, text) \
    { .type = number, .rdata = OCTETS(text), .len = sizeof(text) - 1 }
#define ORDER(type, a, b) \
    order(type, OCTETS(a), sizeof(a) - 1, OCTETS(b), sizeof(b) - 1)

enum {
    MX = DNS_TYPE_MX,
    ISDN = 20,
    LOC = 29,
    APL = 42,
    IPSECKEY = 45,
    HIP = 55,
    ZONEMD = 63,
};

typedef struct Wire {
    uint16_t type;
    const uint8_t *rdata;
    size_t len;
} Wire;

/* Each is valid.  If it has a fixed length, one octet less or more is not. */
static const Wire right[] = {
    WIRE(DNS_TYPE_A, "\1\2\3\4"),
    WIRE(DNS_TYPE_NS, "\1a\0"),
    WIRE(DNS_TYPE_SOA, "\0\0" "1234567890abcdefghij"),
    WIRE(MX, "\0\12\1a\0"),
    WIRE(DNS_TYPE_AAAA, "1234567890abcdef"),
    WIRE(DNS_TYPE_SRV, "\0\0\0\0\0\0\0"),
    WIRE(DNS_TYPE_NAPTR, "\0\0\0\0\1u\0\0\0"),
    WIRE(LOC, "\0\x12\x16\x13\x80\0\0\0\x80\0\0\0\0\0\0\0"),
    WIRE(ZONEMD, "\0\0\0\0\1\1"
                   "0123456789abcdef0123456789abcdef0123456789abcdef"),
    WIRE(DNS_TYPE_DS, "\0\0\10\1" "0123456789abcdefghij"),
    WIRE(IPSECKEY, "\1\0\2"),
    WIRE(HIP, "\1\2\0\1hk"),
};

static const Wire wrong[] = {
    /* Names: a pointer, a label that is too long, none, too many octets */
    WIRE(DNS_TYPE_NS, "\xc0\x0c"),
    WIRE(DNS_TYPE_NS, "\x40" "a\0"),
    WIRE(DNS_TYPE_NS, ""),
    WIRE(DNS_TYPE_NS, "\1a"),
    WIRE(DNS_TYPE_TXT, ""),
    WIRE(DNS_TYPE_TXT, "\2a"),
    WIRE(ISDN, "\1a\1b\1c"),
    WIRE(DNS_TYPE_DNSKEY, "\1\0\3\10"),
    WIRE(DNS_TYPE_TLSA, "\1\1\1"),
    /* RFC 4034 section 4.1.2: empty, too long, ends in zeros, not in order */
    WIRE(DNS_TYPE_NSEC, "\0" "\0\0"),
    WIRE(DNS_TYPE_NSEC, "\0" "\0\2\1\0"),
    WIRE(DNS_TYPE_NSEC, "\0" "\1\1\1\0\1\1"),
    WIRE(DNS_TYPE_NSEC, "\0" "\0\1\1\0\1\1"),
    WIRE(DNS_TYPE_NSEC, "\0" "\0\41" "123456789012345678901234567890123"),
    WIRE(DNS_TYPE_NSEC, "\0" "\0\3\1"),
    WIRE(DNS_TYPE_NSEC3, "\1\0\0\0\0\0"),
    WIRE(DNS_TYPE_NSEC3PARAM, "\1\0\0\0\1"),
    /* RFC 1876: version, digits, above the pole */
    WIRE(LOC, "\1\x12\x16\x13\x80\0\0\0\x80\0\0\0\0\0\0\0"),
    WIRE(LOC, "\0\x1a\x16\x13\x80\0\0\0\x80\0\0\0\0\0\0\0"),
    WIRE(LOC, "\0\x12\x16\x01\x80\0\0\0\x80\0\0\0\0\0\0\0"),
    WIRE(LOC, "\0\x12\x16\x13\xff\0\0\0\x80\0\0\0\0\0\0\0"),
    /* RFC 3123: zeros at the end, too many bits, too many octets */
    WIRE(APL, "\0\1\10\2\12\0"),
    WIRE(APL, "\0\1\41\1\12"),
    WIRE(APL, "\0\1\10\5\1\2\3\4\5"),
    WIRE(APL, "\0\2\x81\1\12"),
    WIRE(IPSECKEY, "\1\4\2" "abcd"),
    WIRE(IPSECKEY, "\1\1\2" "abc"),
    WIRE(IPSECKEY, "\1\3\2\xc0\x0c"),
    WIRE(HIP, "\0\2\0\1k"),
    WIRE(HIP, "\1\2\0\1hk\xc0\x0c"),
    /* RFC 9460: keys not in order, twice, values that are none */
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\4\0\4\1\2\3\4" "\0\3\0\2\0\1"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\3\0\2\0\1" "\0\3\0\2\0\1"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\3\0\1\1"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\4\0\3\1\2\3"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\4\0\0"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\1\0\3\3h2"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\1\0\1\0"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\2\0\0"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\0\0\2\0\3"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\0\0\2\0\0"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\xff\xff\0\0"),
    WIRE(DNS_TYPE_HTTPS, "\0\1\0" "\0\7\0\5" "a"),
    WIRE(DNS_TYPE_CAA, "\0\0v"),
    WIRE(DNS_TYPE_CAA, "\0\2a-v"),
};

/* A copy of the exact length, so that a sanitizer finds overruns */
static int check(uint16_t type, const uint8_t *rdata, size_t len)
{
    uint8_t *copy = len ? g_memdup2(rdata, len) : NULL;
    int ret = dns_rdata_check(type, DNS_CLASS_IN, copy, len);

    g_free(copy);
    return ret;
}

static void test_check(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(right); i++) {
        uint8_t longer[128] = { 0 };

        g_assert_cmpint(check(right[i].type, right[i].rdata, right[i].len),
                        ==, 0);
        memcpy(longer, right[i].rdata, right[i].len);
        for (size_t len = 0; len < right[i].len; len++) {
            g_assert_cmpint(check(right[i].type, longer, len), ==, -EBADMSG);
        }
        if (right[i].type != IPSECKEY && right[i].type != HIP) {
            g_assert_cmpint(check(right[i].type, longer, right[i].len + 1), ==,
                            -EBADMSG);
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_cmpint(check(wrong[i].type, wrong[i].rdata, wrong[i].len), ==,
                        -EBADMSG);
    }
    g_assert_cmpint(check(65280, NULL, 0), ==, 0);
    g_assert_cmpint(dns_rdata_check(DNS_TYPE_A, DNS_CLASS_CH, OCTETS("\1"),
                                    1), ==, 0);
}

static void test_longest_name(void)
{
    uint8_t rdata[300] = { 0 };

    for (int i = 0; i < 256; i += 2) {
        rdata[i] = 1;
        rdata[i + 1] = 'a';
    }
    /* 127 labels of one octet and the root are 255 octets. */
    rdata[254] = 0;
    g_assert_cmpint(check(DNS_TYPE_NS, rdata, 255), ==, 0);
    rdata[254] = 1;
    g_assert_cmpint(check(DNS_TYPE_NS, rdata, 257), ==, -EBADMSG);
}

/* RFC 4034 section 6.2, and RFC 6840 section 5.1 of NSEC */
static void test_canonical(void)
{
    static const struct {
        uint16_t type;
        const char *from;
        const char *to;
        size_t len;
    } cases[] = {
        { MX, "\0A\2Ab\0", "\0A\2ab\0", 6 },
        { DNS_TYPE_SOA, "\1A\0\1B\0ABCDEFGHIJKLMNOPQRST",
          "\1a\0\1b\0ABCDEFGHIJKLMNOPQRST", 26 },
        { DNS_TYPE_NAPTR, "\0A\0A\1A\1B\1C\1D\0", "\0A\0A\1A\1B\1C\1d\0", 13 },
        { DNS_TYPE_RRSIG, "AAAAAAAAAAAAAAAAAA\1S\0SIG",
          "AAAAAAAAAAAAAAAAAA\1s\0SIG", 24 },
        { DNS_TYPE_NSEC, "\1N\0\0\1A", "\1N\0\0\1A", 6 },
        { DNS_TYPE_TXT, "\1A", "\1A", 2 },
        { DNS_TYPE_SVCB, "\0A\1A\0", "\0A\1A\0", 5 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        size_t len = cases[i].len;
        g_autofree uint8_t *rdata = g_memdup2(cases[i].from, len);

        g_assert_cmpint(dns_rdata_canonical(cases[i].type, DNS_CLASS_IN, rdata,
                                            len), ==, 0);
        g_assert_cmpmem(rdata, len, cases[i].to, len);
    }
}

static int order(uint16_t type, const uint8_t *a, size_t a_len,
                 const uint8_t *b, size_t b_len)
{
    int forth = dns_rdata_compare(type, DNS_CLASS_IN, a, a_len, b, b_len);
    int back = dns_rdata_compare(type, DNS_CLASS_IN, b, b_len, a, a_len);

    g_assert_true((forth < 0) == (back > 0) && (forth > 0) == (back < 0));
    return (forth > 0) - (forth < 0);
}

/* RFC 4034 section 6.3 */
static void test_order(void)
{
    g_assert_cmpint(ORDER(MX, "\0\1\1A\0", "\0\1\1a\0"), ==, 0);
    g_assert_cmpint(ORDER(MX, "\0\1\1B\0", "\0\1\1a\0"), ==, 1);
    g_assert_cmpint(ORDER(MX, "\0\2\1a\0", "\0\1\1b\0"), ==, 1);
    /* As octets: the shorter label first */
    g_assert_cmpint(ORDER(MX, "\0\1\1z\0", "\0\1\2aa\0"), ==, -1);
    g_assert_cmpint(ORDER(MX, "\0\1\1a\0", "\0\1\1a\1a\0"), ==, -1);
    g_assert_cmpint(ORDER(DNS_TYPE_TXT, "\1A", "\1a"), ==, -1);
    g_assert_cmpint(ORDER(DNS_TYPE_TXT, "\1a", "\1a\1b"), ==, -1);
    g_assert_cmpint(ORDER(DNS_TYPE_TXT, "\1a\1b", "\1a\1b"), ==, 0);
    g_assert_cmpint(ORDER(DNS_TYPE_NSEC, "\1A\0", "\1a\0"), ==, -1);
    /* Malformed RDATA has a place in the order as well. */
    g_assert_cmpint(ORDER(MX, "\0\1\5A", "\0\1\5a"), ==, -1);
    g_assert_cmpint(order(MX, NULL, 0, OCTETS("\0"), 1), ==, -1);
    g_assert_cmpint(ORDER(MX, "\0\1\1A\0", "\0\1\1a\0x"), ==, -1);
}

/* Random octets compare as their canonical forms do. */
static void test_order_random(void)
{
    static const uint16_t types[] = {
        DNS_TYPE_NS, MX, DNS_TYPE_SOA, DNS_TYPE_TXT, DNS_TYPE_NAPTR,
        DNS_TYPE_SRV, HIP, IPSECKEY, APL,
    };
    unsigned whole = 0;

    for (int i = 0; i < 200000; i++) {
        uint16_t type = types[g_test_rand_int_range(0, G_N_ELEMENTS(types))];
        uint8_t a[16], b[16], a_low[16], b_low[16];
        int expected, len = g_test_rand_int_range(1, sizeof(a));

        for (size_t at = 0; at < sizeof(a); at++) {
            a[at] = "\0\0\1\1aAbB"[g_test_rand_int_range(0, 8)];
            b[at] = g_test_rand_int_range(0, 3) ? a[at] : a[at] ^ 0x20;
        }
        memcpy(a_low, a, len);
        memcpy(b_low, b, len);
        if (dns_rdata_canonical(type, DNS_CLASS_IN, a_low, len) ||
            dns_rdata_canonical(type, DNS_CLASS_IN, b_low, len)) {
            continue;
        }
        whole++;
        expected = memcmp(a_low, b_low, len);
        g_assert_cmpint(order(type, a, len, b, len), ==,
                        (expected > 0) - (expected < 0));
    }
    g_assert_cmpint(whole, >, 1000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-fields/check", test_check);
    g_test_add_func("/dns-fields/longest-name", test_longest_name);
    g_test_add_func("/dns-fields/canonical", test_canonical);
    g_test_add_func("/dns-fields/order", test_order);
    g_test_add_func("/dns-fields/order-random", test_order_random);
    return g_test_run();
}

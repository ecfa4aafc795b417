/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS wire format: golden and hostile messages
 *
 * The golden messages were made by dnspython 2.3, an independent codec.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "net/dns/wire/wire.h"

static const uint8_t query_edns[] = {
    0x12, 0x34, 0x01, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
    0x03, 0x77, 0x77, 0x77, 0x07, 0x45, 0x78, 0x61, 0x6d, 0x70, 0x6c, 0x65,
    0x03, 0x63, 0x6f, 0x6d, 0x00, 0x00, 0x1c, 0x00, 0x01, 0x00, 0x00, 0x29,
    0x04, 0xd0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static const uint8_t reply_cname_aaaa[] = {
    0x12, 0x34, 0x81, 0x80, 0x00, 0x01, 0x00, 0x03, 0x00, 0x00, 0x00, 0x01,
    0x03, 0x77, 0x77, 0x77, 0x07, 0x45, 0x78, 0x61, 0x6d, 0x70, 0x6c, 0x65,
    0x03, 0x63, 0x6f, 0x6d, 0x00, 0x00, 0x1c, 0x00, 0x01, 0xc0, 0x0c, 0x00,
    0x05, 0x00, 0x01, 0x00, 0x00, 0x01, 0x2c, 0x00, 0x06, 0x03, 0x77, 0x65,
    0x62, 0xc0, 0x10, 0xc0, 0x2d, 0x00, 0x1c, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x3c, 0x00, 0x10, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xc0, 0x2d, 0x00, 0x1c, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x3c, 0x00, 0x10, 0x20, 0x01, 0x0d, 0xb8, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00,
    0x00, 0x29, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static const uint8_t reply_nxdomain[] = {
    0x00, 0x01, 0x81, 0x83, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01,
    0x04, 0x6e, 0x6f, 0x70, 0x65, 0x07, 0x65, 0x78, 0x61, 0x6d, 0x70, 0x6c,
    0x65, 0x03, 0x63, 0x6f, 0x6d, 0x00, 0x00, 0x01, 0x00, 0x01, 0xc0, 0x11,
    0x00, 0x06, 0x00, 0x01, 0x00, 0x00, 0x03, 0x84, 0x00, 0x21, 0x03, 0x6e,
    0x73, 0x31, 0xc0, 0x11, 0x04, 0x68, 0x6f, 0x73, 0x74, 0xc0, 0x11, 0x00,
    0x00, 0x07, 0xea, 0x00, 0x00, 0x1c, 0x20, 0x00, 0x00, 0x0e, 0x10, 0x00,
    0x12, 0x75, 0x00, 0x00, 0x00, 0x01, 0x2c, 0x00, 0x00, 0x29, 0x04, 0xd0,
    0x00, 0x00, 0x80, 0x00, 0x00, 0x06, 0x00, 0x0f, 0x00, 0x02, 0x00, 0x16,
};

static const uint8_t reply_ptr[] = {
    0x00, 0x07, 0x81, 0x80, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
    0x02, 0x31, 0x30, 0x01, 0x30, 0x02, 0x31, 0x38, 0x03, 0x31, 0x39, 0x38,
    0x07, 0x69, 0x6e, 0x2d, 0x61, 0x64, 0x64, 0x72, 0x04, 0x61, 0x72, 0x70,
    0x61, 0x00, 0x00, 0x0c, 0x00, 0x01, 0xc0, 0x0c, 0x00, 0x0c, 0x00, 0x01,
    0x00, 0x00, 0x00, 0x78, 0x00, 0x12, 0x04, 0x68, 0x6f, 0x73, 0x74, 0x07,
    0x65, 0x78, 0x61, 0x6d, 0x70, 0x6c, 0x65, 0x03, 0x6e, 0x65, 0x74, 0x00,
};

static DnsName name_of(const char *text)
{
    DnsName name;

    g_assert_cmpint(dns_name_from_text(&name, text), ==, 0);
    return name;
}

static void assert_name(const DnsName *name, const char *expected)
{
    char text[DNS_NAME_TEXT_MAX];

    dns_name_to_text(name, text);
    g_assert_cmpstr(text, ==, expected);
}

/*** Names ***/

static void test_name_text(void)
{
    static const char * const same[] = {
        ".", "com", "www.Example.com", "a\\.b.c", "\\000\\255.x", "a\\\\b",
    };
    static const char * const invalid[] = {
        "", "..", ".a", "a..b", "\\25", "\\256.a", "a\\",
        "0123456789012345678901234567890123456789012345678901234567890123",
    };
    DnsName name;

    for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
        name = name_of(same[i]);
        assert_name(&name, same[i]);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(invalid); i++) {
        g_assert_cmpint(dns_name_from_text(&name, invalid[i]), ==, -EINVAL);
    }
    name = name_of("example.com.");
    assert_name(&name, "example.com");
    g_assert_cmpuint(name.len, ==, 13);
    g_assert_cmpuint(name.labels, ==, 2);
}

static void test_name_equal(void)
{
    DnsName a = name_of("www.Example.COM"), b = name_of("WWW.example.com");
    DnsName c = name_of("www.example.co"), d = name_of("wwwxexample.com");
    /* '[' is '{' with the bit of ASCII case, but no letter */
    DnsName e = name_of("a["), f = name_of("a{");

    g_assert_true(dns_name_equal(&a, &b));
    g_assert_false(dns_name_equal(&a, &c));
    g_assert_false(dns_name_equal(&a, &d));
    g_assert_false(dns_name_equal(&e, &f));
}

static void test_name_within(void)
{
    DnsName name = name_of("a.b.Example"), zone = name_of("example");
    DnsName root = name_of("."), other = name_of("xample");
    DnsName far = name_of("b.other");

    g_assert_true(dns_name_within(&name, &name));
    g_assert_true(dns_name_within(&name, &zone));
    g_assert_true(dns_name_within(&name, &root));
    g_assert_true(dns_name_within(&root, &root));
    g_assert_false(dns_name_within(&zone, &name));
    g_assert_false(dns_name_within(&root, &zone));
    g_assert_false(dns_name_within(&name, &other));
    g_assert_false(dns_name_within(&name, &far));
}

static void test_name_longest(void)
{
    uint8_t msg[DNS_HEADER_LEN + 257];
    size_t offset = DNS_HEADER_LEN;
    DnsName name;

    /* 127 labels of one octet and the root: 255 octets */
    memset(msg, 0, sizeof(msg));
    for (size_t i = 0; i < 127; i++) {
        msg[offset + 2 * i] = 1;
        msg[offset + 2 * i + 1] = 'a';
    }
    g_assert_cmpint(dns_name_parse(msg, sizeof(msg), &offset, &name), ==, 0);
    g_assert_cmpuint(name.len, ==, 255);
    g_assert_cmpuint(name.labels, ==, 127);
    g_assert_cmpuint(offset, ==, DNS_HEADER_LEN + 255);

    /* One label more: 257 */
    offset = DNS_HEADER_LEN;
    msg[offset + 254] = 1;
    g_assert_cmpint(dns_name_parse(msg, sizeof(msg), &offset, &name), ==,
                    -EBADMSG);
    g_assert_cmpuint(offset, ==, DNS_HEADER_LEN);
}

static void assert_bad_name(const char *bytes, size_t len, size_t offset)
{
    uint8_t msg[64] = { 0 };
    DnsName name;

    memcpy(msg + DNS_HEADER_LEN, bytes, len);
    offset += DNS_HEADER_LEN;
    g_assert_cmpint(dns_name_parse(msg, DNS_HEADER_LEN + len, &offset, &name),
                    ==, -EBADMSG);
}

static void test_name_hostile(void)
{
    assert_bad_name("\xc0\x0c", 2, 0);              /* to itself */
    assert_bad_name("\xc0\x0e\xc0\x0c", 4, 0);      /* forward */
    assert_bad_name("\xc0\x0e\xc0\x0c", 4, 2);      /* two in a circle */
    assert_bad_name("\1a\xc0\x0c", 4, 0);           /* label and back */
    assert_bad_name("\xc0", 1, 0);                  /* half a pointer */
    assert_bad_name("\xc0\x02", 2, 0);              /* into the header */
    assert_bad_name("\xff\xff", 2, 0);              /* behind the end */
    assert_bad_name("\x40\x41\0", 3, 0);            /* EDNS label type */
    assert_bad_name("\x80\x41\0", 3, 0);            /* unassigned */
    assert_bad_name("\3\xc0\x0cx", 5, 1);           /* at a label it is in */
    assert_bad_name("\5ab", 3, 0);                  /* label cut */
    assert_bad_name("\2ab", 3, 0);                  /* no root */
    assert_bad_name("", 0, 0);
}

/* A name that grows by a label with each of 32,000 pointers */
static void test_name_pointer_ladder(void)
{
    g_autofree uint8_t *msg = g_malloc0(DNS_MSG_MAX);
    size_t pos = DNS_HEADER_LEN + 1, steps = 0;
    size_t before = DNS_HEADER_LEN;
    DnsName name;

    while (before <= 0x3fff && pos + 4 <= DNS_MSG_MAX) {
        msg[pos] = 1;
        msg[pos + 1] = 'x';
        msg[pos + 2] = 0xc0 | before >> 8;
        msg[pos + 3] = before;
        before = pos;
        pos += 4;
        if (++steps <= 127) {
            size_t offset = before;

            g_assert_cmpint(dns_name_parse(msg, pos, &offset, &name), ==, 0);
            g_assert_cmpuint(name.labels, ==, steps);
            g_assert_cmpuint(offset, ==, pos);
        }
    }
    g_assert_cmpint(dns_name_parse(msg, pos, &before, &name), ==, -EBADMSG);
}

/* 8,000 pointers to pointers: as many steps, and a name without a label */
static void test_name_bare_pointers(void)
{
    enum { ROOT = DNS_HEADER_LEN, FIRST = ROOT + 1, MOST = 8000 };
    g_autofree uint8_t *msg = g_malloc0(FIRST + 2 * MOST);
    size_t target = ROOT, pos = FIRST;
    DnsName name;

    for (unsigned pointers = 1; pointers <= MOST; pointers++) {
        size_t offset = pos;
        bool good = pointers <= DNS_LABELS_MAX + 1;

        msg[pos] = 0xc0 | target >> 8;
        msg[pos + 1] = target;
        target = pos;
        pos += 2;
        g_assert_cmpint(dns_name_parse(msg, pos, &offset, &name), ==,
                        good ? 0 : -EBADMSG);
        g_assert_cmpuint(offset, ==, good ? pos : target);
    }
}

/* A name of 127 labels, each behind a pointer, and the root behind one */
static void test_name_most_pointers(void)
{
    uint8_t msg[DNS_HEADER_LEN + 1 + 4 * DNS_LABELS_MAX + 2] = { 0 };
    size_t target = DNS_HEADER_LEN, pos = target + 1;
    DnsName name;

    for (unsigned i = 0; i < DNS_LABELS_MAX; i++) {
        msg[pos] = 1;
        msg[pos + 1] = 'x';
        msg[pos + 2] = 0xc0 | target >> 8;
        msg[pos + 3] = target;
        target = pos;
        pos += 4;
    }
    msg[pos] = 0xc0 | target >> 8;
    msg[pos + 1] = target;
    g_assert_cmpint(dns_name_parse(msg, sizeof(msg), &pos, &name), ==, 0);
    g_assert_cmpuint(name.labels, ==, DNS_LABELS_MAX);
    g_assert_cmpuint(pos, ==, sizeof(msg));
}

static void test_reverse(void)
{
    struct in_addr addr, back;
    struct in6_addr addr6;
    DnsName name;
    static const char * const not_hosts[] = {
        "18.198.in-addr.arpa", "1.0.0.18.198.in-addr.arpa",
        "256.0.18.198.in-addr.arpa", "01.0.18.198.in-addr.arpa",
        "a.0.18.198.in-addr.arpa", "1.0.18.198.in-addr.arp",
        "1.0.18.198.ip6.arpa", "1.0.18.198.in-addx.arpa",
    };

    inet_pton(AF_INET, "198.18.0.254", &addr);
    dns_name_from_in_addr(&name, addr);
    assert_name(&name, "254.0.18.198.in-addr.arpa");
    g_assert_true(dns_name_to_in_addr(&name, &back));
    g_assert_cmphex(back.s_addr, ==, addr.s_addr);
    name = name_of("254.0.18.198.IN-ADDR.Arpa");
    g_assert_true(dns_name_to_in_addr(&name, &back));
    for (size_t i = 0; i < G_N_ELEMENTS(not_hosts); i++) {
        name = name_of(not_hosts[i]);
        g_assert_false(dns_name_to_in_addr(&name, &back));
    }
    inet_pton(AF_INET6, "2001:db8::567:89ab", &addr6);
    dns_name_from_in6_addr(&name, &addr6);
    assert_name(&name, "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0."
                "0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa");
    g_assert_cmpuint(name.labels, ==, 34);
}

/*** Golden messages ***/

static void test_parse_query(void)
{
    DnsHeader header;
    DnsCursor cursor;
    DnsQuestion question;
    DnsEdns edns;
    DnsRr rr;

    g_assert_cmpint(dns_header_parse(query_edns, sizeof(query_edns),
                                     &header), ==, 0);
    g_assert_cmphex(header.id, ==, 0x1234);
    g_assert_cmphex(header.flags, ==, DNS_FLAG_RD);
    g_assert_cmpuint(header.qdcount, ==, 1);
    g_assert_cmpuint(header.arcount, ==, 1);
    dns_cursor_init(&cursor, query_edns, sizeof(query_edns));
    g_assert_cmpint(dns_cursor_question(&cursor, &question), ==, 1);
    assert_name(&question.name, "www.Example.com");
    g_assert_cmpuint(question.type, ==, DNS_TYPE_AAAA);
    g_assert_cmpuint(question.qclass, ==, DNS_CLASS_IN);
    g_assert_cmpint(dns_cursor_question(&cursor, &question), ==, 0);
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_cmpuint(rr.type, ==, DNS_TYPE_OPT);
    g_assert_cmpint(dns_rdata_edns(&cursor, &rr, &edns), ==, 0);
    g_assert_cmpuint(edns.udp_size, ==, 1232);
    g_assert_false(edns.dnssec_ok);
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 0);
}

static void test_build_query(void)
{
    DnsQuestion question = {
        .name = name_of("www.Example.com"),
        .type = DNS_TYPE_AAAA,
        .qclass = DNS_CLASS_IN,
    };
    uint8_t buf[DNS_QUERY_MAX];
    size_t len = dns_query_build(buf, &question, DNS_FLAG_RD, false);

    dns_msg_set_id(buf, 0x1234);
    g_assert_cmpmem(buf, len, query_edns, sizeof(query_edns));
}

static void test_parse_reply(void)
{
    struct in6_addr addr;
    char text[INET6_ADDRSTRLEN];
    DnsCursor cursor;
    DnsName target;
    DnsRr rr;

    dns_cursor_init(&cursor, reply_cname_aaaa, sizeof(reply_cname_aaaa));
    /* The question is skipped */
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    assert_name(&rr.name, "www.Example.com");
    g_assert_cmpuint(rr.section, ==, DNS_SECTION_ANSWER);
    g_assert_cmpuint(rr.type, ==, DNS_TYPE_CNAME);
    g_assert_cmpuint(rr.ttl, ==, 300);
    g_assert_cmpint(dns_rdata_name(&cursor, &rr, &target), ==, 0);
    g_assert_cmpint(dns_rdata_aaaa(&cursor, &rr, &addr), ==, -EBADMSG);
    for (int i = 1; i <= 2; i++) {
        g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
        g_assert_true(dns_name_equal(&rr.name, &target));
        g_assert_cmpint(dns_rdata_aaaa(&cursor, &rr, &addr), ==, 0);
        inet_ntop(AF_INET6, &addr, text, sizeof(text));
        g_assert_cmpstr(text, ==, i == 1 ? "2001:db8::1" : "2001:db8::2");
    }
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_cmpuint(rr.type, ==, DNS_TYPE_OPT);
    g_assert_cmpuint(rr.section, ==, DNS_SECTION_ADDITIONAL);
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 0);
}

static void test_parse_soa_ede(void)
{
    DnsCursor cursor;
    DnsEdns edns;
    DnsSoa soa;
    DnsRr rr;

    dns_cursor_init(&cursor, reply_nxdomain, sizeof(reply_nxdomain));
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_cmpuint(rr.section, ==, DNS_SECTION_AUTHORITY);
    g_assert_cmpint(dns_rdata_soa(&cursor, &rr, &soa), ==, 0);
    assert_name(&soa.mname, "ns1.example.com");
    assert_name(&soa.rname, "host.example.com");
    g_assert_cmpuint(soa.serial, ==, 2026);
    g_assert_cmpuint(soa.minimum, ==, 300);
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_cmpint(dns_rdata_edns(&cursor, &rr, &edns), ==, 0);
    g_assert_true(edns.dnssec_ok);
    g_assert_true(edns.has_ede);
    g_assert_cmpuint(edns.ede, ==, 22);
}

/* The same messages, octet for octet, out of the builder */
static void test_build_reply(void)
{
    DnsQuestion question = {
        .name = name_of("www.Example.com"),
        .type = DNS_TYPE_AAAA,
        .qclass = DNS_CLASS_IN,
    };
    DnsName web = name_of("web.example.com");
    DnsEdns edns = { .udp_size = 4096 };
    struct in6_addr addr;
    uint8_t buf[DNS_UDP_MIN];
    DnsBuilder b;

    dns_builder_init(&b, buf, sizeof(buf), 0x1234, 0x8180);
    g_assert_cmpint(dns_builder_question(&b, &question), ==, 0);
    g_assert_cmpint(dns_builder_name(&b, DNS_SECTION_ANSWER, &question.name,
                                     DNS_TYPE_CNAME, 300, &web), ==, 0);
    inet_pton(AF_INET6, "2001:db8::1", &addr);
    g_assert_cmpint(dns_builder_aaaa(&b, DNS_SECTION_ANSWER, &web, 60,
                                     &addr), ==, 0);
    addr.s6_addr[15] = 2;
    g_assert_cmpint(dns_builder_aaaa(&b, DNS_SECTION_ANSWER, &web, 60,
                                     &addr), ==, 0);
    g_assert_cmpint(dns_builder_edns(&b, &edns), ==, 0);
    g_assert_cmpmem(buf, b.len, reply_cname_aaaa, sizeof(reply_cname_aaaa));
}

static void test_build_soa_ede(void)
{
    DnsQuestion question = {
        .name = name_of("nope.example.com"),
        .type = DNS_TYPE_A,
        .qclass = DNS_CLASS_IN,
    };
    DnsSoa soa = {
        .mname = name_of("ns1.example.com"),
        .rname = name_of("host.example.com"),
        .serial = 2026, .refresh = 7200, .retry = 3600,
        .expire = 1209600, .minimum = 300,
    };
    DnsName zone = name_of("example.com");
    DnsEdns edns = {
        .udp_size = 1232, .dnssec_ok = true, .has_ede = true, .ede = 22,
    };
    uint8_t buf[DNS_UDP_MIN];
    DnsBuilder b;

    dns_builder_init(&b, buf, sizeof(buf), 1, 0x8183);
    dns_builder_question(&b, &question);
    g_assert_cmpint(dns_builder_soa(&b, DNS_SECTION_AUTHORITY, &zone, 900,
                                    &soa), ==, 0);
    g_assert_cmpint(dns_builder_edns(&b, &edns), ==, 0);
    g_assert_cmpmem(buf, b.len, reply_nxdomain, sizeof(reply_nxdomain));
}

static void test_build_ptr(void)
{
    DnsName target = name_of("host.example.net");
    struct in_addr addr = { htonl(0xc612000a) };
    DnsQuestion question = { .type = DNS_TYPE_PTR, .qclass = DNS_CLASS_IN };
    uint8_t buf[DNS_UDP_MIN];
    DnsBuilder b;

    dns_name_from_in_addr(&question.name, addr);
    dns_builder_init(&b, buf, sizeof(buf), 7, 0x8180);
    dns_builder_question(&b, &question);
    g_assert_cmpint(dns_builder_name(&b, DNS_SECTION_ANSWER, &question.name,
                                     DNS_TYPE_PTR, 120, &target), ==, 0);
    g_assert_cmpmem(buf, b.len, reply_ptr, sizeof(reply_ptr));
}

/*
 * A name in another case is compressed and takes the other case, or is not
 * compressed
 */
static void test_build_case(void)
{
    DnsQuestion question = {
        .name = name_of("WWW.example.com"),
        .type = DNS_TYPE_CNAME,
        .qclass = DNS_CLASS_IN,
    };
    DnsName same = name_of("www.example.com"), name;

    for (int keeps = 0; keeps < 2; keeps++) {
        uint8_t buf[DNS_UDP_MIN];
        DnsBuilder b;
        size_t at;

        dns_builder_init(&b, buf, sizeof(buf), 7, 0x8180);
        if (keeps) {
            dns_builder_keep_case(&b);
        }
        dns_builder_question(&b, &question);
        g_assert_cmpint(dns_builder_name(&b, DNS_SECTION_ANSWER,
                                         &question.name, DNS_TYPE_CNAME, 120,
                                         &same), ==, 0);
        at = b.len - (keeps ? 6 : 2);
        g_assert_cmpint(dns_name_parse(buf, b.len, &at, &name), ==, 0);
        g_assert_cmpmem(name.wire, 4, keeps ? "\3www" : "\3WWW", 4);
        g_assert_cmpuint(at, ==, b.len);
    }
}

/*** Limits ***/

/* A message cut at any place is malformed */
static void test_truncated_input(void)
{
    for (size_t len = 0; len < sizeof(reply_cname_aaaa); len++) {
        g_autofree uint8_t *msg = g_memdup2(reply_cname_aaaa, len);
        DnsCursor cursor;
        DnsRr rr;
        int ret = dns_cursor_init(&cursor, msg, len);

        while (!ret) {
            ret = dns_cursor_rr(&cursor, &rr);
            ret = ret == 1 ? 0 : ret ? ret : 1;
        }
        g_assert_cmpint(ret, ==, -EBADMSG);
    }
}

static void test_lying_counts(void)
{
    /* Questions, answers, authority, additional */
    for (int field = 0; field < 4; field++) {
        uint8_t msg[sizeof(reply_cname_aaaa)];
        DnsCursor cursor;
        DnsRr rr;
        int ret;

        memcpy(msg, reply_cname_aaaa, sizeof(msg));
        msg[4 + 2 * field] = 0xff;
        dns_cursor_init(&cursor, msg, sizeof(msg));
        do {
            ret = dns_cursor_rr(&cursor, &rr);
        } while (ret > 0);
        g_assert_cmpint(ret, ==, -EBADMSG);
    }
}

static void test_rdata_beyond_end(void)
{
    uint8_t msg[sizeof(reply_ptr)];
    DnsCursor cursor;
    DnsName name;
    DnsRr rr;

    /* The target's name ends one octet before, or after, RDATA */
    for (int delta = -1; delta <= 1; delta += 2) {
        memcpy(msg, reply_ptr, sizeof(msg));
        dns_cursor_init(&cursor, msg, sizeof(msg));
        dns_cursor_rr(&cursor, &rr);
        rr.rdlength += delta;
        g_assert_cmpint(dns_rdata_name(&cursor, &rr, &name), ==,
                        -EBADMSG);
    }
    msg[rr.rdata - 1]++;
    dns_cursor_init(&cursor, msg, sizeof(msg));
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, -EBADMSG);
}

static void test_rdata_a(void)
{
    uint8_t msg[] = {
        0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
        0, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 198, 18, 0, 1,
    };
    struct in_addr addr;
    DnsCursor cursor;
    DnsRr rr;

    dns_cursor_init(&cursor, msg, sizeof(msg));
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_cmpuint(rr.section, ==, DNS_SECTION_AUTHORITY);
    g_assert_cmpint(dns_rdata_a(&cursor, &rr, &addr), ==, 0);
    g_assert_cmphex(ntohl(addr.s_addr), ==, 0xc6120001);
    rr.rdlength = 3;
    g_assert_cmpint(dns_rdata_a(&cursor, &rr, &addr), ==, -EBADMSG);
}

static void test_ttl_sign(void)
{
    uint8_t msg[sizeof(reply_ptr)];
    DnsCursor cursor;
    DnsRr rr;

    memcpy(msg, reply_ptr, sizeof(msg));
    dns_cursor_init(&cursor, msg, sizeof(msg));
    dns_cursor_rr(&cursor, &rr);
    msg[rr.rdata - 6] = 0x80;
    dns_cursor_init(&cursor, msg, sizeof(msg));
    dns_cursor_rr(&cursor, &rr);
    g_assert_cmpuint(rr.ttl, ==, 0);
    g_assert_cmphex(rr.raw_ttl, ==, 0x80000078);
}

static void test_edns_malformed(void)
{
    /* Header, then an OPT with 5 octets of options, of which 4 + n promised */
    uint8_t msg[] = {
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
        0, 0, 41, 4, 0xd0, 1, 2, 0x80, 0, 0, 5, 0, 15, 0, 1, 9,
    };
    DnsCursor cursor;
    DnsEdns edns;
    DnsRr rr;

    dns_cursor_init(&cursor, msg, sizeof(msg));
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_cmpint(dns_rdata_edns(&cursor, &rr, &edns), ==, 0);
    g_assert_false(edns.has_ede);       /* too short to be one */
    g_assert_cmpuint(edns.rcode_high, ==, 1);
    g_assert_cmpuint(edns.version, ==, 2);
    g_assert_true(edns.dnssec_ok);
    msg[26] = 2;
    g_assert_cmpint(dns_rdata_edns(&cursor, &rr, &edns), ==, -EBADMSG);
    msg[26] = 1;
    rr.rdlength = 3;
    g_assert_cmpint(dns_rdata_edns(&cursor, &rr, &edns), ==, -EBADMSG);
    rr.rdlength = 5;
    rr.section = DNS_SECTION_ANSWER;
    g_assert_cmpint(dns_rdata_edns(&cursor, &rr, &edns), ==, -EBADMSG);
}

/*
 * A record that does not fit leaves no octets, and truncation keeps the
 * question
 */
static void test_build_overflow(void)
{
    DnsQuestion question = {
        .name = name_of("www.example.com"),
        .type = DNS_TYPE_A,
        .qclass = DNS_CLASS_IN,
    };
    DnsName other = name_of("other.example.com");
    struct in_addr addr = { htonl(0xc6120001) };
    DnsEdns edns = { .udp_size = 1232 };
    uint8_t buf[DNS_UDP_MIN + 1], before[DNS_UDP_MIN];
    DnsBuilder b;
    DnsHeader header;
    size_t len;
    int count = 0;

    buf[DNS_UDP_MIN] = 0x5a;
    dns_builder_init(&b, buf, DNS_UDP_MIN, 1, DNS_FLAG_QR);
    dns_builder_question(&b, &question);
    do {
        len = b.len;
        memcpy(before, buf, len);
        count++;
    } while (!dns_builder_a(&b, DNS_SECTION_ANSWER, &question.name, 1, addr));
    g_assert_cmpmem(buf, b.len, before, len);
    /* 12 + 21 + 29 * 16 = 497 */
    g_assert_cmpint(count - 1, ==, 29);
    g_assert_cmpint(dns_builder_name(&b, DNS_SECTION_ANSWER, &other,
                                     DNS_TYPE_CNAME, 1, &other), ==,
                    -EMSGSIZE);
    g_assert_cmpmem(buf, b.len, before, len);
    dns_builder_truncate(&b);
    g_assert_cmpint(dns_builder_edns(&b, &edns), ==, 0);
    dns_header_parse(buf, b.len, &header);
    g_assert_cmphex(header.flags, ==, DNS_FLAG_QR | DNS_FLAG_TC);
    g_assert_cmpuint(header.qdcount, ==, 1);
    g_assert_cmpuint(header.ancount, ==, 29);
    g_assert_cmpuint(header.arcount, ==, 1);
    g_assert_cmpuint(b.len, ==, 497 + 11);
    g_assert_cmphex(buf[DNS_UDP_MIN], ==, 0x5a);
}

/* Later records do not point into a record that did not fit */
static void test_build_after_overflow(void)
{
    DnsName large = name_of("a-label-to-be-cut.example");
    DnsName small = name_of("x"), owner = name_of("example");
    uint8_t buf[60];
    DnsCursor cursor;
    DnsBuilder b;
    DnsRr rr;

    dns_builder_init(&b, buf, sizeof(buf), 1, DNS_FLAG_QR);
    g_assert_cmpint(dns_builder_raw(&b, DNS_SECTION_ANSWER, &large, 99, 1, 1,
                                    buf, 30), ==, -EMSGSIZE);
    dns_builder_raw(&b, DNS_SECTION_ANSWER, &small, 99, 1, 1, buf, 0);
    dns_builder_raw(&b, DNS_SECTION_ANSWER, &owner, 99, 1, 1, buf, 0);
    dns_cursor_init(&cursor, buf, b.len);
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_true(dns_name_equal(&rr.name, &small));
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    g_assert_true(dns_name_equal(&rr.name, &owner));
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 0);
}

/* Names behind offset 16383 cannot be pointed to */
static void test_build_far(void)
{
    g_autofree uint8_t *buf = g_malloc0(DNS_MSG_MAX);
    g_autofree uint8_t *data = g_malloc0(17000);
    DnsName near = name_of("near.example"), far = name_of("far.away");
    DnsCursor cursor;
    DnsBuilder b;
    DnsRr rr;

    dns_builder_init(&b, buf, DNS_MSG_MAX, 1, DNS_FLAG_QR);
    dns_builder_raw(&b, DNS_SECTION_ANSWER, &near, 99, 1, 1, data, 17000);
    for (int i = 0; i < 2; i++) {
        dns_builder_raw(&b, DNS_SECTION_ANSWER, &far, 99, 1, 1, data, 0);
        dns_builder_raw(&b, DNS_SECTION_ANSWER, &near, 99, 1, 1, data, 0);
    }
    dns_cursor_init(&cursor, buf, b.len);
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
    for (int i = 0; i < 2; i++) {
        g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
        g_assert_true(dns_name_equal(&rr.name, &far));
        g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 1);
        g_assert_true(dns_name_equal(&rr.name, &near));
        g_assert_cmpuint(rr.rdata - rr.start, ==, 12);
    }
    g_assert_cmpint(dns_cursor_rr(&cursor, &rr), ==, 0);
}

/* Hundreds of names, more suffixes than are remembered */
static void test_build_large(void)
{
    g_autofree uint8_t *buf = g_malloc(DNS_MSG_MAX);
    DnsQuestion question = {
        .name = name_of("example.com"),
        .type = DNS_TYPE_PTR,
        .qclass = DNS_CLASS_IN,
    };
    int count = 0, seen = 0;
    DnsCursor cursor;
    DnsBuilder b;
    DnsRr rr;

    dns_builder_init(&b, buf, DNS_MSG_MAX, 1, DNS_FLAG_QR);
    dns_builder_question(&b, &question);
    for (;;) {
        char text[64];
        DnsName name;

        g_snprintf(text, sizeof(text), "host-%d.rack-%d.Example.com",
                   count, count / 7);
        name = name_of(text);
        if (dns_builder_name(&b, DNS_SECTION_ANSWER, &name, DNS_TYPE_PTR, 1,
                             &name)) {
            break;
        }
        count++;
    }
    dns_cursor_init(&cursor, buf, b.len);
    while (dns_cursor_rr(&cursor, &rr) > 0) {
        char text[64];
        DnsName name, expected;

        g_snprintf(text, sizeof(text), "host-%d.rack-%d.example.com",
                   seen, seen / 7);
        expected = name_of(text);
        g_assert_cmpint(dns_rdata_name(&cursor, &rr, &name), ==, 0);
        g_assert_true(dns_name_equal(&rr.name, &expected));
        g_assert_true(dns_name_equal(&name, &expected));
        seen++;
    }
    g_assert_cmpint(seen, ==, count);
    g_assert_cmpint(count, >, 1000);
}

static int count_records(const uint8_t *buf, size_t len)
{
    DnsCursor cursor;
    int count = 0;
    DnsRr rr;
    int ret;

    dns_cursor_init(&cursor, buf, len);
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        count++;
    }
    return ret ? ret : count;
}

static void test_adopt(void)
{
    enum { FIRST_END = 51 };
    DnsQuestion question = {
        .name = name_of("WWW.EXAMPLE.COM"),
        .type = DNS_TYPE_ANY,
        .qclass = DNS_CLASS_IN,
    };
    size_t opt = sizeof(reply_cname_aaaa) - 11;
    uint8_t buf[DNS_UDP_MIN];
    DnsBuilder b;

    dns_builder_init(&b, buf, 64, 9, DNS_FLAG_QR);
    dns_builder_question(&b, &question);
    /* No less than the question */
    g_assert_cmpint(dns_builder_adopt(&b, reply_cname_aaaa, 32), ==,
                    -EMSGSIZE);
    g_assert_cmpuint(b.len, ==, 33);
    /* The first record ends within 64 octets, the second does not. */
    g_assert_cmpint(dns_builder_adopt(&b, reply_cname_aaaa, opt), ==,
                    -EMSGSIZE);
    g_assert_cmpuint(b.len, ==, FIRST_END);
    g_assert_cmpmem(buf + 6, 6, "\0\1\0\0\0\0", 6);
    g_assert_cmpmem(buf + 33, FIRST_END - 33, reply_cname_aaaa + 33,
                    FIRST_END - 33);
    for (size_t size = 33; size < opt; size++) {
        dns_builder_init(&b, buf, size, 9, DNS_FLAG_QR);
        dns_builder_question(&b, &question);
        g_assert_cmpint(dns_builder_adopt(&b, reply_cname_aaaa, opt), ==,
                        -EMSGSIZE);
        g_assert_cmpuint(b.len, <=, size);
        g_assert_cmpint(count_records(buf, b.len), ==, buf[7]);
    }
    dns_builder_init(&b, buf, sizeof(buf), 9, DNS_FLAG_QR);
    dns_builder_question(&b, &question);
    g_assert_cmpint(dns_builder_adopt(&b, reply_cname_aaaa, opt), ==, 0);
    g_assert_cmpuint(b.len, ==, opt);
    g_assert_cmpmem(buf + 6, 6, "\0\3\0\0\0\0", 6);
    g_assert_cmpmem(buf + 33, opt - 33, reply_cname_aaaa + 33, opt - 33);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/name/text", test_name_text);
    g_test_add_func("/dns/name/equal", test_name_equal);
    g_test_add_func("/dns/name/within", test_name_within);
    g_test_add_func("/dns/name/longest", test_name_longest);
    g_test_add_func("/dns/name/hostile", test_name_hostile);
    g_test_add_func("/dns/name/pointer-ladder", test_name_pointer_ladder);
    g_test_add_func("/dns/name/bare-pointers", test_name_bare_pointers);
    g_test_add_func("/dns/name/most-pointers", test_name_most_pointers);
    g_test_add_func("/dns/name/reverse", test_reverse);
    g_test_add_func("/dns/parse/query", test_parse_query);
    g_test_add_func("/dns/parse/reply", test_parse_reply);
    g_test_add_func("/dns/parse/soa-ede", test_parse_soa_ede);
    g_test_add_func("/dns/parse/truncated", test_truncated_input);
    g_test_add_func("/dns/parse/lying-counts", test_lying_counts);
    g_test_add_func("/dns/parse/rdata-beyond-end", test_rdata_beyond_end);
    g_test_add_func("/dns/parse/rdata-a", test_rdata_a);
    g_test_add_func("/dns/parse/ttl-sign", test_ttl_sign);
    g_test_add_func("/dns/parse/edns-malformed", test_edns_malformed);
    g_test_add_func("/dns/build/query", test_build_query);
    g_test_add_func("/dns/build/reply", test_build_reply);
    g_test_add_func("/dns/build/soa-ede", test_build_soa_ede);
    g_test_add_func("/dns/build/ptr", test_build_ptr);
    g_test_add_func("/dns/build/case", test_build_case);
    g_test_add_func("/dns/build/overflow", test_build_overflow);
    g_test_add_func("/dns/build/after-overflow", test_build_after_overflow);
    g_test_add_func("/dns/build/far", test_build_far);
    g_test_add_func("/dns/build/large", test_build_large);
    g_test_add_func("/dns/build/adopt", test_adopt);
    return g_test_run();
}

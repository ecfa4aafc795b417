/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wrong master files and their error messages */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "tests/fixtures/dns-text-fixture.h"

#define HEAD    "$TTL 1h\n"
#define LABEL64 "0123456789abcdef0123456789abcdef" \
                "0123456789abcdef0123456789abcdef"

/* A file behind HEAD, and the one error in it without the file's name */
static const struct {
    const char *text;
    const char *error;
} wrongs[] = {
    { "x A 300.1.2.3",
      "2:5: 300.1.2.3 is no IPv4 address: four numbers from 0 to 255" },
    { "x A 1.2.3",
      "2:5: 1.2.3 is no IPv4 address: four numbers from 0 to 255" },
    { "x A 01.2.3.4",
      "2:5: 01.2.3.4 is no IPv4 address: four numbers from 0 to 255" },
    { "x A", "2:4: the A record ends too early: an IPv4 address must follow" },
    { "x A \"1.2.3.4\"",
      "2:6: \"1.2.3.4\" is in quotes, but an IPv4 address is not" },
    { "x A 1.2.3.4 5",
      "2:13: 5 is too much: the A record is whole before it" },
    { "x AAAA 1:2:3:4:5:6:7",
      "2:8: 1:2:3:4:5:6:7 is no IPv6 address: eight groups of hex digits, or "
      ":: for a run of zeros" },
    { "x AAAA 1::2::3",
      "2:8: 1::2::3 is no IPv6 address: eight groups of hex digits, or :: for "
      "a run of zeros" },
    { "x AAAA ::1.2.3.4:5",
      "2:8: ::1.2.3.4:5 is no IPv6 address: eight groups of hex digits, or :: "
      "for a run of zeros" },
    { "x NS a..b",
      "2:6: a..b is no domain name: a label is empty, but only the dot at the "
      "end may have nothing before or behind it" },
    { "x NS .a",
      "2:6: .a is no domain name: a label is empty, but only the dot at the "
      "end may have nothing before or behind it" },
    { "x NS " LABEL64,
      "2:6: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab... is "
      "no domain name: a label has at most 63 octets" },
    { "x NS a\\300",
      "2:6: a\\300 is no domain name: \\ needs a character or three digits up "
      "to 255 behind it" },
    { "x NS a\\12",
      "2:6: a\\12 is no domain name: \\ needs a character or three digits up "
      "to 255 behind it" },
    { "x MX ten mail", "2:6: ten is no number from 0 to 65535" },
    { "x MX 65536 mail", "2:6: 65536 is no number from 0 to 65535" },
    { "x MX 10",
      "2:8: the MX record ends too early: a domain name must follow" },
    { "x TXT \"open",
      "2:7: a \" is missing: what this one opens must be closed on the same "
      "line" },
    { "x TXT a\\999",
      "2:7: a\\999 has a \\ without a character or three digits up to 255" },
    { "x TXT", "2:6: the TXT record ends too early: a string must follow" },
    { "x TXT )", "2:7: a ) without a ( before it" },
    { "x TXT (\n\n a", "2:7: nothing closes this (: the file ends first" },
    { "x BOGUS 1",
      "2:3: BOGUS is no type of records, such as A or TYPE1, and no TTL or "
      "class" },
    { "x ANY", "2:3: ANY is not the zone's class, which is IN" },
    { "x AXFR",
      "2:3: AXFR is a type of questions only: no zone has such records" },
    { "x CH A 1.2.3.4", "2:3: CH is not the zone's class, which is IN" },
    { "x IN IN A 1.2.3.4", "2:6: IN is a second class" },
    { "x 1 2 A 1.2.3.4", "2:5: 2 is a second TTL" },
    { "x 1y A 1.2.3.4",
      "2:3: 1y is no TTL: seconds up to 2147483647, or units as in 1h30m" },
    { "x 300", "2:6: the record ends before its type" },
    { "x \"A\" 1.2.3.4",
      "2:4: \"A\" is in quotes, but a type must stand here" },
    { "\"x\" A 1.2.3.4",
      "2:2: \"x\" is in quotes, but the owner of a record is not" },
    { " A 1.2.3.4",
      "2:2: A begins a record without an owner, and there is none before it: @ "
      "is the origin" },
    { "x DS 1 8 1 AABB",
      "2:16: that is no data of type DS: a digest of type 1 has 20 "
      "octets, of 2 32, and of 4 48" },
    { "x DS 1 8 9 AAB", "2:15: the hex ends within an octet" },
    { "x DS 1 8 9 AAGB", "2:12: AAGB is no hex: digits are 0-9 and a-f" },
    { "x DNSKEY 256 3 8 AQI", "2:21: the base64 ends within an octet" },
    { "x DNSKEY 256 3 8 A===",
      "2:18: A=== is no base64: digits are A-Z, a-z, 0-9, + and /, with = "
      "at the end alone" },
    { "x DNSKEY 256 3 FOO AQID", "2:16: FOO is no number from 0 to 255" },
    { "x RRSIG A 8 1 1 20240230000000 0 1 . AQID",
      "2:17: 20240230000000 is no time: YYYYMMDDHHmmSS or seconds" },
    { "x NSEC . A B",
      "2:12: B is no type of records, such as A or TYPE1" },
    { "x NSEC3 1 0 0 - xyz",
      "2:17: xyz is no base32hex: digits are 0-9 and a-v" },
    { "x NSEC3 1 0 0 ABC 00",
      "2:15: ABC is not whole octets, or more than 255 of them" },
    { "x SOA a b 1 2 3 4",
      "2:18: the SOA record ends too early: a time must follow" },
    { "x LOC 91 N 0 E 0",
      "2:7: 91 is no part of an angle up to 90 degrees: D [M [S.sss]] N|S" },
    { "x LOC 90 0 1 N 0 E 0", "2:14: N ends an angle above 90 degrees" },
    { "x LOC 1 2 3 4 N", "2:13: 4 is neither N nor S" },
    { "x LOC 1 N 1 E high",
      "2:15: high is no altitude from -100000.00m to 42849672.95m" },
    { "x APL 3:1.2.3.4/5",
      "2:7: 3:1.2.3.4/5 is no address prefix: [!]1:IPV4/LENGTH or "
      "[!]2:IPV6/LENGTH" },
    { "x APL 1:1.2.3.4/33",
      "2:7: 1:1.2.3.4/33 is no address prefix: [!]1:IPV4/LENGTH or "
      "[!]2:IPV6/LENGTH" },
    { "x IPSECKEY 1 4 2 .",
      "2:18: . follows a type of gateway that is none from 0 to 3" },
    { "x IPSECKEY 1 0 2 gw",
      "2:18: gw must be a dot, as the type says that there is no gateway" },
    { "x HTTPS 1 . alpn=h2 alpn=h3",
      "2:21: alpn=h3 has a key that is there already" },
    { "x HTTPS 1 . foo=1",
      "2:13: foo=1 has no key of RFC 9460: alpn, port and so on, or "
      "keyNNNNN" },
    { "x HTTPS 1 . port=65536",
      "2:13: port=65536 has a value that is no port from 0 to 65535" },
    { "x HTTPS 1 . ipv4hint=1.2.3",
      "2:13: ipv4hint=1.2.3 has a value that is no list of IPv4 addresses" },
    { "x HTTPS 1 . alpn=",
      "2:13: alpn= has a value that is no list of protocols of 1 to 255 "
      "octets" },
    { "x HTTPS 1 . mandatory=port",
      "2:27: that is no data of type HTTPS: no value is empty, "
      "mandatory names keys that are there, and no-default-alpn is beside "
      "alpn" },
    { "x HTTPS 1 . alpn=\"h2",
      "2:18: a \" is missing: what this one opens must be closed on the same "
      "line" },
    { "x CAA 0 a-b \"\"",
      "2:15: that is no data of type CAA: the tag has letters and "
      "digits only, and one at least" },
    { "x EUI48 00-00-5e-00-53",
      "2:9: 00-00-5e-00-53 is no EUI48: 6 times two hex digits with - between "
      "them" },
    { "x NID 1 1:2:3",
      "2:9: 1:2:3 is no 64-bit value: four groups of hex digits with : between "
      "them" },
    { "x WKS 1.2.3.4 TCP smtp", "2:19: smtp is no port from 0 to 65535" },
    { "x NULL 00",
      "2:8: data of type NULL has one form in text: \\# LENGTH HEX" },
    { "x A \\# 3 010203",
      "2:16: that is no data of type A: its parts do not fit "
      "together" },
    { "x TYPE1000 \\# 3 0102", "2:21: \\# says 3 octets, but there are 2" },
    { "x TYPE1000 \\# x", "2:15: x is no number of octets from 0 to 65535" },
    { "$ORIGIN", "2:8: a domain name must follow" },
    { "$ORIGIN a b", "2:11: b is too much: the directive is whole before it" },
    { "$TTL x",
      "2:6: x is no TTL: seconds up to 2147483647, or units as in 1h30m" },
    { "$INCLUDE", "2:9: the name of a file must follow" },
    { "$INCLUDE /nonexistent/sub.db",
      "2:0: /nonexistent/sub.db cannot be read: No such file or directory" },
    { "$FOO",
      "2:1: $FOO is no directive: $ORIGIN, $TTL, $INCLUDE or $GENERATE" },
    { "$GENERATE 5-1 a$ A 1.2.3.$",
      "2:11: 5-1 is no range: FIRST-LAST or FIRST-LAST/STEP, up to "
      "2147483647" },
    { "$GENERATE 1-2/0 a$ A 1.2.3.$",
      "2:11: 1-2/0 is no range: FIRST-LAST or FIRST-LAST/STEP, up to "
      "2147483647" },
    { "$GENERATE 0-16777216 a$ A 1.2.3.4",
      "2:11: 0-16777216 is a range of more than 16777216 numbers" },
    { "$GENERATE 1-2 a${0,2,b} A 1.2.3.$",
      "2:0: a${0,2,b} has a wrong form of the number: ${OFFSET,WIDTH,BASE} "
      "with BASE one of d o x X n N, the number at most 2147483647 and WIDTH "
      "at most 255" },
    { "$GENERATE 1-2 a$ MX 10 mx$",
      "2:24: mx$ is not where the line should end: the data of $GENERATE is "
      "one word, or in quotes" },
    { "$GENERATE 254-256 a$ A 1.2.3.$",
      "2:0: 1.2.3.256 is no IPv4 address: four numbers from 0 to 255" },
    { "x TXT \033[2J\"", "2:11: a \" is missing: what this one opens must be "
      "closed on the same line" },
    { "\033[2J.. A 1.2.3.4",
      "2:1: .[2J.. is no domain name: a label is empty, but only the dot at "
      "the end may have nothing before or behind it" },
};

/* Each error is reported with its place, and the other lines are read. */
static void test_messages(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
        bool is_open = strchr(wrongs[i].text, '(') != NULL;
        g_autofree char *text = g_strconcat(HEAD, wrongs[i].text, is_open ?
                                            NULL : "\nlast A 192.0.2.9\n",
                                            NULL);
        g_autofree char *error = g_strconcat("zone.db:", wrongs[i].error, "\n",
                                             NULL);
        DnsTextHeard heard = dns_text_heard();

        g_assert_cmpint(dns_text_parse(&heard, text), ==, -EINVAL);
        g_assert_cmpstr(heard.errors->str, ==, error);
        if (!is_open) {
            g_assert_nonnull(strstr(heard.records->str,
                                    "last.example. 3600 IN A 192.0.2.9\n"));
        }
        dns_text_forget(&heard);
    }
}

/* After an error in parentheses, the record is skipped to its end. */
static void test_goes_on(void)
{
    DnsTextHeard heard = dns_text_heard();

    g_assert_cmpint(dns_text_parse(&heard, HEAD
        "x MX (ten ; not )\n"
        " \"(\" \\( mail\n"
        " )\n"
        "y MX ten mail\n"
        "bad.. A 192.0.2.1\n"
        "  A 192.0.2.2\n"
        "z A 192.0.2.3\n"), ==, -EINVAL);
    g_assert_cmpstr(heard.errors->str, ==,
        "zone.db:2:7: ten is no number from 0 to 65535\n"
        "zone.db:5:6: ten is no number from 0 to 65535\n"
        "zone.db:6:1: bad.. is no domain name: a label is empty, but only the "
        "dot at the end may have nothing before or behind it\n");
    /* A record behind a wrong owner is dropped. */
    g_assert_cmpstr(heard.records->str, ==,
                    "z.example. 3600 IN A 192.0.2.3\n");
    dns_text_forget(&heard);
}

static void test_bounded(void)
{
    g_autoptr(GString) text = g_string_new(HEAD);
    DnsTextHeard heard = dns_text_heard();

    for (int i = 0; i < 100; i++) {
        g_string_append(text, "x A y\n");
    }
    g_assert_cmpint(dns_text_parse(&heard, text->str), ==, -EINVAL);
    g_assert_true(g_str_has_suffix(heard.errors->str,
        "zone.db:65:5: y is no IPv4 address: four numbers from 0 to 255\n"
        "zone.db:65:0: too many errors: the rest was not checked\n"));
    dns_text_forget(&heard);

    heard = dns_text_heard();
    heard.errors_max = 2;
    g_assert_cmpint(dns_text_parse(&heard, text->str), ==, -ECANCELED);
    g_assert_cmpstr(heard.errors->str, ==,
        "zone.db:2:5: y is no IPv4 address: four numbers from 0 to 255\n"
        "zone.db:3:5: y is no IPv4 address: four numbers from 0 to 255\n");
    dns_text_forget(&heard);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-text/wrong/messages", test_messages);
    g_test_add_func("/dns-text/wrong/goes-on", test_goes_on);
    g_test_add_func("/dns-text/wrong/bounded", test_bounded);
    return g_test_run();
}

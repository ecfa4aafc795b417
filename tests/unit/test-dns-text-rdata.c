/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDATA of every type from text, in wire form, and to text */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "tests/fixtures/dns-text-fixture.h"
#include "net/dns/wire/fields.h"
#include "dnsd/text/rdata.h"
#include "dnsd/text/types.h"

#define KEY "AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ=="
#define HIT "200100107B1A74DF365639CC39F1D578"
#define SHA1 "2BB183AF5F22588179A53B0A98631FAD1A292118"
#define SHA384 SHA1 SHA1 "0123456789ABCDEF"
#define SIG "A 13 3 86400 20300101000000 20240101000000 2642 example.com. " KEY

/* Text, and its printed form if that differs. */
typedef struct Example {
    const char *type;
    const char *text;
    const char *printed;
} Example;

static const Example examples[] = {
    { "A", "192.0.2.1", NULL },
    { "A", "\\# 4 0A000001", "10.0.0.1" },
    { "NS", "ns.example.com.", NULL },
    { "NS", "ns1", "ns1.example." },
    { "NS", "@", "example." },
    { "NS", ".", NULL },
    { "NS", "a\\.b.\\(\\\"\\\\\\$\\@\\;\\000\\255.x.", NULL },
    { "MD", "old.example.", NULL },
    { "MF", "old.example.", NULL },
    { "CNAME", "MiXed.Example.COM.", NULL },
    { "SOA", "ns.example. host.example. 4294967295 1h30m 15M 1w2d 0",
      "ns.example. host.example. 4294967295 5400 900 777600 0" },
    { "MB", "box.example.", NULL },
    { "MG", "group.example.", NULL },
    { "MR", "new.example.", NULL },
    { "NULL", "\\# 3 000102", NULL },
    { "NULL", "\\# 0", NULL },
    { "WKS", "192.0.2.1 TCP 25 80", "192.0.2.1 6 25 80" },
    { "WKS", "192.0.2.1 17 0 65535", NULL },
    { "PTR", "host.example.", NULL },
    { "HINFO", "\"VAX-11/780\" \"UNIX\"", NULL },
    { "HINFO", "ia64 Linux", "\"ia64\" \"Linux\"" },
    { "MINFO", "a.example. b.example.", NULL },
    { "MX", "10 mail.example.", NULL },
    { "MX", "0 .", NULL },
    { "TXT", "\"a b\" \"c;d\" \"\\\"\\\\\\000\\255\" \"\"", NULL },
    { "TXT", "a b ( c\n d )", "\"a\" \"b\" \"c\" \"d\"" },
    { "RP", "a.example. b.example.", NULL },
    { "AFSDB", "1 afs.example.", NULL },
    { "X25", "\"311061700956\"", NULL },
    { "ISDN", "\"150862028003217\" \"004\"", NULL },
    { "ISDN", "\"150862028003217\"", NULL },
    { "RT", "2 relay.example.", NULL },
    { "NSAP", "0x47.0005.80.005a00.0000.0001.e133.ffffff000161.00",
      "0x47000580005A0000000001E133FFFFFF00016100" },
    { "NSAP-PTR", "foo.example.", NULL },
    { "SIG", SIG, NULL },
    { "KEY", "256 3 13 " KEY, NULL },
    { "KEY", "ZONE|NOCONF DNSSEC RSASHA256 " KEY, "16640 3 8 " KEY },
    { "KEY", "NOKEY 3 5", "49152 3 5" },
    { "PX", "10 a.example. b.example.", NULL },
    { "GPOS", "\"-32.6882\" \"116.8652\" \"10.0\"", NULL },
    { "AAAA", "2001:db8::1", NULL },
    { "AAAA", "::", NULL },
    { "AAAA", "1:2:3:4:5:6:7:8", NULL },
    { "AAAA", "1::8", NULL },
    { "AAAA", "::ffff:192.0.2.1", NULL },
    { "AAAA", "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
    { "AAAA", "64:ff9b::192.0.2.33", "64:ff9b::c000:221" },
    { "LOC", "42 21 54.000 N 71 6 18.000 W -24.00m 30m 10000m 10m", NULL },
    { "LOC", "42 21 54 N 71 06 18 W -24m 30m",
      "42 21 54.000 N 71 6 18.000 W -24.00m 30m 10000m 10m" },
    { "LOC", "90 S 180 e 42849672.95 0 0.05 90000000.00m",
      "90 0 0.000 S 180 0 0.000 E 42849672.95m 0.00m 0.05m 90000000m" },
    { "LOC", "0 0 0.001 N 0 59 59.999 W -100000",
      "0 0 0.001 N 0 59 59.999 W -100000.00m 1m 10000m 10m" },
    { "NXT", "b.example. A MX SIG NXT", NULL },
    { "EID", "E32C6F78163A9348", NULL },
    { "NIMLOC", "75234159EAC457800920", NULL },
    { "SRV", "0 5 5060 sip.example.", NULL },
    { "ATMA", "\\# 2 0047", NULL },
    { "NAPTR", "100 50 \"s\" \"http+I2R\" \"\" _http._tcp.example.", NULL },
    { "NAPTR", "1 2 \"u\" \"E2U\" \"!^.*$!sip:a\\\\1@b!\" .", NULL },
    { "KX", "10 kx.example.", NULL },
    { "CERT", "1 2642 8 " KEY, NULL },
    { "CERT", "PKIX 1 RSASHA256 AQID", "1 1 8 AQID" },
    { "A6", "64 ::1234:5678:9abc:def0 net.example.", NULL },
    { "A6", "0 2001:db8::1", NULL },
    { "A6", "128 net.example.", NULL },
    { "A6", "1 ffff:: a.", "1 7fff:: a." },
    { "DNAME", "target.example.", NULL },
    { "SINK", "64 0 1 AQID", NULL },
    { "OPT", "\\# 0", NULL },
    { "APL", "1:192.168.32.0/21 !1:192.168.38.0/28", NULL },
    { "APL", "1:224.0.0.0/4 2:ff00::/8", NULL },
    { "APL", "!1:0.0.0.0/0", NULL },
    { "APL", "", NULL },
    { "DS", "60485 5 1 " SHA1, NULL },
    { "DS", "1 ECDSAP256SHA256 SHA-1 2bb183af 5f22588179a53b0a98631fad1a2 "
      "92118", "1 13 1 " SHA1 },
    { "DS", "0 0 0 00", NULL },
    { "SSHFP", "4 2 " SHA1, NULL },
    { "IPSECKEY", "10 1 2 192.0.2.38 " KEY, NULL },
    { "IPSECKEY", "10 0 2 . " KEY, NULL },
    { "IPSECKEY", "10 2 2 2001:db8::8002 " KEY, NULL },
    { "IPSECKEY", "10 3 2 gw.example. " KEY, NULL },
    { "IPSECKEY", "10 0 0 .", NULL },
    { "RRSIG", SIG, NULL },
    { "SIG", "1234 5 5 0 0 0 0 . AQID",
      "TYPE1234 5 5 0 19700101000000 19700101000000 0 . AQID" },
    { "RRSIG", "TYPE1234 RSASHA1 5 0 4294967295 0 0 . AQID",
      "TYPE1234 5 5 0 21060207062815 19700101000000 0 . AQID" },
    { "NSEC", "host.Example. A MX RRSIG NSEC TYPE1234", NULL },
    { "NSEC", "host.example. CAA A TYPE65535 NS",
      "host.example. A NS CAA TYPE65535" },
    { "NSEC", "host.example.", NULL },
    { "DNSKEY", "257 3 13 " KEY, NULL },
    { "DHCID", KEY, NULL },
    { "NSEC3", "1 1 12 AABBCCDD 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR A RRSIG",
      NULL },
    { "NSEC3", "1 0 0 - 2t7b4g4vsa5smi47k61mv5bv1a22bojr",
      "1 0 0 - 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR" },
    { "NSEC3PARAM", "1 0 12 AABBCCDD", NULL },
    { "NSEC3PARAM", "1 0 0 -", NULL },
    { "TLSA", "3 1 1 " SHA1, NULL },
    { "SMIMEA", "3 0 0 AB", NULL },
    { "HIP", "2 " HIT " " KEY, NULL },
    { "HIP", "2 " HIT " " KEY " rvs1.example. rvs2.example.", NULL },
    { "NINFO", "\"a\" \"b\"", NULL },
    { "RKEY", "0 3 8 AQID", NULL },
    { "TALINK", "a.example. b.example.", NULL },
    { "CDS", "0 0 0 00", NULL },
    { "CDNSKEY", "0 3 0 AA==", NULL },
    { "OPENPGPKEY", "AQI DBA UG ", "AQIDBAUG" },
    { "CSYNC", "66 3 A NS AAAA", NULL },
    { "ZONEMD", "2018031500 1 1 " SHA384, NULL },
    { "ZONEMD", "1 240 241 E2D523F654B9422A96C5A8F44607BBEE", NULL },
    { "SVCB", "0 foo.example.", NULL },
    { "SVCB", "16 foo.example. port=53", NULL },
    { "SVCB", "1 foo.example. key667=\"hello\\210qoo\"", NULL },
    { "SVCB", "1 foo.example. key667=hi", "1 foo.example. key667=\"hi\"" },
    { "SVCB", "1 foo.example. ipv6hint=2001:db8::1,2001:db8::53:1", NULL },
    { "SVCB", "1 f.example. ipv4hint=192.0.2.1 mandatory=port,ipv4hint port=1",
      "1 f.example. mandatory=port,ipv4hint port=1 ipv4hint=192.0.2.1" },
    { "SVCB", "16 foo.example. alpn=\"f\\\\\\\\oo\\\\,bar,h2\"", NULL },
    { "SVCB", "16 foo.example. alpn=f\\\\\\092oo\\092,bar,h2",
      "16 foo.example. alpn=\"f\\\\\\\\oo\\\\,bar,h2\"" },
    { "SVCB", "1 . key1=\"\\002h2\"", "1 . alpn=\"h2\"" },
    { "SVCB", "1 . dohpath=/dns-query{?dns} key65534",
      "1 . dohpath=\"/dns-query{?dns}\" key65534" },
    { "HTTPS", "1 . alpn=\"h2,h3\" no-default-alpn ech=AEn+DQ==", NULL },
    { "HTTPS", "0 cdn.example.", NULL },
    { "HTTPS", "1 . alpn=\"h2\" ohttp tls-supported-groups=29,23", NULL },
    { "SVCB", "1 . key8 key9=\"\\000\\029\"",
      "1 . ohttp tls-supported-groups=29" },
    { "SVCB", "1 . alpn=co docpath=dns,v1", "1 . alpn=\"co\" "
      "docpath=\"dns,v1\"" },
    { "SVCB", "1 . alpn=co docpath", "1 . alpn=\"co\" docpath" },
    { "DSYNC", "CDS NOTIFY 5359 cds.example.", "CDS 1 5359 cds.example." },
    { "DSYNC", "CSYNC 129 0 a.example.", NULL },
    { "HHIT", "AEn+DQ==", NULL },
    { "BRID", "AEn+DQ==", NULL },
    { "CLA", "\"TCP-v4\" \"TCP-v6\"", NULL },
    { "IPN", "18446744073709551615", NULL },
    { "IPN", "0", NULL },
    { "NSEC", "\\000.a.example. NSEC RRSIG NXNAME",
      "\\000.a.example. RRSIG NSEC NXNAME" },
    { "SPF", "\"v=spf1 -all\"", NULL },
    { "UINFO", "\\# 1 00", NULL },
    { "UID", "\\# 1 00", NULL },
    { "GID", "\\# 1 00", NULL },
    { "UNSPEC", "\\# 1 00", NULL },
    { "NID", "10 0014:4FFF:FF20:EE64", NULL },
    { "NID", "10 14:4fff:ff20:ee64", "10 0014:4FFF:FF20:EE64" },
    { "L32", "10 10.1.2.0", NULL },
    { "L64", "10 2001:0DB8:1140:1000", NULL },
    { "LP", "10 l64.example.", NULL },
    { "EUI48", "00-00-5E-EF-10-00", NULL },
    { "EUI64", "00-00-5E-EF-10-00-00-2A", NULL },
    { "URI", "10 1 \"ftp://ftp1.example.com/public\"", NULL },
    { "CAA", "0 issue \"ca1.example.net; a=b\"", NULL },
    { "CAA", "128 tbs \"\"", NULL },
    { "AVC", "\"app-name:WOLFGANG\"", NULL },
    { "DOA", "1 2 3 \"text/plain\" AQID", NULL },
    { "DOA", "0 1 2 \"\" -", NULL },
    { "AMTRELAY", "10 0 1 203.0.113.15", NULL },
    { "AMTRELAY", "10 1 2 2001:db8::15", NULL },
    { "AMTRELAY", "128 1 3 amtrelays.example.", NULL },
    { "AMTRELAY", "10 0 0 .", NULL },
    { "RESINFO", "\"qnamemin\" \"exterr=15,16,17\"", NULL },
    { "TXT", "\\# text", "\"#\" \"text\"" },
    { "TXT", "\\# 2 0161", "\"a\"" },
    { "NXT", "a.example. A 127", "a.example. A TYPE127" },
    { "WALLET", "\"BTC\" \"1\"", NULL },
    { "TA", "60485 5 1 " SHA1, NULL },
    { "DLV", "60485 5 1 " SHA1, NULL },
    { "TYPE731", "\\# 6 abcd ( ef01\n2345 )", "\\# 6 ABCDEF012345" },
};

static uint16_t type_of(const char *name)
{
    int type = dns_type_from_text(name, strlen(name));

    g_assert_cmpint(type, >, 0);
    return type;
}

static int read_text(uint16_t type, const char *text, uint8_t *rdata)
{
    DnsName origin = dns_text_name("example");
    DnsRdataText how = { type, DNS_CLASS_IN, &origin };
    char *copy = g_memdup2(text, strlen(text));
    DnsFault fault;
    int len = dns_rdata_from_text(&how, copy, strlen(text), rdata, &fault);

    g_free(copy);
    if (len < 0) {
        g_error("%s: %s", text, fault.text);
    }
    g_assert_cmpint(dns_rdata_check(type, DNS_CLASS_IN, rdata, len), ==, 0);
    return len;
}

static void test_examples(void)
{
    g_autofree uint8_t *rdata = g_malloc(DNS_RDATA_MAX);
    g_autofree uint8_t *again = g_malloc(DNS_RDATA_MAX);
    g_autofree char *text = g_malloc(DNS_RDATA_TEXT_MAX);

    for (size_t i = 0; i < G_N_ELEMENTS(examples); i++) {
        const Example *e = &examples[i];
        uint16_t type = type_of(e->type);
        int len = read_text(type, e->text, rdata);
        int text_len = dns_rdata_to_text(type, DNS_CLASS_IN, rdata, len, text,
                                         DNS_RDATA_TEXT_MAX);

        g_assert_cmpstr(text, ==, e->printed ? e->printed : e->text);
        g_assert_cmpint(text_len, ==, strlen(text));
        g_assert_cmpint(read_text(type, text, again), ==, len);
        g_assert_cmpmem(rdata, len, again, len);
        /* Exactly enough room suffices, one octet less does not. */
        g_assert_cmpint(dns_rdata_to_text(type, DNS_CLASS_IN, rdata, len, text,
                                          text_len + 1), ==, text_len);
        g_assert_cmpint(dns_rdata_to_text(type, DNS_CLASS_IN, rdata, len, text,
                                          text_len), ==, -ENOSPC);
    }
}

/* Each known type has an example above, and is found by its name. */
static void test_types(void)
{
    const DnsRrType *type = NULL;
    uint16_t last = 0;

    while ((type = dns_rrtype_next(type))) {
        g_autofree char *lower = g_ascii_strdown(type->name, -1);
        bool has_example = dns_rrtype_is_meta(type->type);
        char text[DNS_MNEMONIC_MAX];

        g_assert_cmpint(type->type, >, last);
        last = type->type;
        g_assert_true(dns_rrtype(last, DNS_CLASS_IN) == type);
        g_assert_cmpint(type_of(lower), ==, last);
        g_assert_cmpint(dns_type_to_text(last, text), ==, strlen(text));
        g_assert_cmpstr(text, ==, type->name);
        for (size_t i = 0; i < G_N_ELEMENTS(examples); i++) {
            has_example |= !strcmp(examples[i].type, type->name);
        }
        if (!has_example) {
            g_error("%s has no example", type->name);
        }
    }
    g_assert_cmpint(type_of("TYPE65535"), ==, 65535);
    g_assert_cmpint(type_of("type1"), ==, 1);
    g_assert_cmpint(dns_type_from_text("TYPE65536", 9), ==, -1);
    g_assert_cmpint(dns_type_from_text("TYPE", 4), ==, -1);
    g_assert_cmpint(dns_type_from_text("TYPE1x", 6), ==, -1);
    g_assert_cmpint(dns_type_from_text("AX", 2), ==, -1);
    g_assert_cmpint(dns_type_from_text("", 0), ==, -1);
    g_assert_cmpint(dns_class_from_text("CLASS3", 6), ==, DNS_CLASS_CH);
    g_assert_cmpint(dns_class_from_text("chaos", 5), ==, DNS_CLASS_CH);
    g_assert_cmpint(dns_class_from_text("CLASSX", 6), ==, -1);
}

/* Wire forms as RFCs print or define them */
static void test_wire(void)
{
    static const struct {
        const char *type;
        const char *text;
        const char *hex;
    } wires[] = {
        /* RFC 4034 section 4.3 */
        { "NSEC", "host.example.com. ( A MX RRSIG NSEC TYPE1234 )",
          "04686f7374076578616d706c6503636f6d00" "0006400100000003"
          "041b" "00000000000000000000000000" "00000000000000000000000000"
          "20" },
        /* RFC 9460 appendix D */
        { "SVCB", "1 foo.example.com. alpn=h2,h3-19 mandatory=ipv4hint,alpn "
          "ipv4hint=192.0.2.1",
          "000103666f6f076578616d706c6503636f6d0000000004000100040001000902"
          "68320568332d313900040004c0000201" },
        { "SVCB", "16 foo.example.org. alpn=f\\\\\\092oo\\092,bar,h2",
          "001003666f6f076578616d706c65036f7267000001000c08665c6f6f2c626172"
          "026832" },
        /* RFC 3123 sections 4 and 5: no zeros at the end of an address */
        { "APL", "1:192.168.32.0/21 !1:192.168.38.0/28",
          "00011503c0a820" "00011c83c0a826" },
        /* RFC 8777 section 4.2 */
        { "AMTRELAY", "10 1 1 203.0.113.15", "0a81cb00710f" },
        /* RFC 1876 section 4: thousandths of a second from 2^31 */
        { "LOC", "42 21 54 N 71 06 18 W -24m 30m",
          "0033161389172dd070be15f000988d20" },
        /* RFC 6742 section 2.1 */
        { "NID", "10 0014:4fff:ff20:ee64", "000a00144fffff20ee64" },
        /* RFC 8659 section 4.1 */
        { "CAA", "0 issue \"ca1\"", "00056973737565636131" },
    };
    g_autofree uint8_t *rdata = g_malloc(DNS_RDATA_MAX);

    for (size_t i = 0; i < G_N_ELEMENTS(wires); i++) {
        int len = read_text(type_of(wires[i].type), wires[i].text, rdata);
        g_autoptr(GString) hex = g_string_new(NULL);

        for (int at = 0; at < len; at++) {
            g_string_append_printf(hex, "%02x", rdata[at]);
        }
        g_assert_cmpstr(hex->str, ==, wires[i].hex);
    }
}

/* The longest text of a type has the length of the header's constant. */
static void test_longest(void)
{
    g_autofree uint8_t *rdata = g_malloc0(DNS_RDATA_MAX);
    g_autofree char *text = g_malloc(DNS_RDATA_TEXT_MAX);
    size_t len = 1;
    int ret;

    for (int window = 0; window < 256; window++) {
        rdata[len++] = window;
        rdata[len++] = 32;
        memset(rdata + len, 0xff, 32);
        len += 32;
    }
    ret = dns_rdata_to_text(DNS_TYPE_NSEC, DNS_CLASS_IN, rdata, len, text,
                            DNS_RDATA_TEXT_MAX);
    g_assert_cmpint(ret, >, 600000);
    memset(rdata, 0, DNS_RDATA_MAX);
    ret = dns_rdata_to_text(DNS_TYPE_TXT, DNS_CLASS_IN, rdata, DNS_RDATA_MAX,
                            text, DNS_RDATA_TEXT_MAX);
    g_assert_cmpint(ret, ==, 3 * DNS_RDATA_MAX - 1);
    memset(rdata, 0x80, DNS_RDATA_MAX);
    ret = dns_rdata_to_text(65280, DNS_CLASS_IN, rdata, DNS_RDATA_MAX, text,
                            DNS_RDATA_TEXT_MAX);
    g_assert_cmpint(ret, ==, strlen("\\# 65535 ") + 2 * DNS_RDATA_MAX);
}

/* RFC 3597 section 4: layouts of class IN are not valid in other classes. */
static void test_classes(void)
{
    uint8_t rdata[] = { 192, 0, 2, 1 };
    char text[64];

    g_assert_cmpint(dns_rdata_to_text(DNS_TYPE_A, DNS_CLASS_CH, rdata, 4, text,
                                      sizeof(text)), >, 0);
    g_assert_cmpstr(text, ==, "\\# 4 C0000201");
    /* Not of its type: three octets of an address */
    g_assert_cmpint(dns_rdata_to_text(DNS_TYPE_A, DNS_CLASS_IN, rdata, 3, text,
                                      sizeof(text)), >, 0);
    g_assert_cmpstr(text, ==, "\\# 3 C00002");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-text/rdata/examples", test_examples);
    g_test_add_func("/dns-text/rdata/types", test_types);
    g_test_add_func("/dns-text/rdata/wire", test_wire);
    g_test_add_func("/dns-text/rdata/longest", test_longest);
    g_test_add_func("/dns-text/rdata/classes", test_classes);
    return g_test_run();
}

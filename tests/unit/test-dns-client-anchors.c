/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trust anchors: valid records, and the names that they cover */

#include <glib.h>
#include <string.h>

#include "net/dns/client/config/anchors.h"

#define SHA256 "E06D44B80B8F1D39A95C0B0D7C65D084" \
               "58E880409BBC683457104237C7F8EC8D"
#define DS "DS 20326 8 2 " SHA256
#define KEY "AwEAAaz/tAm8yTn4Mfeh5eyI96WSVexTBAvkMgJzkKTOiW1vkIbzxeF3"

/* Files of Debian, of unbound-anchor, of BIND's tools, and by hand */
static void test_right(void)
{
    static const struct {
        const char *text;
        int count;
    } cases[] = {
        { "", 0 },
        { "\n ; nothing\n\t\n$TTL 300\n", 0 },
        { ". IN DNSKEY 257 3 8 " KEY "\n", 1 },
        { ".\t172800\tIN\tDNSKEY\t257 3 8 " KEY " ;{id = 20326 (ksk)}\n", 1 },
        { "; autotrust trust anchor file\n;;id: . 1\n. 86400 IN DNSKEY 257 3 8 "
          KEY " ;;state=2 [  VALID  ] ;;count=0\n. IN DNSKEY 257 3 8 " KEY, 2 },
        { "vm.example. IN " DS, 1 },
        { "vm.example. " DS "\r\n", 1 },
        { "vm.example. in 60 ds 1 13 2 e06d44b80b8f1d39a95c0b0d7c65d084 "
          "58e880409bbc683457104237c7f8ec8d\n", 1 },
        { ". DNSKEY 256 3 8 ( ; in parts\n" KEY "\n" KEY " ) ; end\n"
          "a. " DS "\n", 2 },
        { ". DS 1 8 1 AABBCCDDEEFF00112233445566778899AABBCCDD", 1 },
        /* One that can be used is enough. */
        { ". DS 1 8 200 AABB\n. " DS "\n. DNSKEY 257 3 253 " KEY, 3 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *mistake = NULL;
        unsigned line = 0;

        g_assert_cmpint(dnsc_anchors_count(cases[i].text,
                                           strlen(cases[i].text), &line,
                                           &mistake), ==, cases[i].count);
    }
}

static void test_wrong(void)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *mistake;
    } cases[] = {
        { "hello", 1, "whole name" },
        { "\n. IN A 192.0.2.1\n", 2, "type DS or DNSKEY" },
        { ". CH " DS, 1, "of class IN" },
        { ". " DS "\n IN " DS "\n", 2, "whole name" },
        { "example " DS, 1, "whole name" },
        { "a..b. " DS, 1, "whole name" },
        { ".", 1, "type DS or DNSKEY" },
        { ". DS 20326 8 2", 1, "hexadecimal" },
        { ". DS 20326 8 2 E06D", 1, "all of a digest" },
        { ". DS 65536 8 2 " SHA256, 1, "key's tag" },
        { ". DS 20326 8 0 AABB", 1, "digest's" },
        { ". DS 20326 8 2 " SHA256 "xy", 1, "hexadecimal" },
        { ". DS 99999999999999999999 8 2 " SHA256, 1, "key's tag" },
        { ". DS 1 8 200 AABB", 1, "can be used" },
        { ". " DS "\na. DS 1 253 2 " SHA256, 2, "can be used" },
        { "a. DNSKEY 257 3 253 " KEY "\n. " DS, 1, "can be used" },
        { ". DNSKEY 257 4 8 " KEY, 1, "protocol 3" },
        { ". DNSKEY 1 3 8 " KEY, 1, "not one of a zone" },
        { ". DNSKEY 257 3 8", 1, "base64" },
        { ". DNSKEY 257 3 8 *", 1, "base64" },
        { ". DNSKEY 257 3 (\n8\n)\n", 1, "base64" },
        { "; 1\n( ;2\n; 3\n)\n. TXT x", 5, "type DS or DNSKEY" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *mistake = NULL;
        unsigned line = 0;

        g_assert_cmpint(dnsc_anchors_count(cases[i].text,
                                           strlen(cases[i].text), &line,
                                           &mistake), ==, -1);
        g_assert_cmpuint(line, ==, cases[i].line);
        g_assert_nonnull(strstr(mistake, cases[i].mistake));
    }
}

/* Nothing is read behind the end, wherever the text ends. */
static void test_cut(void)
{
    static const char text[] = "a. 60 IN DNSKEY 257 3 8 ( " KEY "\n " KEY
                               " ) ; b\nc. IN " DS "\n";

    for (size_t len = 0; len < sizeof(text); len++) {
        g_autofree char *part = g_memdup2(text, len);
        const char *mistake;
        DnsName name;
        unsigned line;

        g_assert_cmpint(dns_name_from_text(&name, "x.c"), ==, 0);
        dnsc_anchors_count(part, len, &line, &mistake);
        dnsc_anchors_cover(part, len, &name);
    }
}

/* A word that no record has */
static void test_long(void)
{
    g_autoptr(GString) text = g_string_new(". DNSKEY 257 3 8 ");
    const char *mistake;
    unsigned line;

    for (int i = 0; i < 10000; i++) {
        g_string_append_c(text, 'A');
    }
    g_assert_cmpint(dnsc_anchors_count(text->str, text->len, &line, &mistake),
                    ==, -1);
    g_assert_nonnull(strstr(mistake, "too long"));
}

static void test_cover(void)
{
    static const char text[] = "; of two\nvm.example. IN " DS "\n"
                               "key.example. DNSKEY 257 3 8 (\n" KEY ".\n)\n"
                               "odd.example. DNSKEY 257 3 253 " KEY "\n";
    static const struct {
        const char *name;
        bool covered;
    } cases[] = {
        { "vm.example", true },
        { "www.VM.example", true },
        { "a.key.example", true },
        { "odd.example", false },
        { "example", false },
        { "xvm.example", false },
        { ".", false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        DnsName name;

        g_assert_cmpint(dns_name_from_text(&name, cases[i].name), ==, 0);
        g_assert_cmpint(dnsc_anchors_cover(text, strlen(text), &name), ==,
                        cases[i].covered);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/client/anchors/right", test_right);
    g_test_add_func("/dns/client/anchors/wrong", test_wrong);
    g_test_add_func("/dns/client/anchors/cut", test_cut);
    g_test_add_func("/dns/client/anchors/long", test_long);
    g_test_add_func("/dns/client/anchors/cover", test_cover);
    return g_test_run();
}

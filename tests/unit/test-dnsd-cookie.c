/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cookies: the vectors of RFC 9018 appendix A, and foreign cookies */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "dnsd/server/core/cookie.h"

static size_t from_hex(uint8_t *to, const char *hex)
{
    size_t len = strlen(hex) / 2;

    for (size_t i = 0; i < len; i++) {
        to[i] = g_ascii_xdigit_value(hex[2 * i]) << 4 |
                g_ascii_xdigit_value(hex[2 * i + 1]);
    }
    return len;
}

static DnsdSecrets secrets_of(const char *text)
{
    DnsdSecrets secrets;

    g_assert_cmpuint(dnsd_secrets_read(&secrets, text, strlen(text)), ==, 0);
    return secrets;
}

static DnsdCookie judge(const DnsdSecrets *secrets, const char *option,
                        const char *addr, uint32_t now, const char *reply)
{
    uint8_t octets[64], made[DNSD_COOKIE_LEN], wanted[64], ip[16];
    bool is6 = strchr(addr, ':');
    DnsdCookie result;

    g_assert_cmpint(inet_pton(is6 ? AF_INET6 : AF_INET, addr, ip), ==, 1);
    memset(made, 0, sizeof(made));
    result = dnsd_cookie_judge(secrets, octets, from_hex(octets, option), ip,
                               is6 ? 16 : 4, now, made);
    if (reply) {
        g_assert_cmpmem(made, sizeof(made), wanted, from_hex(wanted, reply));
    }
    return result;
}

#define SECRET      "e5e973e5a6b2a43f48e7dc849e37bfcf\n"
#define CLIENT      "2464c4abcf10c957"

static void test_rfc9018_first(void)
{
    DnsdSecrets s = secrets_of(SECRET);

    g_assert_cmpint(judge(&s, CLIENT, "198.51.100.100", 1559731985, CLIENT
                          "010000005cf79f111f8130c3eee29480"), ==,
                    DNSD_COOKIE_CLIENT);
}

static void test_rfc9018_same_client(void)
{
    DnsdSecrets s = secrets_of(SECRET);

    g_assert_cmpint(judge(&s, CLIENT "010000005cf79f111f8130c3eee29480",
                          "198.51.100.100", 1559734385, CLIENT
                          "010000005cf7a871d4a564a1442aca77"), ==,
                    DNSD_COOKIE_VALID);
}

/* Reserved octets are not 0: they are part of what is signed. */
static void test_rfc9018_renewed(void)
{
    DnsdSecrets s = secrets_of(SECRET);

    g_assert_cmpint(judge(&s, "fc93fc62807ddb86"
                          "01abcdef5cf78f71a314227b6679ebf5", "203.0.113.203",
                          1559727985, "fc93fc62807ddb86"
                          "01abcdef5cf78f71a314227b6679ebf5"), ==,
                    DNSD_COOKIE_VALID);
}

static void test_rfc9018_rollover(void)
{
    DnsdSecrets s = secrets_of("# new, then old\r\n"
                               "445536bcd2513298075a5d379663c962\r\n"
                               "dd3bdf9344b678b185a6f5cb60fca715");

    g_assert_cmpint(judge(&s, "22681ab97d52c298"
                          "010000005cf7c57926556bd0934c72f8",
                          "2001:db8:220:1:59de:d0f4:8769:82b8", 1559741961,
                          "22681ab97d52c298"
                          "010000005cf7c609a6bb79d16625507a"), ==,
                    DNSD_COOKIE_VALID);
}

static void test_of_others(void)
{
    DnsdSecrets s = secrets_of(SECRET);
    const char *cookie = CLIENT "010000005cf79f111f8130c3eee29480";

    /* another address, another client, another code, another version */
    g_assert_cmpint(judge(&s, cookie, "198.51.100.101", 1559731985, NULL), ==,
                    DNSD_COOKIE_CLIENT);
    g_assert_cmpint(judge(&s, "2464c4abcf10c958"
                          "010000005cf79f111f8130c3eee29480",
                          "198.51.100.100", 1559731985, NULL), ==,
                    DNSD_COOKIE_CLIENT);
    g_assert_cmpint(judge(&s, CLIENT "010000005cf79f111f8130c3eee29481",
                          "198.51.100.100", 1559731985, NULL), ==,
                    DNSD_COOKIE_CLIENT);
    g_assert_cmpint(judge(&s, CLIENT "020000005cf79f111f8130c3eee29480",
                          "198.51.100.100", 1559731985, NULL), ==,
                    DNSD_COOKIE_CLIENT);
    /* an hour old, and 5 minutes ahead, at most */
    g_assert_cmpint(judge(&s, cookie, "198.51.100.100", 1559731985 + 3600,
                          NULL), ==, DNSD_COOKIE_VALID);
    g_assert_cmpint(judge(&s, cookie, "198.51.100.100", 1559731985 + 3601,
                          NULL), ==, DNSD_COOKIE_CLIENT);
    g_assert_cmpint(judge(&s, cookie, "198.51.100.100", 1559731985 - 300,
                          NULL), ==, DNSD_COOKIE_VALID);
    g_assert_cmpint(judge(&s, cookie, "198.51.100.100", 1559731985 - 301,
                          NULL), ==, DNSD_COOKIE_CLIENT);
}

static void test_lengths(void)
{
    static const char zeros[] =
        "0000000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000";
    DnsdSecrets s = secrets_of(SECRET);

    for (size_t len = 0; len <= 41; len++) {
        g_autofree char *option = g_strndup(zeros, 2 * len);
        bool is_right = len == 8 || (len >= 16 && len <= 40);

        g_assert_cmpint(judge(&s, option, "192.0.2.1", 0, NULL), ==,
                        is_right ? DNSD_COOKIE_CLIENT
                                 : DNSD_COOKIE_MALFORMED);
    }
}

static void test_secret_files(void)
{
    static const struct {
        const char *text;
        unsigned line;
    } wrong[] = {
        { "", 1 },
        { "# nothing\n", 2 },
        { SECRET "e5e973e5a6b2a43f48e7dc849e37bfc\n", 2 },
        { SECRET "\ne5e973e5a6b2a43f48e7dc849e37bfcx\n", 3 },
        { SECRET SECRET SECRET SECRET SECRET, 5 },
    };
    DnsdSecrets secrets = { .count = 3 };

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_cmpuint(dnsd_secrets_read(&secrets, wrong[i].text,
                                           strlen(wrong[i].text)), ==,
                         wrong[i].line);
        g_assert_cmpuint(secrets.count, ==, 3);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/cookie/rfc9018-a1", test_rfc9018_first);
    g_test_add_func("/dnsd/cookie/rfc9018-a2", test_rfc9018_same_client);
    g_test_add_func("/dnsd/cookie/rfc9018-a3", test_rfc9018_renewed);
    g_test_add_func("/dnsd/cookie/rfc9018-a4", test_rfc9018_rollover);
    g_test_add_func("/dnsd/cookie/of-others", test_of_others);
    g_test_add_func("/dnsd/cookie/lengths", test_lengths);
    g_test_add_func("/dnsd/cookie/secret-files", test_secret_files);
    return g_test_run();
}

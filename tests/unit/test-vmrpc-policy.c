/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the guest's sockets may go, and how much they may take */

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "tests/fixtures/policy-fixture.h"

static VmrpcVerdictReason verdict_of(const char *text, const char *addr)
{
    g_autoptr(VmrpcPolicy) policy = parse(text);

    return verdict(policy, addr);
}

static void test_builtin(void)
{
    static const struct {
        const char *addr;
        VmrpcVerdictReason why;
    } cases[] = {
        { "::", VMRPC_VERDICT_UNSPECIFIED },
        { "::1", VMRPC_VERDICT_LOOPBACK },
        { "::2", VMRPC_VERDICT_EMBEDDED },
        { "::192.0.2.1", VMRPC_VERDICT_EMBEDDED },
        { "::ffff:192.0.2.1", VMRPC_VERDICT_EMBEDDED },
        { "::ffff:127.0.0.1", VMRPC_VERDICT_EMBEDDED },
        { "fe80::1", VMRPC_VERDICT_LINK_LOCAL },
        { "febf::1", VMRPC_VERDICT_LINK_LOCAL },
        { "fec0::1", VMRPC_VERDICT_ALLOW_DEFAULT },
        { "fe80::a9fe:a9fe", VMRPC_VERDICT_LINK_LOCAL },
        { "fd00:ec2::254", VMRPC_VERDICT_METADATA },
        { "fd20:ce::254", VMRPC_VERDICT_METADATA },
        { "fd00:ec2::255", VMRPC_VERDICT_ALLOW_DEFAULT },
        { "ff00::1", VMRPC_VERDICT_MULTICAST },
        { "ff01::1", VMRPC_VERDICT_MULTICAST },
        { "ff02::fb", VMRPC_VERDICT_MULTICAST },
        { "ff12::1", VMRPC_VERDICT_MULTICAST },
        { "fff2::1", VMRPC_VERDICT_MULTICAST },
        { "ff05::1", VMRPC_VERDICT_ALLOW_DEFAULT },
        { "ff0e::1", VMRPC_VERDICT_ALLOW_DEFAULT },
        { "2001:db8::1", VMRPC_VERDICT_ALLOW_DEFAULT },
        { "64:ff9b::192.0.2.1", VMRPC_VERDICT_ALLOW_DEFAULT },
        { "64:ff9b::127.0.0.1", VMRPC_VERDICT_LOOPBACK },
        { "64:ff9b::169.254.169.254", VMRPC_VERDICT_METADATA },
        { "2002:7f00:1::1", VMRPC_VERDICT_LOOPBACK },
        { "2002:a9fe:a9fe::1", VMRPC_VERDICT_METADATA },
        { "2002:c000:201::1", VMRPC_VERDICT_ALLOW_DEFAULT },
        { "0.0.0.0", VMRPC_VERDICT_UNSPECIFIED },
        { "0.1.2.3", VMRPC_VERDICT_UNSPECIFIED },
        { "127.0.0.1", VMRPC_VERDICT_LOOPBACK },
        { "127.255.255.255", VMRPC_VERDICT_LOOPBACK },
        { "128.0.0.1", VMRPC_VERDICT_ALLOW_DEFAULT },
        { "169.254.169.254", VMRPC_VERDICT_METADATA },
        { "169.254.1.1", VMRPC_VERDICT_LINK_LOCAL },
        { "100.100.100.200", VMRPC_VERDICT_METADATA },
        { "192.0.0.192", VMRPC_VERDICT_METADATA },
        { "168.63.129.16", VMRPC_VERDICT_METADATA },
        { "224.0.0.251", VMRPC_VERDICT_MULTICAST },
        { "239.255.255.255", VMRPC_VERDICT_MULTICAST },
        { "240.0.0.1", VMRPC_VERDICT_RESERVED },
        { "255.255.255.255", VMRPC_VERDICT_RESERVED },
        { "10.1.2.3", VMRPC_VERDICT_ALLOW_DEFAULT },
    };
    g_autoptr(VmrpcPolicy) empty = parse("");
    g_autoptr(VmrpcPolicy) wide = parse("allow ::/0\nallow 0.0.0.0/0\n"
                                        "default allow");
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool allowed = cases[i].why == VMRPC_VERDICT_ALLOW_DEFAULT;
        VmrpcDest d = dest(cases[i].addr, IPPROTO_TCP, 443);
        VmrpcVerdict why;

        if (verdict(NULL, cases[i].addr) != cases[i].why) {
            g_error("%s: %s", cases[i].addr,
                    vmrpc_verdict_name(verdict(NULL, cases[i].addr)));
        }
        g_assert_cmpint(verdict(empty, cases[i].addr), ==, cases[i].why);
        g_assert_cmpint(vmrpc_policy_check(NULL, &d, NULL), ==,
                        allowed ? 0 : -ENETUNREACH);
        /* rules that are wider than a refusal do not open it */
        g_assert_cmpint(vmrpc_policy_check(wide, &d, &why), ==,
                        allowed ? 0 : -ENETUNREACH);
        g_assert_cmpint(why.reason, ==, allowed ? VMRPC_VERDICT_ALLOW_RULE
                                                : cases[i].why);
        g_assert_cmpint(why.line == 0, ==, !allowed);
    }
}

static void test_family(void)
{
    VmrpcDest d = { .family = AF_UNIX };
    VmrpcVerdict why;

    g_assert_cmpint(vmrpc_policy_check(NULL, &d, &why), ==, -EAFNOSUPPORT);
    g_assert_cmpint(why.reason, ==, VMRPC_VERDICT_FAMILY);
}

static void test_open_builtin(void)
{
    static const struct {
        const char *text;
        const char *addr;
        VmrpcVerdictReason why;
    } cases[] = {
        { "allow ::1", "::1", VMRPC_VERDICT_ALLOW_RULE },
        { "allow ::/127", "::1", VMRPC_VERDICT_LOOPBACK },
        { "allow fe80::/10", "fe80::1", VMRPC_VERDICT_ALLOW_RULE },
        { "allow fe80::/9", "fe80::1", VMRPC_VERDICT_LINK_LOCAL },
        { "allow fe80::/64", "fe80::1", VMRPC_VERDICT_ALLOW_RULE },
        { "allow ff02::/16", "ff02::fb", VMRPC_VERDICT_ALLOW_RULE },
        { "allow ff12::1", "ff12::1", VMRPC_VERDICT_ALLOW_RULE },
        { "allow ff00::/8", "ff02::fb", VMRPC_VERDICT_MULTICAST },
        { "allow 127.0.0.0/8", "127.0.0.1", VMRPC_VERDICT_ALLOW_RULE },
        { "allow 169.254.0.0/16", "169.254.1.1", VMRPC_VERDICT_ALLOW_RULE },
        { "allow 169.254.0.0/16", "169.254.169.254",
          VMRPC_VERDICT_METADATA },
        { "allow 169.254.169.254", "169.254.169.254",
          VMRPC_VERDICT_ALLOW_RULE },
        { "allow 169.254.169.254", "64:ff9b::169.254.169.254",
          VMRPC_VERDICT_ALLOW_RULE },
        { "allow 64:ff9b::/96", "64:ff9b::169.254.169.254",
          VMRPC_VERDICT_METADATA },
        { "allow 64:ff9b::127.0.0.0/104", "64:ff9b::127.0.0.1",
          VMRPC_VERDICT_ALLOW_RULE },
        { "allow 64:ff9b::127.0.0.1/128", "64:ff9b::127.0.0.1",
          VMRPC_VERDICT_ALLOW_RULE },
        { "allow 2002:7f00::/24", "2002:7f00:1::1",
          VMRPC_VERDICT_ALLOW_RULE },
        { "allow 2002::/16", "2002:7f00:1::1", VMRPC_VERDICT_LOOPBACK },
        { "allow 127.0.0.1", "::ffff:127.0.0.1", VMRPC_VERDICT_EMBEDDED },
        { "allow ::ffff:0:0/96", "::ffff:192.0.2.1",
          VMRPC_VERDICT_ALLOW_RULE },
        /* a rule that cannot open does not stop the search either */
        { "allow ::/0\nallow ::1\ndefault deny", "::1",
          VMRPC_VERDICT_ALLOW_RULE },
        { "allow ::/0\ndeny ::1\n", "::1", VMRPC_VERDICT_DENY_RULE },
    };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        VmrpcVerdictReason why = verdict_of(cases[i].text, cases[i].addr);

        if (why != cases[i].why) {
            g_error("'%s', %s: %s", cases[i].text, cases[i].addr,
                    vmrpc_verdict_name(why));
        }
    }
}

/* Through a NAT64 of the network's own: one destination, two addresses. */
static void test_nat64(void)
{
    static const struct {
        const char *text;
        const char *addr6;
        uint8_t len;
        const char *addr4;
        VmrpcVerdictReason why;
    } cases[] = {
#define AT "2001:db8:64::192.0.2.1", 96, "192.0.2.1"
        { "", AT, VMRPC_VERDICT_ALLOW_DEFAULT },
        /* either form allows, */
        { "allow 192.0.2.0/24\ndefault deny", AT, VMRPC_VERDICT_ALLOW_RULE },
        { "allow 2001:db8:64::/96\ndefault deny", AT,
          VMRPC_VERDICT_ALLOW_RULE },
        { "allow 198.51.100.0/24\ndefault deny", AT,
          VMRPC_VERDICT_DENY_DEFAULT },
        /* either form denies, */
        { "deny 192.0.2.0/24", AT, VMRPC_VERDICT_DENY_RULE },
        { "deny 2001:db8:64::/96", AT, VMRPC_VERDICT_DENY_RULE },
        { "deny 2001:db8:64::192.0.2.0/120", AT, VMRPC_VERDICT_DENY_RULE },
        /* and of both the first line counts */
        { "deny 192.0.2.0/24\nallow ::/0", AT, VMRPC_VERDICT_DENY_RULE },
        { "allow 192.0.2.1\ndeny ::/0", AT, VMRPC_VERDICT_ALLOW_RULE },
        { "deny 2001:db8:64::/96\nallow 0.0.0.0/0", AT,
          VMRPC_VERDICT_DENY_RULE },
#undef AT
        /* what must not be reached must not be reached through it */
#define META "2001:db8:64::169.254.169.254", 96, "169.254.169.254"
        { "", META, VMRPC_VERDICT_METADATA },
        { "allow ::/0\nallow 0.0.0.0/0", META, VMRPC_VERDICT_METADATA },
        { "allow 2001:db8:64::/96", META, VMRPC_VERDICT_METADATA },
        { "allow 2001:db8:64::169.254.169.254", META,
          VMRPC_VERDICT_ALLOW_RULE },
        { "allow 169.254.169.254", META, VMRPC_VERDICT_ALLOW_RULE },
#undef META
        /* RFC 6052: octet 8 is zero, 127.0.0.1 in 2001:db8:64::/48 and /64 */
        { "", "2001:db8:64:7f00:0:100::", 48, "127.0.0.1",
          VMRPC_VERDICT_LOOPBACK },
        { "allow 2001:db8:64:7f00::/56", "2001:db8:64:7f00:0:100::", 48,
          "127.0.0.1", VMRPC_VERDICT_ALLOW_RULE },
        { "allow 2001:db8:64:7e00::/55", "2001:db8:64:7f00:0:100::", 48,
          "127.0.0.1", VMRPC_VERDICT_LOOPBACK },
        { "allow 2001:db8:64::/72", "2001:db8:64:0:7f:0:100:0", 64,
          "127.0.0.1", VMRPC_VERDICT_LOOPBACK },
        { "allow 2001:db8:64:0:7f::/80", "2001:db8:64:0:7f:0:100:0", 64,
          "127.0.0.1", VMRPC_VERDICT_ALLOW_RULE },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(VmrpcPolicy) policy = parse(cases[i].text);
        VmrpcDest d = dest(cases[i].addr6, IPPROTO_TCP, 443);
        VmrpcVerdict why;

        d.nat64_len = cases[i].len;
        inet_pton(AF_INET, cases[i].addr4, &d.nat64_addr4);
        vmrpc_policy_check(policy, &d, &why);
        if (why.reason != cases[i].why) {
            g_error("'%s', %s: %s", cases[i].text, cases[i].addr6,
                    vmrpc_verdict_name(why.reason));
        }
    }
}

static void test_host(void)
{
    VmrpcDest own = dest("2001:db8::1", IPPROTO_TCP, 22);
    VmrpcDest own_loopback = dest("::1", IPPROTO_TCP, 22);
    VmrpcVerdict why;
    static const struct {
        const char *text;
        VmrpcVerdictReason own, loopback;
    } cases[] = {
        { "", VMRPC_VERDICT_HOST, VMRPC_VERDICT_LOOPBACK },
        { "default allow", VMRPC_VERDICT_HOST, VMRPC_VERDICT_LOOPBACK },
        { "allow ::/0", VMRPC_VERDICT_HOST, VMRPC_VERDICT_LOOPBACK },
        { "allow 2001:db8::/127", VMRPC_VERDICT_HOST,
          VMRPC_VERDICT_LOOPBACK },
        { "allow 2001:db8::1", VMRPC_VERDICT_ALLOW_RULE,
          VMRPC_VERDICT_LOOPBACK },
        { "allow host", VMRPC_VERDICT_ALLOW_RULE, VMRPC_VERDICT_LOOPBACK },
        { "allow host tcp 22", VMRPC_VERDICT_ALLOW_RULE,
          VMRPC_VERDICT_LOOPBACK },
        { "allow host tcp 23", VMRPC_VERDICT_HOST, VMRPC_VERDICT_LOOPBACK },
        { "deny host", VMRPC_VERDICT_DENY_RULE, VMRPC_VERDICT_DENY_RULE },
    };
    size_t i;

    own.is_local = own_loopback.is_local = true;
    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(VmrpcPolicy) policy = parse(cases[i].text);

        vmrpc_policy_check(policy, &own, &why);
        g_assert_cmpint(why.reason, ==, cases[i].own);
        vmrpc_policy_check(policy, &own_loopback, &why);
        g_assert_cmpint(why.reason, ==, cases[i].loopback);
    }
    g_assert_cmpint(verdict_of("deny host", "2001:db8::1"), ==,
                    VMRPC_VERDICT_ALLOW_DEFAULT);
}

static void test_first_match(void)
{
    g_autoptr(VmrpcPolicy) policy = parse(
        "# who may be reached\n"
        "\n"
        "  allow 2001:db8:1::/48 tcp 443   # web\n"
        "deny\t2001:db8:1::/48\r\n"
        "allow 2001:db8::/32 udp 5000-5010\n"
        "allow 10.0.0.0/8 80\n"
        "default deny");
    static const struct {
        const char *addr;
        uint8_t proto;
        uint16_t port;
        int ret;
        VmrpcVerdictReason why;
        unsigned line;
    } cases[] = {
        { "2001:db8:1::1", IPPROTO_TCP, 443, 0, VMRPC_VERDICT_ALLOW_RULE,
          3 },
        { "2001:db8:1::1", IPPROTO_UDP, 443, -EACCES,
          VMRPC_VERDICT_DENY_RULE, 4 },
        { "2001:db8:1::1", IPPROTO_TCP, 80, -EACCES,
          VMRPC_VERDICT_DENY_RULE, 4 },
        { "2001:db8:1::1", IPPROTO_UDP, 5000, -EACCES,
          VMRPC_VERDICT_DENY_RULE, 4 },
        { "2001:db8:2::1", IPPROTO_UDP, 5000, 0, VMRPC_VERDICT_ALLOW_RULE,
          5 },
        { "2001:db8:2::1", IPPROTO_UDP, 5010, 0, VMRPC_VERDICT_ALLOW_RULE,
          5 },
        { "2001:db8:2::1", IPPROTO_UDP, 5011, -EACCES,
          VMRPC_VERDICT_DENY_DEFAULT, 7 },
        { "2001:db8:2::1", IPPROTO_UDP, 4999, -EACCES,
          VMRPC_VERDICT_DENY_DEFAULT, 7 },
        { "10.9.9.9", IPPROTO_TCP, 80, 0, VMRPC_VERDICT_ALLOW_RULE, 6 },
        { "10.9.9.9", IPPROTO_UDP, 80, 0, VMRPC_VERDICT_ALLOW_RULE, 6 },
        { "64:ff9b::10.9.9.9", IPPROTO_UDP, 80, 0,
          VMRPC_VERDICT_ALLOW_RULE, 6 },
        { "10.9.9.9", IPPROTO_ICMP, 80, -EACCES,
          VMRPC_VERDICT_DENY_DEFAULT, 7 },
        { "11.9.9.9", IPPROTO_TCP, 80, -EACCES, VMRPC_VERDICT_DENY_DEFAULT,
          7 },
        { "fe80::1", IPPROTO_TCP, 80, -ENETUNREACH,
          VMRPC_VERDICT_LINK_LOCAL, 0 },
    };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        VmrpcDest d = dest(cases[i].addr, cases[i].proto, cases[i].port);
        VmrpcVerdict why;

        g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==,
                        cases[i].ret);
        g_assert_cmpint(why.reason, ==, cases[i].why);
        g_assert_cmpint(why.line, ==, cases[i].line);
        g_assert_null(why.name);
    }
    g_assert_cmpint(verdict_of("default deny\nallow 10.0.0.0/9", "10.127.0.1"),
                    ==, VMRPC_VERDICT_ALLOW_RULE);
    g_assert_cmpint(verdict_of("default deny\nallow 10.0.0.0/9", "10.128.0.1"),
                    ==, VMRPC_VERDICT_DENY_DEFAULT);
    g_assert_cmpint(verdict_of("deny 0.0.0.0/0", "8.8.8.8"), ==,
                    VMRPC_VERDICT_DENY_RULE);
    g_assert_cmpint(verdict_of("deny 0.0.0.0/0", "2001:db8::1"), ==,
                    VMRPC_VERDICT_ALLOW_DEFAULT);
    g_assert_cmpint(verdict_of("deny 192.0.2.0/24", "2002:c000:201::1"), ==,
                    VMRPC_VERDICT_DENY_RULE);
}

/* A port that nobody knows yet: refused if all are. */
static void test_any_port(void)
{
    static const struct {
        const char *text;
        VmrpcVerdictReason why;
    } cases[] = {
        { "deny ff1e::1", VMRPC_VERDICT_DENY_RULE },
        { "deny ff1e::1 udp", VMRPC_VERDICT_DENY_RULE },
        { "deny ff1e::1 udp 5000", VMRPC_VERDICT_ALLOW_DEFAULT },
        { "deny ff1e::1 tcp", VMRPC_VERDICT_ALLOW_DEFAULT },
        { "deny ff1e::1\nallow ff1e::1 5000", VMRPC_VERDICT_DENY_RULE },
        { "allow ff1e::1 5000\ndeny ff1e::1", VMRPC_VERDICT_ALLOW_RULE },
        { "allow ff1e::1 udp 5000\ndefault deny", VMRPC_VERDICT_ALLOW_RULE },
        { "allow ff1e::1 tcp 5000\ndefault deny",
          VMRPC_VERDICT_DENY_DEFAULT },
        { "allow ff1e::2 5000\ndefault deny", VMRPC_VERDICT_DENY_DEFAULT },
    };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(VmrpcPolicy) policy = parse(cases[i].text);
        VmrpcDest d = dest("ff1e::1", IPPROTO_UDP, 0);
        VmrpcVerdict why;

        d.any_port = true;
        vmrpc_policy_check(policy, &d, &why);
        g_assert_cmpint(why.reason, ==, cases[i].why);
    }
    {
        g_autoptr(VmrpcPolicy) policy = parse("allow ff02::fb 5353");
        VmrpcDest link = dest("ff02::fb", IPPROTO_UDP, 0);

        link.any_port = true;
        g_assert_cmpint(vmrpc_policy_check(policy, &link, NULL), ==, 0);
        g_assert_cmpint(vmrpc_policy_check(NULL, &link, NULL), ==,
                        -ENETUNREACH);
    }
}

/* --- many rules --------------------------------------------------------- */

/* One of a few places, so that many rules and destinations meet. */
static char *random_place(void)
{
    static const char *const words[] = {
        "host", "::/0", "0.0.0.0/0", "*.test", "a.test", "*.a.test",
        "b.a.test", "c.b.a.test", "64:ff9b::/96",
    };
    int n = g_test_rand_int_range(0, G_N_ELEMENTS(words) + 2);

    if (n < (int)G_N_ELEMENTS(words)) {
        return g_strdup(words[n]);
    }
    if (n == G_N_ELEMENTS(words)) {
        int len = g_test_rand_int_range(8, 17);
        int byte = g_test_rand_int_range(0, 256) & 0xff << (16 - len);

        return g_strdup_printf("10.%d.0.0/%d", byte & 0xff, len);
    }
    return g_strdup_printf("2001:db8:0:%x::/64",
                           g_test_rand_int_range(0, 16));
}

static char *random_rule(void)
{
    static const char *const protos[] = { "", "tcp", "udp", "any" };
    const char *verb = g_test_rand_int_range(0, 2) ? "allow" : "deny";
    const char *proto = protos[g_test_rand_int_range(0, 4)];
    g_autofree char *place = random_place();

    if (!g_test_rand_int_range(0, 8)) {
        return g_strdup_printf("%s %s %s\n", verb, place, proto);
    }
    return g_strdup_printf("%s %s %s %d\n", verb, place, proto,
                           g_test_rand_int_range(1, 40));
}

static VmrpcDest random_dest(const char *const *names, size_t num)
{
    static const char *const addrs[] = {
        "10.1.2.3", "10.200.1.1", "64:ff9b::10.1.2.3", "2001:db8:0:3::1",
        "2001:db8:0:f::2", "2001:db8:1::1", "::1", "169.254.169.254",
    };
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP,
                                      IPPROTO_ICMP };
    VmrpcDest d = dest(addrs[g_test_rand_int_range(0, G_N_ELEMENTS(addrs))],
                       protos[g_test_rand_int_range(0, 3)],
                       g_test_rand_int_range(1, 40));

    d.is_local = !g_test_rand_int_range(0, 4);
    d.num_names = g_test_rand_int_range(0, num + 1);
    d.names = names;
    return d;
}

/*
 * A file of many rules says what its first rule says that, in a file of its
 * own, decides.
 */
static void test_many_rules(void)
{
    static const char *const names[] = { "x.test", "c.b.a.test", "A.test",
                                         "other.example" };
    g_autoptr(GPtrArray) rules = g_ptr_array_new_with_free_func(
        (GDestroyNotify)vmrpc_policy_free);
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(VmrpcPolicy) policy = NULL;
    int i, decided = 0;

    for (i = 0; i < 300; i++) {
        g_autofree char *line = random_rule();

        g_string_append(text, line);
        g_ptr_array_add(rules, parse(line));
    }
    policy = parse(text->str);
    for (i = 0; i < 2000; i++) {
        VmrpcDest d = random_dest(names, G_N_ELEMENTS(names));
        VmrpcVerdict why, first;
        guint j;

        vmrpc_policy_check(policy, &d, &why);
        vmrpc_policy_check(NULL, &d, &first);
        for (j = 0; j < rules->len; j++) {
            VmrpcVerdict one;

            vmrpc_policy_check(rules->pdata[j], &d, &one);
            if (one.line) {
                first = one;
                first.line = j + 1;
                decided++;
                break;
            }
        }
        g_assert_cmpint(why.reason, ==, first.reason);
        g_assert_cmpint(why.line, ==, first.line);
        g_assert_true(why.name == first.name);
    }
    g_assert_cmpint(decided, >, 100);
}

/* --- what a rule demands ------------------------------------------------- */

static void test_says(void)
{
    g_autoptr(VmrpcPolicy) plain = parse("allow www.test tcp 443\n");
    g_autoptr(VmrpcPolicy) http = parse("allow www.test tcp 80 http\n");
    g_autoptr(VmrpcPolicy) tls = parse("allow a.test tcp 80\n"
                                       "allow *.test tcp 443 tls\n"
                                       "allow any.test tcp tls\n"
                                       "allow web.example tcp 80 http\n"
                                       "allow quic.example udp 443 tls\n"
                                       "ech refuse\n");
    static const struct {
        const char *name;
        uint16_t port;
        uint8_t proto;
        unsigned line;
        VmrpcSays says;
    } cases[] = {
        { "www.test", 443, IPPROTO_TCP, 2, VMRPC_SAYS_TLS },
        { "a.test", 443, IPPROTO_TCP, 2, VMRPC_SAYS_TLS },
        { "a.test", 80, IPPROTO_TCP, 1, VMRPC_SAYS_ANYTHING },
        { "any.test", 5000, IPPROTO_TCP, 3, VMRPC_SAYS_TLS },
        { "web.example", 80, IPPROTO_TCP, 4, VMRPC_SAYS_HTTP },
        { "web.example", 443, IPPROTO_TCP, 0, VMRPC_SAYS_ANYTHING },
        { "quic.example", 443, IPPROTO_UDP, 5, VMRPC_SAYS_TLS },
        { "quic.example", 443, IPPROTO_TCP, 0, VMRPC_SAYS_ANYTHING },
        { "any.test", 443, IPPROTO_UDP, 0, VMRPC_SAYS_ANYTHING },
        { "www.example", 443, IPPROTO_TCP, 0, VMRPC_SAYS_ANYTHING },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        VmrpcDest d = { .family = AF_INET, .proto = cases[i].proto,
                        .port = cases[i].port, .names = &cases[i].name,
                        .num_names = 1 };
        VmrpcVerdict why;

        inet_pton(AF_INET, "192.0.2.1", &d.addr4);
        g_assert_cmpint(vmrpc_policy_check(tls, &d, &why), ==, 0);
        g_assert_cmpuint(why.line, ==, cases[i].line);
        g_assert_cmpint(why.says, ==, cases[i].says);
    }
    g_assert_true(vmrpc_policy_hides_ech(tls));
    g_assert_true(vmrpc_policy_refuses_ech(tls));
    g_assert_true(vmrpc_policy_compares(http));
    g_assert_false(vmrpc_policy_hides_ech(http));
    g_assert_false(vmrpc_policy_compares(plain));
    g_assert_false(vmrpc_policy_compares(NULL));
    g_assert_false(vmrpc_policy_hides_ech(plain));
    g_assert_false(vmrpc_policy_refuses_ech(plain));
    g_assert_false(vmrpc_policy_hides_ech(NULL));
    g_assert_false(vmrpc_policy_refuses_ech(NULL));
}

/* --- limits ------------------------------------------------------------- */

static void test_limits(void)
{
    g_autoptr(VmrpcPolicy) none = parse("allow ::/0");
    g_autoptr(VmrpcPolicy) all = parse("limit connections 500/s burst 1000\n"
                                       "limit dns 20/s  # burst 20\n"
                                       "limit sockets 4096\n"
                                       "limit buffers 256M\n");
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {
        { "65536", 65536 }, { "64K", 65536 }, { "100000", 100000 },
        { "1M", 1 << 20 }, { "3G", UINT64_C(3) << 30 },
        { "1024G", UINT64_C(1) << 40 },
        { "1099511627776", UINT64_C(1) << 40 },
    };
    static const VmrpcLimitsConfig zero;
    const VmrpcLimitsConfig *limits = vmrpc_policy_limits(NULL);
    size_t i;

    g_assert_cmpmem(limits, sizeof(*limits), &zero, sizeof(zero));
    limits = vmrpc_policy_limits(none);
    g_assert_cmpmem(limits, sizeof(*limits), &zero, sizeof(zero));
    limits = vmrpc_policy_limits(all);
    g_assert_cmpint(limits->connections.per_s, ==, 500);
    g_assert_cmpint(limits->connections.burst, ==, 1000);
    g_assert_cmpint(limits->dns.per_s, ==, 20);
    g_assert_cmpint(limits->dns.burst, ==, 20);
    g_assert_cmpint(limits->sockets, ==, 4096);
    g_assert_cmpint(limits->buffers, ==, 256 << 20);
    for (i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *text = g_strconcat("limit buffers ", sizes[i].text,
                                            NULL);
        g_autoptr(VmrpcPolicy) policy = parse(text);

        g_assert_cmpuint(vmrpc_policy_limits(policy)->buffers, ==,
                         sizes[i].bytes);
    }
}

/* --- watch ---------------------------------------------------------------- */

/* Allows in its place, as "allow" does there, and says so in the verdict. */
static void test_watch(void)
{
    g_autoptr(VmrpcPolicy) policy = parse("deny 2001:db8:1::/48\n"
                                          "watch 2001:db8::/32 tcp 443\n"
                                          "watch *.example.com\n"
                                          "deny ::/0\n"
                                          "watch 127.0.0.0/8\n"
                                          "default watch");
    VmrpcDest d = dest("2001:db8::1", IPPROTO_TCP, 443);
    VmrpcVerdict why;

    g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==, 0);
    g_assert_cmpint(why.reason, ==, VMRPC_VERDICT_WATCH_RULE);
    g_assert_cmpuint(why.line, ==, 2);
    g_assert_true(vmrpc_verdict_is_watch(why.reason));
    d.port = 80;
    g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==, -EACCES);
    g_assert_cmpint(verdict(policy, "2001:db8:1::1"), ==,
                    VMRPC_VERDICT_DENY_RULE);
    g_assert_cmpint(verdict(policy, "192.0.2.1"), ==,
                    VMRPC_VERDICT_WATCH_DEFAULT);
    /* "default watch" opens no built-in refusal, a rule for one does. */
    g_assert_cmpint(verdict(policy, "169.254.169.254"), ==,
                    VMRPC_VERDICT_METADATA);
    g_assert_cmpint(verdict(policy, "127.0.0.1"), ==,
                    VMRPC_VERDICT_WATCH_RULE);
}

static void test_watch_names(void)
{
    static const struct {
        const char *policy, *name;
        VmrpcVerdictReason why;
    } cases[] = {
        { "default watch", "a.test", VMRPC_VERDICT_WATCH_DEFAULT },
        { "watch a.test\ndefault deny", "a.test", VMRPC_VERDICT_WATCH_RULE },
        { "watch a.test\ndefault deny", "b.test", VMRPC_VERDICT_DENY_DEFAULT },
        { "watch a.test\ndns listed", "a.test", VMRPC_VERDICT_WATCH_RULE },
        { "watch a.test\ndns listed", "b.test", VMRPC_VERDICT_DENY_UNLISTED },
        { "watch ::/0\ndefault deny", "b.test", VMRPC_VERDICT_WATCH_RULE },
        { "allow ::1\nwatch ::/0", "b.test", VMRPC_VERDICT_ALLOW_RULE },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(VmrpcPolicy) policy = parse(cases[i].policy);
        VmrpcVerdict why;

        vmrpc_policy_check_name(policy, cases[i].name, &why);
        g_assert_cmpint(why.reason, ==, cases[i].why);
    }
}

/* A rule for pings opens no port, and no ping needs a rule that opens ports. */
static void test_icmp(void)
{
    g_autoptr(VmrpcPolicy) policy = parse("allow 192.0.2.1 icmp\n"
                                          "deny 192.0.2.0/24 icmp\n"
                                          "allow 192.0.2.2 tcp 443\n"
                                          "default deny");
    VmrpcDest d = dest("192.0.2.1", IPPROTO_ICMP, 0);
    VmrpcVerdict why;

    g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==, 0);
    g_assert_cmpuint(why.line, ==, 1);
    g_assert_cmpint(verdict(policy, "192.0.2.1"), ==,
                    VMRPC_VERDICT_DENY_DEFAULT);
    d = dest("192.0.2.2", IPPROTO_ICMP, 0);
    g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==, -EACCES);
    g_assert_cmpuint(why.line, ==, 2);
    g_assert_cmpint(verdict(policy, "192.0.2.2"), ==,
                    VMRPC_VERDICT_ALLOW_RULE);
}

/* "dns" has a name answered, and opens nothing that it leads to. */
static void test_only_dns(void)
{
    static const char *const files[] = {
        "allow a.test dns\nwatch *.b.test dns\ndefault deny\n",
        "allow a.test dns\nwatch *.b.test dns\ndefault deny\ndns listed\n",
    };
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP };
    const char *const names[] = { "a.test", "x.b.test" };

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autoptr(VmrpcPolicy) policy = parse(files[i]);
        VmrpcVerdict why;

        g_assert_cmpint(vmrpc_policy_check_name(policy, "A.test", &why), ==, 0);
        g_assert_cmpuint(why.line, ==, 1);
        g_assert_cmpint(vmrpc_policy_check_name(policy, "x.b.test", &why), ==,
                        0);
        g_assert_cmpint(why.reason, ==, VMRPC_VERDICT_WATCH_RULE);
        g_assert_cmpint(vmrpc_policy_check_name(policy, "b.test", &why), ==,
                        -EACCES);
        for (size_t j = 0; j < G_N_ELEMENTS(protos); j++) {
            VmrpcDest d = dest("192.0.2.1", protos[j], 53);

            d.names = names;
            d.num_names = G_N_ELEMENTS(names);
            g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==, -EACCES);
            d.any_port = true;
            g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==, -EACCES);
        }
    }
}

/* The id is that of sha256sum, and another one for each change. */
static void test_id(void)
{
    g_autoptr(VmrpcPolicy) empty = parse("");
    g_autoptr(VmrpcPolicy) comment = parse("#");

    g_assert_cmpstr(vmrpc_policy_id(empty), ==, "e3b0c442");
    g_assert_cmpstr(vmrpc_policy_id(comment), ==, "334359b9");
    g_assert_null(vmrpc_policy_id(NULL));
}

/* --- the file ----------------------------------------------------------- */

static void test_errors(void)
{
    static const struct {
        const char *text;
        const char *says;
    } bad[] = {
        { "allwo ::/0", "f.conf:1: 'allwo' is not 'allow', 'deny', 'watch', "
          "'default', 'dns', 'private-address', 'private-domain', 'ech', "
          "'proxy' or 'limit'" },
        { "\n#x\nallow", "f.conf:3: 'allow' needs an address*" },
        { "deny 10.0.0.1/8", "f.conf:1: '10.0.0.1/8' has bits set after its "
          "prefix, which is 10.0.0.0/8" },
        { "deny 2001:db8::1/33", "*'2001:db8::1/33' has bits set*"
          "2001:db8::/33" },
        { "deny 10.0.0.0/33", "*'10.0.0.0/33' has a prefix*0 to 32" },
        { "deny 10.0.0.0/", "*prefix length that is not 0 to 32" },
        { "deny ::/129", "*prefix length that is not 0 to 128" },
        { "deny ::/1x", "*prefix length that is not 0 to 128" },
        { "deny ::/-1", "*prefix length that is not 0 to 128" },
        { "deny fe80::1%1", "*is not an address*" },
        /* neither an address nor a name */
        { "deny localhost", "f.conf:1: 'localhost' is not an address, a "
          "prefix, a name with a dot in it, or 'host'" },
        { "deny hots", "*'hots' is not an address*" },
        { "deny tcp 443", "*'tcp' is not an address*" },
        { "deny *", "*'?' is not an address*" },
        { "deny 10.0.0.256", "*'10.0.0.256' is not an address*" },
        { "deny 10.0.0", "*'10.0.0' is not an address*" },
        { "deny 0x7f.1", "*'0x7f.1' is not an address*" },
        { "deny 127.0x1", "*'127.0x1' is not an address*" },
        { "deny example.com/24", "*is not an address*" },
        { "deny http://example.com", "*is not an address*" },
        /* names that are none */
        { "deny .", "f.conf:1: '.' is not a DNS name: 1 to 63 letters*" },
        { "deny *.", "*'?.' is not a DNS name*" },
        { "deny .com", "*is not a DNS name*" },
        { "deny a..com", "*is not a DNS name*" },
        { "deny a.com..", "*is not a DNS name*" },
        { "deny a!.com", "*is not a DNS name*" },
        { "deny a\\.com", "*is not a DNS name*" },
        { "deny m\303\274ller.example", "*'m\\303\\274ller.example' is not*" },
        { "deny a.*.com", "*'a.?.com' has a '?' that is not*" },
        { "deny *a.com", "*that is not the whole first label*" },
        { "deny *.*.com", "*that is not the whole first label*" },
        { "deny a.b udp sctp", "*'sctp' is not a port (1 to 65535)*" },
        { "deny 10.0.0.1 sctp", "*'sctp' is not 'tcp', 'udp', 'icmp', "
          "'dns', 'any', a port*" },
        { "deny 10.0.0.1 icmp 8", "*'8' is too much*" },
        { "allow a.b icmp tls", "*'tls' needs 'tcp'*" },
        { "allow a.b dns 53", "*'53' is too much*" },
        { "allow a.b dns tls", "*'tls' needs 'tcp'*" },
        { "allow 192.0.2.1 dns", "*'dns' needs a name*, not '192.0.2.1'" },
        { "watch host dns", "*'dns' needs a name*, not 'host'" },
        { "deny a.b dns", "*'dns' is for 'allow' and 'watch'; 'deny a.b' "
          "denies*" },
        { "deny 10.0.0.1 tcp 0", "*'0' is not a port*" },
        { "deny 10.0.0.1 tcp 65536", "*'65536' is not a port*" },
        { "deny 10.0.0.1 tcp 10-9", "*'10-9' is not a port*" },
        { "deny 10.0.0.1 tcp 10-", "*'10-' is not a port*" },
        { "deny 10.0.0.1 tcp -10", "*'-10' is not a port*" },
        { "deny 10.0.0.1 tcp 1 2", "*'2' is too much*" },
        { "deny 10.0.0.1 tcp 1 2 3 4 5", "*'2' is too much*" },
        { "allow ::/0 tcp 443 tls", "f.conf:1: 'tls' needs a name, as in "
          "'allow www.example.com tcp 443 tls', not '::/0'" },
        { "allow host tcp 443 tls", "*'tls' needs a name*, not 'host'" },
        { "allow 192.0.2.0/24 tcp tls", "*'tls' needs a name*" },
        { "deny a.b tcp 443 tls", "*'tls' is for 'allow'*" },
        { "watch a.b tcp 443 tls", "*'tls' is for 'allow'*" },
        { "allow a.b tls", "*'tls' needs 'tcp' or 'udp', as in 'allow a.b tcp "
          "443 tls'" },
        { "allow a.b 443 tls", "*'tls' needs 'tcp' or 'udp'*" },
        { "allow a.b udp 80 http", "*'http' needs 'tcp', as in 'allow a.b tcp "
          "80 http'" },
        { "allow a.b tcp 443 tsl", "*'tsl' is too much*" },
        { "allow a.b tcp tsl", "*'tsl' is not a port*'tls' or 'http'" },
        { "allow ::/0 tcp 80 http", "f.conf:1: 'http' needs a name, as in "
          "'allow www.example.com tcp 80 http', not '::/0'" },
        { "allow a.b http", "*'http' needs 'tcp', as in 'allow a.b tcp 80 "
          "http'" },
        { "allow a.b tcp 80 http tls", "*'tls' is too much*" },
        { "allow a.b tcp 80 http\nech refuse", "*'ech' has no use*" },
        { "allow a.b tcp 443 tls tls", "*'tls' is too much*" },
        { "ech", "*'ech' needs 'refuse' or 'strip'" },
        { "ech off", "*'off' is not 'refuse' or 'strip'" },
        { "ech refuse", "f.conf: 'ech' has no use without a rule that has "
          "'tls'" },
        { "ech refuse\nech strip", "f.conf:2: a second 'ech'*" },
        { "default", "*'default' needs 'allow', 'deny' or 'watch'" },
        { "default maybe", "*'maybe' is not 'allow', 'deny' or 'watch'" },
        { "default deny now", "*'now' is too much*" },
        { "default deny\ndefault deny", "f.conf:2: a second 'default'; the "
          "first is in line 1" },
        { "dns", "*'dns' needs 'listed' or 'reachable'" },
        { "dns all", "*'all' is not 'listed' or 'reachable'" },
        { "dns listed x", "*'x' is too much*" },
        { "dns listed\ndns listed", "f.conf:2: a second 'dns'*line 1" },
        { "private-address", "*'private-address' needs 'standard', an address "
          "or a prefix" },
        { "private-address all", "*'all' is not 'standard', an address or a "
          "prefix" },
        { "private-address a.example", "*'a.example' is not 'standard'*" },
        { "private-address fd00::1/8", "*'fd00::1/8' has bits set after*" },
        { "private-address ::1 tcp", "*'tcp' is too much*" },
        { "private-domain", "*'private-domain' needs a name" },
        { "private-domain corp", "*'corp' is not a name with a dot in it" },
        { "private-domain 10.0.0.1", "*'10.0.0.1' is not a name*" },
        { "private-domain a..b", "*'a..b' is not a DNS name*" },
        { "private-domain *.a.b", "*'?.a.b' begins with '?.': the names below "
          "a private domain are in it anyway" },
        { "private-domain a.b c.d", "*'c.d' is too much*" },
        { "private-domain a.b", "f.conf: 'private-domain' has no use without "
          "'private-address'" },
        { "private-net ::1", "*'private-net' is not 'allow'*" },
        { "limit", "*'limit' needs 'connections', 'dns', 'sockets', "
          "'buffers', 'sent' or 'received'" },
        { "limit bytes 5", "*'bytes' is not 'connections', 'dns', 'sockets', "
          "'buffers', 'sent' or 'received'" },
        { "limit sent", "*'sent' needs bytes a second, as in '10M/s'" },
        { "limit sent 10M", "*'10M' is not a rate of bytes from 1K/s to "
          "1024G/s" },
        { "limit sent 1023/s", "*'1023/s' is not a rate of bytes*" },
        { "limit received 1025G/s", "*'1025G/s' is not a rate of bytes*" },
        { "limit received M/s", "*'M/s' is not a rate of bytes*" },
        { "limit received /s", "*'/s' is not a rate of bytes*" },
        { "limit sent 1M/s brust 2M", "*'brust' is not 'burst'" },
        { "limit sent 1M/s burst", "*'burst' needs a number of bytes" },
        { "limit sent 1M/s burst 2", "*'2' is not a number of bytes from 1K*" },
        { "limit sent 1M/s burst 2M x", "*'x' is too much*" },
        { "limit sent 1M/s\nlimit sent 1M/s", "*a second 'limit sent'" },
        { "proxy corp socks5 ::1", "*'proxy' needs a name, 'socks5' or "
          "'http', an address and a port" },
        { "proxy corp socks4 ::1 1080", "*'socks4' is not 'socks5' or "
          "'http'" },
        { "proxy corp http proxy.example 80", "*'proxy.example' is not an IPv4 "
          "or IPv6 address" },
        { "proxy corp http ::1 0", "*'0' is not a port (1 to 65535)" },
        { "proxy corp http ::1 80 password", "*'password' is not 'secret'" },
        { "proxy corp http ::1 80 secret", "*'secret' needs the id*" },
        { "proxy corp http ::1 80 secret a b", "*'b' is too much*" },
        { "proxy corp http ::1 80\nproxy corp http ::1 81", "f.conf:2: 'corp' "
          "is a proxy already" },
        { "allow a.b tcp 443 via", "*'via' needs the name of a proxy" },
        { "allow a.b tcp 443 via corp", "*'corp' is not the name of a 'proxy' "
          "in a line above" },
        { "proxy corp http ::1 80\nallow a.b via corp", "*'via' is for TCP: "
          "the rule needs 'tcp'*" },
        { "proxy corp http ::1 80\nallow a.b udp via corp", "*is for TCP*" },
        { "proxy corp http ::1 80\nallow a.b tcp via corp via corp",
          "*a second 'via'" },
        { "proxy corp http ::1 80\ndeny a.b tcp via corp", "*'via' is for "
          "'allow' only" },
        { "allow a.b sent", "*'sent' needs bytes an hour*" },
        { "allow a.b sent 5M", "*'5M' is not a number of bytes an hour*" },
        { "allow a.b sent 0/h", "*'0/h' is not a number of bytes*" },
        { "allow a.b sent 5M/h sent 5M/h", "*a second 'sent'" },
        { "allow a.b dns sent 5M/h", "*'sent' has no use with 'dns'*" },
        { "deny a.b sent 5M/h", "*'sent' is for 'allow' only" },
        { "allow a.b names 5/h", "*'names' is for a wildcard*" },
        { "allow *.a.b names 5", "*'5' is not a number of names an hour*" },
        { "allow *.a.b names 10001/h", "*'10001/h' is not a number*" },
        { "allow *.a.b names 5/h names 5/h", "*a second 'names'" },
        { "allow a.b tcp 443 sent 5M/h tls", "*'tls' is too much: the line may "
          "end before it, or go on with 'via', 'sent' or 'names'" },
        { "limit connections", "*'connections' needs a rate*" },
        { "limit connections 5", "*'5' is not a rate from 1/s to 1000000/s" },
        { "limit connections 5/m", "*'5/m' is not a rate*" },
        { "limit connections /s", "*'/s' is not a rate*" },
        { "limit connections 0/s", "*'0/s' is not a rate*" },
        { "limit connections -1/s", "*'-1/s' is not a rate*" },
        { "limit connections 1000001/s", "*is not a rate*" },
        { "limit connections 99999999999999999999/s", "*is not a rate*" },
        { "limit connections 5/s brust 9", "*'brust' is not 'burst'" },
        { "limit connections 5/s burst", "*'burst' needs a number" },
        { "limit connections 5/s burst 0", "*'0' is not a number from 1 to "
          "1000000" },
        { "limit connections 5/s burst 1000001", "*is not a number*" },
        { "limit connections 5/s burst 9 9", "*'9' is too much*" },
        { "limit connections 5/s burst 9 8 7 6", "*'8' is too much*" },
        { "limit dns 5/s\nlimit dns 5/s", "f.conf:2: a second 'limit dns'" },
        { "limit connections 5/s\nlimit connections 5/s", "*a second*" },
        { "limit sockets", "*'sockets' needs a number" },
        { "limit sockets 0", "*'0' is not a number from 1 to 1048576" },
        { "limit sockets 1048577", "*is not a number from 1 to 1048576" },
        { "limit sockets 5 5", "*'5' is too much*" },
        { "limit sockets 5\nlimit sockets 5", "*a second 'limit sockets'" },
        { "limit buffers", "*'buffers' needs a number of bytes*" },
        { "limit buffers 65535", "*'65535' is not a number of bytes from 64K "
          "to 1024G*" },
        { "limit buffers 63K", "*'63K' is not a number of bytes*" },
        { "limit buffers K", "*'K' is not a number of bytes*" },
        { "limit buffers 1T", "*'1T' is not a number of bytes*" },
        { "limit buffers 1MK", "*'1MK' is not a number of bytes*" },
        { "limit buffers 1025G", "*is not a number of bytes*" },
        { "limit buffers 18446744073709551616", "*is not a number of*" },
        { "limit buffers 17179869185G", "*is not a number of bytes*" },
        { "limit buffers 1M 1", "*'1' is too much*" },
        { "limit buffers 1M\nlimit buffers 1M", "*a second*" },
        { "d\001ny ::1", "*'d\\001ny'*" },
    };
    /* names of which one character less would be right */
    g_autofree char *label = g_strdup_printf("allow %064d.example", 0);
    g_autofree char *whole = g_strdup_printf("allow %063d.%063d.%063d.%054d"
                                             ".example", 0, 0, 0, 0);
    static const char nul[] = "deny ::1 \0 tcp";
    g_autofree char *comment = g_strnfill(VMRPC_POLICY_MAX_LINE + 1, '#');
    g_autofree char *large = g_strnfill(VMRPC_POLICY_MAX_TEXT + 1, '\n');
    g_autoptr(GError) err = NULL;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) why = NULL;
        g_autoptr(VmrpcPolicy) policy =
            vmrpc_policy_parse(bad[i].text, strlen(bad[i].text), "f.conf",
                               &why);

        g_assert_null(policy);
        g_assert_error(why, VMRPC_POLICY_ERROR, VMRPC_POLICY_ERROR_INVALID);
        if (!g_pattern_match_simple(bad[i].says, why->message)) {
            g_error("'%s': %s", bad[i].text, why->message);
        }
    }
    g_assert_null(vmrpc_policy_parse(label, strlen(label), "f", NULL));
    label[6] = ' ';
    vmrpc_policy_free(parse(label));
    g_assert_null(vmrpc_policy_parse(whole, strlen(whole), "f", NULL));
    whole[6] = ' ';
    vmrpc_policy_free(parse(whole));
    g_assert_null(vmrpc_policy_parse(nul, sizeof(nul), "f", &err));
    g_assert_cmpstr(err->message, ==, "f:1: holds a NUL byte");
    g_clear_error(&err);
    g_assert_null(vmrpc_policy_parse(comment, VMRPC_POLICY_MAX_LINE + 1, "f",
                                     &err));
    g_assert_cmpstr(err->message, ==, "f:1: longer than 512 bytes");
    g_clear_error(&err);
    g_assert_null(vmrpc_policy_parse(large, VMRPC_POLICY_MAX_TEXT + 1, "f",
                                     &err));
    g_assert_cmpstr(err->message, ==, "f: longer than 1048576 bytes");
    /* without a place for the error, too */
    g_assert_null(vmrpc_policy_parse("x", 1, "f", NULL));
}

/* Whether a name may not lead to an address, behind a /@nat64_len or not. */
static bool is_private(const VmrpcPolicy *policy, const char *name,
                       const char *addr, uint8_t nat64_len)
{
    VmrpcDest d = dest(addr, 0, 0);
    unsigned line = 0;
    bool ret;

    if (nat64_len) {
        d.nat64_len = nat64_len;
        memcpy(&d.nat64_addr4, &d.addr6.s6_addr[12], 4);
    }
    ret = vmrpc_policy_is_private(policy, &d, name, &line);
    g_assert_true(!ret || line);
    return ret;
}

static void test_private(void)
{
    static const char *const standard[] = {
        "fc00::1", "fdff::1", "fec0::1", "feff::1", "10.0.0.1", "172.16.0.1",
        "172.31.255.255", "192.168.0.1", "100.64.0.1", "169.254.0.1",
        "127.0.0.1", "0.0.0.1",
        /* the same behind translators that everybody knows */
        "64:ff9b::10.0.0.1", "2002:c0a8:0001::1", "::ffff:10.0.0.1",
    };
    static const char *const public[] = {
        "2001:db8::1", "fb00::1", "fe00::1", "ff0e::1", "11.0.0.1",
        "172.32.0.1", "100.128.0.1", "64:ff9b::192.0.2.1", "2002:c000:201::1",
    };
    g_autoptr(VmrpcPolicy) policy = parse("private-address standard\n"
                                          "private-domain Corp.example.\n"
                                          "private-domain db.\n"
                                          "deny fd00::/8\n");
    g_autoptr(VmrpcPolicy) own = parse("private-address 2001:db8:1::/48\n"
                                       "private-address 64:ff9b::a00:0/104\n"
                                       "private-address fd00:64::/96\n"
                                       "private-address 192.0.2.1\n");
    g_autoptr(VmrpcPolicy) none = parse("deny fd00::/8\n");
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(standard); i++) {
        g_assert_true(is_private(policy, "www.example", standard[i], 0));
        g_assert_true(is_private(policy, "example", standard[i], 0));
        g_assert_true(is_private(policy, "xcorp.example", standard[i], 0));
        g_assert_false(is_private(policy, "corp.example", standard[i], 0));
        g_assert_false(is_private(policy, "CORP.Example.", standard[i], 0));
        g_assert_false(is_private(policy, "a.b.corp.example", standard[i],
                                  0));
        g_assert_false(is_private(policy, "db", standard[i], 0));
        g_assert_false(is_private(NULL, "www.example", standard[i], 0));
        g_assert_false(is_private(none, "www.example", standard[i], 0));
    }
    for (i = 0; i < G_N_ELEMENTS(public); i++) {
        g_assert_false(is_private(policy, "www.example", public[i], 0));
    }
    /* of a network that has its NAT64 at a private prefix */
    g_assert_true(is_private(policy, "a.b", "fd00:64::192.0.2.1", 0));
    g_assert_false(is_private(policy, "a.b", "fd00:64::192.0.2.1", 96));
    g_assert_true(is_private(policy, "a.b", "fd00:64::10.0.0.1", 96));

    g_assert_true(is_private(own, "a.b", "2001:db8:1::1", 0));
    g_assert_false(is_private(own, "a.b", "2001:db8:2::1", 0));
    g_assert_true(is_private(own, "a.b", "64:ff9b::10.0.0.1", 0));
    g_assert_true(is_private(own, "a.b", "64:ff9b::10.0.0.1", 96));
    g_assert_false(is_private(own, "a.b", "10.0.0.1", 0));
    g_assert_true(is_private(own, "a.b", "fd00:64::203.0.113.1", 96));
    g_assert_true(is_private(own, "a.b", "192.0.2.1", 0));
    g_assert_true(is_private(own, "a.b", "64:ff9b::192.0.2.1", 96));
    g_assert_false(is_private(own, "a.b", "fd00::1", 0));

    /* Destinations are another matter. */
    g_assert_cmpint(verdict(own, "192.0.2.1"), ==,
                    VMRPC_VERDICT_ALLOW_DEFAULT);
    g_assert_cmpint(verdict(policy, "fd00::1"), ==, VMRPC_VERDICT_DENY_RULE);
    g_assert_false(vmrpc_policy_has_names(policy));
    g_assert_true(vmrpc_policy_has_private(policy));
    g_assert_false(vmrpc_policy_has_private(none));
}

static void test_rule_limit(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(VmrpcPolicy) policy = NULL;
    g_autoptr(GError) err = NULL;
    int i;

    for (i = 0; i < VMRPC_POLICY_MAX_RULES; i++) {
        g_string_append_printf(text, "deny 10.0.%d.%d\n", i >> 8, i & 0xff);
    }
    policy = vmrpc_policy_parse(text->str, text->len, "f", &err);
    g_assert_no_error(err);
    g_assert_cmpint(verdict(policy, "10.0.15.255"), ==,
                    VMRPC_VERDICT_DENY_RULE);
    g_assert_cmpint(verdict(policy, "10.0.16.0"), ==,
                    VMRPC_VERDICT_ALLOW_DEFAULT);
    g_string_append(text, "deny ::1");
    g_assert_null(vmrpc_policy_parse(text->str, text->len, "f", &err));
    g_assert_cmpstr(err->message, ==, "f:4097: more than 4096 rules");
}

static void test_verdict_names(void)
{
    int i, j;

    for (i = 0; i < VMRPC_VERDICT_COUNT; i++) {
        g_assert_nonnull(vmrpc_verdict_name(i));
        for (j = 0; j < i; j++) {
            g_assert_cmpstr(vmrpc_verdict_name(i), !=, vmrpc_verdict_name(j));
        }
    }
    g_assert_cmpstr(vmrpc_verdict_name(VMRPC_VERDICT_COUNT), ==, "?");
}

/* --- terms -------------------------------------------------------------- */

/* The terms by which @name is allowed */
static const VmrpcTerms *terms_of(const VmrpcPolicy *policy, const char *name)
{
    VmrpcDest dest = { .family = AF_INET6, .port = 443, .proto = IPPROTO_TCP,
                       .names = &name, .num_names = 1 };
    VmrpcVerdict why;

    g_assert_cmpint(inet_pton(AF_INET6, "2001:db8::1", &dest.addr6), ==, 1);
    g_assert_cmpint(vmrpc_policy_check(policy, &dest, &why), ==, 0);
    return why.terms;
}

static void test_terms(void)
{
    static const char text[] =
        "proxy corp http 192.0.2.1 3128 secret web\n"
        "proxy tor socks5 ::1 9050\n"
        "allow a.example tcp 443\n"
        "allow b.example tcp 443 via corp\n"
        "allow *.c.example tcp 443 names 200/h sent 1M/h via tor\n";
    g_autoptr(GError) err = NULL;
    g_autoptr(VmrpcPolicy) policy = vmrpc_policy_parse(text, strlen(text),
                                                       "f.conf", &err);
    const VmrpcTerms *terms;

    g_assert_no_error(err);
    g_assert_null(terms_of(policy, "a.example"));
    terms = terms_of(policy, "b.example");
    g_assert_cmpstr(terms->via->name, ==, "corp");
    g_assert_cmpint(terms->via->kind, ==, VMRPC_VIA_HTTP);
    g_assert_cmpint(terms->via->family, ==, AF_INET);
    g_assert_cmpuint(terms->via->port, ==, 3128);
    g_assert_cmpstr(terms->via->secret, ==, "web");
    g_assert_null(terms->sent);
    terms = terms_of(policy, "x.c.example");
    g_assert_cmpint(terms->via->kind, ==, VMRPC_VIA_SOCKS5);
    g_assert_cmpint(terms->via->family, ==, AF_INET6);
    g_assert_null(terms->via->secret);
    g_assert_cmpuint(terms->sent->most, ==, 1 << 20);
    g_assert_cmpuint(terms->names->most, ==, 200);
}

/* The terms of a socket outlive the policy. */
static void test_terms_stay(void)
{
    static const char text[] = "allow a.example tcp 443 sent 5/h\n";
    VmrpcPolicy *policy = vmrpc_policy_parse(text, strlen(text), "f.conf",
                                             NULL);
    VmrpcTerms *terms = vmrpc_terms_ref((VmrpcTerms *)
                                        terms_of(policy, "a.example"));

    vmrpc_policy_free(policy);
    g_assert_cmpuint(vmrpc_hourly_take(terms->sent, 3, 1), ==, 3);
    vmrpc_terms_unref(terms);
}

static void test_hourly(void)
{
    VmrpcHourly *budget = vmrpc_hourly_new(100);

    g_assert_cmpuint(vmrpc_hourly_take(budget, 60, 1), ==, 60);
    g_assert_cmpuint(vmrpc_hourly_take(budget, 60, 2), ==, 40);
    g_assert_cmpuint(vmrpc_hourly_take(budget, 1, VMRPC_HOUR_US), ==, 0);
    vmrpc_hourly_give_back(budget, 10);
    g_assert_cmpuint(vmrpc_hourly_take(budget, 60, VMRPC_HOUR_US), ==, 10);
    g_assert_cmpuint(vmrpc_hourly_take(budget, 60, VMRPC_HOUR_US + 1), ==, 60);
    /* Of the hour before. */
    vmrpc_hourly_give_back(budget, 1000);
    g_assert_cmpuint(vmrpc_hourly_take(budget, UINT64_MAX, VMRPC_HOUR_US + 2),
                     ==, 100);
    vmrpc_hourly_unref(budget);
}

/* A statement with equal words is the same one: its budget goes on. */
static void test_budget_is_inherited(void)
{
    static const char before[] = "allow a.example tcp 443 sent 10/h\n";
    static const char after[] = "deny ::5\nallow a.example tcp 443 sent 10/h\n";
    static const char other[] = "allow a.example tcp 443 sent 11/h\n";
    g_autoptr(VmrpcPolicy) a = vmrpc_policy_parse(before, strlen(before), "a",
                                                  NULL);
    g_autoptr(VmrpcPolicy) b = vmrpc_policy_parse(after, strlen(after), "b",
                                                  NULL);
    g_autoptr(VmrpcPolicy) c = vmrpc_policy_parse(other, strlen(other), "c",
                                                  NULL);

    vmrpc_hourly_take(terms_of(a, "a.example")->sent, 7, 1);
    vmrpc_policy_inherit(b, a);
    g_assert_cmpuint(vmrpc_hourly_take(terms_of(b, "a.example")->sent, 7, 2),
                     ==, 3);
    vmrpc_policy_inherit(c, b);
    g_assert_cmpuint(vmrpc_hourly_take(terms_of(c, "a.example")->sent, 20, 3),
                     ==, 11);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/policy/builtin", test_builtin);
    g_test_add_func("/policy/family", test_family);
    g_test_add_func("/policy/open-builtin", test_open_builtin);
    g_test_add_func("/policy/nat64", test_nat64);
    g_test_add_func("/policy/host", test_host);
    g_test_add_func("/policy/first-match", test_first_match);
    g_test_add_func("/policy/any-port", test_any_port);
    g_test_add_func("/policy/many-rules", test_many_rules);
    g_test_add_func("/policy/says", test_says);
    g_test_add_func("/policy/limits", test_limits);
    g_test_add_func("/policy/watch", test_watch);
    g_test_add_func("/policy/watch-names", test_watch_names);
    g_test_add_func("/policy/icmp", test_icmp);
    g_test_add_func("/policy/only-dns", test_only_dns);
    g_test_add_func("/policy/id", test_id);
    g_test_add_func("/policy/errors", test_errors);
    g_test_add_func("/policy/private", test_private);
    g_test_add_func("/policy/rule-limit", test_rule_limit);
    g_test_add_func("/policy/verdict-names", test_verdict_names);
    g_test_add_func("/vmrpc/policy/terms", test_terms);
    g_test_add_func("/vmrpc/policy/terms-stay", test_terms_stay);
    g_test_add_func("/vmrpc/policy/hourly", test_hourly);
    g_test_add_func("/vmrpc/policy/budget-inherited", test_budget_is_inherited);
    return g_test_run();
}

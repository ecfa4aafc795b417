/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the guest's sockets may go */

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "hw/vmrpc/policy.h"

static VmrpcDest dest(const char *addr, uint8_t proto, uint16_t port)
{
    VmrpcDest d = { .proto = proto, .port = port };

    if (inet_pton(AF_INET, addr, &d.addr4) == 1) {
        d.family = AF_INET;
    } else {
        g_assert_cmpint(inet_pton(AF_INET6, addr, &d.addr6), ==, 1);
        d.family = AF_INET6;
    }
    return d;
}

static VmrpcPolicy *parse(const char *text)
{
    g_autoptr(GError) err = NULL;
    VmrpcPolicy *policy = vmrpc_policy_parse(text, strlen(text), "p", &err);

    g_assert_no_error(err);
    return policy;
}

/* The verdict for TCP to port 443. */
static VmrpcVerdictReason verdict(const VmrpcPolicy *policy, const char *addr)
{
    VmrpcDest d = dest(addr, IPPROTO_TCP, 443);
    VmrpcVerdictReason why;

    vmrpc_policy_check(policy, &d, &why);
    return why;
}

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
        VmrpcVerdictReason why;

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
        g_assert_cmpint(why, ==, allowed ? VMRPC_VERDICT_ALLOW_RULE
                                         : cases[i].why);
    }
}

static void test_family(void)
{
    VmrpcDest d = { .family = AF_UNIX };
    VmrpcVerdictReason why;

    g_assert_cmpint(vmrpc_policy_check(NULL, &d, &why), ==, -EAFNOSUPPORT);
    g_assert_cmpint(why, ==, VMRPC_VERDICT_FAMILY);
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

static void test_host(void)
{
    VmrpcDest own = dest("2001:db8::1", IPPROTO_TCP, 22);
    VmrpcDest own_loopback = dest("::1", IPPROTO_TCP, 22);
    VmrpcVerdictReason why;
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
        g_assert_cmpint(why, ==, cases[i].own);
        vmrpc_policy_check(policy, &own_loopback, &why);
        g_assert_cmpint(why, ==, cases[i].loopback);
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
    } cases[] = {
        { "2001:db8:1::1", IPPROTO_TCP, 443, 0, VMRPC_VERDICT_ALLOW_RULE },
        { "2001:db8:1::1", IPPROTO_UDP, 443, -EACCES,
          VMRPC_VERDICT_DENY_RULE },
        { "2001:db8:1::1", IPPROTO_TCP, 80, -EACCES,
          VMRPC_VERDICT_DENY_RULE },
        { "2001:db8:1::1", IPPROTO_UDP, 5000, -EACCES,
          VMRPC_VERDICT_DENY_RULE },
        { "2001:db8:2::1", IPPROTO_UDP, 5000, 0, VMRPC_VERDICT_ALLOW_RULE },
        { "2001:db8:2::1", IPPROTO_UDP, 5010, 0, VMRPC_VERDICT_ALLOW_RULE },
        { "2001:db8:2::1", IPPROTO_UDP, 5011, -EACCES,
          VMRPC_VERDICT_DENY_DEFAULT },
        { "2001:db8:2::1", IPPROTO_UDP, 4999, -EACCES,
          VMRPC_VERDICT_DENY_DEFAULT },
        { "10.9.9.9", IPPROTO_TCP, 80, 0, VMRPC_VERDICT_ALLOW_RULE },
        { "10.9.9.9", IPPROTO_UDP, 80, 0, VMRPC_VERDICT_ALLOW_RULE },
        { "64:ff9b::10.9.9.9", IPPROTO_UDP, 80, 0,
          VMRPC_VERDICT_ALLOW_RULE },
        { "10.9.9.9", IPPROTO_ICMP, 80, -EACCES,
          VMRPC_VERDICT_DENY_DEFAULT },
        { "11.9.9.9", IPPROTO_TCP, 80, -EACCES, VMRPC_VERDICT_DENY_DEFAULT },
        { "fe80::1", IPPROTO_TCP, 80, -ENETUNREACH,
          VMRPC_VERDICT_LINK_LOCAL },
    };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        VmrpcDest d = dest(cases[i].addr, cases[i].proto, cases[i].port);
        VmrpcVerdictReason why;

        g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==,
                        cases[i].ret);
        g_assert_cmpint(why, ==, cases[i].why);
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

static void test_errors(void)
{
    static const struct {
        const char *text;
        const char *says;
    } bad[] = {
        { "allwo ::/0", "f.conf:1: 'allwo' is not 'allow', 'deny'*" },
        { "\n#x\nallow", "f.conf:3: 'allow' needs an address*" },
        { "deny 10.0.0.1/8", "f.conf:1: '10.0.0.1/8' has bits set*" },
        { "deny 2001:db8::1/33", "*'2001:db8::1/33' has bits set*" },
        { "deny 10.0.0.0/33", "*bad prefix length*" },
        { "deny 10.0.0.0/", "*bad prefix length*" },
        { "deny ::/129", "*bad prefix length*" },
        { "deny ::/1x", "*bad prefix length*" },
        { "deny example.org", "*'example.org' is not an address*" },
        { "deny fe80::1%1", "*is not an address*" },
        { "deny 10.0.0.1 sctp", "*'sctp' is not a port*" },
        { "deny 10.0.0.1 tcp 0", "*'0' is not a port*" },
        { "deny 10.0.0.1 tcp 65536", "*'65536' is not a port*" },
        { "deny 10.0.0.1 tcp 10-9", "*'10-9' is not a port*" },
        { "deny 10.0.0.1 tcp 10-", "*'10-' is not a port*" },
        { "deny 10.0.0.1 tcp -10", "*'-10' is not a port*" },
        { "deny 10.0.0.1 tcp 1 2", "*'2' is too much*" },
        { "deny 10.0.0.1 tcp 1 2 3 4 5", "*'2' is too much*" },
        { "default", "*'default' needs*" },
        { "default maybe", "*'default' needs*" },
        { "default deny now", "*'default' needs*" },
        { "default deny\ndefault deny", "f.conf:2: a second 'default'" },
        { "d\001ny ::1", "*'d\\001ny'*" },
    };
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

static void test_names(void)
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/policy/builtin", test_builtin);
    g_test_add_func("/policy/family", test_family);
    g_test_add_func("/policy/open-builtin", test_open_builtin);
    g_test_add_func("/policy/host", test_host);
    g_test_add_func("/policy/first-match", test_first_match);
    g_test_add_func("/policy/errors", test_errors);
    g_test_add_func("/policy/rule-limit", test_rule_limit);
    g_test_add_func("/policy/names", test_names);
    return g_test_run();
}

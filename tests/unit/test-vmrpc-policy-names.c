/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules by name, and which names are asked at all */

#include <errno.h>

#include "tests/fixtures/policy-fixture.h"

/* --- names -------------------------------------------------------------- */

/* What a policy says of TCP to 2001:db8::1 port 443, asked for by @names. */
static VmrpcVerdict named(const VmrpcPolicy *policy, const char *const *names,
                          size_t num)
{
    VmrpcDest d = dest("2001:db8::1", IPPROTO_TCP, 443);
    VmrpcVerdict why;

    d.names = names;
    d.num_names = num;
    vmrpc_policy_check(policy, &d, &why);
    return why;
}

static void test_name_match(void)
{
    static const struct {
        const char *rule;
        const char *name;
        bool matches;
    } cases[] = {
        { "www.example.com", "www.example.com", true },
        { "www.example.com.", "www.example.com", true },
        { "www.example.com", "www.example.com.", true },
        { "WWW.Example.com", "www.eXAMPLE.com", true },
        { "www.example.com", "example.com", false },
        { "www.example.com", "a.www.example.com", false },
        { "www.example.com", "wwwxexample.com", false },
        { "www.example.com", "www.example.comm", false },
        { "www.example.com", "ww.example.com", false },
        { "example.com", "com", false },
        { "*.example.com", "www.example.com", true },
        { "*.example.com", "a.b.c.example.com", true },
        { "*.example.com.", "a.example.com.", true },
        { "*.EXAMPLE.com", "a.Example.com", true },
        { "*.example.com", "example.com", false },
        { "*.example.com", "badexample.com", false },
        { "*.example.com", "a.example.com.evil.test", false },
        { "*.com", "a.b.com", true },
        { "*.com", "com", false },
        { "db.", "db", true },
        { "db.", "db.example.com", false },
        { "*.db.", "a.db", true },
        { "host.", "host", true },
        { "a-b_c.xn--p1ai", "a-b_c.xn--p1ai", true },
        { "4.example", "4.example", true },
        /* octets that are no letters; the dot inside the label is none */
        { "*.example.com", "a\\032b.example.com", true },
        { "*.example.com", "a\\.example.com", false },
        { "*.com", "a\\.example.com", true },
        { "*.com", "a\\\\.com", true },
        { "example.com", "example.com\\.", false },
        { "example.com", "exam\\112le.com", false },
        /* what is no name */
        { "*.com", "", false },
        { "*.com", ".", false },
        { "*.com", ".com", false },
        { "*.com", "a..com", false },
        { "*.com", "a.com..", false },
        { "*.com", "a\\", false },
        { "*.com", "a\\03.com", false },
    };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *allow = g_strdup_printf("\n\nallow %s\ndefault deny",
                                                 cases[i].rule);
        g_autofree char *deny = g_strdup_printf("deny %s", cases[i].rule);
        g_autoptr(VmrpcPolicy) allowing = parse(allow);
        g_autoptr(VmrpcPolicy) denying = parse(deny);
        VmrpcVerdict why = named(allowing, &cases[i].name, 1);

        if ((why.reason == VMRPC_VERDICT_ALLOW_RULE) != cases[i].matches) {
            g_error("'%s', '%s': %s", cases[i].rule, cases[i].name,
                    vmrpc_verdict_name(why.reason));
        }
        g_assert_cmpint(why.line, ==, 4 - cases[i].matches);
        g_assert_true(why.name == cases[i].name);
        g_assert_cmpint(named(denying, &cases[i].name, 1).reason, ==,
                        cases[i].matches ? VMRPC_VERDICT_DENY_RULE
                                         : VMRPC_VERDICT_ALLOW_DEFAULT);
        /* who knows the address by other means has not asked */
        g_assert_cmpint(named(allowing, NULL, 0).reason, ==,
                        VMRPC_VERDICT_DENY_DEFAULT);
        g_assert_null(named(allowing, NULL, 0).name);
    }
}

/* The longest names there are, and those that are longer. */
static void test_name_long(void)
{
    g_autoptr(VmrpcPolicy) policy = parse("allow *.example.com\n"
                                          "default deny");
    g_autoptr(GString) many = g_string_new(NULL);
    g_autoptr(GString) octets = g_string_new(NULL);
    g_autofree char *endless = g_strnfill(100000, 'a');
    const char *name;
    int i;

    for (i = 0; i < 125; i++) {
        g_string_append(many, "a.");
    }
    g_string_append(many, "example.com");
    name = many->str;
    g_assert_cmpint(named(policy, &name, 1).reason, ==,
                    VMRPC_VERDICT_ALLOW_RULE);
    g_string_prepend(many, "a.");
    name = many->str;
    g_assert_cmpint(named(policy, &name, 1).reason, ==,
                    VMRPC_VERDICT_DENY_DEFAULT);
    /* a whole name of octets that take four characters each */
    for (i = 0; i < 241; i++) {
        g_string_append(octets, i % 61 == 60 ? "." : "\\255");
    }
    g_string_append(octets, ".example.com");
    name = octets->str;
    g_assert_cmpint(named(policy, &name, 1).reason, ==,
                    VMRPC_VERDICT_ALLOW_RULE);
    name = endless;
    g_assert_cmpint(named(policy, &name, 1).reason, ==,
                    VMRPC_VERDICT_DENY_DEFAULT);
}

/* Several names of one address: any counts, and the first rule decides. */
static void test_name_several(void)
{
    static const char *const names[] = {
        "third.example", "second.example", "first.example",
    };
    static const struct {
        const char *text;
        VmrpcVerdictReason why;
        unsigned line;
        const char *name;
    } cases[] = {
        { "allow first.example\ndefault deny", VMRPC_VERDICT_ALLOW_RULE, 1,
          "first.example" },
        { "deny second.example", VMRPC_VERDICT_DENY_RULE, 1,
          "second.example" },
        { "allow third.example\ndeny first.example",
          VMRPC_VERDICT_ALLOW_RULE, 1, "third.example" },
        { "deny first.example\nallow third.example",
          VMRPC_VERDICT_DENY_RULE, 1, "first.example" },
        { "deny *.second.example\nallow *.example\ndeny third.example",
          VMRPC_VERDICT_ALLOW_RULE, 2, "third.example" },
        { "deny fourth.example\ndefault deny", VMRPC_VERDICT_DENY_DEFAULT, 2,
          "third.example" },
        /* between rules by address */
        { "deny 2001:db8::/32\nallow first.example", VMRPC_VERDICT_DENY_RULE,
          1, "third.example" },
        { "allow first.example\ndeny 2001:db8::/32",
          VMRPC_VERDICT_ALLOW_RULE, 1, "first.example" },
        { "deny ::/0 udp\nallow 2001::/16 80\ndeny *.example 443",
          VMRPC_VERDICT_DENY_RULE, 3, "third.example" },
        /* ports and protocols belong to rules by name, too */
        { "deny first.example udp\ndeny first.example tcp 444\n"
          "allow first.example tcp 440-443\ndefault deny",
          VMRPC_VERDICT_ALLOW_RULE, 3, "first.example" },
    };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(VmrpcPolicy) policy = parse(cases[i].text);
        VmrpcVerdict why = named(policy, names, G_N_ELEMENTS(names));

        if (why.reason != cases[i].why || why.line != cases[i].line) {
            g_error("'%s': %s, line %u", cases[i].text,
                    vmrpc_verdict_name(why.reason), why.line);
        }
        g_assert_cmpstr(why.name, ==, cases[i].name);
    }
}

static void test_name_number(void)
{
    g_autoptr(VmrpcPolicy) policy = parse("deny bad.example");
    const char *names[VMRPC_POLICY_MAX_NAMES + 1];
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(names); i++) {
        names[i] = "good.example";
    }
    names[VMRPC_POLICY_MAX_NAMES] = "bad.example";
    g_assert_cmpint(named(policy, names, G_N_ELEMENTS(names)).reason, ==,
                    VMRPC_VERDICT_ALLOW_DEFAULT);
    names[VMRPC_POLICY_MAX_NAMES - 1] = "bad.example";
    g_assert_cmpint(named(policy, names, G_N_ELEMENTS(names)).reason, ==,
                    VMRPC_VERDICT_DENY_RULE);
}

/*
 * DNS rebinding: a name whose zone is the attacker's leads to what is refused
 * without any rule.
 */
static void test_name_rebinding(void)
{
    static const char *const addrs[] = {
        "::", "::1", "::192.0.2.1", "::ffff:127.0.0.1", "fe80::1", "ff02::1",
        "fd00:ec2::254", "fd20:ce::254", "64:ff9b::127.0.0.1",
        "64:ff9b::169.254.169.254", "2002:7f00:1::1", "0.0.0.0", "127.0.0.1",
        "169.254.169.254", "100.100.100.200", "169.254.1.1", "224.0.0.1",
        "255.255.255.255",
    };
    static const char *const names[] = { "a.attacker.example" };
    g_autoptr(VmrpcPolicy) policy =
        parse("allow a.attacker.example\nallow *.attacker.example\n"
              "allow *.example any 1-65535\nallow ::/0\ndefault allow");
    g_autoptr(VmrpcPolicy) meant =
        parse("allow a.attacker.example\nallow ::1\nallow host\n"
              "default deny");
    VmrpcDest d = dest("2001:db8::1", IPPROTO_TCP, 80);
    VmrpcVerdict why;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(addrs); i++) {
        d = dest(addrs[i], IPPROTO_TCP, 80);
        d.names = names;
        d.num_names = 1;
        g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==,
                        -ENETUNREACH);
        g_assert_cmpint(why.reason, ==, verdict(NULL, addrs[i]));
        g_assert_cmpint(why.line, ==, 0);
        g_assert_cmpstr(why.name, ==, names[0]);
    }

    /* the host's own address, by a name that is allowed */
    d = dest("2001:db8::1", IPPROTO_TCP, 80);
    d.names = names;
    d.num_names = 1;
    g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==, 0);
    d.is_local = true;
    g_assert_cmpint(vmrpc_policy_check(policy, &d, &why), ==, -ENETUNREACH);
    g_assert_cmpint(why.reason, ==, VMRPC_VERDICT_HOST);

    /* a rule that means the place opens it, under whatever name */
    g_assert_cmpint(vmrpc_policy_check(meant, &d, &why), ==, 0);
    g_assert_cmpint(why.line, ==, 3);
    d = dest("::1", IPPROTO_TCP, 80);
    d.names = names;
    d.num_names = 1;
    g_assert_cmpint(vmrpc_policy_check(meant, &d, &why), ==, 0);
    g_assert_cmpint(why.line, ==, 2);
}

static void test_check_name(void)
{
    static const struct {
        const char *text;
        const char *name;
        VmrpcVerdictReason why;
        unsigned line;
    } cases[] = {
        { "", "a.test", VMRPC_VERDICT_ALLOW_DEFAULT, 0 },
        { "default deny", "a.test", VMRPC_VERDICT_DENY_DEFAULT, 1 },
        { "default deny\nallow a.test", "a.test", VMRPC_VERDICT_ALLOW_RULE,
          2 },
        { "default deny\nallow a.test", "b.test", VMRPC_VERDICT_DENY_DEFAULT,
          1 },
        { "default deny\nallow a.test tcp 443", "a.test",
          VMRPC_VERDICT_ALLOW_RULE, 2 },
        { "deny a.test", "A.test.", VMRPC_VERDICT_DENY_RULE, 1 },
        { "deny *.test", "a.b.test", VMRPC_VERDICT_DENY_RULE, 1 },
        { "deny *.test", "test", VMRPC_VERDICT_ALLOW_DEFAULT, 0 },
        { "allow a.test\ndeny *.test", "a.test", VMRPC_VERDICT_ALLOW_RULE,
          1 },
        { "deny *.test\nallow a.test", "a.test", VMRPC_VERDICT_DENY_RULE, 1 },
        /* ports and protocols that are left */
        { "deny a.test tcp", "a.test", VMRPC_VERDICT_ALLOW_DEFAULT, 0 },
        { "deny a.test 80", "a.test", VMRPC_VERDICT_ALLOW_DEFAULT, 0 },
        { "deny a.test any", "a.test", VMRPC_VERDICT_DENY_RULE, 1 },
        { "deny a.test 80\ndeny a.test", "a.test", VMRPC_VERDICT_DENY_RULE,
          2 },
        { "deny a.test 80\nallow a.test\ndeny a.test\ndefault deny",
          "a.test", VMRPC_VERDICT_ALLOW_RULE, 2 },
        /* what a rule by address may let through */
        { "allow 2001:db8::/32\ndefault deny", "a.test",
          VMRPC_VERDICT_ALLOW_RULE, 1 },
        { "allow 192.0.2.1\ndefault deny", "a.test",
          VMRPC_VERDICT_ALLOW_RULE, 1 },
        { "allow host\ndeny a.test", "a.test", VMRPC_VERDICT_ALLOW_RULE, 1 },
        { "deny a.test\nallow host", "a.test", VMRPC_VERDICT_DENY_RULE, 1 },
        { "allow host\ndeny a.test\nallow ::/0", "a.test",
          VMRPC_VERDICT_ALLOW_RULE, 1 },
        { "deny 2001:db8::/32\ndefault deny", "a.test",
          VMRPC_VERDICT_DENY_DEFAULT, 2 },
        { "dns reachable\nallow host\ndefault deny", "a.test",
          VMRPC_VERDICT_ALLOW_RULE, 2 },
        /* only what is listed */
        { "dns listed", "a.test", VMRPC_VERDICT_DENY_UNLISTED, 1 },
        { "allow ::/0\ndns listed", "a.test", VMRPC_VERDICT_DENY_UNLISTED,
          2 },
        { "allow ::/0\ndns listed\nallow a.test", "a.test",
          VMRPC_VERDICT_ALLOW_RULE, 3 },
        { "allow ::/0\ndns listed\ndeny a.test", "a.test",
          VMRPC_VERDICT_DENY_RULE, 3 },
        { "dns listed\ndeny a.test 80", "a.test",
          VMRPC_VERDICT_DENY_UNLISTED, 1 },
        /* no name at all */
        { "deny *.test", "", VMRPC_VERDICT_ALLOW_DEFAULT, 0 },
        { "deny *.test", ".", VMRPC_VERDICT_ALLOW_DEFAULT, 0 },
        { "dns listed", ".", VMRPC_VERDICT_DENY_UNLISTED, 1 },
    };
    VmrpcVerdict why;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool allowed = cases[i].why == VMRPC_VERDICT_ALLOW_DEFAULT ||
                       cases[i].why == VMRPC_VERDICT_ALLOW_RULE;
        int ret = allowed ? 0 : -EACCES;
        g_autoptr(VmrpcPolicy) policy = parse(cases[i].text);

        g_assert_cmpint(vmrpc_policy_check_name(policy, cases[i].name, NULL),
                        ==, ret);
        vmrpc_policy_check_name(policy, cases[i].name, &why);
        if (why.reason != cases[i].why || why.line != cases[i].line) {
            g_error("'%s', '%s': %s, line %u", cases[i].text, cases[i].name,
                    vmrpc_verdict_name(why.reason), why.line);
        }
        g_assert_true(why.name == cases[i].name);
    }
    g_assert_cmpint(vmrpc_policy_check_name(NULL, "a.test", &why), ==, 0);
    g_assert_cmpint(why.reason, ==, VMRPC_VERDICT_ALLOW_DEFAULT);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/policy/name-match", test_name_match);
    g_test_add_func("/policy/name-long", test_name_long);
    g_test_add_func("/policy/name-several", test_name_several);
    g_test_add_func("/policy/name-number", test_name_number);
    g_test_add_func("/policy/name-rebinding", test_name_rebinding);
    g_test_add_func("/policy/check-name", test_check_name);
    return g_test_run();
}

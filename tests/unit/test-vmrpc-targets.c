/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the answers for a name lead on */

#include <string.h>

#include "hw/vmrpc/reach/targets.h"

#include <glib.h>

static DnsName name_of(const char *text)
{
    DnsName name;

    g_assert_cmpint(dns_name_from_text(&name, text), ==, 0);
    return name;
}

static void note(VmrpcTargets *targets, const char *name, const char *target)
{
    DnsName from = name_of(name), to = name_of(target);

    vmrpc_targets_note(targets, &from, &to);
}

/* @expected: names, separated by blanks, the nearest ones first */
static void check(const VmrpcTargets *targets, const char *name,
                  const char *expected)
{
    const DnsName *found[VMRPC_TARGETS_VISITS];
    g_autoptr(GString) got = g_string_new(NULL);
    DnsName from = name_of(name);
    size_t num = vmrpc_targets_walk(targets, &from, found);

    for (size_t i = 0; i < num; i++) {
        char text[DNS_NAME_TEXT_MAX];

        dns_name_to_text(found[i], text);
        g_string_append_printf(got, "%s%s", i ? " " : "", text);
    }
    g_assert_cmpstr(got->str, ==, expected);
}

static void test_chain(void)
{
    VmrpcTargets *t = vmrpc_targets_new();

    note(t, "WWW.example", "Cdn.example");
    note(t, "www.example", "cdn.EXAMPLE");
    note(t, "cdn.example", "node.example");
    note(t, "www.example", "www.example");
    note(t, "www.example", ".");
    check(t, "wWw.example", "cdn.example node.example");
    check(t, "cdn.example", "node.example");
    check(t, "node.example", "");
    check(NULL, "www.example", "");
    vmrpc_targets_free(t);
}

/* The labels that name a service are not said. */
static void test_services(void)
{
    VmrpcTargets *t = vmrpc_targets_new();

    note(t, "_xmpps-client._tcp.example.org", "host.example.net");
    note(t, "_8443._https.www.example.org", "svc.example.net");
    check(t, "example.org", "host.example.net");
    check(t, "www.example.org", "svc.example.net");
    check(t, "_tcp.example.org", "");
    vmrpc_targets_free(t);
}

/* Hostile answers: a walk ends, and visits each name once. */
static void test_bounds(void)
{
    const DnsName *found[VMRPC_TARGETS_VISITS];
    VmrpcTargets *t = vmrpc_targets_new();
    DnsName name;
    char from[64], to[64];

    note(t, "a.example", "b.example");
    note(t, "b.example", "c.example");
    note(t, "c.example", "a.example");
    check(t, "a.example", "b.example c.example");
    for (int i = 0; i < 20; i++) {
        g_snprintf(from, sizeof(from), "n%d.example", i);
        g_snprintf(to, sizeof(to), "n%d.example", i + 1);
        note(t, from, to);
        note(t, "many.example", to);
    }
    name = name_of("n0.example");
    g_assert_cmpuint(vmrpc_targets_walk(t, &name, found), ==,
                     VMRPC_TARGETS_DEPTH);
    name = name_of("many.example");
    g_assert_cmpuint(vmrpc_targets_walk(t, &name, found), ==,
                     VMRPC_TARGETS_VISITS);
    vmrpc_targets_free(t);
}

/* The oldest pairs are forgotten, and no others. */
static void test_ring(void)
{
    VmrpcTargets *t = vmrpc_targets_new();
    char from[64];

    for (int i = 0; i < 3 * VMRPC_TARGETS_MAX + 7; i++) {
        g_snprintf(from, sizeof(from), "n%d.example", i);
        note(t, from, "to.example");
    }
    for (int i = 0; i < 3 * VMRPC_TARGETS_MAX + 7; i++) {
        g_snprintf(from, sizeof(from), "n%d.example", i);
        check(t, from, i < 2 * VMRPC_TARGETS_MAX + 7 ? "" : "to.example");
    }
    vmrpc_targets_free(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/targets/chain", test_chain);
    g_test_add_func("/targets/services", test_services);
    g_test_add_func("/targets/bounds", test_bounds);
    g_test_add_func("/targets/ring", test_ring);
    return g_test_run();
}

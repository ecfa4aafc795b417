/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The NAT64 prefixes that are remembered: which, and in what order */
#include <glib.h>
#include <string.h>

#include "hw/vmrpc/reach/nat64-list.h"

static int64_t now_ms;

/* 2001:db8::/96 and so on, by a letter each */
static Nat64Prefix prefix_of(char letter)
{
    g_autofree char *text = g_strdup_printf("2001:db8:%x::/96", letter);
    Nat64Prefix prefix;

    g_assert_true(nat64_prefix_parse(text, &prefix, NULL));
    return prefix;
}

static void found(VmrpcNat64List *list, const char *letters)
{
    Nat64Prefix prefixes[VMRPC_NAT64_MAX];
    unsigned num = strlen(letters);

    for (unsigned i = 0; i < num; i++) {
        prefixes[i] = prefix_of(letters[i]);
    }
    vmrpc_nat64_found(list, prefixes, num, now_ms);
}

static void add_old(VmrpcNat64List *list, char letter)
{
    Nat64Prefix prefix = prefix_of(letter);

    vmrpc_nat64_add_old(list, &prefix, now_ms);
}

/* What the network has, and then what it had */
static void assert_list(const VmrpcNat64List *list, const char *told,
                        const char *old)
{
    g_autofree char *all = g_strconcat(told, old, NULL);

    g_assert_cmpuint(list->num, ==, strlen(all));
    g_assert_cmpuint(list->current, ==, strlen(told));
    g_assert_true(vmrpc_nat64_in_use(list) ==
                  (*told ? &list->prefix[0] : NULL));
    for (unsigned i = 0; i < list->num; i++) {
        Nat64Prefix prefix = prefix_of(all[i]);

        g_assert_true(nat64_prefix_equal(&list->prefix[i], &prefix));
    }
}

static void test_found(void)
{
    VmrpcNat64List list = { };

    assert_list(&list, "", "");
    found(&list, "a");
    assert_list(&list, "a", "");
    found(&list, "bac");
    assert_list(&list, "bac", "");
    found(&list, "c");
    assert_list(&list, "c", "ba");
    found(&list, "");
    assert_list(&list, "", "cba");
    found(&list, "a");
    assert_list(&list, "a", "cb");
}

static void test_forgets(void)
{
    VmrpcNat64List list = { };

    found(&list, "abc");
    found(&list, "ade");
    assert_list(&list, "ade", "bc");
    found(&list, "afgh");
    assert_list(&list, "afgh", "debc");
    /* the one that was found longest ago, never one of those found now */
    found(&list, "ai");
    assert_list(&list, "ai", "fghdeb");
    found(&list, "bj");
    assert_list(&list, "bj", "aifghd");
    found(&list, "stuvwxyz");
    assert_list(&list, "stuvwxyz", "");
}

static void test_old(void)
{
    VmrpcNat64List list = { };

    add_old(&list, 'a');
    assert_list(&list, "", "a");
    found(&list, "bcdef");
    add_old(&list, 'c');
    add_old(&list, 'g');
    assert_list(&list, "bcdef", "ag");
    add_old(&list, 'h');
    add_old(&list, 'i');
    assert_list(&list, "bcdef", "agh");
}

static void found_unused(VmrpcNat64List *list, const char *letters)
{
    Nat64Prefix prefixes[VMRPC_NAT64_MAX];
    unsigned num = strlen(letters);

    for (unsigned i = 0; i < num; i++) {
        prefixes[i] = prefix_of(letters[i]);
    }
    vmrpc_nat64_found_unused(list, prefixes, num, now_ms);
}

/* The one that is used stays first; what is found is as new as it is. */
static void test_unused(void)
{
    VmrpcNat64List list = { };

    found_unused(&list, "ab");
    assert_list(&list, "", "ab");
    found_unused(&list, "cb");
    assert_list(&list, "", "cba");

    list = (VmrpcNat64List) { };
    found(&list, "u");
    found_unused(&list, "ab");
    found_unused(&list, "buc");
    assert_list(&list, "u", "bca");
    now_ms += VMRPC_NAT64_KEPT_MS - 1;
    found_unused(&list, "a");
    assert_list(&list, "u", "abc");
    now_ms++;
    vmrpc_nat64_forget(&list, now_ms);
    assert_list(&list, "u", "a");
    found_unused(&list, "bcdefgh");
    assert_list(&list, "u", "bcdefgh");
    found_unused(&list, "a");
    assert_list(&list, "u", "abcdefg");
    now_ms = 0;
}

static void forget(VmrpcNat64List *list, int64_t at_ms)
{
    now_ms = at_ms;
    vmrpc_nat64_forget(list, now_ms);
}

/* What the network has not told of for a week is nobody's prefix. */
static void test_week(void)
{
    VmrpcNat64List list = { };

    found(&list, "ab");
    now_ms += 1000;
    found(&list, "ca");
    forget(&list, VMRPC_NAT64_KEPT_MS - 1);
    assert_list(&list, "ca", "b");
    forget(&list, VMRPC_NAT64_KEPT_MS);
    assert_list(&list, "ca", "");
    /* what it has stays, however long it is not asked */
    forget(&list, 3 * VMRPC_NAT64_KEPT_MS);
    assert_list(&list, "ca", "");
    found(&list, "de");
    assert_list(&list, "de", "ca");
    add_old(&list, 'f');
    forget(&list, now_ms);
    assert_list(&list, "de", "f");
    found(&list, "");
    forget(&list, 4 * VMRPC_NAT64_KEPT_MS);
    assert_list(&list, "", "");
    now_ms = 0;
}

static void test_length(void)
{
    Nat64Prefix a = prefix_of('a'), b = a;

    b.len = 64;
    g_assert_false(nat64_prefix_equal(&a, &b));
    b.len = 96;
    g_assert_true(nat64_prefix_equal(&a, &b));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/nat64-list/found", test_found);
    g_test_add_func("/vmrpc/nat64-list/forgets", test_forgets);
    g_test_add_func("/vmrpc/nat64-list/old", test_old);
    g_test_add_func("/vmrpc/nat64-list/week", test_week);
    g_test_add_func("/vmrpc/nat64-list/unused", test_unused);
    g_test_add_func("/vmrpc/nat64-list/length", test_length);
    return g_test_run();
}

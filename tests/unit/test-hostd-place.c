/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses are added and removed in the right order, with failures at any step
 */
#include <arpa/inet.h>
#include <string.h>

#include "tests/fixtures/hostd-fixture.h"
#include "hostd/core/state.h"

#define BOTH    "register " VM_A " " PIDS_A "\naddress6 " ADDR_1 " eth0\n" \
                "address6 " ADDR_2 " eth0\nend\n"

static FakeHost *host_with(const char *lines)
{
    FakeHost *f = fake_host_new();

    assert_answer(f, NULL, lines, "ok\n");
    fake_host_done(f);
    return f;
}

static void test_take_and_yield(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);

    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    g_assert_cmpstr(fake_host_done(f), ==, "keep +" ADDR_1 " !" ADDR_1
                    " +" ADDR_2 " !" ADDR_2);
    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    g_assert_cmpstr(fake_host_done(f), ==, "+" ADDR_1 " !" ADDR_1
                    " +" ADDR_2 " !" ADDR_2);
    assert_answer(f, VM_A, "yield " VM_A "\n", "ok\n");
    g_assert_cmpstr(fake_host_done(f), ==, "keep -" ADDR_1 " -" ADDR_2
                    " keep");
    assert_answer(f, VM_A, "yield " VM_A "\n", "ok\n");
    g_assert_cmpstr(fake_host_done(f), ==, "");
}

static void test_forget(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);

    assert_answer(f, NULL, "take " VM_A "\nforget " VM_A "\n", "ok\nok\n");
    g_assert_false(fake_host_has(f, ADDR_1));
    g_assert_false(fake_host_has(f, ADDR_2));
    assert_answer(f, NULL, "forget " VM_A "\n",
                  "error VM " VM_A " is not registered on this host\n");
}

/* An address on the host without a registered VM belongs to another program. */
static void test_touches_nothing_else(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH), next = NULL;

    g_hash_table_add(f->addresses, g_strdup(ADDR_1));
    next = fake_host_restarted(f);
    hostd_settle(&next->hostd);
    assert_answer(next, NULL, "yield " VM_A "\nforget " VM_A "\n", "ok\nok\n");
    g_assert_true(fake_host_has(next, ADDR_1));
}

static void test_stuck(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);

    f->stuck = ADDR_1;
    assert_answer(f, VM_A, "take " VM_A "\n", "error stuck\n");
    g_assert_cmpstr(fake_host_done(f), ==, "keep +" ADDR_2 " !" ADDR_2);
    f->stuck = ADDR_2;
    assert_answer(f, VM_A, "yield " VM_A "\n", "error stuck\n");
    assert_answer(f, NULL, "forget " VM_A "\n", "error stuck\n");
    f->stuck = NULL;
    assert_answer(f, NULL, "forget " VM_A "\n", "ok\n");
    g_assert_false(fake_host_has(f, ADDR_2));
}

/* An address must be removed even if the file cannot be written. */
static void test_full(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);

    f->full = true;
    assert_answer(f, NULL, REGISTER(VM_B, "/b", "2001:db8::3"),
                  "error no space\n");
    assert_answer(f, NULL, REGISTER(VM_A, PIDS_A, "2001:db8::3"),
                  "error no space\n");
    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    g_assert_true(fake_host_has(f, ADDR_1));
    assert_answer(f, VM_A, "yield " VM_A "\n", "ok\n");
    g_assert_false(fake_host_has(f, ADDR_1));
    assert_answer(f, NULL, "forget " VM_A "\n", "error no space\n");
    f->full = false;
    assert_answer(f, NULL, "forget " VM_A "\n", "ok\n");
}

static void test_process_ends(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);

    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    hostd_gone(&f->hostd, hostd_registry_find(f->hostd.vms, VM_A));
    g_assert_false(fake_host_has(f, ADDR_1));
    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    g_assert_true(fake_host_has(f, ADDR_1));
}

/* The next process finishes the work of this one. */
static void test_restart(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH), second = NULL, third = NULL;

    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    g_hash_table_remove(f->addresses, ADDR_1);  /* as if it had not come to */
    second = fake_host_restarted(f);
    hostd_settle(&second->hostd);
    g_assert_cmpstr(fake_host_done(second), ==,
                    "+" ADDR_1 " !" ADDR_1 " +" ADDR_2 " !" ADDR_2);

    second->stuck = ADDR_2;                     /* nor to that */
    assert_answer(second, VM_A, "yield " VM_A "\n", "error stuck\n");
    third = fake_host_restarted(second);
    hostd_settle(&third->hostd);
    g_assert_false(fake_host_has(third, ADDR_2));
    assert_answer(third, NULL, "show\n", "vm " VM_A " away " PIDS_A "\n"
                  "address6 " ADDR_1 " eth0\naddress6 " ADDR_2 " eth0\nok\n");
}

static void test_ended_meanwhile(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH), next = NULL;

    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    f->dead = true;
    next = fake_host_restarted(f);
    hostd_settle(&next->hostd);
    g_assert_false(fake_host_has(next, ADDR_1));
}

/* --- files that are damaged ----------------------------------------------- */

#define HEAD    "vmmnet-hostd-state 1\n"
#define WHOLE   REGISTER(VM_B, "/b", ADDR_2) "take " VM_B "\n"

static void test_damage(void)
{
    static const struct {
        const char *text;
        guint damage, vms;
    } cases[] = {
        { HEAD, 0, 0 },
        { HEAD WHOLE, 0, 1 },
        { HEAD WHOLE "forget " VM_B "\n", 1, 1 },
        { HEAD "nonsense\n" WHOLE, 1, 1 },
        /* None of these lines affects another VM: they are three errors. */
        { HEAD "register " VM_A "\naddress6 " ADDR_1 " eth0\nend\n" WHOLE,
          3, 1 },
        { HEAD "register " VM_A " /a\naddress6 " ADDR_1 "\nend\n" WHOLE, 2, 1 },
        { HEAD "register " VM_A " /a\naddress6 " ADDR_1 " eth0\n" WHOLE, 1, 1 },
        { HEAD WHOLE REGISTER(VM_A, "/a", ADDR_2), 1, 1 },
        { HEAD WHOLE REGISTER(VM_B, "/a", ADDR_1), 1, 1 },
        { HEAD WHOLE "register " VM_A " /a\naddress6 " ADDR_1 " eth0\n", 1, 1 },
        { HEAD WHOLE "take " VM_A "\n", 1, 1 },
        { HEAD WHOLE "yield " VM_B, 1, 1 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
        HostdRegistry *r = hostd_registry_new();
        g_autoptr(GList) list = NULL;
        const HostdVm *vm;

        g_assert_true(hostd_state_read(r, cases[i].text,
                                       strlen(cases[i].text), "file", damage,
                                       NULL));
        g_assert_cmpuint(damage->len, ==, cases[i].damage);
        list = hostd_registry_list(r);
        g_assert_cmpuint(g_list_length(list), ==, cases[i].vms);
        vm = hostd_registry_find(r, VM_B);
        g_assert_true(!vm || (vm->place == HOSTD_HERE &&
                              vm->addresses->len == 1));
        hostd_registry_free(r);
    }
}

static void test_other_file(void)
{
    static const char *const texts[] = {
        "", "vmmnet-hostd-state 1", "vmmnet-hostd-state 2\n", "[section]\n",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GPtrArray) damage = g_ptr_array_new_with_free_func(g_free);
        HostdRegistry *r = hostd_registry_new();
        g_autoptr(GError) err = NULL;

        g_assert_false(hostd_state_read(r, texts[i], strlen(texts[i]), "file",
                                        damage, &err));
        g_assert_true(g_str_has_prefix(err->message, "file:1: "));
        hostd_registry_free(r);
    }
}

static void assert_shown(FakeHost *f, const char *first)
{
    g_autofree char *text = g_strdup_printf("vm " VM_A " here " PIDS_A "\n"
        "address6 " ADDR_1 " eth0%s\naddress6 " ADDR_2 " eth0\nok\n", first);

    assert_answer(f, NULL, "show\n", text);
}

/* Another program removes an address. */
static void test_removed_by_another(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, ADDR_1, &addr), ==, 1);
    hostd_address_gone(&f->hostd, &addr);
    g_assert_cmpstr(fake_host_done(f), ==, "");
    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    fake_host_done(f);
    /* An event from before the host had it */
    hostd_address_gone(&f->hostd, &addr);
    g_assert_cmpstr(fake_host_done(f), ==, "");
    g_hash_table_remove(f->addresses, ADDR_1);
    hostd_address_gone(&f->hostd, &addr);
    g_assert_cmpstr(fake_host_done(f), ==, "+" ADDR_1 " !" ADDR_1);
    assert_shown(f, "");
    hostd_tick(&f->hostd);
    hostd_tick(&f->hostd);
    g_hash_table_remove(f->addresses, ADDR_1);
    hostd_check(&f->hostd);
    g_assert_cmpstr(fake_host_done(f), ==, "+" ADDR_1 " !" ADDR_1);
}

/* A flush ends, and a fight has one addition a second and no line for each. */
static void test_fought_over(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);

    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    g_hash_table_remove(f->addresses, ADDR_1);
    hostd_check(&f->hostd);
    fake_host_done(f);
    fake_host_logged(f);
    for (unsigned second = 0; second < 20; second++) {
        g_hash_table_remove(f->addresses, ADDR_1);
        hostd_check(&f->hostd);
        hostd_check(&f->hostd);
        hostd_retry(&f->hostd);
        g_assert_cmpstr(fake_host_done(f), ==, "");
        assert_shown(f, " lost");
        hostd_tick(&f->hostd);
        g_assert_cmpstr(fake_host_done(f), ==, "+" ADDR_1 " !" ADDR_1);
    }
    g_assert_cmpstr(fake_host_logged(f), ==, VM_A ": " ADDR_1 " has left eth0 "
                    "again, soon after it was put back: it is put back once a "
                    "second, without a line until it stays\n");
    for (unsigned second = 0; second < 9; second++) {
        hostd_tick(&f->hostd);
    }
    g_assert_cmpstr(fake_host_logged(f), ==, "");
    hostd_tick(&f->hostd);
    g_assert_cmpstr(fake_host_logged(f), ==,
                    VM_A ": " ADDR_1 " stays on eth0\n");
    g_hash_table_remove(f->addresses, ADDR_1);
    hostd_check(&f->hostd);
    g_assert_cmpstr(fake_host_done(f), ==, "+" ADDR_1 " !" ADDR_1);
}

/* The interface goes with its addresses, and comes back. */
static void test_device_goes(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, ADDR_1, &addr), ==, 1);
    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    fake_host_done(f);
    f->down = true;
    g_hash_table_remove(f->addresses, ADDR_1);
    hostd_address_gone(&f->hostd, &addr);
    hostd_device_changed(&f->hostd, "eth0");
    g_assert_cmpstr(fake_host_done(f), ==, "");
    assert_shown(f, " lost");
    f->down = false;
    hostd_device_changed(&f->hostd, "eth1");
    g_assert_cmpstr(fake_host_done(f), ==, "");
    hostd_device_changed(&f->hostd, "eth0");
    g_assert_cmpstr(fake_host_done(f), ==, "+" ADDR_1 " !" ADDR_1);
    assert_shown(f, "");
    hostd_device_changed(&f->hostd, "eth0");
    g_assert_cmpstr(fake_host_done(f), ==, "");
}

/* The interface is called otherwise; nodes of the link lost it. */
static void test_device_moves(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);

    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    fake_host_done(f);
    hostd_device_moved(&f->hostd, "eth1", "a test");
    g_assert_cmpstr(fake_host_done(f), ==, "");
    hostd_device_moved(&f->hostd, "eth0", "a test");
    g_assert_cmpstr(fake_host_done(f), ==, "!" ADDR_1 " !" ADDR_2);
    f->down = true;
    g_hash_table_remove(f->addresses, ADDR_1);
    hostd_device_changed(&f->hostd, "eth0");
    assert_shown(f, " lost");
    hostd_device_moved(&f->hostd, "eth0", "a test");
    g_assert_cmpstr(fake_host_done(f), ==, "!" ADDR_2);
}

/* It is said of an interface of VMs that are here, and of no other. */
static void test_device_set(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);

    fake_host_logged(f);
    hostd_device_set(&f->hostd, "eth0", false);
    g_assert_cmpstr(fake_host_logged(f), ==, "");
    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    fake_host_logged(f);
    hostd_device_set(&f->hostd, "eth1", false);
    hostd_device_set(&f->hostd, "eth0", false);
    hostd_device_set(&f->hostd, "eth0", true);
    g_assert_cmpstr(fake_host_logged(f), ==,
                    "eth0 is down, the interface of 2 address(es) of VMs\n"
                    "eth0 is up, the interface of 2 address(es) of VMs\n");
}

/* At start the interface is not there. */
static void test_device_late(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH), next = NULL;

    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    next = fake_host_restarted(f);
    next->stuck = ADDR_1;
    hostd_settle(&next->hostd);
    assert_shown(next, " lost");
    next->stuck = NULL;
    fake_host_done(next);
    hostd_device_changed(&next->hostd, "eth0");
    g_assert_cmpstr(fake_host_done(next), ==, "+" ADDR_1 " !" ADDR_1);
    assert_shown(next, "");
}

/* No event tells that an address can be added again. */
static void test_retry(void)
{
    g_autoptr(FakeHost) f = host_with(BOTH);

    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    g_hash_table_remove(f->addresses, ADDR_1);
    f->stuck = ADDR_1;
    hostd_check(&f->hostd);
    fake_host_done(f);
    hostd_tick(&f->hostd);
    g_assert_cmpstr(fake_host_done(f), ==, "");
    assert_shown(f, " lost");
    f->stuck = NULL;
    hostd_tick(&f->hostd);
    g_assert_cmpstr(fake_host_done(f), ==, "+" ADDR_1 " !" ADDR_1);
    assert_shown(f, "");
    hostd_tick(&f->hostd);
    g_assert_cmpstr(fake_host_done(f), ==, "");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hostd/place/take-and-yield", test_take_and_yield);
    g_test_add_func("/hostd/place/forget", test_forget);
    g_test_add_func("/hostd/place/nothing-else", test_touches_nothing_else);
    g_test_add_func("/hostd/place/stuck", test_stuck);
    g_test_add_func("/hostd/place/full", test_full);
    g_test_add_func("/hostd/place/process-ends", test_process_ends);
    g_test_add_func("/hostd/place/restart", test_restart);
    g_test_add_func("/hostd/place/ended-meanwhile", test_ended_meanwhile);
    g_test_add_func("/hostd/place/removed-by-another",
                    test_removed_by_another);
    g_test_add_func("/hostd/place/fought-over", test_fought_over);
    g_test_add_func("/hostd/place/device-goes", test_device_goes);
    g_test_add_func("/hostd/place/device-moves", test_device_moves);
    g_test_add_func("/hostd/place/device-set", test_device_set);
    g_test_add_func("/hostd/place/device-late", test_device_late);
    g_test_add_func("/hostd/place/retry", test_retry);
    g_test_add_func("/hostd/state/damage", test_damage);
    g_test_add_func("/hostd/state/other-file", test_other_file);
    return g_test_run();
}

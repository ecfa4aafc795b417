/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protocol of vmmnet-hostd: permissions and errors */
#include <string.h>

#include "tests/fixtures/hostd-fixture.h"
#include "hostd/core/line.h"

static void test_register_and_show(void)
{
    g_autoptr(FakeHost) f = fake_host_new();

    assert_answer(f, NULL, "register " VM_B " /run/my vm.pid\n"
                  "address6 " ADDR_2 " eth0\naddress6 " ADDR_1 " eth1\nend\n"
                  REGISTER(VM_A, PIDS_A, "2001:DB8::3"), "ok\nok\n");
    assert_answer(f, NULL, "show\n",
                  "vm " VM_A " away " PIDS_A "\n"
                  "address6 2001:db8::3 eth0\n"
                  "vm " VM_B " away /run/my vm.pid\n"
                  "address6 " ADDR_2 " eth0\naddress6 " ADDR_1 " eth1\nok\n");
    g_assert_cmpstr(fake_host_done(f), ==, "keep keep");
}

static void test_formats(void)
{
    g_autoptr(FakeHost) f = fake_host_new();
    g_autofree char *metrics = NULL;

    assert_answer(f, NULL, "show json\n", "{\"vms\": []}\nok\n");
    assert_answer(f, NULL, "register " VM_A " /run/\"my\" \\vm.pid\n"
                  "address6 " ADDR_2 " eth0\naddress6 " ADDR_1 " eth1\nend\n"
                  "show json\n",
                  "ok\n{\"vms\": [{\"uuid\": \"" VM_A "\", \"state\": "
                  "\"away\", \"pid-file\": \"/run/\\\"my\\\" \\\\vm.pid\", "
                  "\"addresses\": [{\"address\": \"" ADDR_2 "\", \"interface\": "
                  "\"eth0\", \"lost\": false}, {\"address\": \"" ADDR_1
                  "\", \"interface\": \"eth1\", \"lost\": false}]}]}\nok\n");
    assert_answer(f, NULL, "take " VM_A "\n", "ok\n");
    metrics = fake_host_ask(f, NULL, "metrics\n");
    g_assert_nonnull(strstr(metrics, "vmmnet_hostd_vms{state=\"here\"} 1\n"));
    g_assert_nonnull(strstr(metrics, "vmmnet_hostd_vms{state=\"away\"} 0\n"));
    g_assert_nonnull(strstr(metrics, "addresses{state=\"there\"} 2\n"));
    assert_answer(f, VM_A, "metrics\nshow json\n",
                  "error metrics: only root may do that\n"
                  "error show: only root may do that\n");
}

/* The hook may be called twice, and a VM may change while it is away. */
static void test_register_again(void)
{
    g_autoptr(FakeHost) f = fake_host_new();

    assert_answer(f, NULL, REGISTER(VM_A, PIDS_A, ADDR_1), "ok\n");
    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    fake_host_done(f);
    assert_answer(f, NULL, REGISTER(VM_A, PIDS_A, ADDR_1), "ok\n");
    g_assert_cmpstr(fake_host_done(f), ==, "");
    assert_answer(f, NULL, REGISTER(VM_A, PIDS_A, ADDR_2),
                  "error register " VM_A ": this VM is here, with other "
                  "addresses or another pid file; 'forget' it first\n");
    assert_answer(f, VM_A, "yield " VM_A "\n", "ok\n");
    assert_answer(f, NULL, REGISTER(VM_A, PIDS_A, ADDR_2), "ok\n");
    assert_answer(f, VM_A, "take " VM_A "\n", "ok\n");
    g_assert_true(fake_host_has(f, ADDR_2));
    g_assert_false(fake_host_has(f, ADDR_1));
}

static void test_mistakes(void)
{
    static const struct {
        const char *lines, *answer;
    } cases[] = {
        { "\n", "'' is not one of register, address6, end, forget, show, "
          "metrics, take and yield" },
        { "take\n", "take: '' is not a UUID such as "
          "0a7c1f3e-0000-4000-8000-00000000000a" },
        { "take 0a7c1f3e-0000-4000-8000-00000000000\n", "take: "
          "'0a7c1f3e-0000-4000-8000-00000000000' is not a UUID such as "
          "0a7c1f3e-0000-4000-8000-00000000000a" },
        { "take " VM_A "\n", "VM " VM_A " is not registered on this host" },
        { "show all\n", "show: 'all' is unexpected" },
        { "address6 " ADDR_1 " eth0\n",
          "'address6' is allowed only between register and end" },
        { "end\n", "'end' is allowed only between register and end" },
        { "take\t" VM_A "\n", "a line is not text of at most 1024 octets" },
        { "take \xff\n", "a line is not text of at most 1024 octets" },
        { "register " VM_A " a.pid\nend\n",
          "register: the pid file 'a.pid' is not an absolute path" },
        { "register " VM_A " " PIDS_A "\nend\n",
          "register " VM_A ": there is no line address6" },
        { REGISTER(VM_A, PIDS_A, "fe80::1"), "address6: 'fe80::1' is not a "
          "global unicast IPv6 address, without prefix length" },
        { REGISTER(VM_A, PIDS_A, "2001:db8::1/64"), "address6: "
          "'2001:db8::1/64' is not a global unicast IPv6 address, without "
          "prefix length" },
        { "register " VM_A " " PIDS_A "\naddress6 " ADDR_1 " a/b\nend\n",
          "address6 " ADDR_1 ": 'a/b' is not the name of an interface" },
        { "register " VM_A " " PIDS_A "\naddress6 " ADDR_1 " lan\nend\n",
          "address6 " ADDR_1 ": this host has no interface 'lan'" },
        { "register " VM_A " " PIDS_A "\naddress6 " ADDR_1 " eth0\n"
          "address6 " ADDR_1 " eth1\nend\n",
          "address6 " ADDR_1 " is named twice" },
        /* The first error is reported, and the block ends at its end. */
        { "register " VM_A " " PIDS_A "\ntake " VM_A "\nnonsense\n"
          "address6 " ADDR_1 " eth0\nend\n",
          "'take' is not allowed before the end of register" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(FakeHost) f = fake_host_new();
        g_autofree char *answer = g_strdup_printf("error %s\nok\n",
                                                  cases[i].answer);
        g_autofree char *lines = g_strconcat(cases[i].lines, "show\n", NULL);

        assert_answer(f, NULL, lines, answer);
        g_assert_cmpstr(fake_host_done(f), ==, "");
    }
}

static void test_who_may(void)
{
    g_autoptr(FakeHost) f = fake_host_new();

    assert_answer(f, NULL, REGISTER(VM_A, PIDS_A, ADDR_1)
                  REGISTER(VM_B, "/run/b.pid", ADDR_2), "ok\nok\n");
    fake_host_done(f);
    assert_answer(f, VM_A, "take " VM_B "\nyield " VM_B "\n",
                  "error a stranger\nerror a stranger\n");
    assert_answer(f, VM_A, "forget " VM_A "\nshow\n",
                  "error forget: only root may do that\n"
                  "error show: only root may do that\n");
    assert_answer(f, VM_A, REGISTER(VM_A, PIDS_A, ADDR_2),
                  "error register: only root may do that\n");
    g_assert_cmpstr(fake_host_done(f), ==, "");
    assert_answer(f, NULL, "take " VM_B "\n", "ok\n");
    g_assert_true(fake_host_has(f, ADDR_2));
}

static void test_one_address_one_vm(void)
{
    g_autoptr(FakeHost) f = fake_host_new();

    assert_answer(f, NULL, REGISTER(VM_A, PIDS_A, ADDR_1), "ok\n");
    assert_answer(f, NULL, REGISTER(VM_B, "/run/b.pid", ADDR_1),
                  "error address6 " ADDR_1 " is the address of VM " VM_A
                  " already\n");
    assert_answer(f, NULL, "forget " VM_A "\n"
                  REGISTER(VM_B, "/run/b.pid", ADDR_1), "ok\nok\n");
}

static void test_bounds(void)
{
    g_autoptr(FakeHost) f = fake_host_new();
    g_autoptr(GString) lines = g_string_new(NULL);
    g_autofree char *most = g_strnfill(HOSTD_LINE_MAX - 48, 'y');
    g_autofree char *longest = g_strdup_printf("register " VM_A " /%s\nend\n",
                                               most);

    assert_answer(f, NULL, longest,
                  "error register " VM_A ": there is no line address6\n");
    g_string_printf(lines, "register " VM_A " " PIDS_A "\n");
    for (unsigned i = 0; i <= HOSTD_ADDRESSES_MAX; i++) {
        g_string_append_printf(lines, "address6 2001:db8::%x eth0\n", i + 1);
    }
    g_string_append(lines, "end\n");
    assert_answer(f, NULL, lines->str, "error address6 2001:db8::11 is too "
                  "many: a VM has at most 16\n");
    for (unsigned i = 0; i < HOSTD_VMS_MAX; i++) {
        g_string_printf(lines, "register 0a7c1f3e-0000-4000-8000-%012x /p\n"
                        "address6 2001:db8::%x eth0\nend\n", i, i + 1);
        assert_answer(f, NULL, lines->str, "ok\n");
    }
    assert_answer(f, NULL, REGISTER("ffffffff-0000-4000-8000-000000000000",
                                    "/p", "2001:db8:1::"),
                  "error register ffffffff-0000-4000-8000-000000000000: there "
                  "are 1024 VMs already, and there can be no more\n");
}

/* An answer is a line as well. */
static void test_long_answer(void)
{
    g_autoptr(FakeHost) f = fake_host_new();
    g_autofree char *word = g_strnfill(HOSTD_LINE_MAX - 1, 'x');
    g_autofree char *line = g_strconcat(word, "\n", NULL);
    g_autofree char *answer = fake_host_ask(f, NULL, line);

    g_assert_true(g_str_has_prefix(answer, "error 'xxx"));
    g_assert_cmpuint(strlen(answer), ==, HOSTD_LINE_MAX);
    g_assert_cmpint(answer[HOSTD_LINE_MAX - 1], ==, '\n');
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hostd/session/register", test_register_and_show);
    g_test_add_func("/hostd/session/formats", test_formats);
    g_test_add_func("/hostd/session/again", test_register_again);
    g_test_add_func("/hostd/session/mistakes", test_mistakes);
    g_test_add_func("/hostd/session/who-may", test_who_may);
    g_test_add_func("/hostd/session/one-vm", test_one_address_one_vm);
    g_test_add_func("/hostd/session/bounds", test_bounds);
    g_test_add_func("/hostd/session/long-answer", test_long_answer);
    return g_test_run();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the host's DNS servers change under a running QEMU
 *
 * The test and its QEMUs have an /etc of their own.  The servers are on
 * addresses of the namespace: the test answers for each of them.
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>
#include <glib/gstdio.h>
#include <net/if.h>
#include <sched.h>

#include "netns.h"
#include "qobject/qlist.h"
#include "vmrpc-fixture.h"

#define FIRST6          "fd00:6::54"
#define SECOND6         "fd00:6::55"
#define LINK6           "fe80::53"
#define RESOLV_CONF     "/etc/resolv.conf"
#define ASKING          (VMRPC_TEST_HANDLES - 1)
#define WHO             "virtio-vmrpc 'vmrpc': "

static int first_fd, second_fd;
static char *log_file;

static void run(const char *command)
{
    g_assert_cmpint(system(command), ==, 0);
}

/* A mount namespace, and an /etc in it that can be written */
static void make_etc(void)
{
    g_assert_cmpint(unshare(CLONE_NEWNS), ==, 0);
    run("mount --make-rprivate / && mount -t tmpfs none /mnt && "
        "cp -r /etc/ld.so* /etc/passwd /etc/group /etc/nsswitch.conf /mnt && "
        "mount --bind /mnt /etc");
}

/* Forget what was asked before. */
static void drain(int fd)
{
    char byte;

    while (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) >= 0) {
        continue;
    }
}

static Vm start(const char *options)
{
    Vm vm = { };

    drain(first_fd);
    drain(second_fd);
    vm.qts = vm_qemu(COMMON_ARGS "-device " DEVICE ",policy=%s%s 2>%s",
                         policy_file, options, log_file);
    vm.guest = vmrpc_guest_new(vm.qts, !on_mmio());
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    return vm;
}

/* --- what an operator sees ------------------------------------------------ */

static bool shows(Vm *vm, const char *source, const char *server, bool present)
{
    QList *list = query(vm->qts, "'sockets-limit': 0");
    QDict *device = only_device(list);
    QList *servers = qdict_get_qlist(device, "dns-servers");
    QDict *first = qobject_to(QDict, qlist_peek(servers));
    bool ok = !strcmp(qdict_get_str(device, "dns-source"), source) &&
              !strcmp(qdict_get_str(first, "address"), server) &&
              qdict_get_bool(first, "present") == present;

    qobject_unref(list);
    return ok;
}

static void wait_shown(Vm *vm, const char *source, const char *server,
                       bool present)
{
    gint64 end = g_get_monotonic_time() + NETNS_TIMEOUT_MS * 1000;

    while (!shows(vm, source, server, present)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

/* The log has this line, this often. */
static void assert_logged(const char *line, unsigned times)
{
    g_autofree char *text = NULL;
    unsigned found = 0;

    g_assert_true(g_file_get_contents(log_file, &text, NULL, NULL));
    for (const char *at = text; (at = strstr(at, line)); at++) {
        found++;
    }
    if (found != times) {
        g_error("'%s' is %u times in:\n%s", line, found, text);
    }
}

/* --- the guest ------------------------------------------------------------ */

/* What is repeated on a slow machine is not answered instead. */
static void resolve(Vm *vm, int server)
{
    drain(server);
    guest_ask(vm->d, ASKING);
    peer_answer_dns(server, PEER6);
    guest_told(vm->d, ASKING);
}

/* --- tests ---------------------------------------------------------------- */

/* Replaced by renaming, as network managers do */
static void write_conf(const char *text)
{
    g_assert_true(g_file_set_contents(RESOLV_CONF, text, -1, NULL));
}

static void test_late_file(void)
{
    Vm vm;

    g_unlink(RESOLV_CONF);
    vm = start("");
    g_assert_true(shows(&vm, "loopback", "127.0.0.1", true));
    assert_logged("warning: " WHO RESOLV_CONF " names no DNS server, and dns= "
                  "is not given: until it does, 127.0.0.1 is asked", 1);
    write_conf("# a boot that is not over yet\n");
    write_conf("nameserver " FIRST6 "\n");
    wait_shown(&vm, "file", FIRST6, true);
    assert_logged("info: " WHO "DNS servers of " RESOLV_CONF ": " FIRST6, 1);
    resolve(&vm, first_fd);
    vm_quit(&vm);
}

/* The guest waits for a server that is gone: it is told what the next says. */
static void test_changed(void)
{
    g_autofree char *hmp = NULL;
    Vm vm;

    write_conf("nameserver " FIRST6 "\nnameserver 192.0.2.99\n");
    vm = start("");
    resolve(&vm, first_fd);
    guest_ask(vm.d, ASKING);
    write_conf("nameserver " SECOND6 "\n");
    peer_answer_dns(second_fd, PEER6);
    guest_told(vm.d, ASKING);
    assert_logged("info: " WHO "DNS servers of " RESOLV_CONF ": " SECOND6, 1);
    /* The same servers again are no news. */
    write_conf("# renewed\nnameserver " SECOND6 "\n");
    resolve(&vm, second_fd);
    g_assert_true(shows(&vm, "file", SECOND6, true));
    assert_logged("info: ", 1);
    hmp = qtest_hmp(vm.qts, "info vmrpc");
    g_assert_nonnull(strstr(hmp, "DNS servers (file): " SECOND6));
    vm_quit(&vm);
}

static void test_emptied(void)
{
    Vm vm;

    write_conf("nameserver " FIRST6 "\n");
    vm = start("");
    g_assert_cmpint(truncate(RESOLV_CONF, 0), ==, 0);
    wait_shown(&vm, "kept", FIRST6, true);
    g_unlink(RESOLV_CONF);
    resolve(&vm, first_fd);
    assert_logged("warning: " WHO RESOLV_CONF " names no DNS server any more: "
                  "until it does, those that it named are asked: " FIRST6, 1);
    write_conf("nameserver " FIRST6 "\n");
    wait_shown(&vm, "file", FIRST6, true);
    resolve(&vm, first_fd);
    vm_quit(&vm);
}

static void test_link(void)
{
    Vm vm;

    g_unlink(RESOLV_CONF);
    g_assert_true(g_file_set_contents("/etc/one.conf", "nameserver " FIRST6
                                      "\n", -1, NULL));
    g_assert_true(g_file_set_contents("/etc/two.conf", "nameserver " SECOND6
                                      "\n", -1, NULL));
    g_assert_cmpint(symlink("one.conf", RESOLV_CONF), ==, 0);
    vm = start("");
    resolve(&vm, first_fd);
    run("ln -sfn two.conf " RESOLV_CONF);
    wait_shown(&vm, "file", SECOND6, true);
    resolve(&vm, second_fd);
    vm_quit(&vm);
}

/* --- interfaces ---------------------------------------------------------- */

static int make_late(void)
{
    struct sockaddr_in6 at = {
        .sin6_family = AF_INET6, .sin6_port = htons(DNS_PORT),
    };
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    run("ip link add late0 type veth peer name late1 && "
        "ip link set late0 up && ip link set late1 up && "
        "ip address add " LINK6 "/64 dev late0 nodad && "
        "until ip -6 route get " LINK6 " oif late0 | grep -q ^local; "
        "do :; done");
    g_assert_cmpint(inet_pton(AF_INET6, LINK6, &at.sin6_addr), ==, 1);
    at.sin6_scope_id = if_nametoindex("late0");
    g_assert_cmpint(bind(fd, (struct sockaddr *)&at, sizeof(at)), ==, 0);
    return fd;
}

/* The interface of the only server comes late, goes, and is made again. */
static void follow_interface(Vm *vm, const char *source, const char *says,
                             const char *then)
{
    int fd;

    g_assert_true(shows(vm, source, LINK6 "%late0", false));
    assert_logged(says, 1);
    fd = make_late();
    wait_shown(vm, source, LINK6 "%late0", true);
    assert_logged(then, 1);
    resolve(vm, fd);
    close(fd);

    run("ip link del late0");
    wait_shown(vm, source, LINK6 "%late0", false);
    assert_logged(says, 2);
    fd = make_late();
    wait_shown(vm, source, LINK6 "%late0", true);
    assert_logged(then, 2);
    resolve(vm, fd);
    close(fd);
    run("ip link del late0");
}

static void test_interface_of_option(void)
{
    Vm vm = start(",dns=" LINK6 "%late0");

    follow_interface(&vm, "option", "warning: " WHO "dns=" LINK6 "%late0: this "
                     "host has no interface 'late0'; the server is asked when "
                     "it has", "info: " WHO "DNS servers of dns=: " LINK6
                     "%late0");
    vm_quit(&vm);
}

static void test_interface_of_file(void)
{
    Vm vm;

    write_conf("nameserver " LINK6 "%late0\n");
    vm = start("");
    follow_interface(&vm, "file", "warning: " WHO "nameserver " LINK6
                     "%late0: this host has no interface 'late0'; the server "
                     "is asked when it has", "info: " WHO "DNS servers of "
                     RESOLV_CONF ": " LINK6 "%late0");
    vm_quit(&vm);
}

static void add_tests(void)
{
    uint16_t port = DNS_PORT;

    make_etc();
    log_file = g_build_filename(tmp_dir, "log", NULL);
    netns_add_address6(FIRST6);
    netns_add_address6(SECOND6);
    first_fd = peer_bind(SOCK_DGRAM, FIRST6, &port);
    second_fd = peer_bind(SOCK_DGRAM, SECOND6, &port);
    qtest_add_func("/vmrpc/dns/late-file", test_late_file);
    qtest_add_func("/vmrpc/dns/changed", test_changed);
    qtest_add_func("/vmrpc/dns/emptied", test_emptied);
    qtest_add_func("/vmrpc/dns/link", test_link);
    qtest_add_func("/vmrpc/dns/interface-of-option", test_interface_of_option);
    qtest_add_func("/vmrpc/dns/interface-of-file", test_interface_of_file);
}

int main(int argc, char **argv)
{
    return vmrpc_test_main(argc, argv, add_tests);
}

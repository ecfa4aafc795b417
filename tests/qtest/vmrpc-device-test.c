/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-vmrpc: properties, configuration, plugging, threads */
#include "qemu/osdep.h"

#include <arpa/inet.h>
#include <glib/gstdio.h>

#include "netns.h"
#include "qemu/bswap.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_ring.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "vmrpc-fixture.h"

/* --- properties ---------------------------------------------------------- */

typedef struct Refusal {
    const char *options;        /* JSON members */
    const char *says[3];
} Refusal;

/* Of more octets than the address of a socket has */
#define PART        "/part-of-a-path-of-thirty-octets"
#define LONG_PATH   PART PART PART PART

static const Refusal refusals[] = {
    { "'num-queues': 0", { "num-queues=0", "1..64" } },
    { "'num-queues': 65", { "num-queues=65", "1..64" } },
    { "'num-queues': 65536", { "num-queues" } },
    { "'max-sockets': 0", { "max-sockets=0", "1..1048576" } },
    { "'max-sockets': 1048577", { "max-sockets=1048577" } },
    { "'address6': 'fd00:6::77'",
      { "address6=fd00:6::77", "this host", "dev INTERFACE" } },
    { "'address6': 'host'", { "address6=host", "IPv6" } },
    { "'address6': '192.0.2.1'", { "address6=192.0.2.1" } },
    { "'address6': '::'", { "address6=::", "unicast" } },
    { "'address6': '::1'", { "address6=::1", "unicast" } },
    { "'address6': 'fe80::1'", { "address6=fe80::1", "unicast" } },
    { "'address6': 'ff0e::1'", { "address6=ff0e::1", "unicast" } },
    { "'address6': '::ffff:192.0.2.1'", { "address6=::ffff:192.0.2.1" } },
    { "'address6': 'fd00:6::1', 'translate': false",
      { "address6=fd00:6::1", "translate=off" } },
    { "'guest4': 'fd00::1'", { "guest4=fd00::1", "IPv4" } },
    { "'guest4': '10.0.0.1/33'", { "guest4=10.0.0.1/33", "IPv4" } },
    { "'guest4': '10.0.0.1/'", { "guest4=10.0.0.1/", "IPv4" } },
    { "'guest4': '10.0.0.1/8/8'", { "guest4=10.0.0.1/8/8", "IPv4" } },
    { "'guest4': ''", { "guest4=", "IPv4" } },
    { "'guest4': '0.0.0.0'", { "guest4=0.0.0.0" } },
    { "'guest4': '127.0.0.1'", { "guest4=127.0.0.1" } },
    { "'guest4': '224.0.0.1'", { "guest4=224.0.0.1" } },
    { "'guest4': '203.0.113.7', 'translate': false",
      { "guest4=203.0.113.7", "this host", "translate=off" } },
    { "'pool4': '198.18.0.0'", { "pool4=198.18.0.0", "ADDR/LENGTH" } },
    { "'pool4': '198.18.0.1/15'", { "pool4=198.18.0.1/15", "198.18.0.0" } },
    { "'pool4': '198.18.0.0/11'", { "pool4=198.18.0.0/11", "length" } },
    { "'pool4': '198.18.0.0/31'", { "pool4=198.18.0.0/31", "length" } },
    { "'pool4': '127.0.0.0/16'", { "pool4=127.0.0.0/16", "overlaps" } },
    { "'pool4': '192.0.0.0/24'", { "pool4=192.0.0.0/24", "guest4=192.0.0.2" } },
    { "'pool4': '10.9.0.0/16', 'resolver4': '10.9.1.1'",
      { "pool4=10.9.0.0/16", "resolver4=10.9.1.1" } },
    { "'pool4': '198.18.0.0/15', 'translate': false",
      { "pool4=198.18.0.0/15", "translate=off" } },
    { "'resolver4': 'dns'", { "resolver4=dns", "IPv4" } },
    { "'resolver4': '192.0.0.2'", { "resolver4=192.0.0.2", "guest4" } },
    { "'resolver4': '127.0.0.53'", { "resolver4=127.0.0.53" } },
    { "'resolver4': '192.0.0.1', 'translate': false",
      { "resolver4=192.0.0.1", "translate=off" } },
    { "'dns': 'fd00:6::53', 'translate': false",
      { "dns=fd00:6::53", "translate=off" } },
    { "'dns': 'resolver.example'", { "dns=resolver.example", "address" } },
    { "'dns': 'fd00:6::53@99999'", { "dns=fd00:6::53@99999", "port" } },
    { "'dns': 'fd00:6::53%5353'", { "dns=fd00:6::53%", "fd00:6::53@5353" } },
    { "'dns': 'fe80::1'", { "dns=fe80::1", "fe80::1%INTERFACE" } },
    { "'dns': 'fe80::1%no-such-link-at-all'",
      { "dns=fe80::1%", "no interface can be called 'no-such-link-at-all'" } },
    { "'dns': 'fd00:6::53,fd00:6::54'",
      { "dns=fd00:6::53,fd00:6::54", "separated by '+'" } },
    { "'dns': 'fd00:6::53+'", { "dns=", "address" } },
    { "'dns': '::2+::2+::2+::2+::2+::2+::2+::2+::3'",
      { "dns=::2+::2+::2+::2+::2+::2+::2+::2+::3", "9 servers", "8" } },
    { "'dns': '::'", { "dns=::", "unspecified" } },
    { "'dns': ''", { "dns=" } },
    { "'dnssec': 'yes'", { "dnssec=yes", "'permissive'", "'strict'" } },
    { "'dnssec': ''", { "dnssec= is none of" } },
    { "'dnssec': 'off', 'translate': false",
      { "dnssec=off", "translate=off" } },
    { "'validator': '/a'",
      { "validator=/a", "dnssec=off", "give dnssec=strict" } },
    { "'dnssec': 'strict'", { "dnssec=strict needs validator=PATH",
                              "vmmnet-validate" } },
    { "'dnssec': 'permissive', 'validator': ''",
      { "dnssec=permissive needs validator=PATH" } },
    { "'dnssec': 'strict', 'validator': '" LONG_PATH "'",
      { "validator=/", "is no path of a socket", "107" } },
    { "'nat64-prefix': 'on'", { "nat64-prefix=on", "auto" } },
    { "'nat64-prefix': '64:ff9b::/95'", { "nat64-prefix=64:ff9b::/95" } },
    { "'nat64-prefix': '64:ff9b::/96', 'translate': false",
      { "nat64-prefix=64:ff9b::/96", "translate=off" } },
    { "'policy': '/nonexistent/policy'",
      { "policy=/nonexistent/policy", "No such file" } },
    { "'policy': '/'", { "policy=/" } },
    { "'zone': '/nonexistent/image'",
      { "zone=/nonexistent/image", "No such file" } },
    { "'zone': '/'", { "zone=/", "regular file" } },
    { "'zone': '/dev/null+/dev/null'", { "zone=/dev/null", "regular file" } },
    { "'zone': ''", { "zone= names no image" } },
    { "'zone': '/a+/a+/a+/a+/a+/a+/a+/a+/a+/a+/a+/a+/a+/a+/a+/a+/a'",
      { "zone=/a+/a+", "17 files", "16" } },
    { "'zone': '/a', 'translate': false", { "zone=/a", "translate=off" } },
    { "'ioeventfd': false", { "ioeventfd=on" } },
    { "'iothread': 'nothing'", { "nothing" } },
};

static void test_properties_refused(void)
{
    QTestState *qts = vm_qemu(COMMON_ARGS);
    unsigned fds = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(refusals); i++) {
        g_autofree char *text = try_device(qts, refusals[i].options);

        assert_says(refusals[i].options, text, refusals[i].says,
                    ARRAY_SIZE(refusals[i].says));
        if (!text) {
            qpci_unplug_acpi_device_test(qts, "vmrpc", 2);
        }
        /* The first one may open descriptors that stay open. */
        if (i == 0) {
            fds = count_fds(qts);
        }
        g_assert_cmpuint(count_fds(qts), ==, fds);
    }
    qtest_quit(qts);
}

static void test_properties_policy_text(void)
{
    static const char *const says[] = { "policy=", "bad.policy", "2" };
    g_autofree char *path = g_build_filename(tmp_dir, "bad.policy", NULL);
    g_autofree char *options = g_strdup_printf("'policy': '%s'", path);
    g_autofree char *text = NULL;
    QTestState *qts;

    g_assert_true(g_file_set_contents(path, "allow ::1\nlet me in\n", -1,
                                      NULL));
    qts = vm_qemu(COMMON_ARGS);
    text = try_device(qts, options);
    assert_says(options, text, says, ARRAY_SIZE(says));
    qtest_quit(qts);
    g_unlink(path);
}

static const char *const good_options[] = {
    "",
    "'num-queues': 1",
    "'num-queues': 64",
    "'max-sockets': 1",
    "'max-sockets': 1048576",
    "'address6': '" VM6 "'",
    "'guest4': '10.1.2.3/8', 'pool4': '10.64.0.0/12'",
    "'pool4': '203.0.113.0/30'",
    "'resolver4': '10.0.0.1'",
    "'dns': '" DNS6 "'",
    "'dns': '" DNS6 "@5353+192.0.2.53@53+fe80::1%lo+fe80::1%1@5353'",
    "'dnssec': 'off'",
    "'dnssec': 'permissive', 'dns': '" DNS6 "', 'address6': '" VM6 "', "
    "'validator': '/nonexistent/socket'",
    "'dnssec': 'strict', 'dns': '" DNS6 "+192.0.2.53', 'validator': 'here'",
    "'nat64-prefix': 'off'",
    "'nat64-prefix': '64:ff9b::/96'",
    "'nat64-prefix': 'auto', 'dns': '" DNS6 "'",
    "'iothread': 'io0'",
    "'vectors': 0",
    "'translate': false, 'guest4': '192.0.2.99'",
};

/* Plugging and unplugging leaves nothing behind, with and without a driver. */
static void test_properties_accepted(void)
{
    QTestState *qts = vm_qemu(COMMON_ARGS "-object iothread,id=io0");
    unsigned fds = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(good_options); i++) {
        g_autofree char *text = try_device(qts, good_options[i]);

        g_assert_cmpstr(text, ==, NULL);
        qpci_unplug_acpi_device_test(qts, "vmrpc", 2);
        if (i == 0) {
            fds = count_fds(qts);
        }
        g_assert_cmpuint(count_fds(qts), ==, fds);
    }
    qtest_quit(qts);
}

/* --- configuration ------------------------------------------------------- */

static void read_config(VmrpcDriver *d, struct vmrpc_config *config)
{
    for (unsigned i = 0; i < sizeof(*config); i++) {
        ((uint8_t *)config)[i] = qvirtio_config_readb(d->vdev, i);
    }
}

static void test_config_default(void)
{
    Vm vm = vm_start("", 0);
    struct vmrpc_config config;

    read_config(vm.d, &config);
    g_assert_cmpuint(le16_to_cpu(config.version), ==, VMRPC_VERSION);
    g_assert_cmpuint(le16_to_cpu(config.num_queues), ==, 1);
    g_assert_cmpuint(le32_to_cpu(config.max_sockets), ==, 16384);
    g_assert_cmphex(config.guest4, ==, inet_addr(GUEST4));
    g_assert_cmpuint(config.guest4_prefix, ==, 29);
    g_assert_cmphex(config.resolver4, ==, inet_addr(RESOLVER4));
    g_assert_cmphex(config.pool4, ==, inet_addr("198.18.0.0"));
    g_assert_cmpuint(config.pool4_prefix, ==, 15);
    g_assert_cmpuint(le16_to_cpu(config.mtu), >=, 1280);
    g_assert_true(vm.d->features & (1ull << VMRPC_F_TRANSLATE));
    g_assert_true(vm.d->features & (1ull << VIRTIO_F_VERSION_1));
    vm_quit(&vm);
}

static void test_config_given(void)
{
    Vm vm = vm_boot("num-queues=3,max-sockets=77,guest4=10.1.2.3/8,"
                    "resolver4=10.1.2.1,pool4=10.64.0.0/12",
                    "-smp 2");
    struct vmrpc_config config;

    vmrpc_driver_start(vm.d, 0, EVENTS);
    read_config(vm.d, &config);
    g_assert_cmpuint(le16_to_cpu(config.num_queues), ==, 3);
    g_assert_cmpuint(le32_to_cpu(config.max_sockets), ==, 77);
    g_assert_cmphex(config.guest4, ==, inet_addr("10.1.2.3"));
    g_assert_cmpuint(config.guest4_prefix, ==, 8);
    g_assert_cmphex(config.resolver4, ==, inet_addr("10.1.2.1"));
    g_assert_cmphex(config.pool4, ==, inet_addr("10.64.0.0"));
    g_assert_cmpuint(config.pool4_prefix, ==, 12);
    vm_quit(&vm);
}

static void test_config_auto_queues(void)
{
    Vm vm = vm_boot("", "-smp 3");

    vmrpc_driver_start(vm.d, 0, EVENTS);
    g_assert_cmpuint(vm.d->num_queues, ==, 3);
    vm_quit(&vm);
}

/* translate=off: the guest has an address of the host and no virtual ones. */
static void test_config_no_translation(void)
{
    struct vmrpc_config config;
    Vm vm = { };

    vm.qts = vm_qemu(COMMON_ARGS "-device " DEVICE ",translate=off,"
                        "guest4=192.0.2.99/24");
    vm.guest = vmrpc_guest_new(vm.qts, !on_mmio());
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    read_config(vm.d, &config);
    g_assert_cmphex(config.guest4, ==, inet_addr("192.0.2.99"));
    g_assert_cmpuint(config.guest4_prefix, ==, 24);
    g_assert_cmphex(config.pool4, ==, 0);
    g_assert_cmpuint(config.pool4_prefix, ==, 0);
    g_assert_cmphex(config.resolver4, ==, 0);
    g_assert_false(vm.d->features & (1ull << VMRPC_F_TRANSLATE));
    g_assert_false(vm.d->features & (1ull << VMRPC_F_INET6));
    vm_quit(&vm);
}

/* --- timestamps ---------------------------------------------------------- */

/* One datagram and its SO_TIMESTAMPNS. */
static void receive_stamp(VmrpcDriver *d, int64_t time[2])
{
    uint32_t one = cpu_to_le32(1);
    struct sockaddr_in any = { .sin_family = AF_INET };
    uint8_t in[32 + 4];
    VmrpcArgs recv = { .op = VMRPC_RECVMSG, .sock = 1, .control_len = 32,
                       .in = in, .in_len = sizeof(in) };
    VmrpcReply r;
    int fd;

    guest_socket(d, 1, SOCK_DGRAM);
    r = vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_SETSOCKOPT, .sock = 1,
        .arg = { SOL_SOCKET, SO_TIMESTAMPNS_OLD }, .out = &one, .out_len = 4,
    });
    g_assert_cmpint(r.error, ==, 0);
    r = guest_op_addr(d, VMRPC_BIND, 1, &any);
    g_assert_cmpint(r.error, ==, 0);
    fd = peer_connect(SOCK_DGRAM, PEER6, VM6, ntohs(r.addr.sin_port));
    g_assert_cmpint(send(fd, "data", 4, 0), ==, 4);
    vmrpc_wait_ready(d, 1, VMRPC_IN);
    r = vmrpc_call(d, &recv);
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpmem(in + 32, 4, "data", 4);
    memcpy(time, in + 16, 16);
    close(fd);
}

/* Only a driver with the feature gets moments, if the host has them. */
static void test_moments(void)
{
    static const struct {
        const char *options;
        uint64_t unwanted;
        bool moments;
    } cases[] = {
        { "address6=" VM6, 0, true },
        { "address6=" VM6, 1ull << VMRPC_F_MOMENTS, false },
        { "address6=" VM6 ",guest-clock=off", 0, false },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t begin = g_get_real_time(), time[2];
        gint64 since = g_get_monotonic_time();
        Vm vm = vm_start(cases[i].options, cases[i].unwanted);

        g_assert_cmpint(!!(vm.d->features & (1ull << VMRPC_F_MOMENTS)), ==,
                        cases[i].moments);
        receive_stamp(vm.d, time);
        if (cases[i].moments) {
            g_assert_cmpint(le64_to_cpu(time[0]) / 1000, >=, since);
            g_assert_cmpint(le64_to_cpu(time[0]), <=, le64_to_cpu(time[1]));
            g_assert_cmpint(le64_to_cpu(time[1]) / 1000, <=,
                            g_get_monotonic_time());
        } else {
            g_assert_cmpint(le64_to_cpu(time[0]), >=, begin / G_USEC_PER_SEC);
        }
        vm_quit(&vm);
    }
}

/*
 * Does the device make a socket of AF_INET6?  Its answers have an address
 * behind the fixed part then.
 */
static uint32_t make_inet6(VmrpcDriver *d)
{
    struct vmrpc_addr6 none = { };
    VmrpcReply r = vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = 1, .flags = VMRPC_REQ_INET6,
        .arg = { SOCK_STREAM, IPPROTO_TCP },
        .out = &none, .out_len = sizeof(none),
        .in = &none, .in_len = sizeof(none),
    });

    g_assert_cmpuint(r.used_len, ==, r.error ? sizeof(struct vmrpc_resp)
                                             : sizeof(struct vmrpc_resp) +
                                               sizeof(none));
    return r.error;
}

/* Only a driver with the feature may make them, and has an address for them. */
static void test_inet6(void)
{
    static const struct {
        const char *options;
        uint64_t unwanted;
        bool inet6;
        const char *own;
    } cases[] = {
        { "address6=" VM6, 0, true, VM6 },
        { "", 0, true, "fd76:6d6d:6e65:7400::c000:2" },
        { "", 1ull << VMRPC_F_INET6, false },
        { "ipv6=off", 0, false },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        Vm vm = vm_start(cases[i].options, cases[i].unwanted);
        struct vmrpc_config config;
        char text[INET6_ADDRSTRLEN];

        g_assert_cmpint(!!(vm.d->features & (1ull << VMRPC_F_INET6)), ==,
                        cases[i].inet6);
        g_assert_cmpint(make_inet6(vm.d) == 0, ==, cases[i].inet6);
        if (cases[i].own) {
            read_config(vm.d, &config);
            inet_ntop(AF_INET6, config.guest6, text, sizeof(text));
            g_assert_cmpstr(text, ==, cases[i].own);
        }
        vm_quit(&vm);
    }
}

/* --- plugging ------------------------------------------------------------ */

static void vm_unplug(Vm *vm)
{
    qpci_unplug_acpi_device_test(vm->qts, "vmrpc", SLOT);
    vmrpc_driver_free(vm->d);
    vmrpc_guest_free(vm->guest);
}

static void test_unplug(void)
{
    QTestState *qts = vm_qemu(COMMON_ARGS);
    unsigned fds = 0;

    for (unsigned round = 0; round < 4; round++) {
        Vm vm = { .qts = qts };
        int conn;

        vm_plug(&vm, "");
        conn = guest_connect(vm.d, 1, PEER6);
        converse(vm.d, 1, conn);
        g_assert_cmpint(write(conn, "unread", 6), ==, 6);
        vm_unplug(&vm);
        peer_wait_end(conn);
        close(conn);
        if (!round) {
            fds = count_fds(qts);
        }
        g_assert_cmpuint(count_fds(qts), ==, fds);
    }
    qtest_quit(qts);
}

/* --- threads ------------------------------------------------------------- */

static void test_two_devices(const void *data)
{
    const char *iothread = data;
    g_autofree char *first = device_args(iothread);
    Vm vm = { };
    VmrpcDriver *other;
    int conn, other_conn;

    vm.qts = vm_qemu(COMMON_ARGS "-object iothread,id=io0 %s "
                         "-device virtio-vmrpc-pci,id=other,addr=0x5,"
                         "dns=" DNS6 ",policy=%s%s%s", first, policy_file,
                         *iothread ? "," : "", iothread);
    vm.guest = vmrpc_guest_new(vm.qts, !on_mmio());
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    other = vmrpc_driver_new(vm.guest, SLOT + 1);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    vmrpc_driver_start(other, NO_INDIRECT, EVENTS);
    other->gen = 77;

    conn = guest_connect(vm.d, 1, PEER6);
    other_conn = guest_connect(other, 1, PEER6);
    converse(vm.d, 1, conn);
    converse(other, 1, other_conn);
    /* One device's reset does not affect the other one. */
    qvirtio_reset(vm.d->vdev);
    peer_wait_end(conn);
    converse(other, 1, other_conn);
    close(conn);
    close(other_conn);
    g_assert_cmpuint(counter(vm.qts, "other", "sockets_closed"), ==, 1);
    vmrpc_driver_free(other);
    vm_quit(&vm);
}

static unsigned count_threads(QTestState *qts)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", qtest_pid(qts));

    return count_entries(path);
}

/* An unplugged device is freed after an RCU grace period. */
static void wait_threads(QTestState *qts, unsigned num)
{
    gint64 end = g_get_monotonic_time() + VMRPC_TEST_TIMEOUT_US;

    while (count_threads(qts) != num) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        settle(qts);
    }
}

/* A given thread can be deleted; it ends with the device. */
static void test_iothread_given(void)
{
    QTestState *qts = vm_qemu(COMMON_ARGS);
    unsigned threads = count_threads(qts);

    for (unsigned round = 0; round < 3; round++) {
        Vm vm = { .qts = qts };

        qtest_qmp_assert_success(
            qts, "{ 'execute': 'object-add', 'arguments': { 'qom-type': "
            "'iothread', 'id': 'io0' } }");
        vm_plug(&vm, "'iothread': 'io0'");
        round_trip(vm.d);
        g_assert_cmpuint(count_threads(qts), ==, threads + 1);
        qtest_qmp_assert_success(
            qts, "{ 'execute': 'object-del', 'arguments': { 'id': 'io0' } }");
        round_trip(vm.d);
        vm_unplug(&vm);
        wait_threads(qts, threads);
    }
    qtest_quit(qts);
}

static void test_iothread_own(void)
{
    QTestState *qts = vm_qemu(COMMON_ARGS);
    unsigned threads = count_threads(qts);

    for (unsigned round = 0; round < 3; round++) {
        Vm vm = { .qts = qts };

        vm_plug(&vm, "");
        round_trip(vm.d);
        g_assert_cmpuint(count_threads(qts), ==, threads + 1);
        vm_unplug(&vm);
        wait_threads(qts, threads);
    }
    qtest_quit(qts);
}

/*
 * A thread that never polls needs every kick; one that always polls gets none.
 * Neither may lose requests.
 */
static void test_polling(const RingKind *kind, const char *thread)
{
    g_autofree char *options = g_strdup_printf("iothread=io0%s%s",
                                               *kind->options ? "," : "",
                                               kind->options);
    g_autofree char *object = g_strdup_printf("-object iothread,id=io0,%s",
                                              thread);
    Vm vm = vm_boot(options, object);
    int conn;

    vmrpc_driver_start(vm.d, kind->unwanted, 2);
    conn = guest_connect(vm.d, 1, PEER6);
    for (unsigned i = 0; i < 20; i++) {
        converse(vm.d, 1, conn);
        settle(vm.qts);
    }
    close(conn);
    vm_quit(&vm);
}

static void test_polling_never(const void *data)
{
    test_polling(data, "poll-max-ns=0");
}

static void test_polling_always(const void *data)
{
    test_polling(data, "poll-max-ns=1000000000,poll-grow=1000000");
}

/* --- main ---------------------------------------------------------------- */

/* The first name's address in a QEMU with this seed of its random numbers */
static in_addr_t first_address(unsigned seed)
{
    g_autofree char *more = g_strdup_printf("-seed %u", seed);
    Vm vm = vm_boot("", more);
    in_addr_t addr;

    vmrpc_driver_start(vm.d, 0, EVENTS);
    addr = guest_resolve(vm.d, PEER6).s_addr;
    vm_quit(&vm);
    return addr;
}

/* Names do not begin at one address: a guest may have those of another QEMU. */
static void test_start_is_random(void)
{
    in_addr_t first = first_address(1);

    g_assert_cmphex(first_address(2), !=, first);
    g_assert_cmphex(first_address(1), ==, first);
}

static void add_tests(void)
{
    add_for_pci("/vmrpc/properties/refused", test_properties_refused);
    add_for_pci("/vmrpc/properties/policy-text",
                   test_properties_policy_text);
    add_for_pci("/vmrpc/properties/accepted", test_properties_accepted);
    qtest_add_func("/vmrpc/config/default", test_config_default);
    qtest_add_func("/vmrpc/config/given", test_config_given);
    qtest_add_func("/vmrpc/config/auto-queues", test_config_auto_queues);
    qtest_add_func("/vmrpc/config/no-translation",
                   test_config_no_translation);
    qtest_add_func("/vmrpc/moments", test_moments);
    qtest_add_func("/vmrpc/inet6", test_inet6);
    add_for_pci("/vmrpc/unplug", test_unplug);
    qtest_add_func("/vmrpc/start-is-random", test_start_is_random);
    qtest_add_data_func("/vmrpc/two-devices/own-threads", "",
                        test_two_devices);
    qtest_add_data_func("/vmrpc/two-devices/one-thread", "iothread=io0",
                        test_two_devices);
    add_for_pci("/vmrpc/iothread/given", test_iothread_given);
    add_for_pci("/vmrpc/iothread/own", test_iothread_own);
    add_for_kinds("polling/never", test_polling_never, 0);
    add_for_kinds("polling/always", test_polling_always, 0);
}

int main(int argc, char **argv)
{
    return vmrpc_test_main(argc, argv, add_tests);
}

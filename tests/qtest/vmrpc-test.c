/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest testcase for virtio-vmrpc
 *
 * Theory of operation
 * ===================
 *
 * The test is the guest (vmrpc-driver.c), and it is the peer on the network
 * too (netns.c): both ends of every socket are at hand here.  The network is
 * a namespace with these addresses on lo:
 *
 *   VM6      the virtual machine's own, property address6
 *   PEER6    a peer; one of the host's own addresses, which the policy opens
 *   DNS6     a DNS server that answers with the address a test wants
 *
 * The guest comes to know a peer as a virtual IPv4 address, from DNS, as any
 * guest does.  A second namespace with the same addresses stands for the
 * destination host of a migration.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include <arpa/inet.h>
#include <glib/gstdio.h>
#include <sys/resource.h>

#include "tests/qtest/libqos/pci-pc.h"
#include "netns.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "standard-headers/linux/pci_regs.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
#include "vmrpc-driver.h"

#define VM6             "fd00:6::1"
#define PEER6           "fd00:6::2"
#define DNS6            "fd00:6::53"
#define GUEST4          "192.0.0.2"
#define RESOLVER4       "192.0.0.1"
#define DNS_PORT        53

#define SLOT            4
#define EVENTS          64
#define BACKEND         "/machine/peripheral/vmrpc/virtio-backend"
#define COMMON_ARGS     "-machine pc -nodefaults -m 64 "
#define DEVICE          "virtio-vmrpc-pci,id=vmrpc,addr=0x4"

#define MSI_ADDRESS     0xfee00000      /* of the first processor */

#define NO_INDIRECT     (1ull << VIRTIO_RING_F_INDIRECT_DESC)
#define NO_EVENT_IDX    (1ull << VIRTIO_RING_F_EVENT_IDX)
#define PLAIN_RING      (NO_INDIRECT | NO_EVENT_IDX)

static char *tmp_dir;
static char *policy_file;       /* opens the peers to the guest */
static int home_ns;             /* where all of this happens */
static int away_ns;             /* the other host, -1 until needed */
static int dns_fd;

/* --- a guest with the device ---------------------------------------------- */

typedef struct Vm {
    QTestState *qts;
    VmrpcGuest *guest;
    VmrpcDriver *d;
} Vm;

static char *device_args(const char *options)
{
    return g_strdup_printf("-device " DEVICE ",dns=" DNS6 ",policy=%s%s%s",
                           policy_file, *options ? "," : "", options);
}

/* QEMU with the device; the driver has not touched it yet. */
static Vm vm_boot(const char *options, const char *more)
{
    g_autofree char *device = device_args(options);
    Vm vm = { };

    vm.qts = qtest_initf(COMMON_ARGS "%s %s", device, more);
    vm.guest = vmrpc_guest_new(vm.qts);
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    return vm;
}

static Vm vm_start(const char *options, uint64_t unwanted)
{
    Vm vm = vm_boot(options, "");

    vmrpc_driver_start(vm.d, unwanted, EVENTS);
    return vm;
}

static void vm_quit(Vm *vm)
{
    if (vm->d) {
        vmrpc_driver_free(vm->d);
    }
    vmrpc_guest_free(vm->guest);
    qtest_quit(vm->qts);
}

/* What query-vmrpc answers; @arguments are JSON members. */
static QList *query(QTestState *qts, const char *arguments)
{
    g_autofree char *cmd = g_strdup_printf(
        "{ 'execute': 'query-vmrpc', 'arguments': { %s } }", arguments);
    QDict *resp;
    QList *list;

    qtest_qmp_send_raw(qts, "%s", g_strdelimit(cmd, "'", '"'));
    resp = qtest_qmp_receive(qts);
    list = qdict_get_qlist(resp, "return");
    g_assert_nonnull(list);
    qobject_ref(list);
    qobject_unref(resp);
    return list;
}

/* The only device in @list. */
static QDict *only_device(QList *list)
{
    g_assert_cmpuint(qlist_size(list), ==, 1);
    return qobject_to(QDict, qlist_peek(list));
}

/* A counter of the device at @path, by its name in the source. */
static uint64_t counter(QTestState *qts, const char *path, const char *field)
{
    g_autofree char *name = g_strdelimit(g_strdup(field), "_", '-');
    g_autofree char *arguments = g_strdup_printf(
        "'id': '%s', 'sockets-limit': 0", path);
    QList *list = query(qts, arguments);
    QDict *counters = qdict_get_qdict(only_device(list), "counters");
    uint64_t value;

    g_assert_true(qdict_haskey(counters, name));
    value = qdict_get_int(counters, name);
    qobject_unref(list);
    return value;
}

static unsigned count_entries(const char *path)
{
    GDir *dir = g_dir_open(path, 0, NULL);
    unsigned num = 0;

    g_assert_nonnull(dir);
    while (g_dir_read_name(dir)) {
        num++;
    }
    g_dir_close(dir);
    return num;
}

static unsigned count_fds(QTestState *qts)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd", qtest_pid(qts));

    return count_entries(path);
}

/* --- the guest's socket calls --------------------------------------------- */

static void guest_socket(VmrpcDriver *d, uint32_t sock, int type)
{
    VmrpcReply r = vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = sock, .arg = { type },
    });

    g_assert_cmpint(r.error, ==, 0);
}

static int guest_close(VmrpcDriver *d, uint32_t sock)
{
    return vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_CLOSE, .sock = sock,
    }).error;
}

static VmrpcReply guest_op_addr(VmrpcDriver *d, uint16_t op, uint32_t sock,
                                const struct sockaddr_in *addr)
{
    return vmrpc_call(d, &(VmrpcArgs) {
        .op = op, .sock = sock, .addr = addr,
    });
}

/* A listening socket on any port; returns the port. */
static uint16_t guest_listen(VmrpcDriver *d, uint32_t sock)
{
    struct sockaddr_in any = { .sin_family = AF_INET };
    VmrpcReply r;

    guest_socket(d, sock, SOCK_STREAM);
    r = guest_op_addr(d, VMRPC_BIND, sock, &any);
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpuint(r.addr.sin_port, !=, 0);
    g_assert_cmpint(vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_LISTEN, .sock = sock, .arg = { 16 },
    }).error, ==, 0);
    return ntohs(r.addr.sin_port);
}

/* Takes a connection of the listening @sock as socket @child. */
static void guest_accept(VmrpcDriver *d, uint32_t sock, uint32_t child)
{
    VmrpcReply r;

    vmrpc_wait_ready(d, sock, VMRPC_IN);
    r = vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_ACCEPT, .sock = sock, .arg = { child, d->gen },
    });
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpint(r.addr.sin_family, ==, AF_INET);
}

static void guest_send(VmrpcDriver *d, uint32_t sock, const void *buf,
                       size_t len)
{
    VmrpcReply r = vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_SENDMSG, .sock = sock, .out = buf, .out_len = len,
    });

    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpuint(r.value, ==, len);
}

static VmrpcReply guest_recv_once(VmrpcDriver *d, uint32_t sock, void *buf,
                                  size_t len)
{
    VmrpcReply r = vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_RECVMSG, .sock = sock, .in = buf, .in_len = len,
    });

    if (!r.error) {
        g_assert_cmpuint(r.value, <=, len);
        g_assert_cmpuint(r.used_len, ==, sizeof(struct vmrpc_resp) + r.value);
    }
    return r;
}

/* Reads exactly @len bytes of a stream, sleeping on events in between. */
static void guest_recv(VmrpcDriver *d, uint32_t sock, void *buf, size_t len)
{
    size_t done = 0;

    while (done < len) {
        VmrpcReply r = guest_recv_once(d, sock, (uint8_t *)buf + done,
                                       len - done);

        if (r.error == VMRPC_EAGAIN) {
            vmrpc_wait_ready(d, sock, VMRPC_IN);
            continue;
        }
        g_assert_cmpint(r.error, ==, 0);
        g_assert_cmpuint(r.value, >, 0);
        done += r.value;
    }
}

/* The virtual address of @address, as DNS tells the guest. */
static struct in_addr guest_resolve(VmrpcDriver *d, const char *address)
{
    static const uint8_t query[] = {
        0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0,
        4, 'p', 'e', 'e', 'r', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1
    };
    const uint32_t sock = VMRPC_TEST_HANDLES - 1;
    struct sockaddr_in resolver = {
        .sin_family = AF_INET,
        .sin_port = htons(DNS_PORT),
        .sin_addr.s_addr = inet_addr(RESOLVER4),
    };
    struct in_addr addr;
    uint8_t answer[512];
    VmrpcReply r;

    guest_socket(d, sock, SOCK_DGRAM);
    g_assert_cmpint(guest_op_addr(d, VMRPC_CONNECT, sock, &resolver).error,
                    ==, 0);
    guest_send(d, sock, query, sizeof(query));
    peer_answer_dns(dns_fd, address);
    vmrpc_wait_ready(d, sock, VMRPC_IN);
    r = guest_recv_once(d, sock, answer, sizeof(answer));
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpuint(r.value, ==, sizeof(query) + 16);
    g_assert_cmphex(answer[3] & 0xf, ==, 0);
    memcpy(&addr, answer + r.value - sizeof(addr), sizeof(addr));
    g_assert_cmphex(ntohl(addr.s_addr) & 0xfffe0000, ==, 0xc6120000);
    g_assert_cmpint(guest_close(d, sock), ==, 0);
    return addr;
}

/* Connects @sock to @address; returns the peer's end. */
static int guest_connect(VmrpcDriver *d, uint32_t sock, const char *address)
{
    uint16_t port = 0;
    int listener = peer_bind(SOCK_STREAM, address, &port);
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr = guest_resolve(d, address),
    };
    VmrpcReply r;
    int conn;

    guest_socket(d, sock, SOCK_STREAM);
    r = guest_op_addr(d, VMRPC_CONNECT, sock, &peer);
    if (r.error) {
        g_assert_cmpint(r.error, ==, VMRPC_EINPROGRESS);
    }
    conn = peer_accept(listener);
    vmrpc_wait_ready(d, sock, VMRPC_OUT);
    close(listener);

    r = guest_op_addr(d, VMRPC_GETPEERNAME, sock, NULL);
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, peer.sin_addr.s_addr);
    g_assert_cmpuint(r.addr.sin_port, ==, peer.sin_port);
    r = guest_op_addr(d, VMRPC_GETSOCKNAME, sock, NULL);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, inet_addr(GUEST4));
    return conn;
}

/* Both directions of a connection, each waiting for the other. */
static void converse(VmrpcDriver *d, uint32_t sock, int conn)
{
    char buf[16];

    guest_send(d, sock, "question", 8);
    peer_read(conn, buf, 8);
    g_assert_cmpmem(buf, 8, "question", 8);
    g_assert_cmpint(guest_recv_once(d, sock, buf, sizeof(buf)).error, ==,
                    VMRPC_EAGAIN);
    g_assert_cmpint(write(conn, "answer", 6), ==, 6);
    vmrpc_wait_ready(d, sock, VMRPC_IN);
    guest_recv(d, sock, buf, 6);
    g_assert_cmpmem(buf, 6, "answer", 6);
}

/* Everything at once: DNS, connect, both directions, the peer's end. */
static void round_trip(VmrpcDriver *d)
{
    int conn = guest_connect(d, 1, PEER6);
    char buf[1];
    VmrpcReply r;

    converse(d, 1, conn);
    close(conn);
    vmrpc_wait_ready(d, 1, VMRPC_RDHUP);
    r = guest_recv_once(d, 1, buf, sizeof(buf));
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpuint(r.value, ==, 0);
    g_assert_cmpint(guest_close(d, 1), ==, 0);
}

/* --- properties ----------------------------------------------------------- */

typedef struct Refusal {
    const char *options;        /* JSON members */
    const char *says[3];
} Refusal;

static const Refusal refusals[] = {
    { "'num-queues': 0", { "num-queues=0", "1..64" } },
    { "'num-queues': 65", { "num-queues=65", "1..64" } },
    { "'num-queues': 65536", { "num-queues" } },
    { "'max-sockets': 0", { "max-sockets=0", "1..1048576" } },
    { "'max-sockets': 1048577", { "max-sockets=1048577" } },
    { "'address6': 'fd00:6::77'", { "address6=fd00:6::77", "this host" } },
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
    { "'resolver4': 'dns'", { "resolver4=dns", "IPv4" } },
    { "'resolver4': '192.0.0.2'", { "resolver4=192.0.0.2", "guest4" } },
    { "'resolver4': '127.0.0.53'", { "resolver4=127.0.0.53" } },
    { "'resolver4': '192.0.0.1', 'translate': false",
      { "resolver4=192.0.0.1", "translate=off" } },
    { "'dns': 'fd00:6::53', 'translate': false",
      { "dns=fd00:6::53", "translate=off" } },
    { "'dns': 'resolver.example'", { "dns=resolver.example", "address" } },
    { "'dns': 'fd00:6::53%99999'", { "dns=fd00:6::53%99999", "port" } },
    { "'dns': 'fd00:6::53+'", { "dns=", "address" } },
    { "'dns': '::'", { "dns=::", "unspecified" } },
    { "'dns': ''", { "dns=" } },
    { "'nat64-prefix': 'on'", { "nat64-prefix=on", "auto" } },
    { "'nat64-prefix': '64:ff9b::/95'", { "nat64-prefix=64:ff9b::/95" } },
    { "'nat64-prefix': '64:ff9b::/96', 'translate': false",
      { "nat64-prefix=64:ff9b::/96", "translate=off" } },
    { "'policy': '/nonexistent/policy'",
      { "policy=/nonexistent/policy", "No such file" } },
    { "'policy': '/'", { "policy=/" } },
    { "'ioeventfd': false", { "ioeventfd=on" } },
    { "'iothread': 'nothing'", { "nothing" } },
};

static char *try_device(QTestState *qts, const char *options)
{
    QDict *resp, *error;
    char *text = NULL;
    g_autofree char *cmd = g_strdup_printf(
        "{ 'execute': 'device_add', 'arguments': { 'driver': "
        "'virtio-vmrpc-pci', 'id': 'vmrpc'%s%s } }",
        *options ? ", " : "", options);

    /* Options are text of this file, not a format. */
    qtest_qmp_send_raw(qts, "%s", g_strdelimit(cmd, "'", '"'));
    resp = qtest_qmp_receive(qts);
    if (qdict_haskey(resp, "error")) {
        error = qdict_get_qdict(resp, "error");
        text = g_strdup(qdict_get_str(error, "desc"));
    }
    qobject_unref(resp);
    return text;
}

static void assert_says(const char *what, const char *text,
                        const char *const *says, unsigned num)
{
    for (unsigned i = 0; i < num && says[i]; i++) {
        if (!text || !strstr(text, says[i])) {
            g_test_message("{ %s }: \"%s\" does not say \"%s\"", what,
                           text ?: "accepted", says[i]);
            g_test_fail();
        }
    }
}

static void test_properties_refused(void)
{
    QTestState *qts = qtest_init(COMMON_ARGS);
    unsigned fds = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(refusals); i++) {
        g_autofree char *text = try_device(qts, refusals[i].options);

        assert_says(refusals[i].options, text, refusals[i].says,
                    ARRAY_SIZE(refusals[i].says));
        if (!text) {
            qpci_unplug_acpi_device_test(qts, "vmrpc", 2);
        }
        /* The first may open what stays open. */
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
    qts = qtest_init(COMMON_ARGS);
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
    "'dns': '" DNS6 "%5353+192.0.2.53%53'",
    "'nat64-prefix': 'off'",
    "'nat64-prefix': '64:ff9b::/96'",
    "'nat64-prefix': 'auto', 'dns': '" DNS6 "'",
    "'iothread': 'io0'",
    "'vectors': 0",
    "'translate': false, 'guest4': '192.0.2.99'",
};

/* Plugging and unplugging leaves nothing behind, driver or not. */
static void test_properties_accepted(void)
{
    QTestState *qts = qtest_init(COMMON_ARGS "-object iothread,id=io0");
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

/* --- configuration -------------------------------------------------------- */

static void read_config(VmrpcDriver *d, struct vmrpc_config *config)
{
    for (unsigned i = 0; i < sizeof(*config); i++) {
        ((uint8_t *)config)[i] = qvirtio_config_readb(&d->dev->vdev, i);
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

    vm.qts = qtest_init(COMMON_ARGS "-device " DEVICE ",translate=off,"
                        "guest4=192.0.2.99/24");
    vm.guest = vmrpc_guest_new(vm.qts);
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    read_config(vm.d, &config);
    g_assert_cmphex(config.guest4, ==, inet_addr("192.0.2.99"));
    g_assert_cmpuint(config.guest4_prefix, ==, 24);
    g_assert_cmphex(config.pool4, ==, 0);
    g_assert_cmpuint(config.pool4_prefix, ==, 0);
    g_assert_cmphex(config.resolver4, ==, 0);
    g_assert_false(vm.d->features & (1ull << VMRPC_F_TRANSLATE));
    vm_quit(&vm);
}

/* --- rings ---------------------------------------------------------------- */

typedef struct RingKind {
    const char *name;
    const char *options;
    uint64_t unwanted;
} RingKind;

static const RingKind ring_kinds[] = {
    { "split", "", PLAIN_RING },
    { "split-indirect", "", NO_EVENT_IDX },
    { "split-event-idx", "", NO_INDIRECT },
    { "split-both", "", 0 },
    { "packed", "packed=on", PLAIN_RING },
    { "packed-indirect", "packed=on", NO_EVENT_IDX },
    { "packed-event-idx", "packed=on", NO_INDIRECT },
    { "packed-both", "packed=on", 0 },
};

static void test_round_trip(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_start(kind->options, kind->unwanted);

    g_assert_cmpuint(vmrpc_request_ring(vm.d, 0)->packed, ==,
                     !!*kind->options);
    round_trip(vm.d);
    g_assert_cmpuint(vm.d->events_seen, >, 0);
    vm_quit(&vm);
}

/* More requests than a ring holds: indices go round. */
static void test_wrap(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_boot(kind->options, "");

    vm.d->ring_size = 16;
    vmrpc_driver_start(vm.d, kind->unwanted, 10);
    for (unsigned i = 0; i < 100; i++) {
        guest_socket(vm.d, i % 7, SOCK_DGRAM);
        g_assert_cmpint(guest_close(vm.d, i % 7), ==, 0);
    }
    vm_quit(&vm);
}

/* Many requests behind one kick, more than the device takes in one go. */
static void test_batch(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_start(kind->options, kind->unwanted);
    const VmrpcArgs args = { .op = VMRPC_CLOSE, .sock = 3 };
    VmrpcPending pending[300];

    for (unsigned i = 0; i < ARRAY_SIZE(pending); i++) {
        vmrpc_submit(vm.d, &args, &pending[i]);
    }
    vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
    for (unsigned i = 0; i < ARRAY_SIZE(pending); i++) {
        g_assert_cmpint(vmrpc_finish(vm.d, &args, &pending[i]).error, ==,
                        EBADF);
    }
    g_assert_cmpuint(counter(vm.qts, BACKEND, "requests"), ==,
                     ARRAY_SIZE(pending));
    vm_quit(&vm);
}

/* Data of a request's greatest size, both ways, in many pieces. */
static void test_bulk(void)
{
    Vm vm = vm_start("", 0);
    g_autofree uint8_t *sent = g_malloc(VMRPC_DATA_MAX);
    g_autofree uint8_t *got = g_malloc0(VMRPC_DATA_MAX);
    int conn = guest_connect(vm.d, 1, PEER6);
    size_t from_guest = 0, got_by_peer = 0, from_peer = 0;

    for (size_t i = 0; i < VMRPC_DATA_MAX; i++) {
        sent[i] = i * 2654435761u >> 13;
    }
    while (from_guest < VMRPC_DATA_MAX) {
        VmrpcReply r = vmrpc_call(vm.d, &(VmrpcArgs) {
            .op = VMRPC_SENDMSG, .sock = 1, .out = sent + from_guest,
            .out_len = VMRPC_DATA_MAX - from_guest,
        });

        if (r.error) {
            g_assert_cmpint(r.error, ==, VMRPC_EAGAIN);
        } else {
            g_assert_cmpuint(r.value, >, 0);
            from_guest += r.value;
        }
        peer_read(conn, got + got_by_peer, from_guest - got_by_peer);
        got_by_peer = from_guest;
        vmrpc_wait_ready(vm.d, 1, VMRPC_OUT);
    }
    g_assert_cmpmem(sent, VMRPC_DATA_MAX, got, VMRPC_DATA_MAX);

    memset(got, 0, VMRPC_DATA_MAX);
    while (from_peer < VMRPC_DATA_MAX) {
        ssize_t n = send(conn, sent + from_peer, VMRPC_DATA_MAX - from_peer,
                         MSG_DONTWAIT);

        g_assert_cmpint(n, >, 0);
        guest_recv(vm.d, 1, got + from_peer, n);
        from_peer += n;
    }
    g_assert_cmpmem(sent, VMRPC_DATA_MAX, got, VMRPC_DATA_MAX);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "bytes_sent"), >=,
                     VMRPC_DATA_MAX);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "bytes_received"), >=,
                     VMRPC_DATA_MAX);
    close(conn);
    vm_quit(&vm);
}

/* --- queues and interrupts ------------------------------------------------ */

static void test_queues_several(void)
{
    Vm vm = vm_start("num-queues=64", 0);

    g_assert_cmpuint(vm.d->num_queues, ==, 64);
    for (unsigned q = 1; q <= 64; q++) {
        VmrpcReply r = vmrpc_call(vm.d, &(VmrpcArgs) {
            .queue = q, .op = VMRPC_SOCKET, .sock = q - 1,
            .arg = { SOCK_STREAM },
        });

        g_assert_cmpint(r.error, ==, 0);
    }
    /* A socket belongs to no queue. */
    for (unsigned q = 1; q <= 64; q++) {
        VmrpcReply r = vmrpc_call(vm.d, &(VmrpcArgs) {
            .queue = q, .op = VMRPC_CLOSE, .sock = 64 - q,
        });

        g_assert_cmpint(r.error, ==, 0);
    }
    vm_quit(&vm);
}

static void test_queues_at_once(void)
{
    Vm vm = vm_start("num-queues=4", 0);
    VmrpcPending pending[4][32];

    for (unsigned q = 0; q < 4; q++) {
        for (unsigned i = 0; i < 32; i++) {
            vmrpc_submit(vm.d, &(VmrpcArgs) {
                .queue = q + 1, .op = VMRPC_SOCKET, .sock = 100 * q + i,
                .arg = { SOCK_DGRAM },
            }, &pending[q][i]);
        }
    }
    for (unsigned q = 0; q < 4; q++) {
        vmrpc_ring_kick(vmrpc_request_ring(vm.d, q + 1));
    }
    for (unsigned q = 0; q < 4; q++) {
        for (unsigned i = 0; i < 32; i++) {
            const VmrpcArgs args = { .queue = q + 1, .sock = 100 * q + i };

            g_assert_cmpint(vmrpc_finish(vm.d, &args, &pending[q][i]).error,
                            ==, 0);
        }
    }
    g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==, 128);
    vm_quit(&vm);
}

/* Lets QEMU's main loop take whatever is pending there. */
static void settle(QTestState *qts)
{
    for (unsigned i = 0; i < 10; i++) {
        qtest_qmp_assert_success(qts, "{ 'execute': 'query-status' }");
    }
}

static bool has_interrupt(VmrpcDriver *d, unsigned queue)
{
    QVirtioDevice *vdev = &d->dev->vdev;

    return vdev->bus->get_queue_isr_status(vdev, &d->ring[queue].pci.vq);
}

static void wait_interrupt(VmrpcDriver *d, unsigned queue)
{
    qvirtio_wait_queue_isr(d->guest->qts, &d->dev->vdev,
                           &d->ring[queue].pci.vq, VMRPC_TEST_TIMEOUT_US);
}

static void test_interrupt_intx(void)
{
    Vm vm = vm_start("", 0);

    guest_socket(vm.d, 1, SOCK_DGRAM);
    wait_interrupt(vm.d, VMRPC_QUEUE_REQUEST);
    settle(vm.qts);
    g_assert_false(has_interrupt(vm.d, VMRPC_QUEUE_REQUEST));
    vm_quit(&vm);
}

/* Each queue has a vector: for itself and for nobody else. */
static void test_interrupt_msix(void)
{
    Vm vm = vm_boot("num-queues=2", "");
    int conn;

    qpci_msix_enable(vm.d->dev->pdev);
    g_assert_cmpuint(qpci_msix_table_size(vm.d->dev->pdev), ==, 4);
    vmrpc_driver_setup(vm.d, NO_EVENT_IDX);
    for (unsigned i = 0; i <= 2; i++) {
        qvirtqueue_pci_msix_setup(vm.d->dev, &vm.d->ring[i].pci,
                                  &vm.guest->alloc, i + 1);
    }
    vmrpc_driver_go(vm.d);
    vmrpc_post_events(vm.d, EVENTS);

    guest_socket(vm.d, 1, SOCK_DGRAM);
    wait_interrupt(vm.d, 1);
    settle(vm.qts);
    g_assert_false(has_interrupt(vm.d, 0));
    g_assert_false(has_interrupt(vm.d, 2));
    vmrpc_call(vm.d, &(VmrpcArgs) { .queue = 2, .op = VMRPC_CLOSE,
                                    .sock = 1 });
    wait_interrupt(vm.d, 2);
    settle(vm.qts);
    g_assert_false(has_interrupt(vm.d, 0));
    g_assert_false(has_interrupt(vm.d, 1));
    conn = guest_connect(vm.d, 1, PEER6);
    converse(vm.d, 1, conn);
    wait_interrupt(vm.d, VMRPC_QUEUE_EVENT);
    close(conn);
    vm_quit(&vm);
}

/* With event indices the driver says which completion it wants to hear of. */
static void test_interrupt_event_idx(void)
{
    Vm vm = vm_boot("", "");
    VmrpcRing *ring;

    qpci_msix_enable(vm.d->dev->pdev);
    vmrpc_driver_setup(vm.d, 0);
    ring = vmrpc_request_ring(vm.d, 0);
    g_assert_true(ring->event_idx);
    qvirtqueue_pci_msix_setup(vm.d->dev, &ring->pci, &vm.guest->alloc, 1);
    vmrpc_driver_go(vm.d);
    vmrpc_post_events(vm.d, EVENTS);

    /* The device may interrupt for the first completion in any case. */
    guest_socket(vm.d, 9, SOCK_DGRAM);
    settle(vm.qts);
    has_interrupt(vm.d, VMRPC_QUEUE_REQUEST);
    /* used_event: after the fourth */
    qtest_writew(vm.qts, ring->pci.vq.avail + 4 + 2 * ring->pci.vq.size, 3);
    for (unsigned i = 0; i < 2; i++) {
        guest_socket(vm.d, i, SOCK_DGRAM);
        settle(vm.qts);
        g_assert_false(has_interrupt(vm.d, VMRPC_QUEUE_REQUEST));
    }
    guest_socket(vm.d, 3, SOCK_DGRAM);
    wait_interrupt(vm.d, VMRPC_QUEUE_REQUEST);
    vm_quit(&vm);
}

/* --- events --------------------------------------------------------------- */

/* Events wait for buffers, whenever those come. */
static void test_events_starved(const void *data)
{
    const RingKind *kind = data;
    g_autofree char *options = g_strdup_printf("address6=" VM6 "%s%s",
                                               *kind->options ? "," : "",
                                               kind->options);
    Vm vm = vm_boot(options, "");
    uint16_t port;
    int conn;

    vmrpc_driver_start(vm.d, kind->unwanted, 0);
    port = guest_listen(vm.d, 1);
    for (unsigned round = 0; round < 3; round++) {
        uint64_t events = counter(vm.qts, BACKEND, "events");
        struct vmrpc_event event;

        conn = peer_connect(SOCK_STREAM, PEER6, VM6, port);
        /* A request behind it shows that the device goes on. */
        guest_socket(vm.d, 2, SOCK_DGRAM);
        settle(vm.qts);
        g_assert_false(vm.d->events_seen);
        g_assert_false(vmrpc_take_event(vm.d, &event));
        g_assert_cmpuint(counter(vm.qts, BACKEND, "events"), ==, events);

        vmrpc_post_events(vm.d, 1);
        vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
        guest_accept(vm.d, 1, 3);
        g_assert_cmpint(guest_close(vm.d, 2), ==, 0);
        g_assert_cmpint(guest_close(vm.d, 3), ==, 0);
        peer_wait_end(conn);
        close(conn);

        /* From the beginning, without buffers. */
        vmrpc_driver_start(vm.d, kind->unwanted, 0);
        port = guest_listen(vm.d, 1);
    }
    vm_quit(&vm);
}

/* More sockets have something to say than there are buffers. */
static void test_events_few_buffers(void)
{
    Vm vm = vm_boot("address6=" VM6, "");
    uint16_t port[20];
    int conn[20];

    vmrpc_driver_start(vm.d, 0, 2);
    for (unsigned i = 0; i < 20; i++) {
        port[i] = guest_listen(vm.d, i);
    }
    for (unsigned i = 0; i < 20; i++) {
        conn[i] = peer_connect(SOCK_STREAM, PEER6, VM6, port[i]);
    }
    for (unsigned i = 0; i < 20; i++) {
        vmrpc_wait_ready(vm.d, i, VMRPC_IN);
        close(conn[i]);
    }
    vm_quit(&vm);
}

/* No event twice for the same thing: a guest that does nothing is left alone */
static void test_events_once(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    uint16_t port = guest_listen(vm.d, 1);
    struct vmrpc_event event;
    int conn[5];

    conn[0] = peer_connect(SOCK_STREAM, PEER6, VM6, port);
    vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
    for (unsigned i = 1; i < 5; i++) {
        conn[i] = peer_connect(SOCK_STREAM, PEER6, VM6, port);
        settle(vm.qts);
    }
    g_assert_false(vmrpc_take_event(vm.d, &event));
    g_assert_cmpuint(counter(vm.qts, BACKEND, "events"), ==, 1);
    for (unsigned i = 0; i < 5; i++) {
        guest_accept(vm.d, 1, 10 + i);
        close(conn[i]);
    }
    g_assert_cmphex(vm.d->sock[1].ready & VMRPC_IN, ==, 0);
    vm_quit(&vm);
}

/* Nobody listens: the error arrives with the event. */
static void test_events_refused(void)
{
    Vm vm = vm_start("", 0);
    uint16_t port = 0;
    int fd = peer_bind(SOCK_STREAM, PEER6, &port);
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr = guest_resolve(vm.d, PEER6),
    };
    VmrpcReply r;

    close(fd);
    guest_socket(vm.d, 1, SOCK_STREAM);
    r = guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer);
    if (r.error == VMRPC_EINPROGRESS) {
        g_assert_cmpuint(vmrpc_wait_error(vm.d, 1), ==, ECONNREFUSED);
    } else {
        g_assert_cmpint(r.error, ==, ECONNREFUSED);
    }
    vm_quit(&vm);
}

/* --- datagrams, policy ---------------------------------------------------- */

static void test_datagram(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    struct sockaddr_in any = { .sin_family = AF_INET };
    uint16_t port = 0;
    char buf[32];
    VmrpcReply r;
    int fd;

    guest_socket(vm.d, 1, SOCK_DGRAM);
    r = guest_op_addr(vm.d, VMRPC_BIND, 1, &any);
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, INADDR_ANY);
    fd = peer_connect(SOCK_DGRAM, PEER6, VM6, ntohs(r.addr.sin_port));
    g_assert_cmpint(write(fd, "hello", 5), ==, 5);
    vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
    r = guest_recv_once(vm.d, 1, buf, 3);
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpuint(r.value, ==, 3);
    g_assert_cmphex(r.msg_flags & MSG_TRUNC, ==, MSG_TRUNC);
    g_assert_cmphex(ntohl(r.addr.sin_addr.s_addr) & 0xfffe0000, ==,
                    0xc6120000);

    /* Back to where it came from: the virtual address is the peer's. */
    port = r.addr.sin_port;
    g_assert_cmpuint(port, !=, 0);
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SENDMSG, .sock = 1, .addr = &r.addr, .out = "hi there",
        .out_len = 8,
    });
    g_assert_cmpint(r.error, ==, 0);
    peer_read(fd, buf, 8);
    g_assert_cmpmem(buf, 8, "hi there", 8);
    close(fd);
    vm_quit(&vm);
}

static void test_policy(void)
{
    g_autofree char *args = g_strdup_printf(
        COMMON_ARGS "-device " DEVICE ",dns=" DNS6);
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_port = htons(9),
    };
    Vm vm = { };

    vm.qts = qtest_init(args);
    vm.guest = vmrpc_guest_new(vm.qts);
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    guest_socket(vm.d, 1, SOCK_STREAM);
    peer.sin_addr = guest_resolve(vm.d, PEER6);
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer).error, ==,
                    ENETUNREACH);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "refused_host_address"), ==, 1);
    peer.sin_addr.s_addr = inet_addr("198.18.77.77");
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer).error, ==,
                    EHOSTUNREACH);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "unreachable_no_mapping"), ==,
                     1);
    peer.sin_addr.s_addr = inet_addr("192.0.2.1");
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer).error, ==,
                    ENETUNREACH);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "unreachable_no_nat64"), ==, 1);
    vm_quit(&vm);
}

/* What a datagram socket gets that connects to the peer. */
static int try_peer(Vm *vm, const struct sockaddr_in *peer)
{
    int error;

    guest_socket(vm->d, 1, SOCK_DGRAM);
    error = guest_op_addr(vm->d, VMRPC_CONNECT, 1, peer).error;
    guest_close(vm->d, 1);
    return error;
}

static void replace_file(const char *path, const char *text)
{
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* Until the device has noticed; QEMU answers as fast as it can. */
static void await_counter(Vm *vm, const char *name, uint64_t value)
{
    gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

    while (counter(vm->qts, BACKEND, name) < value) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

static void test_policy_reload(void)
{
    g_autofree char *path = g_build_filename(tmp_dir, "reload.policy", NULL);
    g_autofree char *args = g_strdup_printf(
        COMMON_ARGS "-device " DEVICE ",dns=" DNS6 ",policy=%s", path);
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_port = htons(9),
    };
    Vm vm = { };
    QDict *error;

    replace_file(path, "allow host\n");
    vm.qts = qtest_init(args);
    vm.guest = vmrpc_guest_new(vm.qts);
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    peer.sin_addr = guest_resolve(vm.d, PEER6);
    g_assert_cmpint(try_peer(&vm, &peer), ==, 0);

    /* by itself */
    replace_file(path, "deny host\n");
    await_counter(&vm, "policy_reloads", 1);
    g_assert_cmpint(try_peer(&vm, &peer), ==, EACCES);
    replace_file(path, "allow host\nallow all\n");
    await_counter(&vm, "policy_errors", 1);
    g_assert_cmpint(try_peer(&vm, &peer), ==, EACCES);

    /* asked for, and told what is wrong */
    error = qtest_qmp_assert_failure_ref(
        vm.qts, "{ 'execute': 'vmrpc-reload-policy' }");
    g_assert_nonnull(strstr(qdict_get_str(error, "desc"),
                            "reload.policy:2: 'all'"));
    qobject_unref(error);
    error = qtest_qmp_assert_failure_ref(
        vm.qts, "{ 'execute': 'vmrpc-reload-policy', 'arguments': "
        "{ 'id': 'other' } }");
    g_assert_cmpstr(qdict_get_str(error, "class"), ==, "DeviceNotFound");
    qobject_unref(error);
    replace_file(path, "allow host\n");
    await_counter(&vm, "policy_reloads", 2);
    g_assert_cmpint(try_peer(&vm, &peer), ==, 0);
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'vmrpc-reload-policy' }");
    vm_quit(&vm);
    g_unlink(path);
}

/* --- memory that stays mapped ---------------------------------------------- */

#define MAPPED_LEN 70000

static VmrpcReply mapped_message(VmrpcDriver *d, uint16_t op, uint32_t id,
                                 uint32_t offset, uint32_t len)
{
    return vmrpc_call(d, &(VmrpcArgs) {
        .op = op, .flags = VMRPC_REQ_BUFFER, .sock = 1,
        .arg = { 0, id, offset, len },
    });
}

/* One buffer to send from and one to receive into, for several calls each. */
static void test_mapped(void)
{
    Vm vm = vm_start("", 0);
    g_autofree uint8_t *sent = g_malloc(MAPPED_LEN);
    g_autofree uint8_t *got = g_malloc0(MAPPED_LEN);
    VmrpcArgs readable = { .op = VMRPC_MAP, .sock = UINT32_MAX,
                           .arg = { 5 }, .out = sent, .out_len = MAPPED_LEN };
    VmrpcArgs writable = { .op = VMRPC_MAP, .sock = UINT32_MAX,
                           .arg = { 6 }, .in = got, .in_len = MAPPED_LEN };
    int conn = guest_connect(vm.d, 1, PEER6);
    VmrpcPending pending;
    VmrpcReply r;

    for (size_t i = 0; i < MAPPED_LEN; i++) {
        sent[i] = i * 2654435761u >> 13;
    }
    g_assert_cmpint(vmrpc_call(vm.d, &readable).error, ==, 0);
    for (unsigned i = 0; i < 3; i++) {
        r = mapped_message(vm.d, VMRPC_SENDMSG, 5, i, MAPPED_LEN - 100);
        g_assert_cmpint(r.error, ==, 0);
        peer_read(conn, got, r.value);
        g_assert_cmpmem(got, r.value, sent + i, r.value);
    }

    vmrpc_submit(vm.d, &writable, &pending);
    vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
    g_assert_cmpint(vmrpc_finish(vm.d, &writable, &pending).error, ==, 0);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(send(conn, "mapped", 6, 0), ==, 6);
        vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
        r = mapped_message(vm.d, VMRPC_RECVMSG, 6, 4093 + i, 100);
        g_assert_cmpint(r.error, ==, 0);
        g_assert_cmpuint(r.value, ==, 6);
        g_assert_cmpuint(r.used_len, ==, sizeof(struct vmrpc_resp));
        qtest_memread(vm.qts, pending.in + sizeof(struct vmrpc_resp) + 4093 +
                      i, got, 6);
        g_assert_cmpmem(got, 6, "mapped", 6);
    }
    g_assert_cmpint(vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_UNMAP, .sock = UINT32_MAX, .arg = { 5 },
    }).error, ==, 0);
    r = mapped_message(vm.d, VMRPC_SENDMSG, 5, 0, 1);
    g_assert_cmpint(r.error, ==, VMRPC_ESTALE);
    close(conn);
    vm_quit(&vm);               /* with a buffer that is still mapped */
}

/* --- requests that are wrong ---------------------------------------------- */

static void test_bad_requests(void)
{
    Vm vm = vm_start("max-sockets=8", 0);
    g_autofree uint8_t *big = g_malloc0(VMRPC_DATA_MAX + 1);
    static const uint16_t ops[] = { 0, VMRPC_UNMAP + 1, 100, 0xffff };
    VmrpcReply r;

    for (unsigned i = 0; i < ARRAY_SIZE(ops); i++) {
        r = vmrpc_call(vm.d, &(VmrpcArgs) { .op = ops[i] });
        g_assert_cmpint(r.error, ==, EOPNOTSUPP);
    }
    g_assert_cmpuint(counter(vm.qts, BACKEND, "requests_malformed"), ==,
                     ARRAY_SIZE(ops));

    /* No such socket, or one of another generation. */
    for (uint16_t op = VMRPC_CLOSE; op <= VMRPC_NOOP; op++) {
        r = vmrpc_call(vm.d, &(VmrpcArgs) { .op = op, .sock = 1 });
        g_assert_cmpint(r.error, ==, EBADF);
        r = vmrpc_call(vm.d, &(VmrpcArgs) { .op = op, .sock = 0xffffffff });
        g_assert_cmpint(r.error, ==, EBADF);
    }
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = 8, .arg = { SOCK_STREAM },
    });
    g_assert_cmpint(r.error, ==, EBADF);
    guest_socket(vm.d, 1, SOCK_STREAM);
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = 1, .arg = { SOCK_STREAM },
    });
    g_assert_cmpint(r.error, ==, EEXIST);
    vm.d->gen++;
    g_assert_cmpint(guest_close(vm.d, 1), ==, EBADF);
    vm.d->gen--;
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = 2, .arg = { SOCK_RAW, 1 },
    });
    g_assert_cmpint(r.error, ==, EPROTONOSUPPORT);

    /* All handles, then one more. */
    for (unsigned i = 0; i < 8; i++) {
        if (i != 1) {
            guest_socket(vm.d, i, SOCK_STREAM);
        }
    }
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = 1, .arg = { SOCK_STREAM },
    });
    g_assert_cmpint(r.error, ==, EMFILE);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_refused_limit"), ==,
                     1);

    /* Too much data, either way. */
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SENDMSG, .sock = 1, .out = big,
        .out_len = VMRPC_DATA_MAX + 1,
    });
    g_assert_cmpint(r.error, ==, EINVAL);
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_RECVMSG, .sock = 1, .in = big,
        .in_len = VMRPC_DATA_MAX + 1,
    });
    g_assert_cmpint(r.error, ==, EINVAL);
    g_assert_cmpint(guest_close(vm.d, 1), ==, 0);
    vm_quit(&vm);
}

/* Headers whose fields contradict the chain or the format. */
static void test_bad_headers(void)
{
    Vm vm = vm_start("", 0);
    VmrpcRing *ring = vmrpc_request_ring(vm.d, 0);
    uint64_t out = guest_alloc(&vm.guest->alloc, 4096);
    uint64_t in = guest_alloc(&vm.guest->alloc, 4096);
    const VmrpcSegment seg[] = {
        { out, sizeof(struct vmrpc_req), false },
        { in, sizeof(struct vmrpc_resp), true },
    };
    const struct {
        uint16_t op, flags;
        uint32_t control_len, wait_us, reserved;
    } cases[] = {
        { VMRPC_SOCKET, 0, 0, 0, 1 },
        { VMRPC_SOCKET, VMRPC_REQ_ALL + 1, 0, 0, 0 },
        { VMRPC_SOCKET, 0, 8, 0, 0 },
        { VMRPC_SENDMSG, 0, 1, 0, 0 },
        { VMRPC_SENDMSG, 0, VMRPC_CONTROL_MAX + 1, 0, 0 },
        { VMRPC_SENDMSG, 0, UINT32_MAX, 0, 0 },
        { VMRPC_RECVMSG, 0, 1, 0, 0 },
        { VMRPC_RECVMSG, 0, UINT32_MAX, 0, 0 },
        { VMRPC_RECVMSG, 0, 0, VMRPC_WAIT_MAX + 1, 0 },
        { VMRPC_RECVMSG, 0, 0, UINT32_MAX, 0 },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        const VmrpcArgs args = { .op = cases[i].op, .arg = { SOCK_STREAM } };
        struct vmrpc_req req;
        uint32_t len;
        uint16_t id;

        vmrpc_fill_header(vm.d, &args, &req);
        req.flags = cpu_to_le16(cases[i].flags);
        req.wait_us = cpu_to_le32(cases[i].wait_us);
        req.reserved = cpu_to_le32(cases[i].reserved);
        req.control_len = cpu_to_le32(cases[i].control_len);
        qtest_memwrite(vm.qts, out, &req, sizeof(req));
        vmrpc_ring_add(ring, seg, ARRAY_SIZE(seg), false);
        vmrpc_ring_kick(ring);
        vmrpc_ring_wait(ring, &id, &len);
        g_assert_cmpuint(len, ==, sizeof(struct vmrpc_resp));
        g_assert_cmpuint(qtest_readl(vm.qts, in), ==, EINVAL);
    }
    g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==, 0);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "requests_malformed"), ==,
                     ARRAY_SIZE(cases));
    vm_quit(&vm);
}

/* --- chains that are wrong ------------------------------------------------ */

typedef struct ChainPart {
    uint32_t len;
    bool write;
    bool wild;                  /* an address that is no memory */
} ChainPart;

typedef struct BadChain {
    const char *name;
    unsigned num;
    ChainPart part[5];
} BadChain;

enum {
    REQ = sizeof(struct vmrpc_req),
    RESP = sizeof(struct vmrpc_resp),
};

static const BadChain bad_chains[] = {
    { "readable part too short", 2, { { REQ - 1, false }, { RESP, true } } },
    { "readable parts too short", 3,
      { { 20, false }, { REQ - 21, false }, { RESP, true } } },
    { "no readable part", 1, { { RESP, true } } },
    { "writable part too short", 2, { { REQ, false }, { RESP - 1, true } } },
    { "no writable part", 1, { { REQ, false } } },
    { "empty first", 3, { { 0, false }, { REQ, false }, { RESP, true } } },
    { "empty last", 3, { { REQ, false }, { RESP, true }, { 0, true } } },
    { "wrong order", 2, { { RESP, true }, { REQ, false } } },
    { "alternating", 4,
      { { REQ, false }, { RESP, true }, { 8, false }, { 8, true } } },
    { "wild request", 2, { { REQ, false, true }, { RESP, true } } },
    { "wild response", 2, { { REQ, false }, { RESP, true, true } } },
    { "wild data", 3, { { REQ, false }, { 100, false, true },
                        { RESP, true } } },
    { "wild and long", 2, { { REQ, false }, { 1 << 20, true, true } } },
    { "enormous", 2, { { REQ, false }, { UINT32_MAX, true } } },
};

/* After a reset the device works again, and QEMU was there all the time. */
static void assert_recovers(Vm *vm, uint64_t unwanted)
{
    vmrpc_driver_wait_broken(vm->d);
    vmrpc_driver_start(vm->d, unwanted, EVENTS);
    g_assert_cmphex(vmrpc_driver_status(vm->d) & VIRTIO_CONFIG_S_NEEDS_RESET,
                    ==, 0);
    guest_socket(vm->d, 1, SOCK_STREAM);
    g_assert_cmpint(guest_close(vm->d, 1), ==, 0);
}

static void test_bad_chains(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_start(kind->options, kind->unwanted);
    bool indirect = !(kind->unwanted & NO_INDIRECT);

    for (unsigned i = 0; i < ARRAY_SIZE(bad_chains); i++) {
        const BadChain *bad = &bad_chains[i];
        uint64_t page = guest_alloc(&vm.guest->alloc, 4096);
        const VmrpcArgs args = { .op = VMRPC_SOCKET, .sock = 5,
                                 .arg = { SOCK_STREAM } };
        VmrpcRing *ring = vmrpc_request_ring(vm.d, 0);
        VmrpcSegment seg[5];
        struct vmrpc_req req;
        uint64_t pos = page;
        uint32_t len;
        uint16_t id;

        vmrpc_fill_header(vm.d, &args, &req);
        qtest_memwrite(vm.qts, page, &req, sizeof(req));
        for (unsigned j = 0; j < bad->num; j++) {
            seg[j].addr = bad->part[j].wild ? 1ull << 46 : pos;
            seg[j].len = bad->part[j].len;
            seg[j].write = bad->part[j].write;
            pos += MIN(bad->part[j].len, 64);
        }
        vmrpc_ring_add(ring, seg, bad->num, indirect);
        vmrpc_ring_kick(ring);
        vmrpc_driver_wait_broken(vm.d);
        g_assert_false(vmrpc_ring_get(ring, &id, &len));
        assert_recovers(&vm, kind->unwanted);
    }
    g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==,
                     ARRAY_SIZE(bad_chains));
    vm_quit(&vm);
}

/* A header and a response of one byte a descriptor, and data of odd sizes. */
static void test_chain_scattered(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_start(kind->options, kind->unwanted);
    bool indirect = !(kind->unwanted & NO_INDIRECT);
    VmrpcRing *ring = vmrpc_request_ring(vm.d, 0);
    uint64_t page = guest_alloc(&vm.guest->alloc, 8192);
    const VmrpcArgs args = { .op = VMRPC_SENDMSG, .sock = 1 };
    int conn = guest_connect(vm.d, 1, PEER6);
    VmrpcSegment seg[REQ + 50 + RESP];
    unsigned num = 0;
    struct vmrpc_req req;
    char text[50 * 3], got[50 * 3];
    uint32_t len;
    uint16_t id;

    vmrpc_fill_header(vm.d, &args, &req);
    qtest_memwrite(vm.qts, page, &req, sizeof(req));
    for (unsigned i = 0; i < sizeof(text); i++) {
        text[i] = 'a' + i % 26;
    }
    qtest_memwrite(vm.qts, page + 1000, text, sizeof(text));
    for (unsigned i = 0; i < REQ; i++) {
        seg[num++] = (VmrpcSegment) { page + i, 1, false };
    }
    for (unsigned i = 0; i < 50; i++) {
        seg[num++] = (VmrpcSegment) { page + 1000 + 3 * i, 3, false };
    }
    for (unsigned i = 0; i < RESP; i++) {
        seg[num++] = (VmrpcSegment) { page + 4096 + 2 * i, 1, true };
    }
    vmrpc_ring_add(ring, seg, num, indirect);
    vmrpc_ring_kick(ring);
    vmrpc_ring_wait(ring, &id, &len);
    g_assert_cmpuint(len, ==, sizeof(struct vmrpc_resp));
    g_assert_cmpuint(qtest_readb(vm.qts, page + 4096), ==, 0);
    g_assert_cmpuint(qtest_readb(vm.qts, page + 4096 + 2 * 4), ==,
                     sizeof(text));
    peer_read(conn, got, sizeof(got));
    g_assert_cmpmem(got, sizeof(got), text, sizeof(text));
    close(conn);
    vm_quit(&vm);
}

/* The longest chain there may be, and one more. */
static void test_chain_longest(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_start(kind->options, kind->unwanted);
    uint64_t page = guest_alloc(&vm.guest->alloc, 8192);
    const VmrpcArgs args = { .op = VMRPC_SENDMSG, .sock = 1 };
    g_autofree VmrpcSegment *seg = g_new0(VmrpcSegment, 1025);
    int conn = guest_connect(vm.d, 1, PEER6);
    struct vmrpc_req req;
    uint8_t got[1022];
    uint32_t len;
    uint16_t id;

    vmrpc_fill_header(vm.d, &args, &req);
    qtest_memwrite(vm.qts, page, &req, sizeof(req));
    qtest_memset(vm.qts, page + 100, 0x5a, 1023);
    for (unsigned num = 1024; num <= 1025; num++) {
        VmrpcRing *ring = vmrpc_request_ring(vm.d, 0);

        seg[0] = (VmrpcSegment) { page, sizeof(req), false };
        for (unsigned i = 1; i < num - 1; i++) {
            seg[i] = (VmrpcSegment) { page + 100 + i, 1, false };
        }
        seg[num - 1] = (VmrpcSegment) { page + 4096,
                                        sizeof(struct vmrpc_resp), true };
        vmrpc_ring_add(ring, seg, num, true);
        vmrpc_ring_kick(ring);
        if (num == 1024) {
            vmrpc_ring_wait(ring, &id, &len);
            g_assert_cmpuint(qtest_readl(vm.qts, page + 4096), ==, 0);
            g_assert_cmpuint(qtest_readl(vm.qts, page + 4100), ==,
                             sizeof(got));
            peer_read(conn, got, sizeof(got));
        } else {
            assert_recovers(&vm, kind->unwanted);
        }
    }
    close(conn);
    vm_quit(&vm);
}

/*
 * A request in the registers of a device, our own: QEMU would have to read and
 * write them, which for the queue's notifications means to begin anew.
 */
static void test_chain_registers(void)
{
    Vm vm = vm_start("", 0);
    uint64_t page = guest_alloc(&vm.guest->alloc, 4096);
    uint64_t registers = vm.d->dev->bar.addr;
    const VmrpcSegment seg[][2] = {
        { { registers, REQ, false }, { page, RESP, true } },
        { { page, REQ, false }, { registers, RESP, true } },
        { { page, REQ, false }, { registers + 0x3000, RESP, true } },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(seg); i++) {
        VmrpcRing *ring = vmrpc_request_ring(vm.d, 0);

        vmrpc_ring_add(ring, seg[i], 2, true);
        vmrpc_ring_kick(ring);
        assert_recovers(&vm, 0);
    }
    vm_quit(&vm);
}

/* Ways to spoil a split ring behind the back of vmrpc_ring_add(). */
static void spoil_loop(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, false);
    /* The second descriptor has a next one: the first. */
    qtest_writew(vm->qts, ring->pci.vq.desc + 16 + 12,
                 VRING_DESC_F_NEXT | VRING_DESC_F_WRITE);
    qtest_writew(vm->qts, ring->pci.vq.desc + 16 + 14, 1);
}

static void spoil_next(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, false);
    qtest_writew(vm->qts, ring->pci.vq.desc + 14, 0xfffe);
}

static void spoil_head(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, false);
    qtest_writew(vm->qts, ring->pci.vq.avail + 4, ring->pci.vq.size);
}

static void spoil_index(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    qtest_writew(vm->qts, ring->pci.vq.avail + 2, ring->pci.vq.size + 1);
    ring->avail_idx = ring->pci.vq.size + 1;
    ring->added = ring->avail_idx;
}

static void spoil_table_size(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, true);
    qtest_writel(vm->qts, ring->pci.vq.desc + 8, 31);
}

static void spoil_table_empty(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, true);
    qtest_writel(vm->qts, ring->pci.vq.desc + 8, 0);
}

static void spoil_table_loop(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };
    uint64_t table;

    vmrpc_ring_add(ring, seg, 2, true);
    table = qtest_readq(vm->qts, ring->pci.vq.desc);
    qtest_writew(vm->qts, table + 16 + 12,
                 VRING_DESC_F_NEXT | VRING_DESC_F_WRITE);
    qtest_writew(vm->qts, table + 16 + 14, 1);
}

static void spoil_table_nested(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, 48, false }, { page, RESP, true } };
    uint64_t table;

    vmrpc_ring_add(ring, seg, 2, true);
    table = qtest_readq(vm->qts, ring->pci.vq.desc);
    qtest_writew(vm->qts, table + 12, VRING_DESC_F_INDIRECT);
}

static void spoil_table_wild(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, true);
    qtest_writeq(vm->qts, ring->pci.vq.desc, 1ull << 46);
}

static void test_bad_rings(void)
{
    static void (*const spoil[])(Vm *, VmrpcRing *, uint64_t) = {
        spoil_loop, spoil_next, spoil_head, spoil_index, spoil_table_size,
        spoil_table_loop, spoil_table_nested, spoil_table_wild,
        spoil_table_empty,
    };
    Vm vm = vm_boot("", "");
    uint64_t page = guest_alloc(&vm.guest->alloc, 4096);

    for (unsigned i = 0; i < ARRAY_SIZE(spoil); i++) {
        VmrpcRing *ring;

        vmrpc_driver_start(vm.d, 0, EVENTS);
        ring = vmrpc_request_ring(vm.d, 0);
        spoil[i](&vm, ring, page);
        vmrpc_ring_kick(ring);
        assert_recovers(&vm, 0);
    }
    vm_quit(&vm);
}

/* A broken device interrupts, once and not after the reset. */
static void test_bad_interrupt(void)
{
    Vm vm = vm_boot("", "");
    QVirtioPCIDevice *dev = vm.d->dev;
    VmrpcSegment seg = { .len = 8 };

    qpci_msix_enable(dev->pdev);
    vmrpc_driver_setup(vm.d, 0);
    qvirtio_pci_set_msix_configuration_vector(dev, &vm.guest->alloc, 0);
    vmrpc_driver_go(vm.d);
    seg.addr = vm.d->event_buf;
    vmrpc_ring_add(vmrpc_request_ring(vm.d, 0), &seg, 1, false);
    vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
    qvirtio_wait_config_isr(&dev->vdev, VMRPC_TEST_TIMEOUT_US);
    g_assert_true(vmrpc_driver_status(vm.d) & VIRTIO_CONFIG_S_NEEDS_RESET);
    qvirtio_reset(&dev->vdev);
    settle(vm.qts);
    g_assert_cmphex(qtest_readl(vm.qts, dev->config_msix_addr), ==, 0);
    vm_quit(&vm);
}

/* Buffers for events that cannot hold one. */
static void test_bad_event_buffers(const void *data)
{
    const RingKind *kind = data;
    g_autofree char *options = g_strdup_printf("address6=" VM6 "%s%s",
                                               *kind->options ? "," : "",
                                               kind->options);
    Vm vm = vm_boot(options, "");
    const VmrpcSegment bad[] = {
        { 0, sizeof(struct vmrpc_event) - 1, true },
        { 0, sizeof(struct vmrpc_event), false },
        { 0, 0, true },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        VmrpcSegment seg = bad[i];
        uint16_t port;
        int conn;

        vmrpc_driver_start(vm.d, kind->unwanted, 0);
        seg.addr = vm.d->event_buf;
        vmrpc_ring_add(&vm.d->ring[0], &seg, 1, false);
        vmrpc_ring_kick(&vm.d->ring[0]);
        port = guest_listen(vm.d, 1);
        conn = peer_connect(SOCK_STREAM, PEER6, VM6, port);
        assert_recovers(&vm, kind->unwanted);
        peer_wait_end(conn);
        close(conn);
    }
    vm_quit(&vm);
}

/* An event in pieces. */
static void test_event_scattered(void)
{
    Vm vm = vm_boot("address6=" VM6, "");
    VmrpcRing *ring;
    VmrpcSegment seg[24];
    uint32_t len;
    uint16_t id, port;
    uint64_t page;
    int conn;

    vmrpc_driver_start(vm.d, 0, 0);
    ring = &vm.d->ring[VMRPC_QUEUE_EVENT];
    page = guest_alloc(&vm.guest->alloc, 4096);
    for (unsigned i = 0; i < ARRAY_SIZE(seg); i++) {
        seg[i] = (VmrpcSegment) { page + 2 * i, 1, true };
    }
    vmrpc_ring_add(ring, seg, ARRAY_SIZE(seg), true);
    vmrpc_ring_kick(ring);
    port = guest_listen(vm.d, 7);
    conn = peer_connect(SOCK_STREAM, PEER6, VM6, port);
    vmrpc_ring_wait(ring, &id, &len);
    g_assert_cmpuint(len, ==, sizeof(struct vmrpc_event));
    g_assert_cmpuint(qtest_readb(vm.qts, page), ==, 7);
    g_assert_cmpuint(qtest_readb(vm.qts, page + 2 * 8), ==, VMRPC_IN);
    close(conn);
    vm_quit(&vm);
}

/* --- reset ---------------------------------------------------------------- */

static void test_reset_closes(void)
{
    Vm vm = vm_boot("address6=" VM6, "");
    unsigned fds = 0;

    for (unsigned round = 0; round < 3; round++) {
        uint16_t port;
        int conn, incoming, waiting;

        vmrpc_driver_start(vm.d, 0, EVENTS);
        /* What DNS opens towards its server stays open. */
        guest_resolve(vm.d, PEER6);
        if (!round) {
            fds = count_fds(vm.qts);
        }
        g_assert_cmpuint(count_fds(vm.qts), ==, fds);
        conn = guest_connect(vm.d, 1, PEER6);
        port = guest_listen(vm.d, 2);
        incoming = peer_connect(SOCK_STREAM, PEER6, VM6, port);
        guest_accept(vm.d, 2, 3);
        waiting = peer_connect(SOCK_STREAM, PEER6, VM6, port);
        guest_socket(vm.d, 4, SOCK_DGRAM);
        g_assert_cmpuint(count_fds(vm.qts), ==, fds + 4);

        qvirtio_reset(&vm.d->dev->vdev);
        peer_wait_end(conn);
        peer_wait_end(incoming);
        peer_wait_end(waiting);
        g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==,
                         counter(vm.qts, BACKEND, "sockets_closed"));
        close(conn);
        close(incoming);
        close(waiting);
    }
    vm_quit(&vm);
}

/* Whatever was in the rings is gone, and so are the sockets it made. */
static void test_reset_in_flight(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_boot(kind->options, "");

    for (unsigned round = 0; round < 20; round++) {
        vmrpc_driver_start(vm.d, kind->unwanted, EVENTS);
        for (unsigned i = 0; i < 80; i++) {
            VmrpcPending pending;

            vmrpc_submit(vm.d, &(VmrpcArgs) {
                .op = VMRPC_SOCKET, .sock = i, .arg = { SOCK_STREAM },
            }, &pending);
        }
        vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
        qvirtio_reset(&vm.d->dev->vdev);
        g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==,
                         counter(vm.qts, BACKEND, "sockets_closed"));
    }
    vmrpc_driver_start(vm.d, kind->unwanted, EVENTS);
    guest_socket(vm.d, 1, SOCK_STREAM);
    vm_quit(&vm);
}

static void test_reset_machine(void)
{
    Vm vm = vm_start("", 0);
    int conn;

    for (unsigned round = 0; round < 2; round++) {
        conn = guest_connect(vm.d, 1, PEER6);
        converse(vm.d, 1, conn);
        qtest_system_reset(vm.qts);
        peer_wait_end(conn);
        close(conn);
        vmrpc_driver_remap(vm.d);
        vmrpc_driver_start(vm.d, 0, EVENTS);
    }
    round_trip(vm.d);
    vm_quit(&vm);
}

/*
 * A broken request right before a reset: the thread that reports the error
 * must not wait for the one that waits for it.
 */
static void test_reset_broken(void)
{
    Vm vm = vm_boot("", "");

    qpci_msix_enable(vm.d->dev->pdev);
    vmrpc_driver_setup(vm.d, 0);
    qvirtio_pci_set_msix_configuration_vector(vm.d->dev, &vm.guest->alloc, 0);
    /* Not to memory but to the interrupt controller, as a guest has it. */
    qpci_io_writel(vm.d->dev->pdev, vm.d->dev->pdev->msix_table_bar,
                   vm.d->dev->pdev->msix_table_off + PCI_MSIX_ENTRY_LOWER_ADDR,
                   MSI_ADDRESS);
    for (unsigned round = 0; round < 50; round++) {
        VmrpcSegment seg = { .len = 8 };

        vmrpc_driver_setup(vm.d, 0);
        vm.d->dev->msix_ops->set_config_vector(vm.d->dev, 0);
        vmrpc_driver_go(vm.d);
        seg.addr = vm.d->event_buf;
        vmrpc_ring_add(vmrpc_request_ring(vm.d, 0), &seg, 1, false);
        vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
        qvirtio_reset(&vm.d->dev->vdev);
    }
    vmrpc_driver_start(vm.d, 0, EVENTS);
    guest_socket(vm.d, 1, SOCK_STREAM);
    vm_quit(&vm);
}

/*
 * The reset of one queue is not offered.  A guest that tries it in the middle
 * of its requests harms itself only.
 */
static void test_reset_queue(void)
{
    Vm vm = vm_boot("num-queues=2", "");
    const uint64_t reset = vm.d->dev->common_cfg_offset +
        offsetof(struct virtio_pci_modern_common_cfg, queue_reset);
    const VmrpcArgs args = { .op = VMRPC_CLOSE };

    for (unsigned round = 0; round < 20; round++) {
        vmrpc_driver_start(vm.d, 0, EVENTS);
        g_assert_false(vm.d->features & (1ull << VIRTIO_F_RING_RESET));
        for (unsigned i = 0; i < 60; i++) {
            VmrpcPending pending;

            vmrpc_submit(vm.d, &args, &pending);
        }
        vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
        for (unsigned i = 0; i < 3; i++) {
            vm.d->dev->vdev.bus->queue_select(&vm.d->dev->vdev, i);
            qpci_io_writew(vm.d->dev->pdev, vm.d->dev->bar, reset, 1);
        }
    }
    vmrpc_driver_start(vm.d, 0, EVENTS);
    guest_socket(vm.d, 1, SOCK_STREAM);
    vm_quit(&vm);
}

/* Kicks before DRIVER_OK and without queues. */
static void test_kick_early(void)
{
    Vm vm = vm_boot("", "");
    const VmrpcArgs args = { .op = VMRPC_SOCKET, .sock = 1,
                             .arg = { SOCK_STREAM } };
    VmrpcPending pending;
    QVirtioDevice *vdev = &vm.d->dev->vdev;

    vmrpc_driver_setup(vm.d, 0);
    vmrpc_submit(vm.d, &args, &pending);
    vdev->bus->virtqueue_kick(vdev, &vmrpc_request_ring(vm.d, 0)->pci.vq);
    vmrpc_driver_go(vm.d);
    g_assert_cmpint(vmrpc_finish(vm.d, &args, &pending).error, ==, 0);

    qvirtio_reset(vdev);
    vdev->bus->virtqueue_kick(vdev, &vmrpc_request_ring(vm.d, 0)->pci.vq);
    vdev->bus->virtqueue_kick(vdev, &vm.d->ring[0].pci.vq);
    settle(vm.qts);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    guest_socket(vm.d, 1, SOCK_STREAM);
    vm_quit(&vm);
}

/* Leaves QEMU @num descriptors; returns the old limit. */
static struct rlimit limit_fds(QTestState *qts, unsigned num)
{
    struct rlimit old, limit;
    int ret = prlimit(qtest_pid(qts), RLIMIT_NOFILE, NULL, &old);

    g_assert_cmpint(ret, ==, 0);
    limit = (struct rlimit) { .rlim_cur = num, .rlim_max = old.rlim_max };
    ret = prlimit(qtest_pid(qts), RLIMIT_NOFILE, &limit, NULL);
    g_assert_cmpint(ret, ==, 0);
    return old;
}

/*
 * When the driver starts the device, QEMU has descriptors for some of the
 * notifiers only: for some of those towards the guest, or for all of these and
 * not for the one towards the device.  The guest is told, and may try again.
 */
static void test_start_fails(void)
{
    static const unsigned left[] = { 30, 65 };
    Vm vm = vm_boot("num-queues=64", "");
    unsigned fds = count_fds(vm.qts);

    for (unsigned i = 0; i < ARRAY_SIZE(left); i++) {
        struct rlimit old;

        vmrpc_driver_setup(vm.d, 0);
        old = limit_fds(vm.qts, fds + left[i]);
        vm.d->dev->vdev.bus->set_status(&vm.d->dev->vdev,
                                        vmrpc_driver_status(vm.d) |
                                        VIRTIO_CONFIG_S_DRIVER_OK);
        vmrpc_driver_wait_broken(vm.d);
        g_assert_cmpuint(count_fds(vm.qts), ==, fds);
        limit_fds(vm.qts, old.rlim_cur);
        assert_recovers(&vm, 0);
        qvirtio_reset(&vm.d->dev->vdev);
        g_assert_cmpuint(count_fds(vm.qts), ==, fds);
    }
    vmrpc_driver_start(vm.d, 0, EVENTS);
    round_trip(vm.d);
    vm_quit(&vm);
}

static void test_stop_cont(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    int conn = guest_connect(vm.d, 1, PEER6);
    const VmrpcArgs args = { .op = VMRPC_SOCKET, .sock = 2,
                             .arg = { SOCK_STREAM } };
    VmrpcPending pending;
    struct vmrpc_event event;
    char buf[8];
    uint16_t id;
    uint32_t len;

    converse(vm.d, 1, conn);
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'stop' }");
    g_assert_cmpint(write(conn, "more", 4), ==, 4);
    vmrpc_submit(vm.d, &args, &pending);
    settle(vm.qts);
    g_assert_false(vmrpc_take_event(vm.d, &event));
    g_assert_false(vmrpc_ring_get(vmrpc_request_ring(vm.d, 0), &id, &len));
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'cont' }");
    g_assert_cmpint(vmrpc_finish(vm.d, &args, &pending).error, ==, 0);
    vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
    guest_recv(vm.d, 1, buf, 4);
    g_assert_cmpmem(buf, 4, "more", 4);
    close(conn);
    vm_quit(&vm);
}

/* --- plugging ------------------------------------------------------------- */

/* Plugs the device into a running machine and starts a driver for it. */
static void vm_plug(Vm *vm, const char *options)
{
    g_autofree char *all = g_strdup_printf(
        "'addr': '4', 'dns': '%s', 'policy': '%s'%s%s", DNS6, policy_file,
        *options ? ", " : "", options);
    g_autofree char *error = try_device(vm->qts, all);

    g_assert_cmpstr(error, ==, NULL);
    vm->guest = vmrpc_guest_new(vm->qts);
    vm->d = vmrpc_driver_new(vm->guest, SLOT);
    vmrpc_driver_start(vm->d, 0, EVENTS);
}

static void vm_unplug(Vm *vm)
{
    qpci_unplug_acpi_device_test(vm->qts, "vmrpc", SLOT);
    vmrpc_driver_free(vm->d);
    vmrpc_guest_free(vm->guest);
}

static void test_unplug(void)
{
    QTestState *qts = qtest_init(COMMON_ARGS);
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

/* --- inspection ----------------------------------------------------------- */

static void test_inspect(void)
{
    Vm vm = vm_start("", 0);
    g_autofree char *hmp = NULL, *queue = NULL;
    QDict *resp;
    QList *list;

    resp = qtest_qmp_assert_success_ref(
        vm.qts, "{ 'execute': 'x-query-virtio-status', 'arguments': "
        "{ 'path': %s } }", BACKEND);
    g_assert_cmpstr(qdict_get_str(resp, "name"), ==, "virtio-vmrpc");
    g_assert_cmpint(qdict_get_int(resp, "device-id"), ==, VIRTIO_ID_VMRPC);
    g_assert_cmpint(qdict_get_int(resp, "num-vqs"), ==, 2);
    g_assert_true(qdict_get_bool(resp, "started"));
    qobject_unref(resp);

    resp = qtest_qmp(vm.qts, "{ 'execute': 'x-query-virtio' }");
    list = qdict_get_qlist(resp, "return");
    g_assert_cmpuint(qlist_size(list), ==, 1);
    qobject_unref(resp);

    hmp = qtest_hmp(vm.qts, "info virtio-status " BACKEND);
    g_assert_nonnull(strstr(hmp, "virtio-vmrpc"));
    /* Its own feature bits have no names there. */
    g_assert_nonnull(strstr(hmp, "0x0000000000000001"));
    queue = qtest_hmp(vm.qts, "info virtio-queue-status " BACKEND " 1");
    g_assert_nonnull(strstr(queue, "virtio-vmrpc"));
    vm_quit(&vm);
}

static void test_counters(void)
{
    Vm vm = vm_start("", 0);
    static const char *const zero[] = {
        "requests_malformed", "sockets_refused_limit", "sockets_refused_host",
        "refused_policy", "refused_builtin", "dropped_pool_full",
        "dropped_dns_queue_full", "control_dropped", "connections_lost",
    };

    g_assert_cmpuint(counter(vm.qts, BACKEND, "requests"), ==, 0);
    round_trip(vm.d);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "requests"), >, 5);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==, 2);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_closed"), ==, 2);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "events"), ==,
                     vm.d->events_seen);
    for (unsigned i = 0; i < ARRAY_SIZE(zero); i++) {
        g_assert_cmpuint(counter(vm.qts, BACKEND, zero[i]), ==, 0);
    }
    vm_quit(&vm);
}

static QDict *find_socket(QDict *device, uint32_t handle)
{
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(device, "sockets"), entry) {
        QDict *sock = qobject_to(QDict, qlist_entry_obj(entry));

        if (qdict_get_int(sock, "handle") == handle) {
            return sock;
        }
    }
    g_assert_not_reached();
}

static void assert_state(QDict *device, uint32_t handle, const char *type,
                         const char *backing, const char *state)
{
    QDict *sock = find_socket(device, handle);

    g_assert_cmpstr(qdict_get_str(sock, "type"), ==, type);
    g_assert_cmpstr(qdict_get_str(sock, "backing"), ==, backing);
    g_assert_cmpstr(qdict_get_str(sock, "state"), ==, state);
}

static size_t count_sockets(QDict *device)
{
    return qlist_size(qdict_get_qlist(device, "sockets"));
}

/* @text NULL: the address is not there */
static void assert_address(QDict *device, uint32_t handle, const char *which,
                           const char *text, uint16_t port)
{
    QDict *addr = qdict_get_qdict(find_socket(device, handle), which);

    if (!text) {
        g_assert_null(addr);
        return;
    }
    g_assert_nonnull(addr);
    g_assert_cmpstr(qdict_get_str(addr, "address"), ==, text);
    g_assert_cmpuint(qdict_get_int(addr, "port"), ==, port);
}

static void assert_number(QDict *device, uint32_t handle, const char *which,
                          uint64_t value)
{
    g_assert_cmpuint(qdict_get_int(find_socket(device, handle), which), ==,
                     value);
}

/* The peer's listening queue is full: it does not answer. */
static int guest_connect_stuck(VmrpcDriver *d, uint32_t filler, uint32_t sock,
                               uint16_t *port)
{
    int listener = peer_bind(SOCK_STREAM, PEER6, port);
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_port = htons(*port),
        .sin_addr = guest_resolve(d, PEER6),
    };

    g_assert_cmpint(listen(listener, 0), ==, 0);
    guest_socket(d, filler, SOCK_STREAM);
    guest_op_addr(d, VMRPC_CONNECT, filler, &peer);
    guest_socket(d, sock, SOCK_STREAM);
    g_assert_cmpint(guest_op_addr(d, VMRPC_CONNECT, sock, &peer).error, ==,
                    VMRPC_EINPROGRESS);
    return listener;
}

static void test_query_sockets(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    struct sockaddr_in any = { .sin_family = AF_INET };
    struct sockaddr_in resolver = {
        .sin_family = AF_INET,
        .sin_port = htons(DNS_PORT),
        .sin_addr.s_addr = inet_addr(RESOLVER4),
    };
    uint16_t listening = guest_listen(vm.d, 1), stuck = 0, udp;
    int conn = guest_connect(vm.d, 0, PEER6);
    int client = peer_connect(SOCK_STREAM, PEER6, VM6, listening);
    int listener, ended;
    g_autofree char *hmp = NULL;
    QList *list;
    QDict *dev;

    /* 0 is connected, 1 listens, 2 is accepted and has unread data */
    converse(vm.d, 0, conn);
    guest_accept(vm.d, 1, 2);
    g_assert_cmpint(write(client, "unread", 6), ==, 6);
    vmrpc_wait_ready(vm.d, 2, VMRPC_IN);
    /* 3 was ended by its peer, 4 is new, 6 gets no answer */
    ended = guest_connect(vm.d, 3, PEER6);
    close(ended);
    vmrpc_wait_ready(vm.d, 3, VMRPC_RDHUP);
    guest_socket(vm.d, 4, SOCK_STREAM);
    listener = guest_connect_stuck(vm.d, 5, 6, &stuck);
    /* 7 is a datagram socket, 8 and 9 ask the DNS proxy */
    guest_socket(vm.d, 7, SOCK_DGRAM);
    udp = ntohs(guest_op_addr(vm.d, VMRPC_BIND, 7, &any).addr.sin_port);
    guest_socket(vm.d, 8, SOCK_DGRAM);
    guest_op_addr(vm.d, VMRPC_CONNECT, 8, &resolver);
    guest_socket(vm.d, 9, SOCK_STREAM);
    guest_op_addr(vm.d, VMRPC_CONNECT, 9, &resolver);

    list = query(vm.qts, "");
    dev = only_device(list);
    g_assert_cmpuint(count_sockets(dev), ==, 10);
    g_assert_cmpuint(qdict_get_int(dev, "sockets-open"), ==, 10);
    g_assert_false(qdict_haskey(dev, "sockets-next"));
    assert_state(dev, 0, "tcp", "host", "established");
    assert_state(dev, 1, "tcp", "host", "listen");
    assert_state(dev, 2, "tcp", "host", "established");
    assert_state(dev, 3, "tcp", "host", "close-wait");
    assert_state(dev, 4, "tcp", "host", "close");
    assert_state(dev, 5, "tcp", "host", "established");
    assert_state(dev, 6, "tcp", "host", "syn-sent");
    assert_state(dev, 7, "udp", "host", "close");
    assert_state(dev, 8, "udp", "host", "established");
    assert_state(dev, 9, "tcp", "resolver", "established");

    assert_number(dev, 0, "bytes-sent", 8);
    assert_number(dev, 0, "bytes-received", 6);
    assert_number(dev, 1, "send-queue", 16);
    assert_number(dev, 2, "recv-queue", 6);
    assert_address(dev, 1, "guest-local", GUEST4, listening);
    assert_address(dev, 1, "guest-peer", NULL, 0);
    assert_address(dev, 1, "host-local", VM6, listening);
    assert_address(dev, 1, "host-peer", NULL, 0);
    assert_address(dev, 2, "guest-local", GUEST4, listening);
    assert_address(dev, 2, "host-local", VM6, listening);
    assert_address(dev, 4, "guest-local", "0.0.0.0", 0);
    assert_address(dev, 6, "guest-peer", "198.18.0.1", stuck);
    assert_address(dev, 6, "host-peer", PEER6, stuck);
    assert_address(dev, 7, "host-local", VM6, udp);
    assert_address(dev, 8, "guest-peer", RESOLVER4, DNS_PORT);
    assert_address(dev, 9, "guest-peer", RESOLVER4, DNS_PORT);
    assert_address(dev, 9, "host-local", NULL, 0);
    qobject_unref(list);

    hmp = qtest_hmp(vm.qts, "info vmrpc");
    g_assert_nonnull(strstr(hmp, "vmrpc: guest 192.0.0.2/29, " VM6 ", "));
    g_assert_nonnull(strstr(hmp, "close-wait"));
    g_assert_nonnull(strstr(hmp, "[" PEER6 "]:"));
    close(listener);
    close(client);
    close(conn);
    vm_quit(&vm);
}

static char *pending_error(QTestState *qts, uint32_t handle)
{
    QList *list = query(qts, "");
    QDict *sock = find_socket(only_device(list), handle);
    char *error = g_strdup(qdict_get_try_str(sock, "pending-error"));

    qobject_unref(list);
    return error;
}

/* A guest without room for events is not told of the reset. */
static void test_query_error(void)
{
    gint64 end = g_get_monotonic_time() + VMRPC_TEST_TIMEOUT_US;
    Vm vm = vm_boot("address6=" VM6, "");
    struct linger reset = { .l_onoff = 1 };
    g_autofree char *error = NULL;
    int conn;

    vmrpc_driver_start(vm.d, 0, 0);
    conn = peer_connect(SOCK_STREAM, PEER6, VM6, guest_listen(vm.d, 1));
    g_assert_cmpint(vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_ACCEPT, .sock = 1, .arg = { 2, vm.d->gen },
    }).error, ==, 0);
    g_assert_cmpint(setsockopt(conn, SOL_SOCKET, SO_LINGER, &reset,
                               sizeof(reset)), ==, 0);
    close(conn);
    while (!(error = pending_error(vm.qts, 2))) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
    g_assert_cmpstr(error, ==, strerror(ECONNRESET));
    vmrpc_post_events(vm.d, 4);
    g_assert_cmpint(vmrpc_wait_error(vm.d, 2), ==, ECONNRESET);
    g_assert_null(pending_error(vm.qts, 2));
    vm_quit(&vm);
}

static void test_query_devices(void)
{
    g_autofree char *first = device_args("address6=" VM6 ",max-sockets=99,"
                                         "nat64-prefix=64:ff9b::/96");
    g_autofree char *hmp = NULL;
    QTestState *qts;
    QDict *dev, *error;
    QList *list;

    qts = qtest_init(COMMON_ARGS);
    list = query(qts, "");
    g_assert_true(qlist_empty(list));
    qobject_unref(list);
    qtest_quit(qts);

    qts = qtest_initf(COMMON_ARGS "%s -device virtio-vmrpc-pci,id=v4,"
                      "translate=off,guest4=192.0.2.99/24 "
                      "-device virtio-vmrpc-pci", first);
    list = query(qts, "");
    g_assert_cmpuint(qlist_size(list), ==, 3);
    qobject_unref(list);

    list = query(qts, "'id': 'vmrpc'");
    dev = only_device(list);
    g_assert_cmpstr(qdict_get_str(dev, "id"), ==, "vmrpc");
    g_assert_cmpstr(qdict_get_str(dev, "qom-path"), ==, BACKEND);
    g_assert_true(qdict_get_bool(dev, "translate"));
    g_assert_cmpstr(qdict_get_str(dev, "guest4"), ==, GUEST4 "/29");
    g_assert_cmpstr(qdict_get_str(dev, "address6"), ==, VM6);
    g_assert_cmpstr(qdict_get_str(dev, "pool4"), ==, "198.18.0.0/15");
    g_assert_cmpstr(qdict_get_str(dev, "resolver4"), ==, RESOLVER4);
    g_assert_cmpstr(qdict_get_str(dev, "nat64-prefix"), ==, "64:ff9b::/96");
    g_assert_cmpuint(qdict_get_int(dev, "max-sockets"), ==, 99);
    g_assert_cmpuint(qdict_get_int(qdict_get_qdict(dev, "counters"),
                                   "sockets-opened"), ==, 0);
    g_assert_true(qlist_empty(qdict_get_qlist(dev, "sockets")));
    qobject_unref(list);

    list = query(qts, "'id': 'v4'");
    dev = only_device(list);
    g_assert_false(qdict_get_bool(dev, "translate"));
    g_assert_cmpstr(qdict_get_str(dev, "guest4"), ==, "192.0.2.99/24");
    g_assert_false(qdict_haskey(dev, "address6"));
    g_assert_false(qdict_haskey(dev, "pool4"));
    g_assert_false(qdict_haskey(dev, "resolver4"));
    g_assert_false(qdict_haskey(dev, "nat64-prefix"));
    qobject_unref(list);

    error = qtest_qmp_assert_failure_ref(
        qts, "{ 'execute': 'query-vmrpc', 'arguments': { 'id': 'v5' } }");
    g_assert_cmpstr(qdict_get_str(error, "class"), ==, "DeviceNotFound");
    qobject_unref(error);
    hmp = qtest_hmp(qts, "info vmrpc v5");
    g_assert_nonnull(strstr(hmp, "'v5'"));
    qtest_quit(qts);
}

/* An answer is never longer than was asked for, and goes on where it ended. */
static void test_query_pages(void)
{
    enum { NUM = 7, STEP = 3, LIMIT = 2 };
    Vm vm = vm_boot("", "-device virtio-vmrpc-pci,id=idle");
    unsigned seen = 0;
    bool more = true;
    uint32_t from = 0;
    QDict *error;
    QList *list;

    vmrpc_driver_start(vm.d, 0, EVENTS);
    for (unsigned i = 0; i < NUM; i++) {
        guest_socket(vm.d, i * STEP, SOCK_DGRAM);
    }
    while (more) {
        g_autofree char *arguments = g_strdup_printf(
            "'id': 'vmrpc', 'sockets-from': %u, 'sockets-limit': %u", from,
            LIMIT);
        QDict *dev;

        list = query(vm.qts, arguments);
        dev = only_device(list);
        g_assert_cmpuint(count_sockets(dev), ==, MIN(LIMIT, NUM - seen));
        for (size_t i = count_sockets(dev); i; i--) {
            find_socket(dev, seen++ * STEP);
        }
        more = qdict_haskey(dev, "sockets-next");
        g_assert_cmpint(more, ==, seen < NUM);
        from = qdict_get_try_int(dev, "sockets-next", 0);
        qobject_unref(list);
    }
    g_assert_cmpuint(seen, ==, NUM);

    /* how many there are is told anyway */
    list = query(vm.qts, "'id': 'vmrpc', 'sockets-limit': 0");
    g_assert_cmpuint(count_sockets(only_device(list)), ==, 0);
    g_assert_cmpuint(qdict_get_int(only_device(list), "sockets-open"), ==,
                     NUM);
    g_assert_cmpuint(qdict_get_int(only_device(list), "sockets-next"), ==, 0);
    qobject_unref(list);
    list = query(vm.qts, "'id': 'idle', 'sockets-limit': 0");
    g_assert_false(qdict_haskey(only_device(list), "sockets-next"));
    qobject_unref(list);

    /* a number beyond all */
    list = query(vm.qts, "'id': 'vmrpc', 'sockets-from': 4294967295");
    g_assert_cmpuint(count_sockets(only_device(list)), ==, 0);
    g_assert_false(qdict_haskey(only_device(list), "sockets-next"));
    qobject_unref(list);

    error = qtest_qmp_assert_failure_ref(
        vm.qts, "{ 'execute': 'query-vmrpc', "
        "'arguments': { 'sockets-limit': 1025 } }");
    g_assert_nonnull(strstr(qdict_get_str(error, "desc"), "at most 1024"));
    qobject_unref(error);
    vm_quit(&vm);
}

/* The limit is that of the answer, however many devices there are. */
static void test_query_limit(void)
{
    Vm vm = vm_boot("", "-device virtio-vmrpc-pci,id=second,addr=0x5");
    VmrpcDriver *d2 = vmrpc_driver_new(vm.guest, SLOT + 1);
    QDict *first, *second;
    QList *list;

    vmrpc_driver_start(vm.d, 0, EVENTS);
    vmrpc_driver_start(d2, 0, EVENTS);
    for (unsigned i = 0; i < 3; i++) {
        guest_socket(vm.d, i, SOCK_STREAM);
        guest_socket(d2, i + 10, SOCK_STREAM);
    }
    list = query(vm.qts, "'sockets-limit': 4");
    g_assert_cmpuint(qlist_size(list), ==, 2);
    first = qobject_to(QDict, qlist_entry_obj(qlist_first(list)));
    second = qobject_to(QDict,
                        qlist_entry_obj(qlist_next(qlist_first(list))));
    g_assert_cmpuint(count_sockets(first) + count_sockets(second), ==, 4);
    g_assert_cmpint(qdict_haskey(first, "sockets-next"), ==,
                    count_sockets(first) < 3);
    g_assert_cmpint(qdict_haskey(second, "sockets-next"), ==,
                    count_sockets(second) < 3);
    qobject_unref(list);
    vmrpc_driver_free(d2);
    vm_quit(&vm);
}

static unsigned count_lines(const char *text, const char *with)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    unsigned num = 0;

    for (unsigned i = 0; lines[i]; i++) {
        num += strstr(lines[i], with) != NULL;
    }
    return num;
}

#define HMP_LIMIT       64

static void test_query_hmp(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    g_autofree char *first = NULL, *second = NULL, *none = NULL, *path = NULL;

    for (unsigned i = 0; i < HMP_LIMIT + 6; i++) {
        guest_socket(vm.d, i, SOCK_DGRAM);
    }
    first = qtest_hmp(vm.qts, "info vmrpc");
    g_assert_nonnull(strstr(first, "sockets: 70 of 16384"));
    g_assert_cmpuint(count_lines(first, " udp "), ==, HMP_LIMIT);
    g_assert_nonnull(strstr(first, "info vmrpc vmrpc 64"));
    g_assert_nonnull(strstr(first, "sockets-opened              70"));
    g_assert_null(strstr(first, "sockets-closed"));
    second = qtest_hmp(vm.qts, "info vmrpc vmrpc 64");
    g_assert_cmpuint(count_lines(second, " udp "), ==, 6);
    g_assert_null(strstr(second, "info vmrpc"));
    none = qtest_hmp(vm.qts, "info vmrpc vmrpc -1");
    g_assert_cmpuint(count_lines(none, " udp "), ==, 0);
    path = qtest_hmp(vm.qts, "info vmrpc " BACKEND " 69");
    g_assert_cmpuint(count_lines(path, " udp "), ==, 1);
    vm_quit(&vm);
}

/* A device that is there and does not work has nothing to show. */
static void test_query_unrealized(void)
{
    Vm vm = vm_start("", 0);
    g_autofree char *hmp = NULL;
    QList *list;

    guest_socket(vm.d, 1, SOCK_DGRAM);
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'qom-set', 'arguments': { "
                             "'path': %s, 'property': 'realized', "
                             "'value': false } }", BACKEND);
    list = query(vm.qts, "");
    g_assert_true(qlist_empty(list));
    qobject_unref(list);
    hmp = qtest_hmp(vm.qts, "info vmrpc");
    g_assert_cmpstr(hmp, ==, "");
    vm_quit(&vm);
}

#define QUERY_MANY      1000

/* As libqos has them, in a file of its own. */
#define ACPI_PCIHP_ADDR 0xae00
#define PCI_EJ_BASE     0x0008

/*
 * The answer takes a while, in which the guest goes on: it is given up when
 * the device is.  The order of the two is not ours, so try a few times; the
 * answer has all or nothing.
 */
static void test_query_unplug(void)
{
    QTestState *qts = qtest_init(COMMON_ARGS);

    for (unsigned round = 0; round < 3; round++) {
        Vm vm = { .qts = qts };
        QDict *resp;
        QList *list;

        vm_plug(&vm, "");
        for (unsigned i = 0; i < QUERY_MANY; i++) {
            guest_socket(vm.d, i, SOCK_DGRAM);
        }
        qtest_qmp_device_del_send(qts, "vmrpc");
        qtest_qmp_send(qts, "{ 'execute': 'query-vmrpc' }");
        qtest_outl(qts, ACPI_PCIHP_ADDR + PCI_EJ_BASE, 1 << SLOT);
        resp = qtest_qmp_receive(qts);
        list = qdict_get_qlist(resp, "return");
        g_assert_nonnull(list);
        if (!qlist_empty(list)) {
            g_assert_cmpuint(count_sockets(only_device(list)), ==, QUERY_MANY);
        }
        qobject_unref(resp);
        qtest_qmp_eventwait(qts, "DEVICE_DELETED");
        list = query(qts, "");
        g_assert_true(qlist_empty(list));
        qobject_unref(list);
        vmrpc_driver_free(vm.d);
        vmrpc_guest_free(vm.guest);
    }
    qtest_quit(qts);
}

/* --- threads -------------------------------------------------------------- */

static void test_two_devices(const void *data)
{
    const char *iothread = data;
    g_autofree char *first = device_args(iothread);
    Vm vm = { };
    VmrpcDriver *other;
    int conn, other_conn;

    vm.qts = qtest_initf(COMMON_ARGS "-object iothread,id=io0 %s "
                         "-device virtio-vmrpc-pci,id=other,addr=0x5,"
                         "dns=" DNS6 ",policy=%s%s%s", first, policy_file,
                         *iothread ? "," : "", iothread);
    vm.guest = vmrpc_guest_new(vm.qts);
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    other = vmrpc_driver_new(vm.guest, SLOT + 1);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    vmrpc_driver_start(other, NO_INDIRECT, EVENTS);
    other->gen = 77;

    conn = guest_connect(vm.d, 1, PEER6);
    other_conn = guest_connect(other, 1, PEER6);
    converse(vm.d, 1, conn);
    converse(other, 1, other_conn);
    /* One device's reset is none of the other's business. */
    qvirtio_reset(&vm.d->dev->vdev);
    peer_wait_end(conn);
    converse(other, 1, other_conn);
    close(conn);
    close(other_conn);
    g_assert_cmpuint(counter(vm.qts, "/machine/peripheral/other/"
                             "virtio-backend", "sockets_closed"), ==, 1);
    vmrpc_driver_free(other);
    vm_quit(&vm);
}

static unsigned count_threads(QTestState *qts)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", qtest_pid(qts));

    return count_entries(path);
}

/* An unplugged device goes for good when RCU lets it, a little later. */
static void wait_threads(QTestState *qts, unsigned num)
{
    gint64 end = g_get_monotonic_time() + VMRPC_TEST_TIMEOUT_US;

    while (count_threads(qts) != num) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        settle(qts);
    }
}

/* A thread that was given can be deleted; it goes when the device does. */
static void test_iothread_given(void)
{
    QTestState *qts = qtest_init(COMMON_ARGS);
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
    QTestState *qts = qtest_init(COMMON_ARGS);
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
 * A thread that never polls needs every kick; one that always does gets
 * none.  Neither may lose anything.
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

/* --- migration ------------------------------------------------------------ */

static char *migration_uri(const char *scheme, const char *name)
{
    return g_strdup_printf("%s:%s/%s", scheme, tmp_dir, name);
}

/* QEMU on the other host, waiting for a guest. */
static QTestState *boot_destination(const char *options, const char *more)
{
    g_autofree char *device = device_args(options);
    QTestState *qts;

    if (away_ns < 0) {
        away_ns = netns_new();
        g_assert_cmpint(away_ns, >=, 0);
        netns_add_address6(VM6);
        netns_add_address6(PEER6);
        netns_add_address6(DNS6);
    }
    netns_enter(away_ns);
    qts = qtest_initf(COMMON_ARGS "%s %s -incoming defer", device, more);
    netns_enter(home_ns);
    return qts;
}

/* Waits for the end of a migration; true if it has succeeded. */
static bool migration_wait(QTestState *qts)
{
    for (;;) {
        QDict *resp = qtest_qmp_assert_success_ref(
            qts, "{ 'execute': 'query-migrate' }");
        const char *status = qdict_haskey(resp, "status")
                             ? qdict_get_str(resp, "status") : "none";
        bool completed = g_str_equal(status, "completed");
        bool failed = g_str_equal(status, "failed");

        qobject_unref(resp);
        if (completed || failed) {
            return completed;
        }
    }
}

static void migration_start(QTestState *qts, const char *command,
                            const char *uri)
{
    qtest_qmp_assert_success(
        qts, "{ 'execute': %s, 'arguments': { 'uri': %s } }", command, uri);
}

static bool is_running(QTestState *qts)
{
    QDict *resp = qtest_qmp_assert_success_ref(
        qts, "{ 'execute': 'query-status' }");
    bool running = qdict_get_bool(resp, "running");

    qobject_unref(resp);
    return running;
}

/* The guest goes on in @to; the source is gone afterwards. */
static void vm_migrate(Vm *vm, QTestState *to)
{
    g_autofree char *uri = migration_uri("unix", "migration");

    migration_start(to, "migrate-incoming", uri);
    migration_start(vm->qts, "migrate", uri);
    g_assert_true(migration_wait(vm->qts));
    while (!is_running(to)) {
        /* the destination starts the guest when it has loaded all of it */
    }
    qtest_quit(vm->qts);
    vm->qts = to;
    vmrpc_guest_moved(vm->guest, to);
    g_unlink(uri + strlen("unix:"));
}

/* Of a guest that is stopped, is leaving, and has arrived. */
static void test_query_migration(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    QTestState *to = boot_destination("address6=" VM6, "");
    g_autofree char *uri = migration_uri("unix", "migration");
    int conn = guest_connect(vm.d, 0, PEER6);
    uint16_t port = guest_listen(vm.d, 1);
    QList *list;

    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'stop' }");
    list = query(vm.qts, "");
    assert_state(only_device(list), 0, "tcp", "host", "established");
    qobject_unref(list);
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'cont' }");

    migration_start(to, "migrate-incoming", uri);
    list = query(to, "");
    g_assert_cmpuint(count_sockets(only_device(list)), ==, 0);
    qobject_unref(list);
    migration_start(vm.qts, "migrate", uri);
    g_assert_true(migration_wait(vm.qts));
    list = query(vm.qts, "");
    assert_state(only_device(list), 0, "tcp", "host", "established");
    assert_state(only_device(list), 1, "tcp", "host", "listen");
    qobject_unref(list);
    while (!is_running(to)) {
        qobject_unref(query(to, ""));
    }
    list = query(to, "");
    assert_state(only_device(list), 0, "tcp", "lost", "close");
    assert_address(only_device(list), 0, "host-local", NULL, 0);
    assert_state(only_device(list), 1, "tcp", "host", "listen");
    assert_address(only_device(list), 1, "host-local", VM6, port);
    qobject_unref(list);

    close(conn);
    qtest_quit(vm.qts);
    vm.qts = to;
    vmrpc_guest_moved(vm.guest, to);
    g_unlink(uri + strlen("unix:"));
    vm_quit(&vm);
}

/* A server's clients find it where it has gone, under the same port. */
static void test_migration_listener(const void *data)
{
    const RingKind *kind = data;
    g_autofree char *options = g_strdup_printf("address6=" VM6 "%s%s",
                                               *kind->options ? "," : "",
                                               kind->options);
    Vm vm = vm_start(options, kind->unwanted);
    QTestState *to = boot_destination(options, "");
    uint16_t port = guest_listen(vm.d, 1);
    char buf[4];
    int conn;

    conn = peer_connect(SOCK_STREAM, PEER6, VM6, port);
    guest_accept(vm.d, 1, 2);
    close(conn);

    vm_migrate(&vm, to);
    netns_enter(away_ns);
    conn = peer_connect(SOCK_STREAM, PEER6, VM6, port);
    netns_enter(home_ns);
    guest_accept(vm.d, 1, 3);
    guest_send(vm.d, 3, "here", 4);
    peer_read(conn, buf, 4);
    g_assert_cmpmem(buf, 4, "here", 4);
    close(conn);
    /* The accepted connection of before has been lost. */
    g_assert_cmpuint(vmrpc_wait_error(vm.d, 2), ==, ECONNRESET);
    g_assert_cmpint(guest_close(vm.d, 2), ==, 0);
    g_assert_cmpint(guest_close(vm.d, 3), ==, 0);
    vm_quit(&vm);
}

static void test_migration_established(void)
{
    Vm vm = vm_start("", 0);
    QTestState *to = boot_destination("", "");
    int conn = guest_connect(vm.d, 1, PEER6);
    char buf[8];
    VmrpcReply r;

    converse(vm.d, 1, conn);
    vm_migrate(&vm, to);
    peer_wait_end(conn);
    g_assert_cmpuint(vmrpc_wait_error(vm.d, 1), ==, ECONNRESET);
    g_assert_cmphex(vm.d->sock[1].ready & VMRPC_HUP, ==, VMRPC_HUP);
    r = guest_recv_once(vm.d, 1, buf, sizeof(buf));
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpuint(r.value, ==, 0);
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SENDMSG, .sock = 1, .out = "x", .out_len = 1,
    });
    g_assert_cmpint(r.error, ==, EPIPE);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "connections_lost"), ==, 1);
    g_assert_cmpint(guest_close(vm.d, 1), ==, 0);
    close(conn);

    /* Handles, generations and names are as they were. */
    guest_socket(vm.d, 1, SOCK_STREAM);
    vm_quit(&vm);
}

/* What the policy lets through for its name it lets through over there. */
static void test_migration_names(void)
{
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_port = htons(9),
    };
    QTestState *to;
    Vm vm;

    replace_file(policy_file, "allow peer.test\ndefault deny\n");
    vm = vm_start("", 0);
    to = boot_destination("", "");
    /* No route leads there. */
    peer.sin_addr = guest_resolve(vm.d, "2001:db8:77::1");
    g_assert_cmpint(try_peer(&vm, &peer), ==, ENETUNREACH);
    vm_migrate(&vm, to);
    g_assert_cmpint(try_peer(&vm, &peer), ==, ENETUNREACH);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "refused_default"), ==, 0);
    vm_quit(&vm);
    replace_file(policy_file, "allow host\n");
}

/* Ports, peers and options of datagram sockets; the map of addresses. */
static void test_migration_datagram(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    QTestState *to = boot_destination("address6=" VM6, "");
    struct sockaddr_in any = { .sin_family = AF_INET }, peer;
    uint32_t value = cpu_to_le32(1);
    uint16_t port = 0, peer_port = 0;
    struct in_addr addr;
    char buf[8];
    VmrpcReply r;
    int fd;

    addr = guest_resolve(vm.d, PEER6);
    netns_enter(away_ns);
    fd = peer_bind(SOCK_DGRAM, PEER6, &peer_port);
    netns_enter(home_ns);
    peer = (struct sockaddr_in) {
        .sin_family = AF_INET, .sin_port = htons(peer_port),
        .sin_addr = addr,
    };
    guest_socket(vm.d, 1, SOCK_DGRAM);
    r = guest_op_addr(vm.d, VMRPC_BIND, 1, &any);
    port = r.addr.sin_port;
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer).error, ==,
                    0);
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SETSOCKOPT, .sock = 1,
        .arg = { SOL_SOCKET, SO_BROADCAST }, .out = &value,
        .out_len = sizeof(value),
    });
    g_assert_cmpint(r.error, ==, 0);

    vm_migrate(&vm, to);
    guest_send(vm.d, 1, "moved", 5);
    peer_read(fd, buf, 5);
    g_assert_cmpmem(buf, 5, "moved", 5);
    r = guest_op_addr(vm.d, VMRPC_GETSOCKNAME, 1, NULL);
    g_assert_cmpuint(r.addr.sin_port, ==, port);
    r = guest_op_addr(vm.d, VMRPC_GETPEERNAME, 1, NULL);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, addr.s_addr);
    g_assert_cmpuint(r.addr.sin_port, ==, peer.sin_port);
    value = 0;
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_GETSOCKOPT, .sock = 1,
        .arg = { SOL_SOCKET, SO_BROADCAST }, .in = &value,
        .in_len = sizeof(value),
    });
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpuint(le32_to_cpu(value), ==, 1);
    close(fd);
    vm_quit(&vm);
}

typedef struct Mismatch {
    const char *name;
    const char *options;        /* of the destination */
    const char *says;
} Mismatch;

static const Mismatch mismatches[] = {
    { "guest4", "guest4=192.0.0.3/29",
      "guest4=192.0.0.2 on the source, 192.0.0.3 here" },
    { "resolver4", "resolver4=192.0.0.7",
      "resolver4=192.0.0.1 on the source, 192.0.0.7 here" },
    { "pool4", "pool4=10.64.0.0/15",
      "pool4=198.18.0.0 on the source, 10.64.0.0 here" },
    { "pool4-length", "pool4=198.18.0.0/16",
      "pool4=15 on the source, 16 here" },
    { "max-sockets", "max-sockets=4",
      "max-sockets=16384 on the source, 4 here" },
    { "queues", "num-queues=2", "virtio" },
};

/*
 * What the guest has read in its configuration cannot change under it.  The
 * destination says what differs; on the source all goes on.
 */
static void test_migration_refused(const void *data)
{
    const Mismatch *m = data;
    g_autofree char *uri = migration_uri("unix", "migration");
    g_autofree char *err = g_build_filename(tmp_dir, "stderr", NULL);
    g_autofree char *more = g_strdup_printf("2>%s", err);
    g_autofree char *text = NULL;
    Vm vm = vm_start("", 0);
    QTestState *to = boot_destination(m->options, more);
    int conn = guest_connect(vm.d, 1, PEER6);

    qtest_qmp_assert_success(
        to, "{ 'execute': 'migrate-incoming', 'arguments': { 'uri': %s, "
        "'exit-on-error': false } }", uri);
    migration_start(vm.qts, "migrate", uri);
    g_assert_false(migration_wait(to));
    qtest_quit(to);
    g_assert_true(g_file_get_contents(err, &text, NULL, NULL));
    assert_says(m->options, text, &m->says, 1);

    /* The source may have finished its part; it can go on in any case. */
    migration_wait(vm.qts);
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'cont' }");
    converse(vm.d, 1, conn);
    close(conn);
    vm_quit(&vm);
}

/* A stream as a file, to be spoilt. */
static uint8_t *save_stream(Vm *vm, size_t *len)
{
    g_autofree char *uri = migration_uri("file", "stream");
    char *data;
    gsize size;

    migration_start(vm->qts, "migrate", uri);
    g_assert_true(migration_wait(vm->qts));
    g_assert_true(g_file_get_contents(uri + strlen("file:"), &data, &size,
                                      NULL));
    *len = size;
    return (uint8_t *)data;
}

/*
 * Loads a stream; returns what QEMU says about it, NULL if it was taken.
 * QEMU survives in any case.
 */
static char *load_stream(const uint8_t *data, size_t len)
{
    g_autofree char *uri = migration_uri("file", "stream");
    g_autofree char *err = g_build_filename(tmp_dir, "stderr", NULL);
    g_autofree char *more = g_strdup_printf("2>%s", err);
    QTestState *to = boot_destination("address6=" VM6, more);
    char *text = NULL;
    bool ok;

    g_assert_true(g_file_set_contents(uri + strlen("file:"),
                                      (const char *)data, len, NULL));
    qtest_qmp_assert_success(
        to, "{ 'execute': 'migrate-incoming', 'arguments': { 'uri': %s, "
        "'exit-on-error': false } }", uri);
    ok = migration_wait(to);
    qtest_quit(to);
    g_assert_true(g_file_get_contents(err, &text, NULL, NULL));
    if (ok) {
        g_clear_pointer(&text, g_free);
    }
    return text;
}

static size_t find(const uint8_t *data, size_t len, const void *what,
                   size_t what_len)
{
    const uint8_t *hit = memmem(data, len, what, what_len);

    g_assert_nonnull(hit);
    return hit - data;
}

typedef struct Corruption {
    int offset;                 /* from the record of socket 1 */
    uint32_t value;
    const char *says;           /* NULL: the device may make something of it */
} Corruption;

static const Corruption corruptions[] = {
    { -36, 0x200000, "number of mappings" },
    { -36, 0x7fffffff, "number of mappings" },
    { -36, 0xffffffff, "number of mappings" },
    { -36, 100, "virtio-vmrpc" },           /* more than there are */
    { -32, 0x01020304, "address map entry 0" },     /* not of the pool */
    { -4, 0x7fffffff, "number of sockets" },
    { -4, 0xffffffff, "number of sockets" },
    { -4, 1000, "virtio-vmrpc" },           /* more than there are */
    { 0, 0xffffffff, "socket 0" },          /* handle */
    { 0, 16384, "socket 0" },
    { 0, 2, "socket 1" },                   /* that of the next record */
    { 8, 0, "socket 0" },                   /* type */
    { 8, SOCK_RAW, "socket 0" },
    { 8, SOCK_DGRAM },
    { 12, 0xffffffff, "socket 0" },         /* flags */
    { 20, 0xffffffff },                     /* backlog */
    { 32, 33, "number of options" },
    { 32, 0xffffffff, "number of options" },
    { 44, 257, "socket 0" },                /* length of the first option */
    { 44, 0xffffffff, "socket 0" },
};

static void assert_not_loaded(const uint8_t *stream, size_t len,
                              const char *what, const char *says)
{
    g_autofree char *text = load_stream(stream, len);

    assert_says(what, text, &says, 1);
}

static void test_migration_hostile(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    uint32_t value = cpu_to_le32(1);
    g_autofree uint8_t *stream = NULL;
    static const int cuts[] = { 0, -400, -30, 2, 100, 320 };
    size_t len, start, record;
    uint8_t pattern[8];
    VmrpcReply r;

    guest_listen(vm.d, 1);
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SETSOCKOPT, .sock = 1,
        .arg = { SOL_SOCKET, SO_KEEPALIVE }, .out = &value,
        .out_len = sizeof(value),
    });
    g_assert_cmpint(r.error, ==, 0);
    guest_socket(vm.d, 2, SOCK_DGRAM);
    guest_resolve(vm.d, PEER6);
    stream = save_stream(&vm, &len);
    vm_quit(&vm);

    start = find(stream, len, "/virtio-vmrpc", strlen("/virtio-vmrpc"));
    stl_be_p(pattern, 1);
    stl_be_p(pattern + 4, 0x5eed0001);
    record = start + find(stream + start, len - start, pattern,
                          sizeof(pattern));
    g_assert_cmpstr(load_stream(stream, len), ==, NULL);

    /* Cut off: in the device's header, its rings, its sockets. */
    for (unsigned i = 0; i < ARRAY_SIZE(cuts); i++) {
        size_t cut = i ? record + cuts[i] : start + 40;
        g_autofree char *what = g_strdup_printf("cut at %zu", cut);

        assert_not_loaded(stream, cut, what, "virtio-vmrpc");
    }
    for (unsigned i = 0; i < ARRAY_SIZE(corruptions); i++) {
        const Corruption *c = &corruptions[i];
        uint32_t old = ldl_be_p(stream + record + c->offset);
        g_autofree char *what = g_strdup_printf("0x%x at %d", c->value,
                                                c->offset);

        stl_be_p(stream + record + c->offset, c->value);
        if (c->says) {
            assert_not_loaded(stream, len, what, c->says);
        } else {
            g_free(load_stream(stream, len));
        }
        stl_be_p(stream + record + c->offset, old);
    }
}

/* --- main ----------------------------------------------------------------- */

static void remove_tmp(void)
{
    GDir *dir = g_dir_open(tmp_dir, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(tmp_dir, name, NULL);

        g_unlink(path);
    }
    g_dir_close(dir);
    g_rmdir(tmp_dir);
}

static void add_for_kinds(const char *name, GTestDataFunc func, uint64_t must)
{
    for (unsigned i = 0; i < ARRAY_SIZE(ring_kinds); i++) {
        g_autofree char *path = g_strdup_printf("/vmrpc/%s/%s", name,
                                                ring_kinds[i].name);

        if (!(ring_kinds[i].unwanted & must)) {
            qtest_add_data_func(path, &ring_kinds[i], func);
        }
    }
}

static void add_tests(void)
{
    qtest_add_func("/vmrpc/mapped", test_mapped);
    qtest_add_func("/vmrpc/properties/refused", test_properties_refused);
    qtest_add_func("/vmrpc/properties/policy-text",
                   test_properties_policy_text);
    qtest_add_func("/vmrpc/properties/accepted", test_properties_accepted);
    qtest_add_func("/vmrpc/config/default", test_config_default);
    qtest_add_func("/vmrpc/config/given", test_config_given);
    qtest_add_func("/vmrpc/config/auto-queues", test_config_auto_queues);
    qtest_add_func("/vmrpc/config/no-translation",
                   test_config_no_translation);
    add_for_kinds("round-trip", test_round_trip, 0);
    add_for_kinds("wrap", test_wrap, 0);
    add_for_kinds("batch", test_batch, 0);
    qtest_add_func("/vmrpc/bulk", test_bulk);
    qtest_add_func("/vmrpc/queues/several", test_queues_several);
    qtest_add_func("/vmrpc/queues/at-once", test_queues_at_once);
    qtest_add_func("/vmrpc/interrupt/intx", test_interrupt_intx);
    qtest_add_func("/vmrpc/interrupt/msix", test_interrupt_msix);
    qtest_add_func("/vmrpc/interrupt/event-idx", test_interrupt_event_idx);
    add_for_kinds("events/starved", test_events_starved, 0);
    qtest_add_func("/vmrpc/events/few-buffers", test_events_few_buffers);
    qtest_add_func("/vmrpc/events/once", test_events_once);
    qtest_add_func("/vmrpc/events/refused", test_events_refused);
    qtest_add_func("/vmrpc/events/scattered", test_event_scattered);
    qtest_add_func("/vmrpc/datagram", test_datagram);
    qtest_add_func("/vmrpc/policy", test_policy);
    qtest_add_func("/vmrpc/policy/reload", test_policy_reload);
    qtest_add_func("/vmrpc/bad/requests", test_bad_requests);
    qtest_add_func("/vmrpc/bad/headers", test_bad_headers);
    add_for_kinds("bad/chains", test_bad_chains, 0);
    qtest_add_func("/vmrpc/chain/registers", test_chain_registers);
    qtest_add_func("/vmrpc/bad/rings", test_bad_rings);
    qtest_add_func("/vmrpc/bad/interrupt", test_bad_interrupt);
    add_for_kinds("bad/event-buffers", test_bad_event_buffers, 0);
    add_for_kinds("chain/scattered", test_chain_scattered, 0);
    add_for_kinds("chain/longest", test_chain_longest, NO_INDIRECT);
    qtest_add_func("/vmrpc/reset/closes", test_reset_closes);
    add_for_kinds("reset/in-flight", test_reset_in_flight, 0);
    qtest_add_func("/vmrpc/reset/machine", test_reset_machine);
    qtest_add_func("/vmrpc/reset/broken", test_reset_broken);
    qtest_add_func("/vmrpc/reset/queue", test_reset_queue);
    qtest_add_func("/vmrpc/kick-early", test_kick_early);
    qtest_add_func("/vmrpc/start-fails", test_start_fails);
    qtest_add_func("/vmrpc/stop-cont", test_stop_cont);
    qtest_add_func("/vmrpc/unplug", test_unplug);
    qtest_add_func("/vmrpc/inspect", test_inspect);
    qtest_add_func("/vmrpc/counters", test_counters);
    qtest_add_func("/vmrpc/query/sockets", test_query_sockets);
    qtest_add_func("/vmrpc/query/error", test_query_error);
    qtest_add_func("/vmrpc/query/devices", test_query_devices);
    qtest_add_func("/vmrpc/query/pages", test_query_pages);
    qtest_add_func("/vmrpc/query/limit", test_query_limit);
    qtest_add_func("/vmrpc/query/hmp", test_query_hmp);
    qtest_add_func("/vmrpc/query/unrealized", test_query_unrealized);
    qtest_add_func("/vmrpc/query/unplug", test_query_unplug);
    qtest_add_func("/vmrpc/query/migration", test_query_migration);
    qtest_add_data_func("/vmrpc/two-devices/own-threads", "",
                        test_two_devices);
    qtest_add_data_func("/vmrpc/two-devices/one-thread", "iothread=io0",
                        test_two_devices);
    qtest_add_func("/vmrpc/iothread/given", test_iothread_given);
    qtest_add_func("/vmrpc/iothread/own", test_iothread_own);
    add_for_kinds("polling/never", test_polling_never, 0);
    add_for_kinds("polling/always", test_polling_always, 0);
    add_for_kinds("migration/listener", test_migration_listener, 0);
    qtest_add_func("/vmrpc/migration/established",
                   test_migration_established);
    qtest_add_func("/vmrpc/migration/datagram", test_migration_datagram);
    qtest_add_func("/vmrpc/migration/names", test_migration_names);
    for (unsigned i = 0; i < ARRAY_SIZE(mismatches); i++) {
        g_autofree char *path = g_strdup_printf("/vmrpc/migration/refused/%s",
                                                mismatches[i].name);

        qtest_add_data_func(path, &mismatches[i], test_migration_refused);
    }
    qtest_add_func("/vmrpc/migration/hostile", test_migration_hostile);
}

static bool make_network(void)
{
    uint16_t port = DNS_PORT;

    home_ns = netns_new();
    if (home_ns < 0) {
        return false;
    }
    away_ns = -1;
    netns_add_address6(VM6);
    netns_add_address6(PEER6);
    netns_add_address6(DNS6);
    netns_add_address4("192.0.2.99");
    dns_fd = peer_bind(SOCK_DGRAM, DNS6, &port);
    return true;
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    if (!make_network()) {
        printf("1..0 # SKIP no network namespace: %s (not root? unshare -r)\n",
               strerror(errno));
        return 0;
    }
    tmp_dir = g_dir_make_tmp("vmrpc-test-XXXXXX", NULL);
    policy_file = g_build_filename(tmp_dir, "policy", NULL);
    g_assert_true(g_file_set_contents(policy_file, "allow host\n", -1,
                                      NULL));
    add_tests();
    ret = g_test_run();
    remove_tmp();
    g_free(policy_file);
    g_free(tmp_dir);
    return ret;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common code of virtio-vmrpc's qtests: see vmrpc-fixture.h */
#include "qemu/osdep.h"

#include <arpa/inet.h>
#include <glib/gstdio.h>

#include "netns.h"
#include "qobject/qlist.h"
#include "standard-headers/linux/virtio_ring.h"
#include "vmrpc-fixture.h"


char *tmp_dir;
char *policy_file;
int home_ns;
static int dns_fd;

/* --- a guest with the device --------------------------------------------- */

bool on_mmio(void)
{
    return !g_strcmp0(g_getenv("VMRPC_BUS"), "mmio");
}

const char *backend_path(void)
{
    return on_mmio() ? "/machine/peripheral/vmrpc"
                     : "/machine/peripheral/vmrpc/virtio-backend";
}

/* Replaces each match in @text, and frees that. */
static char *replace(char *text, const char *regex, const char *with)
{
    g_autoptr(GRegex) compiled = g_regex_new(regex, 0, 0, NULL);
    char *result = g_regex_replace(compiled, text, -1, 0, with, 0, NULL);

    g_assert_nonnull(result);
    g_free(text);
    return result;
}

QTestState *vm_qemu(const char *format, ...)
{
    char *args;
    QTestState *qts;
    va_list ap;

    va_start(ap, format);
    args = g_strdup_vprintf(format, ap);
    va_end(ap);
    if (on_mmio()) {
        args = replace(args, "-machine pc\\b", "-machine microvm -global "
                       "virtio-mmio.force-legacy=false");
        args = replace(args, "virtio-vmrpc-pci", "virtio-vmrpc-device");
        args = replace(args, ",addr=\\w+", "");
    }
    qts = qtest_init(args);
    g_free(args);
    return qts;
}

char *device_args(const char *options)
{
    return g_strdup_printf("-device " DEVICE ",dns=" DNS6 ",policy=%s%s%s",
                           policy_file, *options ? "," : "", options);
}

/* QEMU with the device; the driver has not touched it yet. */
Vm vm_boot(const char *options, const char *more)
{
    g_autofree char *device = device_args(options);
    Vm vm = { };

    vm.qts = vm_qemu(COMMON_ARGS "%s %s", device, more);
    vm.guest = vmrpc_guest_new(vm.qts, !on_mmio());
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    return vm;
}

Vm vm_start(const char *options, uint64_t unwanted)
{
    Vm vm = vm_boot(options, "");

    vmrpc_driver_start(vm.d, unwanted, EVENTS);
    return vm;
}

/* Plugs the device into a running machine and starts a driver for it. */
void vm_plug(Vm *vm, const char *options)
{
    g_autofree char *all = g_strdup_printf(
        "'addr': '4', 'dns': '%s', 'policy': '%s'%s%s", DNS6, policy_file,
        *options ? ", " : "", options);
    g_autofree char *error = try_device(vm->qts, all);

    g_assert_cmpstr(error, ==, NULL);
    vm->guest = vmrpc_guest_new(vm->qts, !on_mmio());
    vm->d = vmrpc_driver_new(vm->guest, SLOT);
    vmrpc_driver_start(vm->d, 0, EVENTS);
}

void vm_quit(Vm *vm)
{
    if (vm->d) {
        vmrpc_driver_free(vm->d);
    }
    vmrpc_guest_free(vm->guest);
    qtest_quit(vm->qts);
}

/* Lets QEMU's main loop process everything pending. */
void settle(QTestState *qts)
{
    for (unsigned i = 0; i < 10; i++) {
        qtest_qmp_assert_success(qts, "{ 'execute': 'query-status' }");
    }
}

char *try_device(QTestState *qts, const char *options)
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

/* --- what the monitor says ----------------------------------------------- */

/* The reply of query-vmrpc; @arguments are JSON members. */
QList *query(QTestState *qts, const char *arguments)
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
QDict *only_device(QList *list)
{
    g_assert_cmpuint(qlist_size(list), ==, 1);
    return qobject_to(QDict, qlist_peek(list));
}

/* A counter of the device at @path, by its name in the source. */
uint64_t counter(QTestState *qts, const char *path, const char *field)
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

QDict *find_socket(QDict *device, uint32_t handle)
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

size_t count_sockets(QDict *device)
{
    return qlist_size(qdict_get_qlist(device, "sockets"));
}

void assert_state(QDict *device, uint32_t handle, const char *type,
                  const char *backing, const char *state)
{
    QDict *sock = find_socket(device, handle);

    g_assert_cmpstr(qdict_get_str(sock, "type"), ==, type);
    g_assert_cmpstr(qdict_get_str(sock, "backing"), ==, backing);
    g_assert_cmpstr(qdict_get_str(sock, "state"), ==, state);
}

/* @text NULL: the address is missing */
void assert_address(QDict *device, uint32_t handle, const char *which,
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

/* --- the guest's socket calls -------------------------------------------- */

void guest_socket(VmrpcDriver *d, uint32_t sock, int type)
{
    VmrpcReply r = vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = sock, .arg = { type },
    });

    g_assert_cmpint(r.error, ==, 0);
}

int guest_close(VmrpcDriver *d, uint32_t sock)
{
    return vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_CLOSE, .sock = sock,
    }).error;
}

VmrpcReply guest_op_addr(VmrpcDriver *d, uint16_t op, uint32_t sock,
                         const struct sockaddr_in *addr)
{
    return vmrpc_call(d, &(VmrpcArgs) {
        .op = op, .sock = sock, .addr = addr,
    });
}

/* A listening socket on any port; returns the port. */
uint16_t guest_listen(VmrpcDriver *d, uint32_t sock)
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
void guest_accept(VmrpcDriver *d, uint32_t sock, uint32_t child)
{
    VmrpcReply r;

    vmrpc_wait_ready(d, sock, VMRPC_IN);
    r = vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_ACCEPT, .sock = sock, .arg = { child, d->gen },
    });
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpint(r.addr.sin_family, ==, AF_INET);
}

void guest_send(VmrpcDriver *d, uint32_t sock, const void *buf,
                size_t len)
{
    VmrpcReply r = vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_SENDMSG, .sock = sock, .out = buf, .out_len = len,
    });

    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpuint(r.value, ==, len);
}

VmrpcReply guest_recv_once(VmrpcDriver *d, uint32_t sock, void *buf,
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
void guest_recv(VmrpcDriver *d, uint32_t sock, void *buf, size_t len)
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
static const uint8_t dns_query[] = {
    0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0,
    4, 'p', 'e', 'e', 'r', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1
};

void guest_ask(VmrpcDriver *d, uint32_t sock)
{
    struct sockaddr_in resolver = {
        .sin_family = AF_INET,
        .sin_port = htons(DNS_PORT),
        .sin_addr.s_addr = inet_addr(RESOLVER4),
    };

    guest_socket(d, sock, SOCK_DGRAM);
    g_assert_cmpint(guest_op_addr(d, VMRPC_CONNECT, sock, &resolver).error,
                    ==, 0);
    guest_send(d, sock, dns_query, sizeof(dns_query));
}

struct in_addr guest_told(VmrpcDriver *d, uint32_t sock)
{
    struct in_addr addr;
    uint8_t answer[512];
    VmrpcReply r;

    vmrpc_wait_ready(d, sock, VMRPC_IN);
    r = guest_recv_once(d, sock, answer, sizeof(answer));
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpuint(r.value, ==, sizeof(dns_query) + 16);
    g_assert_cmphex(answer[3] & 0xf, ==, 0);
    memcpy(&addr, answer + r.value - sizeof(addr), sizeof(addr));
    g_assert_cmphex(ntohl(addr.s_addr) & 0xfffe0000, ==, 0xc6120000);
    g_assert_cmpint(guest_close(d, sock), ==, 0);
    return addr;
}

struct in_addr guest_resolve(VmrpcDriver *d, const char *address)
{
    const uint32_t sock = VMRPC_TEST_HANDLES - 1;

    guest_ask(d, sock);
    peer_answer_dns(dns_fd, address);
    return guest_told(d, sock);
}

/* Connects @sock to @address; returns the peer's end. */
int guest_connect(VmrpcDriver *d, uint32_t sock, const char *address)
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
void converse(VmrpcDriver *d, uint32_t sock, int conn)
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
void round_trip(VmrpcDriver *d)
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

/* The result of connecting a datagram socket to the peer. */
int try_peer(Vm *vm, const struct sockaddr_in *peer)
{
    int error;

    guest_socket(vm->d, 1, SOCK_DGRAM);
    error = guest_op_addr(vm->d, VMRPC_CONNECT, 1, peer).error;
    guest_close(vm->d, 1);
    return error;
}

/* --- files and texts ----------------------------------------------------- */

void assert_says(const char *what, const char *text,
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

void replace_file(const char *path, const char *text)
{
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

unsigned count_entries(const char *path)
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

unsigned count_fds(QTestState *qts)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd", qtest_pid(qts));

    return count_entries(path);
}

/* --- main ---------------------------------------------------------------- */

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

void add_for_pci(const char *path, GTestFunc func)
{
    if (!on_mmio()) {
        qtest_add_func(path, func);
    }
}

void add_for_kinds(const char *name, GTestDataFunc func, uint64_t must)
{
    for (unsigned i = 0; i < ARRAY_SIZE(ring_kinds); i++) {
        g_autofree char *path = g_strdup_printf("/vmrpc/%s/%s", name,
                                                ring_kinds[i].name);

        if (!(ring_kinds[i].unwanted & must)) {
            qtest_add_data_func(path, &ring_kinds[i], func);
        }
    }
}

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

static bool make_network(void)
{
    uint16_t port = DNS_PORT;

    home_ns = netns_new();
    if (home_ns < 0) {
        return false;
    }
    netns_add_address6(VM6);
    netns_add_address6(PEER6);
    netns_add_address6(DNS6);
    netns_add_address4("192.0.2.99");
    dns_fd = peer_bind(SOCK_DGRAM, DNS6, &port);
    return true;
}

int vmrpc_test_main(int argc, char **argv, void (*add_tests)(void))
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

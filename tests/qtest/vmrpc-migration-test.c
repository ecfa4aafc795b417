/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-vmrpc: migration */
#include "qemu/osdep.h"

#include <arpa/inet.h>
#include <glib/gstdio.h>
#include <netinet/tcp.h>

#include "netns.h"
#include "qemu/bswap.h"
#include "vmrpc-fixture.h"

/* The other host: a namespace with the same addresses; -1 until needed. */
static int away_ns = -1;

/* --- migration ----------------------------------------------------------- */

static char *migration_uri(const char *scheme, const char *name)
{
    return g_strdup_printf("%s:%s/%s", scheme, tmp_dir, name);
}

/* QEMU on the host with namespace @ns, waiting for a guest. */
static QTestState *boot_on(int ns, const char *options, const char *more)
{
    g_autofree char *device = device_args(options);
    QTestState *qts;

    netns_enter(ns);
    qts = vm_qemu(COMMON_ARGS "%s %s -incoming defer", device, more);
    netns_enter(home_ns);
    return qts;
}

/* The same on this host. */
static QTestState *boot_beside(const char *options, const char *more)
{
    return boot_on(home_ns, options, more);
}

/* The same on the other host. */
static QTestState *boot_destination(const char *options, const char *more)
{
    if (away_ns < 0) {
        away_ns = netns_new();
        g_assert_cmpint(away_ns, >=, 0);
        netns_add_address6(VM6);
        netns_add_address6(PEER6);
        netns_add_address6(DNS6);
        netns_enter(home_ns);
    }
    return boot_on(away_ns, options, more);
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

/* The guest continues in @to; the source ends. */
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
    vmrpc_driver_moved(vm->d, to);
    g_unlink(uri + strlen("unix:"));
}

/* query-vmrpc of a guest that is stopped, is leaving, and has arrived. */
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
    vmrpc_driver_moved(vm.d, to);
    g_unlink(uri + strlen("unix:"));
    vm_quit(&vm);
}

/* A server's clients find it at the destination, with the same port. */
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
    /* The earlier accepted connection is lost. */
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

static void assert_arriving(QTestState *qts)
{
    QDict *event = qtest_qmp_eventwait_ref(qts, "VMRPC_SOCKETS_ARRIVING");
    QDict *data = qdict_get_qdict(event, "data");
    QList *list;

    g_assert_cmpstr(qdict_get_str(data, "id"), ==, "vmrpc");
    g_assert_cmpstr(qdict_get_str(data, "qom-path"), ==, BACKEND);
    g_assert_cmpstr(qdict_get_str(data, "missing"), ==, "address");
    g_assert_cmpstr(qdict_get_str(data, "address"), ==, VM6);
    g_assert_false(qdict_haskey(data, "port"));
    g_assert_cmpint(qdict_get_int(data, "sockets"), ==, 1);
    qobject_unref(event);

    list = query(qts, "");
    g_assert_cmpint(qdict_get_int(only_device(list), "sockets-arriving"), ==,
                    1);
    assert_state(only_device(list), 1, "tcp", "arriving", "listen");
    g_assert_cmpstr(qdict_get_str(find_socket(only_device(list), 1),
                                  "missing"), ==, "address");
    qobject_unref(list);
}

/*
 * The VM's address comes after the VM has moved on, from a host where the
 * address never was.
 */
static void test_migration_late_address(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    uint16_t port = guest_listen(vm.d, 1);
    int ns = netns_new(), conn;
    VmrpcReply r;
    QList *list;
    char *info;

    g_assert_cmpint(ns, >=, 0);
    netns_add_address6(PEER6);
    netns_enter(home_ns);
    vm_migrate(&vm, boot_on(ns, "address6=" VM6, ""));
    assert_arriving(vm.qts);
    info = qtest_hmp(vm.qts, "info vmrpc");
    g_assert_nonnull(strstr(info, "arriving: 1"));
    g_assert_nonnull(strstr(info, "arriving: no address: Cannot assign"));
    g_free(info);
    vm_migrate(&vm, boot_on(ns, "address6=" VM6, ""));
    assert_arriving(vm.qts);
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_ACCEPT, .sock = 1, .arg = { 2, 1 },
    });
    g_assert_cmpint(r.error, ==, EAGAIN);

    netns_enter(ns);
    netns_add_address6(VM6);
    netns_enter(home_ns);
    qobject_unref(qtest_qmp_eventwait_ref(vm.qts, "VMRPC_SOCKETS_ARRIVED"));
    list = query(vm.qts, "");
    g_assert_cmpint(qdict_get_int(only_device(list), "sockets-arriving"), ==,
                    0);
    assert_state(only_device(list), 1, "tcp", "host", "listen");
    assert_address(only_device(list), 1, "host-local", VM6, port);
    qobject_unref(list);
    netns_enter(ns);
    conn = peer_connect(SOCK_STREAM, PEER6, VM6, port);
    netns_enter(home_ns);
    guest_accept(vm.d, 1, 2);
    converse(vm.d, 2, conn);
    close(conn);
    close(ns);
    vm_quit(&vm);
}

/* The numbers of the audit log go on, and none comes twice. */
static void test_migration_audit(void)
{
    g_autofree char *here = g_strdup_printf("%s/here", tmp_dir);
    g_autofree char *there = g_strdup_printf("%s/there", tmp_dir);
    g_autofree char *from = g_strdup_printf("-chardev file,id=log,path=%s",
                                            here);
    g_autofree char *onto = g_strdup_printf("-chardev file,id=log,path=%s",
                                            there);
    g_autofree char *first = NULL, *second = NULL, *expected = NULL;
    QTestState *to;
    unsigned lines = 0;
    Vm vm;

    vm = vm_boot("audit=log", from);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    round_trip(vm.d);
    to = boot_beside("audit=log", onto);
    vm_migrate(&vm, to);
    round_trip(vm.d);
    vm_quit(&vm);
    g_assert_true(g_file_get_contents(here, &first, NULL, NULL));
    g_assert_true(g_file_get_contents(there, &second, NULL, NULL));
    for (const char *at = first; *at; at++) {
        lines += *at == '\n';
    }
    g_assert_cmpuint(lines, >, 3);
    expected = g_strdup_printf("{\"v\":1,\"seq\":%u,", lines + 1);
    g_assert_true(g_str_has_prefix(second, expected));
    g_unlink(here);
    g_unlink(there);
}

/*
 * Addresses that the policy permits by name stay permitted at the destination.
 */
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

/* Sends @len octets from socket 1 to port 9 of @addr; returns the error. */
static int send_some(Vm *vm, struct in_addr addr, size_t len)
{
    const struct sockaddr_in peer = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = addr,
    };

    return vmrpc_call(vm->d, &(VmrpcArgs) {
        .op = VMRPC_SENDMSG, .sock = 1, .addr = &peer, .out = "0123456789",
        .out_len = len,
    }).error;
}

/* What the guest has spent of its budgets is spent at the destination, too. */
static void test_migration_budgets(void)
{
    struct in_addr addr;
    QTestState *to;
    Vm vm;

    replace_file(policy_file, "allow host sent 10/h\n");
    vm = vm_start("", 0);
    to = boot_destination("", "");
    addr = guest_resolve(vm.d, PEER6);
    guest_socket(vm.d, 1, SOCK_DGRAM);
    g_assert_cmpint(send_some(&vm, addr, 4), ==, 0);
    vm_migrate(&vm, to);
    g_assert_cmpint(send_some(&vm, addr, 7), ==, EACCES);
    g_assert_cmpint(send_some(&vm, addr, 6), ==, 0);
    g_assert_cmpint(send_some(&vm, addr, 1), ==, EACCES);
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

/* How much of TCP_INFO does socket 1 tell, with room for more? */
static uint32_t length_of_info(VmrpcDriver *d)
{
    uint8_t value[2 * VMRPC_OPTVAL_LONG_MAX];
    VmrpcReply r = vmrpc_call(d, &(VmrpcArgs) {
        .op = VMRPC_GETSOCKOPT, .sock = 1, .arg = { IPPROTO_TCP, TCP_INFO },
        .in = value, .in_len = sizeof(value),
    });

    g_assert_cmpint(r.error, ==, 0);
    return r.value;
}

/* A guest that does not use AF_INET6 moves between all devices, old or new. */
static void test_migration_ipv6(void)
{
    static const struct {
        const char *from;
        uint64_t unwanted;
        const char *to;
    } cases[] = {
        { "ipv6=off", 0, "" },
        { "", 1ull << VMRPC_F_INET6, "ipv6=off" },
        { "", 0, "" },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        Vm vm = vm_start(cases[i].from, cases[i].unwanted);
        uint64_t agreed = vm.d->features;

        guest_socket(vm.d, 1, SOCK_STREAM);
        vm_migrate(&vm, boot_destination(cases[i].to, ""));
        guest_socket(vm.d, 2, SOCK_STREAM);
        g_assert_cmphex(vm.d->features, ==, agreed);
        vm_quit(&vm);
    }
}

/*
 * What guest and device have agreed on stays, where either of them does not
 * know long values.
 */
static void test_migration_long_values(void)
{
    static const struct {
        const char *from;
        uint64_t unwanted;
        const char *to;
        uint32_t max;
    } cases[] = {
        { "", 0, "", VMRPC_OPTVAL_LONG_MAX },
        { "", 1ull << VMRPC_F_LONG_VALUES, "", VMRPC_OPTVAL_MAX },
        { "", 1ull << VMRPC_F_LONG_VALUES, "long-values=off",
          VMRPC_OPTVAL_MAX },
        { "long-values=off", 0, "", VMRPC_OPTVAL_MAX },
    };
    uint8_t value[VMRPC_OPTVAL_LONG_MAX];
    socklen_t whole = sizeof(value);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    g_assert_cmpint(getsockopt(fd, IPPROTO_TCP, TCP_INFO, value, &whole), ==,
                    0);
    close(fd);
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t expected = MIN(whole, cases[i].max);
        Vm vm = vm_start(cases[i].from, cases[i].unwanted);

        guest_socket(vm.d, 1, SOCK_STREAM);
        g_assert_cmpuint(length_of_info(vm.d), ==, expected);
        vm_migrate(&vm, boot_destination(cases[i].to, ""));
        g_assert_cmpuint(length_of_info(vm.d), ==, expected);
        vm_quit(&vm);
    }
}

typedef struct Mismatch {
    const char *name;
    const char *options;        /* of the destination */
    const char *says;
} Mismatch;

static const Mismatch mismatches[] = {
    { "guest4", "guest4=192.0.0.3/29",
      "'vmrpc': guest4=192.0.0.2 on the source, 192.0.0.3 here" },
    { "resolver4", "resolver4=192.0.0.7",
      "'vmrpc': resolver4=192.0.0.1 on the source, 192.0.0.7 here" },
    { "pool4", "pool4=10.64.0.0/15",
      "'vmrpc': pool4=198.18.0.0 on the source, 10.64.0.0 here" },
    { "pool4-length", "pool4=198.18.0.0/16",
      "pool4=15 on the source, 16 here" },
    { "max-sockets", "max-sockets=4",
      "'vmrpc': max-sockets=16384 on the source, 4 here" },
    { "queues", "num-queues=2", "virtio" },
    { "long-values", "long-values=off", "unsupported" },
    { "ipv6", "ipv6=off", "unsupported" },
};

/*
 * Ends a destination that could not load the stream. Returns: what it said, on
 * stderr and, from QEMU 10.2 on, to who asks for the migration's state.
 */
static char *quit_failed(QTestState *to, const char *err)
{
    QDict *state = qtest_qmp_assert_success_ref(
        to, "{ 'execute': 'query-migrate' }");
    const char *desc = qdict_get_try_str(state, "error-desc");
    g_autofree char *text = NULL;
    char *both;

    qtest_quit(to);
    g_assert_true(g_file_get_contents(err, &text, NULL, NULL));
    both = g_strconcat(text, desc, NULL);
    qobject_unref(state);
    return both;
}

/*
 * Configuration that the guest has read must not change.  The destination
 * reports the difference; the source continues.
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
    text = quit_failed(to, err);
    assert_says(m->options, text, &m->says, 1);

    /* The source may have finished its part; it can continue in any case. */
    migration_wait(vm.qts);
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'cont' }");
    converse(vm.d, 1, conn);
    close(conn);
    vm_quit(&vm);
}

/* Saves a migration stream, for tests that change it. */
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
 * Loads a stream.  Returns: QEMU's error, NULL if it was accepted. QEMU does
 * not crash in any case.
 */
static char *load_stream(const uint8_t *data, size_t len)
{
    g_autofree char *uri = migration_uri("file", "stream");
    g_autofree char *err = g_build_filename(tmp_dir, "stderr", NULL);
    g_autofree char *more = g_strdup_printf("2>%s", err);
    QTestState *to = boot_destination("address6=" VM6, more);

    g_assert_true(g_file_set_contents(uri + strlen("file:"),
                                      (const char *)data, len, NULL));
    qtest_qmp_assert_success(
        to, "{ 'execute': 'migrate-incoming', 'arguments': { 'uri': %s, "
        "'exit-on-error': false } }", uri);
    if (migration_wait(to)) {
        qtest_quit(to);
        return NULL;
    }
    return quit_failed(to, err);
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
    const char *says;           /* NULL: it may be accepted */
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

/* --- one VM of the host has an address ------------------------------------ */

#define CLAIM           "address6=" VM6

static void assert_claim(QTestState *qts, const char *state)
{
    QList *list = query(qts, "'sockets-limit': 0");

    g_assert_cmpstr(qdict_get_str(only_device(list), "address6-claim"), ==,
                    state);
    qobject_unref(list);
}

static void wait_claim(QTestState *qts, const char *state)
{
    bool is_so;

    do {
        QList *list = query(qts, "'sockets-limit': 0");

        is_so = g_str_equal(qdict_get_str(only_device(list), "address6-claim"),
                            state);
        qobject_unref(list);
    } while (!is_so);
}

static void test_claim_second(void)
{
    QTestState *first = vm_qemu(
        COMMON_ARGS "-name web -uuid 00000000-0000-4000-8000-00000000c0de "
        "-device " DEVICE "," CLAIM);
    QTestState *second = vm_qemu(COMMON_ARGS);
    g_autofree char *pid = g_strdup_printf("process %d of user %u",
                                           qtest_pid(first), getuid());
    const char *const says[] = {
        CLAIM " is the address of another VM of this host", pid,
        "VM 'web', UUID 00000000-0000-4000-8000-00000000c0de, device 'vmrpc'",
    };
    g_autofree char *error = NULL, *own = NULL, *again = NULL;

    assert_claim(first, "held");
    error = try_device(second, "'addr': '4', 'address6': '" VM6 "'");
    assert_says(CLAIM, error, says, ARRAY_SIZE(says));

    /* Another notation is the same address; another address is free. */
    g_free(error);
    error = try_device(second, "'address6': 'FD00:6:0::0:1'");
    assert_says("FD00:6:0::0:1", error, says, ARRAY_SIZE(says));
    own = try_device(second, "'addr': '4', 'address6': '" PEER6 "'");
    g_assert_cmpstr(own, ==, NULL);
    assert_claim(second, "held");

    /* It is free with the end of the first. */
    qtest_quit(first);
    first = vm_qemu(COMMON_ARGS "-device " DEVICE "," CLAIM);
    assert_claim(first, "held");
    qtest_quit(first);
    qtest_quit(second);
}

/* Two devices of one VM, also where it has not arrived yet. */
static void test_claim_own(void)
{
    static const char *const says = "already: this process, a device";

    for (int incoming = 0; incoming < 2; incoming++) {
        QTestState *qts = vm_qemu(COMMON_ARGS "%s -device "
                                      "virtio-vmrpc-pci,addr=5," CLAIM,
                                      incoming ? "-incoming defer" : "");
        g_autofree char *error = try_device(qts, "'addr': '4', 'address6': '"
                                            VM6 "'");
        g_autofree char *other = NULL;

        assert_says("two devices", error, &says, 1);
        other = try_device(qts, "'addr': '4', 'address6': '" PEER6 "'");
        g_assert_cmpstr(other, ==, NULL);
        qtest_quit(qts);
    }
}

static void assert_conflict(QTestState *qts, QTestState *owner)
{
    QDict *event = qtest_qmp_eventwait_ref(qts, "VMRPC_ADDRESS_CONFLICT");
    QDict *data = qdict_get_qdict(event, "data");
    g_autofree char *pid = g_strdup_printf("process %d ", qtest_pid(owner));
    const char *const says[] = { CLAIM, pid, "device 'vmrpc'" };

    g_assert_cmpstr(qdict_get_str(data, "id"), ==, "vmrpc");
    g_assert_cmpstr(qdict_get_str(data, "qom-path"), ==, BACKEND);
    g_assert_cmpstr(qdict_get_str(data, "address6"), ==, VM6);
    assert_says("event", qdict_get_str(data, "reason"), says,
                ARRAY_SIZE(says));
    qobject_unref(event);
    assert_claim(qts, "conflict");
}

/*
 * From QEMU to QEMU on one host; then both sides are told to continue; it takes
 * effect when the other one has ended.
 */
static void test_claim_moves(void)
{
    g_autofree char *uri = migration_uri("unix", "migration");
    Vm vm = vm_start(CLAIM, 0);
    QTestState *to = boot_beside(CLAIM, "");

    assert_claim(to, "waiting");
    migration_start(to, "migrate-incoming", uri);
    migration_start(vm.qts, "migrate", uri);
    g_assert_true(migration_wait(vm.qts));
    assert_claim(vm.qts, "waiting");
    wait_claim(to, "held");
    g_assert_true(is_running(to));

    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'cont' }");
    assert_conflict(vm.qts, to);
    qtest_quit(to);
    wait_claim(vm.qts, "held");
    g_unlink(uri + strlen("unix:"));
    vm_quit(&vm);
}

/* A VM that is stopped arrives stopped. */
static void test_claim_moves_stopped(void)
{
    g_autofree char *uri = migration_uri("unix", "migration");
    Vm vm = vm_start(CLAIM, 0);
    QTestState *to = boot_beside(CLAIM, "");

    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'stop' }");
    assert_claim(vm.qts, "held");
    migration_start(to, "migrate-incoming", uri);
    migration_start(vm.qts, "migrate", uri);
    g_assert_true(migration_wait(vm.qts));
    assert_claim(vm.qts, "waiting");
    while (!migration_wait(to)) {
        /* until all is loaded */
    }
    g_assert_false(is_running(to));
    assert_claim(to, "waiting");
    qtest_qmp_assert_success(to, "{ 'execute': 'cont' }");
    assert_claim(to, "held");
    qtest_quit(vm.qts);
    vm.qts = to;
    vmrpc_driver_moved(vm.d, to);
    g_unlink(uri + strlen("unix:"));
    vm_quit(&vm);
}

/* A destination that refuses the stream leaves the address to the source. */
static void test_claim_stays(const void *data)
{
    bool stopped = data;
    g_autofree char *uri = migration_uri("unix", "migration");
    Vm vm = vm_start(CLAIM, 0);
    QTestState *to = boot_beside(CLAIM ",max-sockets=4", "2>/dev/null");
    QTestState *second;
    g_autofree char *error = NULL;
    const char *says = CLAIM;

    if (stopped) {
        qtest_qmp_assert_success(vm.qts, "{ 'execute': 'stop' }");
    }
    qtest_qmp_assert_success(
        to, "{ 'execute': 'migrate-incoming', 'arguments': { 'uri': %s, "
        "'exit-on-error': false } }", uri);
    migration_start(vm.qts, "migrate", uri);
    g_assert_false(migration_wait(to));
    assert_claim(to, "waiting");
    /* The source may have finished its part. */
    if (migration_wait(vm.qts) || stopped) {
        qtest_qmp_assert_success(vm.qts, "{ 'execute': 'cont' }");
    }
    wait_claim(vm.qts, "held");
    second = vm_qemu(COMMON_ARGS);
    error = try_device(second, "'addr': '4', 'address6': '" VM6 "'");
    assert_says(CLAIM, error, &says, 1);
    qtest_quit(second);
    qtest_quit(to);
    g_unlink(uri + strlen("unix:"));
    vm_quit(&vm);
}

/* --- main ---------------------------------------------------------------- */

static void add_tests(void)
{
    qtest_add_func("/vmrpc/query/migration", test_query_migration);
    add_for_kinds("migration/listener", test_migration_listener, 0);
    qtest_add_func("/vmrpc/migration/established",
                   test_migration_established);
    qtest_add_func("/vmrpc/migration/datagram", test_migration_datagram);
    qtest_add_func("/vmrpc/migration/ipv6", test_migration_ipv6);
    qtest_add_func("/vmrpc/migration/long-values", test_migration_long_values);
    qtest_add_func("/vmrpc/migration/late-address",
                   test_migration_late_address);
    qtest_add_func("/vmrpc/migration/names", test_migration_names);
    qtest_add_func("/vmrpc/migration/audit", test_migration_audit);
    qtest_add_func("/vmrpc/migration/budgets", test_migration_budgets);
    for (unsigned i = 0; i < ARRAY_SIZE(mismatches); i++) {
        g_autofree char *path = g_strdup_printf("/vmrpc/migration/refused/%s",
                                                mismatches[i].name);

        qtest_add_data_func(path, &mismatches[i], test_migration_refused);
    }
    qtest_add_func("/vmrpc/migration/hostile", test_migration_hostile);
    qtest_add_func("/vmrpc/claim/moves", test_claim_moves);
    qtest_add_func("/vmrpc/claim/moves-stopped", test_claim_moves_stopped);
    if (on_mmio()) {
        return;         /* they plug a device in */
    }
    qtest_add_func("/vmrpc/claim/second", test_claim_second);
    qtest_add_func("/vmrpc/claim/own", test_claim_own);
    qtest_add_data_func("/vmrpc/claim/stays", NULL, test_claim_stays);
    qtest_add_data_func("/vmrpc/claim/stays-stopped", "stopped",
                        test_claim_stays);
}

int main(int argc, char **argv)
{
    return vmrpc_test_main(argc, argv, add_tests);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-vmrpc: its QMP and HMP commands */
#include "qemu/osdep.h"

#include <arpa/inet.h>

#include "netns.h"
#include "qobject/qlist.h"
#include "standard-headers/linux/pci_regs.h"
#include "vmrpc-fixture.h"

/* --- inspection ---------------------------------------------------------- */

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

    hmp = qtest_hmp(vm.qts, "info virtio-status %s", BACKEND);
    g_assert_nonnull(strstr(hmp, "virtio-vmrpc"));
    /* Its own feature bits, which the device offers, have no names there. */
    g_assert_nonnull(strstr(hmp, "000000000000000f)"));
    queue = qtest_hmp(vm.qts, "info virtio-queue-status %s 1", BACKEND);
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
    char virtual[INET_ADDRSTRLEN];
    struct in_addr peer4;
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
    peer4 = guest_resolve(vm.d, PEER6);
    inet_ntop(AF_INET, &peer4, virtual, sizeof(virtual));
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
    assert_address(dev, 6, "guest-peer", virtual, stuck);
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

/* A guest without room for events gets no report of the reset. */
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

    qts = vm_qemu(COMMON_ARGS);
    list = query(qts, "");
    g_assert_true(qlist_empty(list));
    qobject_unref(list);
    qtest_quit(qts);

    qts = vm_qemu(COMMON_ARGS "%s -device virtio-vmrpc-pci,id=v4,"
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

/* An answer is never longer than requested, and the next one continues it. */
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

    /* the total number is reported anyway */
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

/* The limit counts for the answer, with any number of devices. */
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

/* A rule of a device, as "LINE DESTINATIONS NAMES RULE". */
static char *rule_text(QDict *device, unsigned index)
{
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(device, "rules"), entry) {
        QDict *rule = qobject_to(QDict, qlist_entry_obj(entry));

        if (!index--) {
            return g_strdup_printf("%" PRId64 " %" PRId64 " %" PRId64 " %s",
                                   qdict_get_int(rule, "line"),
                                   qdict_get_int(rule, "destinations"),
                                   qdict_get_int(rule, "names-refused"),
                                   qdict_get_str(rule, "rule"));
        }
    }
    return NULL;
}

static void test_query_rules(void)
{
    static const char policy[] =
        "# ours\n"
        "allow  host udp    # peers\n"
        "deny host\n"
        "limit dns 100/s\n"
        "default allow\n";
    g_autofree char *path = g_build_filename(tmp_dir, "rules.policy", NULL);
    g_autofree char *args = g_strdup_printf(
        COMMON_ARGS "-device " DEVICE ",dns=" DNS6 ",policy=%s", path);
    struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(9) };
    g_autofree char *first = NULL, *second = NULL, *third = NULL, *hmp = NULL;
    Vm vm = { };
    QList *list;

    replace_file(path, policy);
    vm.qts = vm_qemu("%s", args);
    vm.guest = vmrpc_guest_new(vm.qts, !on_mmio());
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    peer.sin_addr = guest_resolve(vm.d, PEER6);
    g_assert_cmpint(try_peer(&vm, &peer), ==, 0);
    guest_socket(vm.d, 2, SOCK_STREAM);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 2, &peer).error, ==,
                        EACCES);
    }

    list = query(vm.qts, "'rules': true");
    first = rule_text(only_device(list), 0);
    second = rule_text(only_device(list), 1);
    third = rule_text(only_device(list), 2);
    g_assert_cmpstr(first, ==, "2 1 0 allow host udp");
    g_assert_cmpstr(second, ==, "3 2 0 deny host");
    g_assert_cmpstr(third, ==, "5 0 0 default allow");
    g_assert_cmpuint(qlist_size(qdict_get_qlist(only_device(list), "rules")),
                     ==, 3);
    qobject_unref(list);
    list = query(vm.qts, "");
    g_assert_false(qdict_haskey(only_device(list), "rules"));
    qobject_unref(list);
    hmp = qtest_hmp(vm.qts, "info vmrpc");
    g_assert_cmpuint(count_lines(hmp, "  policy line "), ==, 2);
    g_assert_true(g_regex_match_simple(
        "policy line 3 +2 destinations +0 names refused  deny host", hmp, 0,
        0));
    vm_quit(&vm);
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
    path = qtest_hmp(vm.qts, "info vmrpc %s 69", BACKEND);
    g_assert_cmpuint(count_lines(path, " udp "), ==, 1);
    vm_quit(&vm);
}

/* A device that exists but is not realized has nothing to show. */
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
 * The answer takes a while, in which the guest runs: it is cancelled with the
 * device.  The order of the two varies, so try a few times; the answer has all
 * or nothing.
 */
/* --- the VM's address leaves the host -------------------------------------- */

static bool address_state_is(Vm *vm, const char *state)
{
    QList *list = query(vm->qts, "'sockets-limit': 0");
    bool is = g_str_equal(qdict_get_str(only_device(list), "address-state"),
                          state);

    qobject_unref(list);
    return is;
}

/* The kernel's message may come a moment after the change. */
static void wait_address_state(Vm *vm, const char *state)
{
    gint64 end = g_get_monotonic_time() + NETNS_TIMEOUT_MS * 1000;
    g_autofree char *line = g_strdup_printf("address on this host: %s", state);
    g_autofree char *hmp = NULL;

    while (!address_state_is(vm, state)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
    hmp = qtest_hmp(vm->qts, "info vmrpc");
    g_assert_nonnull(strstr(hmp, line));
}

static void wait_address_event(Vm *vm, const char *name)
{
    QDict *event = qtest_qmp_eventwait_ref(vm->qts, name);
    QDict *data = qdict_get_qdict(event, "data");

    g_assert_cmpstr(qdict_get_str(data, "id"), ==, "vmrpc");
    g_assert_cmpstr(qdict_get_str(data, "qom-path"), ==, BACKEND);
    g_assert_cmpstr(qdict_get_str(data, "address"), ==, VM6);
    qobject_unref(event);
}

static void test_address_lost(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    int conn;

    wait_address_state(&vm, "here");
    for (unsigned i = 0; i < 2; i++) {
        netns_remove_address6(VM6);
        wait_address_event(&vm, "VMRPC_ADDRESS_LOST");
        wait_address_state(&vm, "lost");
        netns_add_address6(VM6);
        wait_address_event(&vm, "VMRPC_ADDRESS_BACK");
        wait_address_state(&vm, "here");
        conn = guest_connect(vm.d, i, PEER6);
        converse(vm.d, i, conn);
        close(conn);
    }
    vm_quit(&vm);
}

/* A VM that does not run misses nothing; what it misses then is told. */
static void test_address_lost_while_stopped(void)
{
    Vm vm = vm_start("address6=" VM6, 0);

    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'stop' }");
    netns_remove_address6(VM6);
    wait_address_state(&vm, "missing");
    netns_add_address6(VM6);
    wait_address_state(&vm, "here");
    netns_remove_address6(VM6);
    wait_address_state(&vm, "missing");
    g_assert_null(qtest_qmp_event_ref(vm.qts, "VMRPC_ADDRESS_LOST"));
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'cont' }");
    wait_address_event(&vm, "VMRPC_ADDRESS_LOST");
    netns_add_address6(VM6);
    wait_address_event(&vm, "VMRPC_ADDRESS_BACK");
    vm_quit(&vm);
}

/* Nothing is shown of an address that there is not. */
static void test_no_address(void)
{
    Vm vm = vm_start("", 0);
    QList *list = query(vm.qts, "'sockets-limit': 0");

    g_assert_false(qdict_haskey(only_device(list), "address-state"));
    qobject_unref(list);
    vm_quit(&vm);
}

static void test_query_unplug(void)
{
    QTestState *qts = vm_qemu(COMMON_ARGS);

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

/* --- main ---------------------------------------------------------------- */

static void add_tests(void)
{
    qtest_add_func("/vmrpc/inspect", test_inspect);
    qtest_add_func("/vmrpc/counters", test_counters);
    qtest_add_func("/vmrpc/query/sockets", test_query_sockets);
    qtest_add_func("/vmrpc/query/error", test_query_error);
    qtest_add_func("/vmrpc/query/devices", test_query_devices);
    qtest_add_func("/vmrpc/query/pages", test_query_pages);
    qtest_add_func("/vmrpc/query/limit", test_query_limit);
    qtest_add_func("/vmrpc/query/hmp", test_query_hmp);
    qtest_add_func("/vmrpc/query/rules", test_query_rules);
    add_for_pci("/vmrpc/query/unrealized", test_query_unrealized);
    add_for_pci("/vmrpc/query/unplug", test_query_unplug);
    qtest_add_func("/vmrpc/address/lost", test_address_lost);
    qtest_add_func("/vmrpc/address/lost-while-stopped",
                   test_address_lost_while_stopped);
    qtest_add_func("/vmrpc/address/none", test_no_address);
}

int main(int argc, char **argv)
{
    return vmrpc_test_main(argc, argv, add_tests);
}

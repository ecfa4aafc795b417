/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-vmrpc: the audit log and its character device */
#include "qemu/osdep.h"

#include <arpa/inet.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <sys/un.h>

#include "netns.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-vmrpc.h"
#include "qapi/qobject-input-visitor.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "vmrpc-fixture.h"

/* A line is some 300 bytes: more than the ring and a socket's buffer hold */
#define MANY    8000

static char *path_of(const char *name)
{
    return g_strdup_printf("%s/%s", tmp_dir, name);
}

static Vm start_logging(const char *chardev, const char *options)
{
    g_autofree char *all = g_strdup_printf("audit=log%s", options);
    g_autofree char *more = g_strdup_printf("-name web -m 256 -chardev %s,id=log",
                                            chardev);
    Vm vm = vm_boot(all, more);

    vmrpc_driver_start(vm.d, 0, EVENTS);
    return vm;
}

static Vm start_with_file(const char *path, const char *options)
{
    g_autofree char *chardev = g_strdup_printf("file,path=%s", path);

    return start_logging(chardev, options);
}

static void change_to_file(QTestState *qts, const char *path)
{
    qobject_unref(qtest_qmp_assert_success_ref(
        qts, "{ 'execute': 'chardev-change', 'arguments': { 'id': 'log', "
        "'backend': { 'type': 'file', 'data': { 'out': %s } } } }", path));
}

/* A number of query-vmrpc's "audit" */
static uint64_t audit_number(QTestState *qts, const char *which)
{
    QList *list = query(qts, "");
    QDict *audit = qdict_get_qdict(only_device(list), "audit");
    uint64_t value = qdict_get_int(audit, which);

    qobject_unref(list);
    return value;
}

static bool is_blocked(QTestState *qts)
{
    QList *list = query(qts, "");
    bool blocked = qdict_get_bool(qdict_get_qdict(only_device(list), "audit"),
                                  "blocked");

    qobject_unref(list);
    return blocked;
}

/* Of the time before the monitor listens there are no events. */
static void await_blocked(QTestState *qts)
{
    while (!is_blocked(qts)) {
        /* the main loop tries to write */
    }
}

/* Waits until all lines are written. */
static void await_written(QTestState *qts)
{
    while (audit_number(qts, "pending")) {
        /* the main loop writes between two queries */
    }
}

/*
 * Checks that each line of @text is an object of the schema, and that the
 * numbers go on from *@seq.  Counts the lines of the @event.
 */
static unsigned check_lines(const char *text, uint64_t *seq, const char *event,
                            uint64_t *lost)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    unsigned found = 0;

    for (char **line = lines; *line && (line[1] || **line); line++) {
        QObject *object = qobject_from_json(*line, &error_abort);
        Visitor *v = qobject_input_visitor_new(object);
        g_autoptr(VmrpcAuditLine) read = NULL;

        /* Refuses members that the schema does not have. */
        visit_type_VmrpcAuditLine(v, NULL, &read, &error_abort);
        g_assert_cmpint(read->v, ==, 1);
        g_assert_cmpuint(read->seq, ==, *seq);
        g_assert_cmpstr(read->vm, ==, "web");
        g_assert_cmpstr(read->dev, ==, "vmrpc");
        found += g_str_equal(VmrpcAuditLineEvent_str(read->event), event);
        if (lost) {
            *lost += read->count;
        }
        ++*seq;
        visit_free(v);
        qobject_unref(object);
    }
    return found;
}

static unsigned check_file(const char *path, uint64_t *seq, const char *event)
{
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return check_lines(text, seq, event, NULL);
}

/* --- options --------------------------------------------------------------- */

static void test_options(void)
{
    static const struct {
        const char *options, *says;
    } bad[] = {
        { "'audit': 'none'", "none" },
        { "'audit-full': 'drop'", "has no use without audit=" },
        { "'audit': 'log', 'audit-full': 'maybe'",
          "audit-full=maybe is neither 'drop' nor 'wait'" },
        { "'audit': 'log', 'policy': '/none'", "/none" },
    };
    QTestState *qts = vm_qemu(COMMON_ARGS "-chardev null,id=log");
    g_autofree char *error = NULL;

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        g_autofree char *text = try_device(qts, bad[i].options);

        if (!text || !strstr(text, bad[i].says)) {
            g_error("%s: %s", bad[i].options, text);
        }
    }
    error = try_device(qts, "'audit': 'log', 'audit-full': 'wait'");
    g_assert_cmpstr(error, ==, NULL);
    g_assert_cmpint(audit_number(qts, "lost"), ==, 0);
    qtest_quit(qts);
}

/* --- a file, and its rotation ----------------------------------------------- */

static void test_file(void)
{
    g_autofree char *first = path_of("first"), *second = path_of("second");
    Vm vm = start_with_file(first, "");
    uint64_t seq = 1;

    round_trip(vm.d);
    await_written(vm.qts);
    g_assert_cmpuint(check_file(first, &seq, "open"), ==, 1);
    g_assert_cmpuint(audit_number(vm.qts, "lines"), ==, seq - 1);
    change_to_file(vm.qts, second);
    round_trip(vm.d);
    await_written(vm.qts);
    g_assert_cmpuint(check_file(second, &seq, "close"), ==, 1);
    g_assert_cmpuint(audit_number(vm.qts, "lines"), ==, seq - 1);
    vm_quit(&vm);
    g_unlink(first);
    g_unlink(second);
}

/* Lines that are on their way when the device or QEMU goes are written. */
static void test_end(void)
{
    g_autofree char *path = path_of("end");
    Vm vm = start_with_file(path, "");
    int conn = guest_connect(vm.d, 0, PEER6);
    uint64_t seq = 1;

    vmrpc_driver_free(vm.d);
    vm.d = NULL;
    vm_quit(&vm);
    g_assert_cmpuint(check_file(path, &seq, "open"), ==, 1);
    close(conn);
    g_unlink(path);
}

/* --- a file that takes nothing ---------------------------------------------- */

static void await_event(QTestState *qts, const char *name, const char *why)
{
    QDict *event = qtest_qmp_eventwait_ref(qts, name);
    QDict *data = qdict_get_qdict(event, "data");

    g_assert_cmpstr(qdict_get_str(data, "id"), ==, "vmrpc");
    g_assert_cmpstr(qdict_get_str(data, "chardev"), ==, "log");
    if (why) {
        g_assert_nonnull(strstr(qdict_get_str(data, "reason"), why));
    }
    qobject_unref(event);
}

static struct sockaddr_in peer_at(VmrpcDriver *d, const char *address,
                                  uint16_t port)
{
    return (struct sockaddr_in) {
        .sin_family = AF_INET, .sin_port = htons(port),
        .sin_addr = guest_resolve(d, address),
    };
}

/* No evidence, no connection; the guest finds a peer that is slow. */
static void test_full_wait(void)
{
    g_autofree char *path = path_of("good");
    Vm vm = start_with_file(path, ",audit-full=wait");
    struct sockaddr_in peer;
    uint16_t port = 0;
    int listener = peer_bind(SOCK_STREAM, PEER6, &port), conn;
    struct pollfd pfd = { .fd = listener, .events = POLLIN };
    uint64_t seq = 1;

    peer = peer_at(vm.d, PEER6, port);
    await_written(vm.qts);
    check_file(path, &seq, "open");
    change_to_file(vm.qts, "/dev/full");
    /* The first line shows it. */
    guest_socket(vm.d, 1, SOCK_DGRAM);
    guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer);
    vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SENDMSG, .sock = 1, .out = "x", .out_len = 1,
    });
    await_event(vm.qts, "VMRPC_AUDIT_BLOCKED", "disk");
    g_assert_true(is_blocked(vm.qts));

    guest_socket(vm.d, 2, SOCK_STREAM);
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 2, &peer).error, ==,
                    VMRPC_EINPROGRESS);
    settle(vm.qts);
    g_assert_cmphex(vm.d->sock[2].ready, ==, 0);
    g_assert_cmpint(poll(&pfd, 1, 0), ==, 0);
    g_assert_cmpuint(audit_number(vm.qts, "waits"), >, 0);

    change_to_file(vm.qts, path);
    await_event(vm.qts, "VMRPC_AUDIT_RESUMED", NULL);
    vmrpc_wait_ready(vm.d, 2, VMRPC_OUT);
    conn = peer_accept(listener);
    converse(vm.d, 2, conn);
    await_written(vm.qts);
    g_assert_cmpuint(check_file(path, &seq, "open"), ==, 2);
    g_assert_cmpuint(audit_number(vm.qts, "lost"), ==, 0);
    close(conn);
    close(listener);
    vm_quit(&vm);
    g_unlink(path);
}

/* The guest goes on, and the log says how much is missing. */
static void test_full_drop(void)
{
    g_autofree char *path = path_of("later"), *text = NULL;
    Vm vm = start_with_file("/dev/full", "");
    struct sockaddr_in denied = {
        .sin_family = AF_INET, .sin_port = htons(80),
    };
    uint64_t seq = 1, lost = 0;

    await_blocked(vm.qts);
    round_trip(vm.d);
    denied.sin_addr = guest_resolve(vm.d, "fd00:ec2::254");
    guest_socket(vm.d, 0, SOCK_STREAM);
    while (!audit_number(vm.qts, "lost")) {
        for (unsigned i = 0; i < 100; i++) {
            g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 0,
                                          &denied).error, ==, ENETUNREACH);
        }
    }
    change_to_file(vm.qts, path);
    await_written(vm.qts);
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 0, &denied).error, ==,
                    ENETUNREACH);
    await_written(vm.qts);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpuint(check_lines(text, &seq, "lost", &lost), ==, 1);
    g_assert_cmpuint(lost, ==, audit_number(vm.qts, "lost"));
    vm_quit(&vm);
    g_unlink(path);
}

/* --- readers ------------------------------------------------------------------ */

static int connect_reader(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_strlcpy(addr.sun_path, path, sizeof(addr.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), ==,
                    0);
    return fd;
}

/* Reads until a line has @last in it. */
static void read_until(int fd, GString *text, const char *last)
{
    char buf[4096];

    while (!strstr(text->str, last) || !g_str_has_suffix(text->str, "\n")) {
        ssize_t n = read(fd, buf, sizeof(buf));

        g_assert_cmpint(n, >, 0);
        g_string_append_len(text, buf, n);
    }
}

/* A reader that comes late, goes and comes again finds whole lines. */
static void test_reader(void)
{
    g_autofree char *path = path_of("reader");
    g_autofree char *chardev = g_strdup_printf(
        "socket,path=%s,server=on,wait=off", path);
    g_autoptr(GString) text = g_string_new("");
    Vm vm = start_logging(chardev, ",audit-full=wait");
    struct sockaddr_in peer = {
        .sin_family = AF_INET, .sin_port = htons(80),
        .sin_addr.s_addr = inet_addr("198.18.77.77"),
    };
    uint64_t seq = 1;
    int fd, conn;

    await_blocked(vm.qts);
    guest_socket(vm.d, 3, SOCK_STREAM);
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 3, &peer).error, ==,
                    VMRPC_EINPROGRESS);
    fd = connect_reader(path);
    await_event(vm.qts, "VMRPC_AUDIT_RESUMED", NULL);
    vmrpc_wait_error(vm.d, 3);
    conn = guest_connect(vm.d, 0, PEER6);
    read_until(fd, text, "\"event\":\"open\"");
    check_lines(text->str, &seq, "open", NULL);

    close(fd);
    await_event(vm.qts, "VMRPC_AUDIT_BLOCKED", "not connected");
    g_assert_cmpint(guest_close(vm.d, 0), ==, 0);
    close(conn);
    fd = connect_reader(path);
    await_event(vm.qts, "VMRPC_AUDIT_RESUMED", NULL);
    g_string_truncate(text, 0);
    read_until(fd, text, "\"event\":\"close\"");
    check_lines(text->str, &seq, "close", NULL);
    close(fd);
    vm_quit(&vm);
    g_unlink(path);
}

/* One that does not read costs lines, and not the guest's time. */
static void test_slow_reader(void)
{
    g_autofree char *path = path_of("slow");
    g_autofree char *chardev = g_strdup_printf(
        "socket,path=%s,server=on,wait=off", path);
    g_autoptr(GString) text = g_string_new("");
    Vm vm = start_logging(chardev, "");
    int fd = connect_reader(path);
    struct sockaddr_in denied = {
        .sin_family = AF_INET, .sin_port = htons(80),
        .sin_addr = guest_resolve(vm.d, "fd00:ec2::254"),
    };
    uint64_t seq = 1, lost = 0;

    guest_socket(vm.d, 0, SOCK_STREAM);
    for (unsigned i = 0; i < MANY; i++) {
        g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 0, &denied).error,
                        ==, ENETUNREACH);
    }
    await_event(vm.qts, "VMRPC_AUDIT_BLOCKED", "not read");
    g_assert_cmpuint(audit_number(vm.qts, "lost"), >, 0);
    read_until(fd, text, "\"event\":\"lost\"");
    await_event(vm.qts, "VMRPC_AUDIT_RESUMED", NULL);
    check_lines(text->str, &seq, "refused", &lost);
    g_assert_cmpuint(lost, ==, audit_number(vm.qts, "lost"));
    g_assert_cmpuint(audit_number(vm.qts, "lines"), ==, seq - 1);
    close(fd);
    vm_quit(&vm);
    g_unlink(path);
}

static void add_tests(void)
{
    qtest_add_func("/vmrpc-audit/options", test_options);
    qtest_add_func("/vmrpc-audit/file", test_file);
    qtest_add_func("/vmrpc-audit/end", test_end);
    qtest_add_func("/vmrpc-audit/full-wait", test_full_wait);
    qtest_add_func("/vmrpc-audit/full-drop", test_full_drop);
    qtest_add_func("/vmrpc-audit/reader", test_reader);
    qtest_add_func("/vmrpc-audit/slow-reader", test_slow_reader);
}

int main(int argc, char **argv)
{
    return vmrpc_test_main(argc, argv, add_tests);
}

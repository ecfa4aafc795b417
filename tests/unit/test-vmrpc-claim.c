/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An address belongs to one VM of the host */

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hw/vmrpc/server/claim.h"

#define OWNER   "VM 'web', device 'vmrpc0'"

/* An address of this run's own, as others may run on the same host. */
static struct in6_addr address(unsigned n)
{
    g_autofree char *text = g_strdup_printf("2001:db8:%x:%x::%x",
                                            getpid() >> 16, getpid() & 0xffff,
                                            n);
    struct in6_addr addr6;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr6), ==, 1);
    return addr6;
}

static VmrpcClaim *claim(const struct in6_addr *addr6, const char *owner)
{
    g_autoptr(GError) err = NULL;
    VmrpcClaim *c = vmrpc_claim_new(addr6, owner, &err);

    g_assert_no_error(err);
    g_assert_nonnull(c);
    g_assert_cmpint(vmrpc_claim_fd(c), ==, -1);
    return c;
}

static void take(VmrpcClaim *c)
{
    g_autoptr(GError) err = NULL;

    g_assert_true(vmrpc_claim_take(c, &err));
    g_assert_no_error(err);
    g_assert_cmpint(vmrpc_claim_fd(c), >=, 0);
}

/* The words about its owner. */
static char *taken_by(VmrpcClaim *c)
{
    g_autoptr(GError) err = NULL;

    g_assert_false(vmrpc_claim_take(c, NULL));
    g_assert_false(vmrpc_claim_take(c, &err));
    g_assert_error(err, VMRPC_CLAIM_ERROR, VMRPC_CLAIM_ERROR_TAKEN);
    g_assert_cmpint(vmrpc_claim_fd(c), ==, -1);
    return g_strdup(err->message);
}

static void assert_says(const char *text, const char *what)
{
    if (!strstr(text, what)) {
        g_error("\"%s\" does not say \"%s\"", text, what);
    }
}

/* --- another process ------------------------------------------------------ */

/* Runs @run, which says by a byte to its argument that all is ready. */
static pid_t start_other(void (*run)(int ready))
{
    int fds[2];
    char byte;
    pid_t pid;

    g_assert_cmpint(pipe(fds), ==, 0);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (!pid) {
        close(fds[0]);
        run(fds[1]);
        _exit(0);
    }
    close(fds[1]);
    g_assert_cmpint(read(fds[0], &byte, 1), ==, 1);
    close(fds[0]);
    return pid;
}

static void end_other(pid_t pid)
{
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

static struct in6_addr wanted;

static void run_owner(int ready)
{
    VmrpcClaim *c = vmrpc_claim_new(&wanted, OWNER, NULL);
    struct pollfd pfd = { .events = POLLIN };

    if (!vmrpc_claim_take(c, NULL) || write(ready, "x", 1) < 0) {
        _exit(1);
    }
    pfd.fd = vmrpc_claim_fd(c);
    while (poll(&pfd, 1, -1) > 0) {
        vmrpc_claim_answer(c);
    }
}

static void test_other(void)
{
    g_autofree char *says = NULL, *process = NULL, *address6 = NULL;
    char text[INET6_ADDRSTRLEN];
    VmrpcClaim *c, *free_one;
    struct in6_addr addr6;
    pid_t pid;

    wanted = address(1);
    pid = start_other(run_owner);
    c = claim(&wanted, "me");
    says = taken_by(c);
    inet_ntop(AF_INET6, &wanted, text, sizeof(text));
    address6 = g_strdup_printf("address6=%s is the address of another VM",
                               text);
    process = g_strdup_printf("process %d of user %u, " OWNER ";", pid,
                              getuid());
    assert_says(says, address6);
    assert_says(says, process);

    /* another address is nobody's */
    addr6 = address(2);
    free_one = claim(&addr6, "me");
    take(free_one);
    vmrpc_claim_free(free_one);

    /* it goes with its process, however that ends */
    end_other(pid);
    take(c);
    vmrpc_claim_free(c);
}

/* --- this process --------------------------------------------------------- */

static void test_own(void)
{
    struct in6_addr addr6 = address(1);
    g_autoptr(GError) err = NULL;
    VmrpcClaim *c = claim(&addr6, OWNER), *second;
    int fd;

    g_assert_null(vmrpc_claim_new(&addr6, "another device", &err));
    g_assert_error(err, VMRPC_CLAIM_ERROR, VMRPC_CLAIM_ERROR_TAKEN);
    assert_says(err->message, "this process, " OWNER);

    take(c);
    fd = vmrpc_claim_fd(c);
    take(c);
    g_assert_cmpint(vmrpc_claim_fd(c), ==, fd);
    vmrpc_claim_give_up(c);
    g_assert_cmpint(vmrpc_claim_fd(c), ==, -1);
    vmrpc_claim_give_up(c);
    vmrpc_claim_answer(c);
    take(c);
    vmrpc_claim_answer(c);      /* nobody has asked */
    vmrpc_claim_free(c);
    second = claim(&addr6, OWNER);
    take(second);
    vmrpc_claim_free(second);
    vmrpc_claim_free(NULL);
}

/* --- who is nobody of ours ------------------------------------------------ */

static int bind_name(void)
{
    struct sockaddr_un sun = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char text[INET6_ADDRSTRLEN];
    int len;

    inet_ntop(AF_INET6, &wanted, text, sizeof(text));
    len = g_snprintf(sun.sun_path + 1, sizeof(sun.sun_path) - 1,
                     "vmmnet/address6/%s", text);
    if (bind(fd, (struct sockaddr *)&sun,
             offsetof(struct sockaddr_un, sun_path) + 1 + len) < 0) {
        _exit(1);
    }
    return fd;
}

static void run_babbler(int ready)
{
    int fd = bind_name(), conn;

    signal(SIGPIPE, SIG_IGN);
    if (listen(fd, 1) < 0 || write(ready, "x", 1) < 0) {
        _exit(1);
    }
    conn = accept(fd, NULL, NULL);
    while (write(conn, "a\033[2J\xff\nb", 8) > 0) {
        /* as much as he takes */
    }
    pause();
}

static void run_silent(int ready)
{
    int fd = bind_name();

    if (listen(fd, 1) < 0 || write(ready, "x", 1) < 0) {
        _exit(1);
    }
    pause();
}

static void run_deaf(int ready)
{
    bind_name();
    if (write(ready, "x", 1) < 0) {
        _exit(1);
    }
    pause();
}

static void test_hostile(void)
{
    static const struct {
        void (*run)(int ready);
        const char *says;
    } others[] = {
        { run_babbler, ", a?[2J\357\277\275?ba?[2J" },
        { run_silent, ", which does not say more;" },
        { run_deaf, "a process that cannot be asked;" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
        g_autofree char *says = NULL;
        VmrpcClaim *c;
        pid_t pid;

        wanted = address(10 + i);
        pid = start_other(others[i].run);
        c = claim(&wanted, "me");
        says = taken_by(c);
        assert_says(says, others[i].says);
        g_assert_cmpuint(strlen(says), <, 2048);
        g_assert_true(g_utf8_validate(says, -1, NULL));
        end_other(pid);
        vmrpc_claim_free(c);
    }
}

/* A client that does not listen, or asks much, stops nobody. */
static void test_askers(void)
{
    int asker[20];
    VmrpcClaim *c;

    wanted = address(20);
    c = claim(&wanted, OWNER);
    take(c);
    for (unsigned i = 0; i < G_N_ELEMENTS(asker); i++) {
        struct sockaddr_un sun;
        socklen_t len = sizeof(sun);

        g_assert_cmpint(getsockname(vmrpc_claim_fd(c),
                                    (struct sockaddr *)&sun, &len), ==, 0);
        asker[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(asker[i], (struct sockaddr *)&sun, len) < 0) {
            g_assert_cmpint(errno, ==, EAGAIN);
        }
    }
    close(asker[0]);
    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(asker); i++) {
        vmrpc_claim_answer(c);
    }
    for (unsigned i = 1; i < G_N_ELEMENTS(asker); i++) {
        close(asker[i]);
    }
    vmrpc_claim_free(c);
}

/* The host does not let us: no descriptor is left. */
static void test_failed(void)
{
    struct in6_addr addr6 = address(30);
    VmrpcClaim *c = claim(&addr6, OWNER);
    g_autoptr(GError) err = NULL;
    GArray *fds = g_array_new(false, false, sizeof(int));
    int fd;

    while ((fd = dup(0)) >= 0) {
        g_array_append_val(fds, fd);
    }
    g_assert_false(vmrpc_claim_take(c, &err));
    for (unsigned i = 0; i < fds->len; i++) {
        close(g_array_index(fds, int, i));
    }
    g_array_free(fds, TRUE);
    g_assert_error(err, VMRPC_CLAIM_ERROR, VMRPC_CLAIM_ERROR_FAILED);
    assert_says(err->message, "address6=2001:db8:");
    assert_says(err->message, "would not be noticed");
    assert_says(err->message, "Too many open files");
    take(c);
    vmrpc_claim_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/claim/own", test_own);
    g_test_add_func("/vmrpc/claim/other", test_other);
    g_test_add_func("/vmrpc/claim/hostile", test_hostile);
    g_test_add_func("/vmrpc/claim/askers", test_askers);
    g_test_add_func("/vmrpc/claim/failed", test_failed);
    return g_test_run();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An address belongs to one VM of the host
 *
 * Theory of operation
 *
 * The owner of an address listens on a UNIX socket with an abstract name that
 * is made of it, "@vmmnet/address6/2001:db8::1".  The kernel allows one
 * listener in a network namespace, to which addresses belong as well.  Any user
 * may bind such a socket, no file is left behind, and it ends with its process.
 *
 * A second QEMU finds the name in use and connects to it.  The kernel tells
 * which process listens there (SO_PEERCRED), and that process sends its name, a
 * line of text.  The line is only shown to people, and may come from any
 * process: it is cut and made printable, and the wait for it is short.
 *
 * A process of another user can take the name of an address that it does not
 * use.  The error message names that process, like any other.
 */
#include "hw/vmrpc/server/claim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME_PREFIX     "vmmnet/address6/"

/* Of a line of text. */
#define OWNER_MAX       512

#define ASK_MS          1000

/* Questions that may wait for their answers. */
#define BACKLOG         8

struct VmrpcClaim {
    struct in6_addr addr6;
    char text[INET6_ADDRSTRLEN];
    char *owner;
    int fd;                     /* -1: not taken */
};

/* Of this process. */
static GSList *claims;

GQuark vmrpc_claim_error_quark(void)
{
    return g_quark_from_static_string("vmrpc-claim-error");
}

static socklen_t make_name(const VmrpcClaim *c, struct sockaddr_un *sun)
{
    *sun = (struct sockaddr_un) { .sun_family = AF_UNIX };
    /* Abstract: it begins with a zero, and ends where its length says. */
    return offsetof(struct sockaddr_un, sun_path) + 1 +
           g_snprintf(sun->sun_path + 1, sizeof(sun->sun_path) - 1,
                      NAME_PREFIX "%s", c->text);
}

/* --- the owner ------------------------------------------------------------ */

static char *make_printable(const char *text, size_t len)
{
    g_autofree char *valid = g_utf8_make_valid(text, len);
    GString *line = g_string_new(NULL);

    for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        g_string_append_unichar(line, g_unichar_isprint(c) ? c : '?');
    }
    return g_string_free(line, FALSE);
}

/* The owner's line, until its end or the timeout. */
static char *read_owner(int fd)
{
    int64_t late = g_get_monotonic_time() + ASK_MS * 1000;
    char text[OWNER_MAX];
    size_t len = 0;

    while (len < sizeof(text)) {
        struct pollfd pfd = { .fd = fd, .events = POLLIN };
        int64_t left = late - g_get_monotonic_time();
        ssize_t n;

        if (left <= 0 || poll(&pfd, 1, left / 1000 + 1) <= 0) {
            break;
        }
        n = recv(fd, text + len, sizeof(text) - len, 0);
        if (n <= 0) {
            break;
        }
        len += n;
    }
    return make_printable(text, len);
}

/* The owner of the name, as far as it can be found out. */
static char *ask(const VmrpcClaim *c)
{
    g_autofree char *owner = NULL, *process = NULL;
    struct sockaddr_un sun;
    socklen_t len = make_name(c, &sun), cred_len = sizeof(struct ucred);
    struct ucred cred = { };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&sun, len) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) == 0) {
        owner = read_owner(fd);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (!owner) {
        return g_strdup("a process that cannot be asked");
    }
    process = cred.pid ? g_strdup_printf("process %d", cred.pid)
                       : g_strdup("a process of another PID namespace");
    return g_strdup_printf("%s of user %u%s%s", process, cred.uid,
                           *owner ? ", " : ", which does not say more", owner);
}

static void set_taken(GError **errp, const VmrpcClaim *c, const char *owner)
{
    g_set_error(errp, VMRPC_CLAIM_ERROR, VMRPC_CLAIM_ERROR_TAKEN,
                "address6=%s is the address of another VM of this host "
                "already: %s; give each VM an address of its own", c->text,
                owner);
}

/* --- ours ----------------------------------------------------------------- */

bool vmrpc_claim_take(VmrpcClaim *c, GError **errp)
{
    g_autofree char *owner = NULL;
    struct sockaddr_un sun;
    socklen_t len = make_name(c, &sun);
    int fd, error;

    if (c->fd >= 0) {
        return true;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&sun, len) == 0 &&
        listen(fd, BACKLOG) == 0) {
        c->fd = fd;
        return true;
    }
    error = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (error == EADDRINUSE) {
        owner = errp ? ask(c) : NULL;
        set_taken(errp, c, owner);
    } else {
        g_set_error(errp, VMRPC_CLAIM_ERROR, VMRPC_CLAIM_ERROR_FAILED,
                    "address6=%s: another VM of this host with the same "
                    "address would not be noticed: the UNIX socket @"
                    NAME_PREFIX "%s cannot be bound: %s", c->text, c->text,
                    g_strerror(error));
    }
    return false;
}

void vmrpc_claim_give_up(VmrpcClaim *c)
{
    if (c->fd >= 0) {
        close(c->fd);
        c->fd = -1;
    }
}

int vmrpc_claim_fd(const VmrpcClaim *c)
{
    return c->fd;
}

void vmrpc_claim_answer(VmrpcClaim *c)
{
    int fd = c->fd < 0 ? -1 : accept4(c->fd, NULL, NULL,
                                      SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        /* The socket has room for a line; a peer may leave it unread. */
        send(fd, c->owner, strlen(c->owner), MSG_NOSIGNAL);
        close(fd);
    }
}

/* --- life ----------------------------------------------------------------- */

VmrpcClaim *vmrpc_claim_new(const struct in6_addr *addr6, const char *owner,
                            GError **errp)
{
    VmrpcClaim *c = g_new0(VmrpcClaim, 1);

    c->fd = -1;
    c->addr6 = *addr6;
    inet_ntop(AF_INET6, addr6, c->text, sizeof(c->text));
    for (GSList *link = claims; link; link = link->next) {
        const VmrpcClaim *other = link->data;

        if (IN6_ARE_ADDR_EQUAL(&other->addr6, addr6)) {
            g_autofree char *who = g_strdup_printf("this process, %s",
                                                   other->owner);

            set_taken(errp, c, who);
            g_free(c);
            return NULL;
        }
    }
    c->owner = g_strndup(owner, OWNER_MAX);
    claims = g_slist_prepend(claims, c);
    return c;
}

void vmrpc_claim_free(VmrpcClaim *c)
{
    if (!c) {
        return;
    }
    claims = g_slist_remove(claims, c);
    vmrpc_claim_give_up(c);
    g_free(c->owner);
    g_free(c);
}

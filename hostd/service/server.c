/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UNIX socket and its clients
 *
 * Every user may connect, because each QEMU may run as a different user.
 * Permissions depend on the peer's credentials from the kernel. So the number
 * of connections is limited, in total and for each user, and a client has a
 * time limit for sending a line and for reading its answer.
 */
#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "hostd/core/line.h"
#include "hostd/core/session.h"
#include "hostd/host/process.h"
#include "hostd/service/server.h"

#define CLIENTS_MAX     256u
#define USER_MAX        64u     /* connections of a user other than root */
#define CLIENT_TIME     5u     /* s, to send a line and read its answer */
#define BACKLOG         256
#define LOOK_S          1       /* until a removed socket is there again */

struct HostdServer {
    char *path;
    int fd;
    guint watch, look;
    bool is_missed;             /* the path was removed, and cannot be made */
    Hostd *hostd;
    GPtrArray *clients;
};

typedef struct Client {
    HostdServer *server;
    HostdPeer peer;
    HostdSession *session;
    int fd;
    guint watch, timeout;
    GString *out;
    size_t done;                /* octets of @out that were sent */
} Client;

static bool fail(GError **errp, const char *what, const char *path)
{
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "%s '%s': %s", what, path,
                strerror(errno));
    return false;
}

/* --- clients -------------------------------------------------------------- */

static void client_free(gpointer opaque)
{
    Client *c = opaque;

    g_source_remove(c->watch);
    g_source_remove(c->timeout);
    hostd_session_free(c->session);
    hostd_peer_close(&c->peer);
    g_string_free(c->out, TRUE);
    close(c->fd);
    g_free(c);
}

static void hang_up(Client *c)
{
    g_ptr_array_remove_fast(c->server->clients, c);
}

static gboolean timed_out(gpointer opaque)
{
    hang_up(opaque);
    return G_SOURCE_CONTINUE;   /* client_free() has removed it */
}

static void restart_timeout(Client *c)
{
    if (c->timeout) {
        g_source_remove(c->timeout);
    }
    c->timeout = g_timeout_add_seconds(CLIENT_TIME, timed_out, c);
}

static gboolean readable(gint fd, GIOCondition condition, gpointer opaque);
static gboolean writable(gint fd, GIOCondition condition, gpointer opaque);

static void await(Client *c, GIOCondition condition)
{
    if (c->watch) {
        g_source_remove(c->watch);
    }
    c->watch = g_unix_fd_add(c->fd, condition,
                             condition == G_IO_IN ? readable : writable, c);
}

/* Sends pending output. Returns: false if the client is gone */
static bool flush_out(Client *c)
{
    while (c->done < c->out->len) {
        ssize_t len = send(c->fd, c->out->str + c->done, c->out->len - c->done,
                           MSG_NOSIGNAL | MSG_DONTWAIT);

        if (len < 0 && errno != EINTR) {
            return errno == EAGAIN;
        }
        c->done += MAX(len, 0);
    }
    g_string_truncate(c->out, 0);
    c->done = 0;
    return true;
}

/*
 * Executes the lines that were received, one at a time: the next one waits
 * until the answer was sent. Then waits for the next event.
 */
static void serve_lines(Client *c)
{
    bool more = true;

    while (more && !c->out->len) {
        more = hostd_session_step(c->session, c->out);
        if (more) {
            restart_timeout(c);
        }
        if (!flush_out(c)) {
            hang_up(c);
            return;
        }
    }
    if (c->out->len) {
        await(c, G_IO_OUT);
    } else if (hostd_session_over(c->session)) {
        hang_up(c);
    } else {
        await(c, G_IO_IN);
    }
}

static gboolean writable(gint fd, GIOCondition condition, gpointer opaque)
{
    Client *c = opaque;

    if (!flush_out(c)) {
        hang_up(c);
    } else if (!c->out->len) {
        serve_lines(c);
    }
    return G_SOURCE_CONTINUE;   /* the changed watch was removed */
}

static gboolean readable(gint fd, GIOCondition condition, gpointer opaque)
{
    Client *c = opaque;
    size_t room;
    char *in = hostd_session_room(c->session, &room);
    ssize_t len = recv(fd, in, room, 0);

    if (len < 0 && (errno == EAGAIN || errno == EINTR)) {
        return G_SOURCE_CONTINUE;
    }
    if (len <= 0) {
        hang_up(c);
        return G_SOURCE_CONTINUE;
    }
    hostd_session_filled(c->session, len);
    serve_lines(c);
    return G_SOURCE_CONTINUE;
}

static bool is_within_limits(const HostdServer *server, const HostdPeer *peer)
{
    unsigned same = 0;

    for (guint i = 0; i < server->clients->len; i++) {
        const Client *c = g_ptr_array_index(server->clients, i);

        same += c->peer.uid == peer->uid;
    }
    return server->clients->len < CLIENTS_MAX &&
           (peer->uid == 0 || same < USER_MAX);
}

static gboolean connecting(gint fd, GIOCondition condition, gpointer opaque)
{
    HostdServer *server = opaque;
    int to = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    HostdPeer peer;
    Client *c;

    if (to < 0) {
        return G_SOURCE_CONTINUE;
    }
    if (!hostd_peer_of(&peer, to)) {
        close(to);
        return G_SOURCE_CONTINUE;
    }
    if (!is_within_limits(server, &peer)) {
        g_warning("too many connections of user %u, or of all users", peer.uid);
        hostd_peer_close(&peer);
        close(to);
        return G_SOURCE_CONTINUE;
    }
    c = g_new0(Client, 1);
    c->server = server;
    c->peer = peer;
    c->fd = to;
    c->session = hostd_session_new(server->hostd, peer.uid == 0, &c->peer);
    c->out = g_string_new(NULL);
    g_ptr_array_add(server->clients, c);
    restart_timeout(c);
    await(c, G_IO_IN);
    return G_SOURCE_CONTINUE;
}

/* --- the socket ----------------------------------------------------------- */

static bool name(struct sockaddr_un *address, const char *path, GError **errp)
{
    *address = (struct sockaddr_un) { .sun_family = AF_UNIX };
    if (g_strlcpy(address->sun_path, path, sizeof(address->sun_path)) >=
        sizeof(address->sun_path)) {
        errno = ENAMETOOLONG;
        return fail(errp, "the socket", path);
    }
    return true;
}

static int open_socket(int flags)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
}

/* Returns: false with errno set */
static bool is_refused(const struct sockaddr_un *address)
{
    int fd = open_socket(0);
    bool refused = fd >= 0 && connect(fd, (const void *)address,
                                      sizeof(*address)) < 0 &&
                   errno == ECONNREFUSED;

    if (fd >= 0) {
        close(fd);
    }
    errno = EADDRINUSE;
    return refused;
}

/*
 * Checks if the socket was left by a process that was killed. Connections to a
 * file that is no socket are refused, too: it is not ours to remove.
 */
static bool is_stale(const struct sockaddr_un *address)
{
    struct stat st;

    if (lstat(address->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode)) {
        errno = EEXIST;
        return false;
    }
    return is_refused(address);
}

static bool bind_for_all(int fd, const struct sockaddr_un *address)
{
    mode_t mask = umask(0111);
    int done = bind(fd, (const void *)address, sizeof(*address));

    umask(mask);
    return done == 0;
}

/* Returns: false with errno set */
static bool bind_or_replace(int fd, const struct sockaddr_un *address)
{
    if (bind_for_all(fd, address)) {
        return true;
    }
    if (errno == EADDRINUSE && is_stale(address)) {
        unlink(address->sun_path);
        return bind_for_all(fd, address);
    }
    return false;
}

static int listen_at(const char *path, GError **errp)
{
    struct sockaddr_un address;
    int fd;

    if (!name(&address, path, errp)) {
        return -1;
    }
    fd = open_socket(SOCK_NONBLOCK);
    if (fd < 0 || !bind_or_replace(fd, &address) || listen(fd, BACKLOG) < 0) {
        fail(errp, "cannot listen at", path);
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

static void begin_to_listen(HostdServer *server, int fd)
{
    server->fd = fd;
    server->watch = g_unix_fd_add(fd, G_IO_IN, connecting, server);
}

/* Others may empty /run: then nobody finds the socket, though it is open. */
static gboolean look_at_path(gpointer opaque)
{
    HostdServer *server = opaque;
    g_autoptr(GError) err = NULL;
    int fd;

    if (access(server->path, F_OK) == 0 || errno != ENOENT) {
        return G_SOURCE_CONTINUE;
    }
    fd = listen_at(server->path, &err);
    if (fd >= 0) {
        g_source_remove(server->watch);
        close(server->fd);
        begin_to_listen(server, fd);
        g_warning("%s was removed: it is there again", server->path);
        /* The state file stands beside it; keep() tries again, and says so. */
        server->hostd->ops->keep(server->hostd->opaque, NULL);
    } else if (!server->is_missed) {
        g_warning("%s was removed: %s", server->path, err->message);
    }
    server->is_missed = fd < 0;
    return G_SOURCE_CONTINUE;
}

HostdServer *hostd_server_new(const char *path, Hostd *h, GError **errp)
{
    int fd = listen_at(path, errp);
    HostdServer *server;

    if (fd < 0) {
        return NULL;
    }
    server = g_new0(HostdServer, 1);
    server->path = g_strdup(path);
    server->hostd = h;
    server->clients = g_ptr_array_new_with_free_func(client_free);
    begin_to_listen(server, fd);
    server->look = g_timeout_add_seconds(LOOK_S, look_at_path, server);
    return server;
}

void hostd_server_free(HostdServer *server)
{
    if (!server) {
        return;
    }
    g_ptr_array_free(server->clients, TRUE);
    g_source_remove(server->look);
    g_source_remove(server->watch);
    close(server->fd);
    unlink(server->path);
    g_free(server->path);
    g_free(server);
}

/* --- client --------------------------------------------------------------- */

/* If the last line is "ok", removes it; otherwise that line is the error. */
static bool is_ok(GString *out, GError **errp)
{
    const char *last = out->len ? g_strrstr_len(out->str, out->len - 1, "\n")
                                : NULL;

    last = last ? last + 1 : out->str;
    if (!strcmp(last, "ok\n")) {
        g_string_truncate(out, last - out->str);
        return true;
    }
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_REFUSED, "%s",
                out->len ? g_strchomp(out->str) : "no answer: the server "
                "has too many connections");
    return false;
}

static bool copy(int from, GString *out)
{
    char buf[4096];
    ssize_t len;

    while ((len = read(from, buf, sizeof(buf))) > 0) {
        g_string_append_len(out, buf, len);
    }
    return len == 0;
}

bool hostd_server_ask(const char *path, const char *request, GString *out,
                      GError **errp)
{
    struct sockaddr_un address;
    bool done;
    int to;

    if (!name(&address, path, errp)) {
        return false;
    }
    to = open_socket(0);
    done = to >= 0 &&
           connect(to, (const void *)&address, sizeof(address)) == 0 &&
           send(to, request, strlen(request), MSG_NOSIGNAL) > 0 &&
           shutdown(to, SHUT_WR) == 0 && copy(to, out);
    if (!done) {
        fail(errp, "cannot connect to", path);
    }
    if (to >= 0) {
        close(to);
    }
    return done && is_ok(out, errp);
}

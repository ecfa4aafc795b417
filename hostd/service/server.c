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
#include <unistd.h>

#include "base/listener.h"
#include "hostd/core/line.h"
#include "hostd/core/session.h"
#include "hostd/host/process.h"
#include "hostd/service/server.h"

#define CLIENTS_MAX     256u
#define USER_MAX        64u     /* connections of a user other than root */
#define CLIENT_TIME     5u     /* s, to send a line and read its answer */
#define LOOK_S          1       /* until a removed socket is there again */

struct HostdServer {
    BaseListener listener;
    guint watch, look;
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

static void fail(GError **errp, const char *what, const char *path, int error)
{
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "%s '%s': %s", what, path,
                strerror(error));
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

/* Others may empty /run: then nobody finds the socket, though it is open. */
static gboolean look_at_path(gpointer opaque)
{
    HostdServer *server = opaque;
    const char *path = server->listener.path;
    int error;

    switch (base_listener_look(&server->listener, &error)) {
    case BASE_LISTENER_AS_BEFORE:
        return G_SOURCE_CONTINUE;
    case BASE_LISTENER_AGAIN:
        g_warning("%s was removed: it is there again", path);
        /* The state file stands beside it; keep() tries again, and says so. */
        server->hostd->ops->keep(server->hostd->opaque, NULL);
        return G_SOURCE_CONTINUE;
    case BASE_LISTENER_CHANGED:
        break;
    }
    switch (server->listener.state) {
    case BASE_LISTENER_OURS:
        g_warning("%s is there again", path);
        break;
    case BASE_LISTENER_GONE:
        g_warning("%s was removed: cannot listen at it: %s", path,
                  strerror(error));
        break;
    case BASE_LISTENER_OTHERS:
        g_warning("%s is another's: nobody reaches this process by it", path);
        break;
    }
    return G_SOURCE_CONTINUE;
}

HostdServer *hostd_server_new(const char *path, Hostd *h, GError **errp)
{
    HostdServer *server = g_new0(HostdServer, 1);
    int error = base_listener_open(&server->listener, path, 0666);

    if (error) {
        fail(errp, "cannot listen at", path, -error);
        g_free(server);
        return NULL;
    }
    server->hostd = h;
    server->clients = g_ptr_array_new_with_free_func(client_free);
    server->watch = g_unix_fd_add(server->listener.fd, G_IO_IN, connecting,
                                  server);
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
    base_listener_close(&server->listener);
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
    int to = base_listener_connect(path);
    bool done;

    if (to < 0) {
        fail(errp, "cannot connect to", path, -to);
        return false;
    }
    done = send(to, request, strlen(request), MSG_NOSIGNAL) > 0 &&
           shutdown(to, SHUT_WR) == 0 && copy(to, out);
    if (!done) {
        fail(errp, "cannot talk to", path, errno);
    }
    close(to);
    return done && is_ok(out, errp);
}

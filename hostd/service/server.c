/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket
 *
 * Every user may connect, because each QEMU may run as a different user.
 * Permissions depend on the peer's credentials from the kernel.
 */
#include <errno.h>
#include <glib-unix.h>
#include <string.h>

#include "base/control.h"
#include "hostd/core/line.h"
#include "hostd/core/session.h"
#include "hostd/host/process.h"
#include "hostd/service/server.h"

G_STATIC_ASSERT(HOSTD_LINE_MAX == BASE_CONTROL_LINE_MAX);

struct HostdServer {
    BaseControl *control;
    guint watch;
    Hostd *hostd;
};

typedef struct Client {
    HostdPeer peer;
    HostdSession *session;
} Client;

static void *client_begin(void *opaque, int fd, uid_t uid)
{
    HostdServer *server = opaque;
    Client *c = g_new0(Client, 1);

    if (!hostd_peer_of(&c->peer, fd)) {
        g_free(c);
        return NULL;
    }
    c->session = hostd_session_new(server->hostd, uid == 0, &c->peer);
    return c;
}

static void client_end(void *opaque, void *session)
{
    Client *c = session;

    hostd_session_free(c->session);
    hostd_peer_close(&c->peer);
    g_free(c);
}

static void client_line(void *opaque, BaseControlClient *to, void *session,
                        const char *text, size_t len)
{
    g_autoptr(GString) out = g_string_new(NULL);
    Client *c = session;

    hostd_session_line(c->session, text, len, out);
    base_control_write(to, out->str, out->len);
}

/* The state file stands beside the socket; keep() tries again, and says so. */
static void again(void *opaque)
{
    HostdServer *server = opaque;

    server->hostd->ops->keep(server->hostd->opaque, NULL);
}

static const BaseControlVerb verbs[] = { { 0 } };

static const BaseControlOps control_ops = {
    .verbs = verbs,
    .line = client_line,
    .begin = client_begin,
    .end = client_end,
    .again = again,
};

static gboolean control_ready(gint fd, GIOCondition condition, gpointer opaque)
{
    base_control_ready(opaque);
    return G_SOURCE_CONTINUE;
}

HostdServer *hostd_server_new(const char *path, Hostd *h, GError **errp)
{
    HostdServer *server = g_new0(HostdServer, 1);

    server->hostd = h;
    server->control = base_control_new(path, 0666, &control_ops, server);
    if (!server->control) {
        g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "cannot listen at "
                    "'%s': %s", path, g_strerror(errno));
        g_free(server);
        return NULL;
    }
    server->watch = g_unix_fd_add(base_control_fd(server->control), G_IO_IN,
                                  control_ready, server->control);
    return server;
}

void hostd_server_tick(HostdServer *server)
{
    base_control_tick(server->control);
}

void hostd_server_free(HostdServer *server)
{
    if (!server) {
        return;
    }
    g_source_remove(server->watch);
    base_control_free(server->control);
    g_free(server);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket
 *
 * An answer is written in pieces, as fast as the client reads it, so ten
 * thousand bindings do not delay packets. The number of clients and their time
 * are limited.
 */
#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/listener.h"
#include "ha/service/control.h"
#include "ha/service/journal.h"

#define CLIENTS_MAX     8u
#define CLIENT_TIME     10u     /* s */

static const char *const words[] = {
    [MIP6_SHOW_TEXT] = "text\n",
    [MIP6_SHOW_JSON] = "json\n",
    [MIP6_SHOW_METRICS] = "metrics\n",
};

struct Mip6HaControl {
    BaseListener listener;
    guint watch;
    const Mip6Agent *agent;
    GPtrArray *clients;
};

typedef struct Client {
    Mip6HaControl *control;
    int fd;
    guint watch, timeout;
    char word[16];
    size_t have;                /* octets of the command */
    Mip6Show *show;             /* NULL: the command is incomplete */
    GString *out;
    size_t done;                /* octets of @out that were sent */
} Client;

static void fail(GError **errp, const char *what, const char *path, int error)
{
    g_set_error(errp, G_FILE_ERROR, g_file_error_from_errno(error),
                "%s '%s': %s", what, path, strerror(error));
}

/* --- clients -------------------------------------------------------------- */

static void client_free(gpointer opaque)
{
    Client *c = opaque;

    if (c->watch) {
        g_source_remove(c->watch);
    }
    g_source_remove(c->timeout);
    if (c->show) {
        mip6_show_free(c->show);
    }
    g_string_free(c->out, TRUE);
    close(c->fd);
    g_free(c);
}

static void hang_up(Client *c)
{
    g_ptr_array_remove_fast(c->control->clients, c);
}

static gboolean timed_out(gpointer opaque)
{
    hang_up(opaque);
    return G_SOURCE_CONTINUE;   /* client_free() has removed it */
}

static gboolean writable(gint fd, GIOCondition condition, gpointer opaque)
{
    Client *c = opaque;
    ssize_t len;

    if (c->done == c->out->len) {
        g_string_truncate(c->out, 0);
        c->done = 0;
        if (!mip6_show_more(c->show, c->out)) {
            hang_up(c);
            return G_SOURCE_CONTINUE;
        }
    }
    len = send(fd, c->out->str + c->done, c->out->len - c->done, MSG_NOSIGNAL);
    if (len < 0 && errno != EAGAIN && errno != EINTR) {
        hang_up(c);
    } else {
        c->done += MAX(len, 0);
    }
    return G_SOURCE_CONTINUE;
}

/* Is the command complete and valid? */
static bool begin_answer(Client *c)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        if (c->have == strlen(words[i]) &&
            !memcmp(c->word, words[i], c->have)) {
            c->show = mip6_show_new(c->control->agent, mip6_ha_clock(), i);
            g_source_remove(c->watch);
            c->watch = g_unix_fd_add(c->fd, G_IO_OUT, writable, c);
            return true;
        }
    }
    return false;
}

static gboolean readable(gint fd, GIOCondition condition, gpointer opaque)
{
    Client *c = opaque;
    ssize_t len = recv(fd, c->word + c->have, sizeof(c->word) - c->have, 0);

    if (len < 0 && (errno == EAGAIN || errno == EINTR)) {
        return G_SOURCE_CONTINUE;
    }
    c->have += MAX(len, 0);
    if (len <= 0 || (!begin_answer(c) && (c->have == sizeof(c->word) ||
                                          memchr(c->word, '\n', c->have)))) {
        hang_up(c);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean connecting(gint fd, GIOCondition condition, gpointer opaque)
{
    Mip6HaControl *control = opaque;
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    Client *c;

    if (peer < 0) {
        return G_SOURCE_CONTINUE;
    }
    if (control->clients->len == CLIENTS_MAX) {
        close(peer);
        return G_SOURCE_CONTINUE;
    }
    c = g_new0(Client, 1);
    c->control = control;
    c->fd = peer;
    c->out = g_string_new(NULL);
    c->watch = g_unix_fd_add(peer, G_IO_IN, readable, c);
    c->timeout = g_timeout_add_seconds(CLIENT_TIME, timed_out, c);
    g_ptr_array_add(control->clients, c);
    return G_SOURCE_CONTINUE;
}

/* --- the socket ----------------------------------------------------------- */

void mip6_ha_control_look(Mip6HaControl *c)
{
    const char *path = c->listener.path;
    int error;

    switch (base_listener_look(&c->listener, &error)) {
    case BASE_LISTENER_AS_BEFORE:
        return;
    case BASE_LISTENER_AGAIN:
        g_warning("%s was removed: it is there again", path);
        return;
    case BASE_LISTENER_CHANGED:
        break;
    }
    switch (c->listener.state) {
    case BASE_LISTENER_OURS:
        g_warning("%s is there again", path);
        break;
    case BASE_LISTENER_GONE:
        g_warning("%s was removed: cannot listen at it: %s", path,
                  strerror(error));
        break;
    case BASE_LISTENER_OTHERS:
        g_warning("%s is another's: nobody reaches this agent by it", path);
        break;
    }
}

Mip6HaControl *mip6_ha_control_new(const char *path, const Mip6Agent *agent,
                                   GError **errp)
{
    Mip6HaControl *c = g_new0(Mip6HaControl, 1);
    int error = base_listener_open(&c->listener, path, 0600);

    if (error) {
        fail(errp, "cannot listen at control", path, -error);
        g_free(c);
        return NULL;
    }
    c->agent = agent;
    c->clients = g_ptr_array_new_with_free_func(client_free);
    c->watch = g_unix_fd_add(c->listener.fd, G_IO_IN, connecting, c);
    return c;
}

void mip6_ha_control_free(Mip6HaControl *c)
{
    if (!c) {
        return;
    }
    g_ptr_array_free(c->clients, TRUE);
    g_source_remove(c->watch);
    base_listener_close(&c->listener);
    g_free(c);
}

/* --- client --------------------------------------------------------------- */

static bool copy(int from, int to)
{
    char buf[4096];
    ssize_t len, done, part;
    bool any = false;

    while ((len = read(from, buf, sizeof(buf))) > 0) {
        any = true;
        for (done = 0; done < len; done += part) {
            part = write(to, buf + done, len - done);
            if (part < 0) {
                return false;
            }
        }
    }
    if (len == 0 && !any) {
        errno = EBUSY;          /* it has CLIENTS_MAX clients */
    }
    return len == 0 && any;
}

bool mip6_ha_control_ask(const char *path, Mip6ShowFormat format, int fd,
                         GError **errp)
{
    const char *what = "cannot connect to the agent at control";
    int to = base_listener_connect(path);
    bool done;

    if (to < 0) {
        fail(errp, what, path, -to);
        return false;
    }
    done = write(to, words[format], strlen(words[format])) > 0 && copy(to, fd);
    if (!done) {
        fail(errp, what, path, errno);
    }
    close(to);
    return done;
}

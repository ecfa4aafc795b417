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
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ha/service/control.h"
#include "ha/service/journal.h"

#define CLIENTS_MAX     8u
#define CLIENT_TIME     10u     /* s */
#define BACKLOG         8

static const char *const words[] = {
    [MIP6_SHOW_TEXT] = "text\n",
    [MIP6_SHOW_JSON] = "json\n",
    [MIP6_SHOW_METRICS] = "metrics\n",
};

struct Mip6HaControl {
    char *path;
    int fd;
    guint watch;
    const Mip6Agent *agent;
    GPtrArray *clients;
    bool is_missed;             /* the path was removed, and cannot be made */
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

static bool fail(GError **errp, const char *what, const char *path)
{
    g_set_error(errp, G_FILE_ERROR, g_file_error_from_errno(errno),
                "%s '%s': %s", what, path, strerror(errno));
    return false;
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

static bool name(struct sockaddr_un *address, const char *path, GError **errp)
{
    *address = (struct sockaddr_un) { .sun_family = AF_UNIX };
    if (g_strlcpy(address->sun_path, path, sizeof(address->sun_path)) >=
        sizeof(address->sun_path)) {
        errno = ENAMETOOLONG;
        return fail(errp, "control", path);
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
 * Checks if the socket was left by an agent that was killed. Connections to a
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

static bool bind_owned(int fd, const struct sockaddr_un *address)
{
    mode_t mask = umask(0177);
    int done = bind(fd, (const void *)address, sizeof(*address));

    umask(mask);
    return done == 0;
}

/* Returns: false with errno set */
static bool bind_or_replace(int fd, const struct sockaddr_un *address)
{
    if (bind_owned(fd, address)) {
        return true;
    }
    if (errno == EADDRINUSE && is_stale(address)) {
        unlink(address->sun_path);
        return bind_owned(fd, address);
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
        fail(errp, "cannot listen at control", path);
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

static void begin_to_listen(Mip6HaControl *c, int fd)
{
    c->fd = fd;
    c->watch = g_unix_fd_add(fd, G_IO_IN, connecting, c);
}

void mip6_ha_control_look(Mip6HaControl *c)
{
    g_autoptr(GError) err = NULL;
    int fd;

    if (access(c->path, F_OK) == 0 || errno != ENOENT) {
        return;
    }
    fd = listen_at(c->path, &err);
    if (fd >= 0) {
        g_source_remove(c->watch);
        close(c->fd);
        begin_to_listen(c, fd);
        g_warning("%s was removed: it is there again", c->path);
    } else if (!c->is_missed) {
        g_warning("%s was removed: %s", c->path, err->message);
    }
    c->is_missed = fd < 0;
}

Mip6HaControl *mip6_ha_control_new(const char *path, const Mip6Agent *agent,
                                   GError **errp)
{
    int fd = listen_at(path, errp);
    Mip6HaControl *c;

    if (fd < 0) {
        return NULL;
    }
    c = g_new0(Mip6HaControl, 1);
    c->path = g_strdup(path);
    c->agent = agent;
    c->clients = g_ptr_array_new_with_free_func(client_free);
    begin_to_listen(c, fd);
    return c;
}

void mip6_ha_control_free(Mip6HaControl *c)
{
    if (!c) {
        return;
    }
    g_ptr_array_free(c->clients, TRUE);
    g_source_remove(c->watch);
    close(c->fd);
    unlink(c->path);
    g_free(c->path);
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
    struct sockaddr_un address;
    bool done;
    int to;

    if (!name(&address, path, errp)) {
        return false;
    }
    to = open_socket(0);
    done = to >= 0 &&
           connect(to, (const void *)&address, sizeof(address)) == 0 &&
           write(to, words[format], strlen(words[format])) > 0 && copy(to, fd);
    if (!done) {
        fail(errp, "cannot connect to the agent at control", path);
    }
    if (to >= 0) {
        close(to);
    }
    return done;
}

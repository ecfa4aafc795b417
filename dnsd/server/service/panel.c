/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTTP for the operator */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/listener.h"
#include "dnsd/server/core/http.h"
#include "dnsd/server/host/log.h"
#include "dnsd/server/service/panel.h"

#define PATIENCE_S      10
#define BACKLOG         16
#define FIRST_ROOM      65536
#define HEAD_MAX        256

typedef enum Place {
    PLACE_CONTROL,
    PLACE_METRICS,
    PLACES,
} Place;

typedef struct Visitor {
    int fd;                     /* -1: free */
    Place place;
    time_t until;
    size_t in_len;
    char in[DNSD_HTTP_MAX];
    char *out;                  /* NULL until the request is complete */
    size_t out_at, out_len;
} Visitor;

struct DnsdPanel {
    const DnsdPanelOps *ops;
    void *opaque;
    int epoll;
    BaseListener control;       /* its path is NULL: there is none */
    int listener[PLACES];       /* that of the control socket is of @control */
    Visitor visitor[DNSD_PANEL_MAX];
};

static time_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void watch(DnsdPanel *p, int op, int fd, uint32_t events, void *what)
{
    struct epoll_event event = { .events = events, .data.ptr = what };

    epoll_ctl(p->epoll, op, fd, &event);
}

static void leave(Visitor *v)
{
    close(v->fd);
    free(v->out);
    v->out = NULL;
    v->fd = -1;
}

/* --- answers -------------------------------------------------------------- */

/* Make the body of an answer, in memory of its size. */
static bool write_body(DnsdPanel *p, const Visitor *v, DnsdHttp what,
                       DnsdText *text)
{
    char zone[DNS_NAME_TEXT_MAX];
    bool done = true;

    *text = (DnsdText) { .at = malloc(FIRST_ROOM), .room = FIRST_ROOM };
    if (!text->at) {
        text->room = 0;
    }
    switch (what) {
    case DNSD_HTTP_METRICS:
        p->ops->metrics(p->opaque, text);
        if (text->len >= text->room) {
            size_t room = text->len + FIRST_ROOM;

            free(text->at);
            *text = (DnsdText) { .at = malloc(room), .room = room };
            p->ops->metrics(p->opaque, text);
        }
        break;
    case DNSD_HTTP_RELOAD:
        done = p->ops->reload(p->opaque, text);
        break;
    case DNSD_HTTP_REFRESH:
    case DNSD_HTTP_RETRANSFER:
        dnsd_http_argument(v->in, v->in_len, zone, sizeof(zone));
        done = p->ops->refresh(p->opaque, zone, what == DNSD_HTTP_RETRANSFER,
                               text);
        break;
    default:
        dnsd_text_add(text, "There is GET /metrics, and on the control "
                      "socket POST /reload, POST /refresh/ZONE and POST "
                      "/retransfer/ZONE.\n");
        break;
    }
    return done;
}

static const char *status_of(DnsdHttp what, bool done)
{
    switch (what) {
    case DNSD_HTTP_METRICS:
    case DNSD_HTTP_RELOAD:
    case DNSD_HTTP_REFRESH:
    case DNSD_HTTP_RETRANSFER:
        return done ? "200 OK" : "500 Internal Server Error";
    case DNSD_HTTP_UNKNOWN:
        return "404 Not Found";
    case DNSD_HTTP_METHOD:
        return "405 Method Not Allowed";
    default:
        return "400 Bad Request";
    }
}

static void answer(DnsdPanel *p, Visitor *v, DnsdHttp what)
{
    DnsdText body;
    bool done;
    int head;

    /* Over TCP any user of this host can connect, so it allows no commands. */
    if ((what == DNSD_HTTP_RELOAD || what == DNSD_HTTP_REFRESH ||
         what == DNSD_HTTP_RETRANSFER) && v->place != PLACE_CONTROL) {
        what = DNSD_HTTP_UNKNOWN;
    }
    done = write_body(p, v, what, &body);
    if (body.len > body.room) {
        body.len = body.room ? body.room - 1 : 0;
    }
    v->out = malloc(HEAD_MAX + body.len);
    if (v->out) {
        head = snprintf(v->out, HEAD_MAX, "HTTP/1.1 %s\r\n"
                        "Content-Type: text/plain; version=0.0.4; "
                        "charset=utf-8\r\nContent-Length: %zu\r\n"
                        "Connection: close\r\n\r\n", status_of(what, done),
                        body.len);
        memcpy(v->out + head, body.at, body.len);
        v->out_at = 0;
        v->out_len = head + body.len;
    }
    free(body.at);
}

/* --- visitors ------------------------------------------------------------- */

/* Returns false if the visit is over. */
static bool send_out(Visitor *v)
{
    while (v->out_at < v->out_len) {
        ssize_t sent = send(v->fd, v->out + v->out_at, v->out_len - v->out_at,
                            MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0) {
            return errno == EAGAIN;
        }
        v->out_at += sent;
    }
    return false;
}

static bool receive(DnsdPanel *p, Visitor *v)
{
    ssize_t len = recv(v->fd, v->in + v->in_len, sizeof(v->in) - v->in_len,
                       MSG_DONTWAIT);
    DnsdHttp what;

    if (len <= 0) {
        return len < 0 && errno == EAGAIN;
    }
    v->in_len += len;
    what = dnsd_http_parse(v->in, v->in_len);
    if (what == DNSD_HTTP_MORE) {
        return true;
    }
    answer(p, v, what);
    if (!v->out) {
        return false;
    }
    watch(p, EPOLL_CTL_MOD, v->fd, EPOLLOUT, v);
    return send_out(v);
}

static void greet(DnsdPanel *p, Place place)
{
    int fd = accept4(p->listener[place], NULL, NULL,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    Visitor *v = p->visitor;

    while (v < p->visitor + DNSD_PANEL_MAX && v->fd >= 0) {
        v++;
    }
    if (fd < 0) {
        return;
    }
    if (v == p->visitor + DNSD_PANEL_MAX) {
        close(fd);
        return;
    }
    v->fd = fd;
    v->place = place;
    v->until = now_s() + PATIENCE_S;
    v->in_len = 0;
    watch(p, EPOLL_CTL_ADD, fd, EPOLLIN, v);
}

bool dnsd_panel_ready(DnsdPanel *p, void *event)
{
    Visitor *v = event;

    for (unsigned place = 0; place < PLACES; place++) {
        if (event == &p->listener[place]) {
            greet(p, place);
            return true;
        }
    }
    if (v < p->visitor || v >= p->visitor + DNSD_PANEL_MAX) {
        return false;
    }
    if (v->fd >= 0 && !(v->out ? send_out(v) : receive(p, v))) {
        leave(v);
    }
    return true;
}

/* --- the control socket's file -------------------------------------------- */

static void look_at_path(DnsdPanel *p)
{
    const char *path = p->control.path;
    int error;

    switch (base_listener_look(&p->control, &error)) {
    case BASE_LISTENER_AS_BEFORE:
        return;
    case BASE_LISTENER_AGAIN:
        watch(p, EPOLL_CTL_ADD, p->control.fd, EPOLLIN,
              &p->listener[PLACE_CONTROL]);
        dnsd_log(DNSD_WARNING, "server.control: '%s' was removed", path);
        dnsd_log(DNSD_NOTICE, "server.control: '%s' is there again", path);
        return;
    case BASE_LISTENER_CHANGED:
        break;
    }
    switch (p->control.state) {
    case BASE_LISTENER_OURS:
        dnsd_log(DNSD_NOTICE, "server.control: '%s' is there again", path);
        break;
    case BASE_LISTENER_GONE:
        dnsd_log(DNSD_WARNING, "server.control: '%s' was removed, and cannot "
                 "be made again: %s; no command comes by it, but SIGHUP "
                 "reloads; it is tried each second", path, strerror(error));
        break;
    case BASE_LISTENER_OTHERS:
        dnsd_log(DNSD_WARNING, "server.control: '%s' is another's: no command "
                 "comes by it, but SIGHUP reloads; remove it to have this "
                 "server's again", path);
        break;
    }
}

void dnsd_panel_tick(DnsdPanel *p)
{
    time_t now = now_s();

    for (Visitor *v = p->visitor; v < p->visitor + DNSD_PANEL_MAX; v++) {
        if (v->fd >= 0 && v->until < now) {
            leave(v);
        }
    }
    if (p->control.path) {
        look_at_path(p);
    }
}

/* --- life ----------------------------------------------------------------- */

static int listen_at_address(const DnsdListen *at)
{
    int fd = socket(at->addr.ss_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1;

    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    }
    if (fd >= 0 && (bind(fd, (const void *)&at->addr, at->len) < 0 ||
                    listen(fd, BACKLOG) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool open_place(DnsdPanel *p, Place place, int fd, const char *key,
                       const char *text, DnsdError *error)
{
    if (fd < 0) {
        snprintf(error->text, sizeof(error->text),
                 "%s: cannot listen at '%s': %s", key, text, strerror(errno));
        return false;
    }
    p->listener[place] = fd;
    watch(p, EPOLL_CTL_ADD, fd, EPOLLIN, &p->listener[place]);
    return true;
}

static bool open_control(DnsdPanel *p, const char *path, DnsdError *error)
{
    int code = base_listener_open(&p->control, path, 0600);

    errno = -code;
    return open_place(p, PLACE_CONTROL, p->control.fd, "server.control", path,
                      error);
}

DnsdPanel *dnsd_panel_new(const DnsdConfig *config, int epoll,
                          const DnsdPanelOps *ops, void *opaque,
                          DnsdError *error)
{
    DnsdPanel *p = calloc(1, sizeof(*p));

    if (!p) {
        snprintf(error->text, sizeof(error->text), "no memory");
        return NULL;
    }
    *p = (DnsdPanel) {
        .ops = ops, .opaque = opaque, .epoll = epoll, .listener = { -1, -1 },
        .control.fd = -1,
    };
    for (unsigned i = 0; i < DNSD_PANEL_MAX; i++) {
        p->visitor[i].fd = -1;
    }
    if (config->control && !open_control(p, config->control, error)) {
        goto free_panel;
    }
    if (config->metrics.len &&
        !open_place(p, PLACE_METRICS, listen_at_address(&config->metrics),
                    "server.metrics", config->metrics.text, error)) {
        goto free_panel;
    }
    return p;

free_panel:
    dnsd_panel_free(p);
    return NULL;
}

void dnsd_panel_free(DnsdPanel *p)
{
    for (unsigned i = 0; i < DNSD_PANEL_MAX; i++) {
        if (p->visitor[i].fd >= 0) {
            leave(&p->visitor[i]);
        }
    }
    if (p->listener[PLACE_METRICS] >= 0) {
        close(p->listener[PLACE_METRICS]);
    }
    base_listener_close(&p->control);
    free(p);
}

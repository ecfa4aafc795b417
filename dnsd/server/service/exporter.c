/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "dnsd/server/service/exporter.h"

#define PATIENCE_S      10
#define BACKLOG         16
#define FIRST_ROOM      65536
#define HEAD_MAX        256

typedef struct ExporterClient {
    int fd;                     /* -1: free */
    time_t until;
    size_t in_len;
    char in[DNSD_HTTP_MAX];
    char *out;                  /* NULL until the request is complete */
    size_t out_at, out_len;
} ExporterClient;

struct DnsdExporter {
    DnsdMetricsFn *metrics;
    void *opaque;
    int epoll, listener;
    ExporterClient client[DNSD_EXPORTER_MAX];
};

static time_t exporter_now(void)
{
    return base_clock(CLOCK_MONOTONIC) / SECOND;
}

static void exporter_watch(DnsdExporter *e, int op, int fd, uint32_t events,
                           void *what)
{
    struct epoll_event event = { .events = events, .data.ptr = what };

    epoll_ctl(e->epoll, op, fd, &event);
}

static void exporter_hang_up(ExporterClient *c)
{
    close(c->fd);
    free(c->out);
    c->out = NULL;
    c->fd = -1;
}

/* --- requests ------------------------------------------------------------- */

static bool request_is_whole(const char *text, size_t len)
{
    return memmem(text, len, "\r\n\r\n", 4) || memmem(text, len, "\n\n", 2);
}

/* Does @text begin with the word and a blank? */
static bool request_has(const char *text, size_t len, const char *word)
{
    size_t word_len = strlen(word);

    return len > word_len && !memcmp(text, word, word_len) &&
           text[word_len] == ' ';
}

DnsdHttp dnsd_http_parse(const char *text, size_t len)
{
    const char *path = memchr(text, ' ', len);

    if (!request_is_whole(text, len)) {
        return len < DNSD_HTTP_MAX ? DNSD_HTTP_MORE : DNSD_HTTP_WRONG;
    }
    if (!path) {
        return DNSD_HTTP_WRONG;
    }
    path++;
    if (!request_has(path, len - (path - text), "/metrics")) {
        return DNSD_HTTP_UNKNOWN;
    }
    return request_has(text, len, "GET") ? DNSD_HTTP_METRICS : DNSD_HTTP_METHOD;
}

/* --- answers -------------------------------------------------------------- */

static DnsdText exporter_text(size_t room)
{
    char *at = malloc(room);

    return (DnsdText) { .at = at, .room = at ? room : 0 };
}

DnsdText dnsd_metrics_whole(DnsdMetricsFn *metrics, void *opaque)
{
    DnsdText text = exporter_text(FIRST_ROOM);

    metrics(opaque, &text);
    if (text.len >= text.room) {
        free(text.at);
        text = exporter_text(text.len + FIRST_ROOM);
        metrics(opaque, &text);
    }
    if (text.len >= text.room) {
        text.len = text.room ? text.room - 1 : 0;
    }
    return text;
}

static const char *exporter_status(DnsdHttp what)
{
    switch (what) {
    case DNSD_HTTP_METRICS:
        return "200 OK";
    case DNSD_HTTP_UNKNOWN:
        return "404 Not Found";
    case DNSD_HTTP_METHOD:
        return "405 Method Not Allowed";
    default:
        return "400 Bad Request";
    }
}

static void exporter_answer(DnsdExporter *e, ExporterClient *c, DnsdHttp what)
{
    DnsdText body = { 0 };
    int head;

    if (what == DNSD_HTTP_METRICS) {
        body = dnsd_metrics_whole(e->metrics, e->opaque);
    }
    c->out = malloc(HEAD_MAX + body.len);
    if (c->out) {
        head = snprintf(c->out, HEAD_MAX, "HTTP/1.1 %s\r\n"
                        "Content-Type: text/plain; version=0.0.4; "
                        "charset=utf-8\r\nContent-Length: %zu\r\n"
                        "Connection: close\r\n\r\n", exporter_status(what),
                        body.len);
        if (body.len) {
            memcpy(c->out + head, body.at, body.len);
        }
        c->out_at = 0;
        c->out_len = head + body.len;
    }
    free(body.at);
}

/* --- connections ---------------------------------------------------------- */

/* Returns false if the connection is over. */
static bool exporter_send(ExporterClient *c)
{
    while (c->out_at < c->out_len) {
        ssize_t sent = send(c->fd, c->out + c->out_at, c->out_len - c->out_at,
                            MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0) {
            return errno == EAGAIN;
        }
        c->out_at += sent;
    }
    return false;
}

static bool exporter_receive(DnsdExporter *e, ExporterClient *c)
{
    ssize_t len = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len,
                       MSG_DONTWAIT);
    DnsdHttp what;

    if (len <= 0) {
        return len < 0 && errno == EAGAIN;
    }
    c->in_len += len;
    what = dnsd_http_parse(c->in, c->in_len);
    if (what == DNSD_HTTP_MORE) {
        return true;
    }
    exporter_answer(e, c, what);
    if (!c->out) {
        return false;
    }
    exporter_watch(e, EPOLL_CTL_MOD, c->fd, EPOLLOUT, c);
    return exporter_send(c);
}

static void exporter_accept(DnsdExporter *e)
{
    int fd = accept4(e->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    ExporterClient *c = e->client;

    while (c < e->client + DNSD_EXPORTER_MAX && c->fd >= 0) {
        c++;
    }
    if (fd < 0) {
        return;
    }
    if (c == e->client + DNSD_EXPORTER_MAX) {
        close(fd);
        return;
    }
    c->fd = fd;
    c->until = exporter_now() + PATIENCE_S;
    c->in_len = 0;
    exporter_watch(e, EPOLL_CTL_ADD, fd, EPOLLIN, c);
}

bool dnsd_exporter_ready(DnsdExporter *e, void *event)
{
    ExporterClient *c = event;

    if (event == &e->listener) {
        exporter_accept(e);
        return true;
    }
    if (c < e->client || c >= e->client + DNSD_EXPORTER_MAX) {
        return false;
    }
    if (c->fd >= 0 && !(c->out ? exporter_send(c) : exporter_receive(e, c))) {
        exporter_hang_up(c);
    }
    return true;
}

void dnsd_exporter_tick(DnsdExporter *e)
{
    time_t now = exporter_now();

    for (unsigned i = 0; i < DNSD_EXPORTER_MAX; i++) {
        if (e->client[i].fd >= 0 && e->client[i].until < now) {
            exporter_hang_up(&e->client[i]);
        }
    }
}

/* --- life ----------------------------------------------------------------- */

static int exporter_listen(const DnsdListen *at)
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

DnsdExporter *dnsd_exporter_new(const DnsdListen *at, int epoll,
                                DnsdMetricsFn *metrics, void *opaque,
                                DnsdError *error)
{
    DnsdExporter *e = calloc(1, sizeof(*e));

    if (!e) {
        snprintf(error->text, sizeof(error->text), "no memory");
        return NULL;
    }
    e->metrics = metrics;
    e->opaque = opaque;
    e->epoll = epoll;
    for (unsigned i = 0; i < DNSD_EXPORTER_MAX; i++) {
        e->client[i].fd = -1;
    }
    e->listener = exporter_listen(at);
    if (e->listener < 0) {
        snprintf(error->text, sizeof(error->text), "server.metrics: cannot "
                 "listen at '%s': %s", at->text, strerror(errno));
        free(e);
        return NULL;
    }
    exporter_watch(e, EPOLL_CTL_ADD, e->listener, EPOLLIN, &e->listener);
    return e;
}

void dnsd_exporter_free(DnsdExporter *e)
{
    if (!e) {
        return;
    }
    for (unsigned i = 0; i < DNSD_EXPORTER_MAX; i++) {
        if (e->client[i].fd >= 0) {
            exporter_hang_up(&e->client[i]);
        }
    }
    close(e->listener);
    free(e);
}

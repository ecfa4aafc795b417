/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/args.h"
#include "base/clock.h"
#include "base/control.h"
#include "base/listener.h"
#include "base/log.h"

#define BATCH           16      /* events of one base_control_ready() */

/* Of lines about connections that are refused */
static const BaseLogRate rate = { 10 * SECOND, 10 };

struct BaseControlClient {
    BaseControl *server;
    BaseControlClient *next;
    void *session;
    int fd;
    uid_t uid;
    time_t until;
    bool awaits_room;           /* is watched for EPOLLOUT, not for EPOLLIN */
    bool is_over;               /* hang up when @out is sent */
    char in[BASE_CONTROL_LINE_MAX];
    size_t in_len;
    char *out;
    size_t out_at, out_len, out_room;
    BaseControlMoreFn *more;    /* NULL: no parts */
    void (*end)(void *state);
    void *state;
};

struct BaseControl {
    BaseListener listener;
    int epoll;
    const BaseControlOps *ops;
    void *opaque;
    uid_t uid;                  /* of the daemon */
    BaseLogLimit refused;
    BaseControlClient *clients;
};

static time_t control_now(void)
{
    return base_clock(CLOCK_MONOTONIC) / SECOND;
}

static bool control_watch(BaseControl *s, int op, int fd, uint32_t events,
                          BaseControlClient *c)
{
    struct epoll_event event = { .events = events, .data.ptr = c };

    return epoll_ctl(s->epoll, op, fd, &event) == 0;
}

/* --- answers -------------------------------------------------------------- */

void base_control_write(BaseControlClient *c, const void *text, size_t len)
{
    if (c->is_over) {
        return;
    }
    if (c->out_room - c->out_len < len) {
        size_t room = (c->out_len + len) * 2;
        char *out = realloc(c->out, room);

        if (!out) {
            /* The answer is cut off, which the client notices. */
            c->is_over = true;
            return;
        }
        c->out = out;
        c->out_room = room;
    }
    memcpy(c->out + c->out_len, text, len);
    c->out_len += len;
}

static void control_vprintf(BaseControlClient *c, const char *format,
                            va_list args)
{
    char *text;
    int len = vasprintf(&text, format, args);

    if (len < 0) {
        c->is_over = true;
        return;
    }
    base_control_write(c, text, len);
    free(text);
}

void base_control_printf(BaseControlClient *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    control_vprintf(c, format, args);
    va_end(args);
}

bool base_control_fail(BaseControlClient *c, const char *format, ...)
{
    va_list args;
    char *text, *last;
    int len;

    va_start(args, format);
    len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0) {
        c->is_over = true;
        return false;
    }
    while (len && text[len - 1] == '\n') {
        text[--len] = '\0';
    }
    last = strrchr(text, '\n');
    last = last ? last + 1 : text;
    base_control_write(c, text, last - text);
    base_control_printf(c, "error %s\n", last);
    free(text);
    return false;
}

void base_control_stream(BaseControlClient *c, BaseControlMoreFn *more,
                         void (*end)(void *state), void *state)
{
    c->more = more;
    c->end = end;
    c->state = state;
}

static void control_end_stream(BaseControlClient *c)
{
    if (c->more) {
        c->end(c->state);
        c->more = NULL;
    }
}

/* --- lines ---------------------------------------------------------------- */

/* Splits the words, in place.  Returns their number, or 0: it is no text. */
static unsigned control_split(char *line, char **words)
{
    unsigned count = 0;

    for (const char *at = line; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            return 0;
        }
    }
    while (count < BASE_CONTROL_WORDS_MAX) {
        words[count++] = strsep(&line, " ");
        if (!line) {
            return count;
        }
    }
    return 0;
}

/* The level of the log, and how it is changed */
static bool control_log(void *opaque, BaseControlClient *c, char **words,
                        unsigned count)
{
    if (count && !base_log_set_level(words[0])) {
        return base_control_fail(c, "log: '%s' is not error, warning, notice "
                                 "or debug", words[0]);
    }
    base_control_printf(c, "log level %s\n", base_log_level());
    return true;
}

static const BaseControlVerb log_verb = {
    .name = "log", .most = 1, .run = control_log,
};

static bool control_is_verb(const BaseControlVerb *v, const char *line)
{
    size_t len = strcspn(line, " ");

    return strlen(v->name) == len && !memcmp(v->name, line, len);
}

static const BaseControlVerb *control_verb(const BaseControl *s,
                                           const char *line)
{
    for (const BaseControlVerb *v = s->ops->verbs; v->name; v++) {
        if (control_is_verb(v, line)) {
            return v;
        }
    }
    return control_is_verb(&log_verb, line) ? &log_verb : NULL;
}

static void control_unknown(BaseControlClient *c, const char *line)
{
    base_control_printf(c, "error '%.*s' is not one of log",
                        (int)strcspn(line, " "), line);
    for (const BaseControlVerb *v = c->server->ops->verbs; v->name; v++) {
        base_control_printf(c, ", %s", v->name);
    }
    base_control_write(c, "\n", 1);
}

static bool control_run(BaseControlClient *c, const BaseControlVerb *v,
                        char *line)
{
    char *words[BASE_CONTROL_WORDS_MAX];
    unsigned count = control_split(line, words);

    if (c->uid != 0 && c->uid != c->server->uid) {
        return base_control_fail(c, "%s: only root may do that", v->name);
    }
    if (!count) {
        return base_control_fail(c, "%s: this is no line of at most %u words",
                                 v->name, BASE_CONTROL_WORDS_MAX);
    }
    if (count - 1 > v->most) {
        return base_control_fail(c, "%s: '%s' is unexpected", v->name,
                                 words[1 + v->most]);
    }
    if (count - 1 < v->least) {
        return base_control_fail(c, "%s: a word is missing", v->name);
    }
    return v->run(c->server->opaque, c, words + 1, count - 1);
}

static void control_line(BaseControlClient *c, char *line, size_t len)
{
    const BaseControl *s = c->server;
    const BaseControlVerb *v = control_verb(s, line);

    if (v && strlen(line) == len) {
        if (control_run(c, v, line) && !c->more) {
            base_control_write(c, "ok\n", 3);
        }
    } else if (s->ops->line) {
        s->ops->line(s->opaque, c, c->session, line, len);
    } else {
        control_unknown(c, line);
    }
}

/* Executes the next line.  Returns: false: there is no whole one */
static bool control_next_line(BaseControlClient *c)
{
    char *stop = memchr(c->in, '\n', c->in_len);
    char line[BASE_CONTROL_LINE_MAX];
    size_t len;

    if (!stop) {
        if (c->in_len == sizeof(c->in)) {
            base_control_fail(c, "a line is longer than %u octets",
                              BASE_CONTROL_LINE_MAX);
            c->is_over = true;
        }
        return false;
    }
    len = stop - c->in;
    memcpy(line, c->in, len);
    line[len] = '\0';
    c->in_len -= len + 1;
    memmove(c->in, stop + 1, c->in_len);
    c->until = control_now() + BASE_CONTROL_TIME;
    control_line(c, line, len);
    return true;
}

/* --- clients -------------------------------------------------------------- */

static void control_hang_up(BaseControlClient *c)
{
    BaseControl *s = c->server;
    BaseControlClient **at = &s->clients;

    while (*at != c) {
        at = &(*at)->next;
    }
    *at = c->next;
    control_end_stream(c);
    if (s->ops->end) {
        s->ops->end(s->opaque, c->session);
    }
    close(c->fd);
    free(c->out);
    free(c);
}

/* Sends what is answered.  Returns: false: the client is gone */
static bool control_flush(BaseControlClient *c)
{
    while (c->out_at < c->out_len) {
        ssize_t len = send(c->fd, c->out + c->out_at, c->out_len - c->out_at,
                           MSG_NOSIGNAL | MSG_DONTWAIT);

        if (len < 0 && errno != EINTR) {
            return errno == EAGAIN;
        }
        c->out_at += len > 0 ? len : 0;
    }
    c->out_at = c->out_len = 0;
    return true;
}

static void control_part(BaseControlClient *c)
{
    BaseControlPart part = c->more(c->state, c);

    if (part != BASE_CONTROL_MORE) {
        control_end_stream(c);
    }
    if (part == BASE_CONTROL_LAST) {
        base_control_write(c, "ok\n", 3);
    }
}

static void control_await(BaseControlClient *c)
{
    bool awaits_room = c->out_len || c->more;

    if (awaits_room != c->awaits_room) {
        c->awaits_room = awaits_room;
        control_watch(c->server, EPOLL_CTL_MOD, c->fd,
                      awaits_room ? EPOLLOUT : EPOLLIN, c);
    }
}

/*
 * Answers the lines that were received, one at a time: the next one waits until
 * the answer was sent.  Then waits for the next event, also between two parts
 * of an answer.
 */
static void control_serve(BaseControlClient *c)
{
    bool is_sent = control_flush(c);

    if (is_sent && !c->out_len && c->more) {
        control_part(c);
        is_sent = control_flush(c);
    }
    while (is_sent && !c->out_len && !c->more && !c->is_over &&
           control_next_line(c)) {
        is_sent = control_flush(c);
    }
    is_sent = is_sent && control_flush(c);
    if (!is_sent || (c->is_over && !c->out_len)) {
        control_hang_up(c);
    } else {
        control_await(c);
    }
}

static void control_receive(BaseControlClient *c)
{
    ssize_t len = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len,
                       MSG_DONTWAIT);

    if (len > 0) {
        c->in_len += len;
        control_serve(c);
    } else if (len == 0 || (errno != EAGAIN && errno != EINTR)) {
        control_hang_up(c);
    }
}

static bool control_has_place(const BaseControl *s, uid_t uid)
{
    unsigned all = 0, same = 0;

    for (const BaseControlClient *c = s->clients; c; c = c->next) {
        all++;
        same += c->uid == uid;
    }
    return all < BASE_CONTROL_MAX && (uid == 0 || same < BASE_CONTROL_USER_MAX);
}

static void control_say(const BaseControl *s, bool good, const char *text)
{
    if (s->ops->log) {
        s->ops->log(s->opaque, good, text);
    } else {
        base_log(good ? LOG_NOTICE : LOG_WARNING, "control socket: %s", text);
    }
}

static void control_refuse(BaseControl *s, int fd, uid_t uid)
{
    static const char text[] = "error too many connections\n";
    char line[120], more[50] = "";

    send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (!base_log_may(&s->refused, &rate, base_clock(CLOCK_MONOTONIC))) {
        return;
    }
    if (s->refused.left_out) {
        snprintf(more, sizeof(more), "; %" PRIu64 " more were not logged",
                 s->refused.left_out);
        s->refused.left_out = 0;
    }
    snprintf(line, sizeof(line), "too many connections of user %u, or of all "
             "users%s", uid, more);
    control_say(s, false, line);
}

/* Returns: false: @fd is still the caller's */
static bool control_greet(BaseControl *s, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    BaseControlClient *c;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0) {
        return false;
    }
    if (!control_has_place(s, peer.uid)) {
        control_refuse(s, fd, peer.uid);
        return false;
    }
    c = calloc(1, sizeof(*c));
    if (!c) {
        return false;
    }
    c->server = s;
    c->fd = fd;
    c->uid = peer.uid;
    c->until = control_now() + BASE_CONTROL_TIME;
    if (s->ops->begin) {
        c->session = s->ops->begin(s->opaque, fd, peer.uid);
    }
    if ((s->ops->begin && !c->session) ||
        !control_watch(s, EPOLL_CTL_ADD, fd, EPOLLIN, c)) {
        if (c->session) {
            s->ops->end(s->opaque, c->session);
        }
        free(c);
        return false;
    }
    c->next = s->clients;
    s->clients = c;
    return true;
}

static void control_accept(BaseControl *s)
{
    int fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0 && !control_greet(s, fd)) {
        close(fd);
    }
}

int base_control_fd(const BaseControl *s)
{
    return s->epoll;
}

void base_control_ready(BaseControl *s)
{
    struct epoll_event events[BATCH];
    int count = epoll_wait(s->epoll, events, BATCH, 0);

    /* A client has one event, and only its own can end it. */
    for (int i = 0; i < count; i++) {
        BaseControlClient *c = events[i].data.ptr;

        if (!c) {
            control_accept(s);
        } else if (c->awaits_room) {
            control_serve(c);
        } else {
            control_receive(c);
        }
    }
}

/* --- the socket's file ---------------------------------------------------- */

static void control_tell(BaseControl *s, bool good, const char *what,
                         const char *why)
{
    char *line;

    if (asprintf(&line, "%s %s%s", s->listener.path, what, why) >= 0) {
        control_say(s, good, line);
        free(line);
    }
}

/* Others may empty /run: then nobody finds the socket, though it is open. */
static void control_look(BaseControl *s)
{
    bool is_told = s->listener.state == BASE_LISTENER_GONE;
    int error = 0;

    switch (base_listener_look(&s->listener, &error)) {
    case BASE_LISTENER_AS_BEFORE:
        return;
    case BASE_LISTENER_AGAIN:
        control_watch(s, EPOLL_CTL_ADD, s->listener.fd, EPOLLIN, NULL);
        control_tell(s, is_told, is_told ? "is there again" :
                     "was removed: it is there again", "");
        if (s->ops->again) {
            s->ops->again(s->opaque);
        }
        return;
    case BASE_LISTENER_CHANGED:
        break;
    }
    switch (s->listener.state) {
    case BASE_LISTENER_OURS:
        control_tell(s, true, "is there again", "");
        break;
    case BASE_LISTENER_GONE:
        control_tell(s, false, "was removed: cannot listen at it: ",
                     strerror(error));
        break;
    case BASE_LISTENER_OTHERS:
        control_tell(s, false, "is another's: nobody reaches this process by "
                     "it", "");
        break;
    }
}

bool base_control_tick(BaseControl *s)
{
    time_t now = control_now();

    for (BaseControlClient *c = s->clients, *next; c; c = next) {
        next = c->next;
        if (c->until < now) {
            control_hang_up(c);
        }
    }
    control_look(s);
    return s->listener.state != BASE_LISTENER_GONE;
}

/* --- life ----------------------------------------------------------------- */

BaseControl *base_control_new(const char *path, mode_t mode,
                              const BaseControlOps *ops, void *opaque)
{
    BaseControl *s = calloc(1, sizeof(*s));
    int error;

    if (!s) {
        return NULL;
    }
    s->ops = ops;
    s->opaque = opaque;
    s->uid = geteuid();
    error = base_listener_open(&s->listener, path, mode);
    if (error) {
        free(s);
        errno = -error;
        return NULL;
    }
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll < 0 ||
        !control_watch(s, EPOLL_CTL_ADD, s->listener.fd, EPOLLIN, NULL)) {
        error = errno;
        base_control_free(s);
        errno = error;
        return NULL;
    }
    return s;
}

void base_control_free(BaseControl *s)
{
    if (!s) {
        return;
    }
    while (s->clients) {
        control_hang_up(s->clients);
    }
    base_listener_close(&s->listener);
    if (s->epoll >= 0) {
        close(s->epoll);
    }
    free(s);
}

/* --- client --------------------------------------------------------------- */

/* Reads until the server closes.  A text is returned, or NULL with errno. */
static char *control_read_all(int fd)
{
    size_t len = 0, room = 4096;
    char *text = malloc(room), *more;
    ssize_t got;

    while (text && (got = recv(fd, text + len, room - len - 1, 0)) != 0) {
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            break;              /* what came before may be a whole answer */
        }
        len += got;
        if (len + 1 == room) {
            room *= 2;
            more = realloc(text, room);
            if (!more) {
                free(text);
            }
            text = more;
        }
    }
    if (text) {
        text[len] = '\0';
    }
    return text;
}

/* Removes the last line of the answer, and says what it is. */
static int control_result(char *text)
{
    size_t len = strlen(text);
    char *last;

    if (!len || text[len - 1] != '\n') {
        return -EPROTO;
    }
    text[len - 1] = '\0';
    last = strrchr(text, '\n');
    last = last ? last + 1 : text;
    if (!strcmp(last, "ok")) {
        *last = '\0';
        return 0;
    }
    if (strncmp(last, "error ", 6)) {
        return -EPROTO;
    }
    memmove(last, last + 6, strlen(last + 6) + 1);
    return -EREMOTEIO;
}

int base_control_ask(const char *path, const char *lines, char **text)
{
    int fd = base_listener_connect(path);
    size_t len = strlen(lines), done = 0;
    ssize_t part = 0;
    int result;

    *text = NULL;
    if (fd < 0) {
        return fd;
    }
    while (done < len && part >= 0) {
        part = send(fd, lines + done, len - done, MSG_NOSIGNAL);
        done += part > 0 ? part : 0;
    }
    /* A server that has hung up may have said why. */
    if (part >= 0) {
        send(fd, "\n", 1, MSG_NOSIGNAL);
    }
    shutdown(fd, SHUT_WR);
    *text = control_read_all(fd);
    result = *text ? control_result(*text) : -errno;
    close(fd);
    return result;
}

int base_control_show(const char *path, const char *lines)
{
    char *text;
    int error = base_control_ask(path, lines, &text);

    if (!error) {
        fputs(text, stdout);
    } else if (error == -EREMOTEIO) {
        args_say("%s", text);
    } else if (error == -EPROTO) {
        args_say("the answer from '%s' is cut off", path);
    } else {
        args_say("no daemon answers at '%s': %s", path, strerror(-error));
    }
    free(text);
    return args_flush(error ? EXIT_CANNOT : EXIT_DONE);
}

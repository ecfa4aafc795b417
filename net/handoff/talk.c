/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connection to vmmnet-hostd, to take and yield the addresses of a VM
 *
 * A connection exists only while an answer is missing, so a restart of the
 * server at other times has no effect. All requests that are made meanwhile use
 * the same connection, because only this keeps their order: if a "take" were
 * executed after the "yield" that was to undo it, an address would stay on a
 * host that the VM has left.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/handoff/talk.h"

#define LINE_MAX_LEN    1024u   /* docs/hostd.md */
#define AGAIN_MS        10

struct HandoffTalk {
    char *path, *vm;
    int fd;                     /* -1: no connection */
    unsigned unanswered;        /* missing answers */
    char in[LINE_MAX_LEN];
    size_t have;                /* octets in @in */
};

static GQuark error_quark(void)
{
    return g_quark_from_static_string("handoff-talk-error");
}

static bool talk_fail(const HandoffTalk *t, GError **errp, const char *what)
{
    g_set_error(errp, error_quark(), errno, "path=%s: %s: %s", t->path, what,
                strerror(errno));
    return false;
}

HandoffTalk *handoff_talk_new(const char *path, const char *vm)
{
    HandoffTalk *t = g_new0(HandoffTalk, 1);

    t->path = g_strdup(path);
    t->vm = g_strdup(vm);
    t->fd = -1;
    return t;
}

void handoff_talk_free(HandoffTalk *t)
{
    if (!t) {
        return;
    }
    handoff_talk_hang_up(t);
    g_free(t->path);
    g_free(t->vm);
    g_free(t);
}

void handoff_talk_hang_up(HandoffTalk *t)
{
    if (t->fd >= 0) {
        close(t->fd);
    }
    t->fd = -1;
    t->unanswered = 0;
    t->have = 0;
}

int handoff_talk_fd(const HandoffTalk *t)
{
    return t->fd;
}

/* --- requests ------------------------------------------------------------- */

/* Returns: -1 with @errp if it cannot connect at once */
static int dial(const HandoffTalk *t, GError **errp)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd;

    if (g_strlcpy(address.sun_path, t->path, sizeof(address.sun_path)) >=
        sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        talk_fail(t, errp, "this is not the path of a UNIX socket");
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address,
                           sizeof(address)) == 0) {
        return fd;
    }
    talk_fail(t, errp, "cannot connect to vmmnet-hostd");
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

bool handoff_talk_try(const HandoffTalk *t, GError **errp)
{
    int fd = dial(t, errp);

    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static bool send_line(HandoffTalk *t, HandoffVerb verb, GError **errp)
{
    g_autofree char *line = g_strdup_printf("%s %s\n", verb == HANDOFF_TAKE
                                            ? "take" : "yield", t->vm);
    ssize_t len = strlen(line);

    /* A socket buffer has space for a line, unless the server does not read. */
    if (send(t->fd, line, len, MSG_NOSIGNAL) == len) {
        t->unanswered++;
        return true;
    }
    return talk_fail(t, errp, "cannot send to vmmnet-hostd");
}

bool handoff_talk_ask(HandoffTalk *t, HandoffVerb verb, GError **errp)
{
    if (t->fd >= 0 && send_line(t, verb, NULL)) {
        return true;
    }
    handoff_talk_hang_up(t);
    t->fd = dial(t, errp);
    if (t->fd < 0) {
        return false;
    }
    if (!send_line(t, verb, errp)) {
        handoff_talk_hang_up(t);
        return false;
    }
    return true;
}

/* --- answers -------------------------------------------------------------- */

static HandoffAnswer lost(HandoffTalk *t, GError **errp, const char *why)
{
    g_set_error(errp, error_quark(), ECONNRESET, "path=%s: there is no answer "
                "of vmmnet-hostd: %s", t->path, why);
    handoff_talk_hang_up(t);
    return HANDOFF_LOST;
}

static HandoffAnswer read_answer(const HandoffTalk *t, const char *line,
                                 size_t len, GError **errp)
{
    g_autofree char *text = g_utf8_make_valid(line, len);
    const char *why = text;

    if (!strcmp(text, "ok")) {
        return HANDOFF_DONE;
    }
    if (g_str_has_prefix(text, "error ")) {
        why = text + strlen("error ");
    }
    g_set_error(errp, error_quark(), EPERM, "vmmnet-hostd at %s: %s", t->path,
                why);
    return HANDOFF_REFUSED;
}

/* Reads complete answers; HANDOFF_NOTHING while the last one is missing. */
static HandoffAnswer take_answers(HandoffTalk *t, GError **errp)
{
    HandoffAnswer answer = HANDOFF_NOTHING;
    const char *stop;

    while (t->unanswered && (stop = memchr(t->in, '\n', t->have))) {
        size_t len = stop - t->in;

        if (--t->unanswered == 0) {
            answer = read_answer(t, t->in, len, errp);
        }
        t->have -= len + 1;
        memmove(t->in, stop + 1, t->have);
    }
    return answer;
}

HandoffAnswer handoff_talk_answer(HandoffTalk *t, GError **errp)
{
    HandoffAnswer answer;
    ssize_t len;

    if (t->fd < 0) {
        return HANDOFF_NOTHING;
    }
    len = recv(t->fd, t->in + t->have, sizeof(t->in) - t->have, 0);
    if (len < 0 && (errno == EAGAIN || errno == EINTR)) {
        return HANDOFF_NOTHING;
    }
    if (len <= 0) {
        return lost(t, errp, len ? strerror(errno) : "it has closed "
                    "the connection");
    }
    t->have += len;
    answer = take_answers(t, errp);
    if (answer != HANDOFF_NOTHING) {
        handoff_talk_hang_up(t);
    } else if (t->have == sizeof(t->in)) {
        return lost(t, errp, "its answer is not a valid line");
    }
    return answer;
}

/* --- waiting -------------------------------------------------------------- */

static void wait_for(const HandoffTalk *t, int64_t until_us)
{
    int64_t left = until_us - g_get_monotonic_time();
    struct pollfd poller = { .fd = t->fd, .events = POLLIN };

    if (left > 0) {
        poll(&poller, 1, left / 1000 + 1);
    }
}

HandoffAnswer handoff_talk_settle(HandoffTalk *t, HandoffVerb verb, unsigned ms,
                                  GError **errp)
{
    int64_t now = g_get_monotonic_time(), end = now + ms * 1000ll;
    bool asked = false;

    for (; now < end; now = g_get_monotonic_time()) {
        g_autoptr(GError) err = NULL;
        HandoffAnswer answer;

        asked = asked || handoff_talk_ask(t, verb, NULL);
        wait_for(t, asked ? end : MIN(end, now + AGAIN_MS * 1000));
        answer = handoff_talk_answer(t, &err);
        if (answer == HANDOFF_REFUSED) {
            g_propagate_error(errp, g_steal_pointer(&err));
        }
        if (answer == HANDOFF_DONE || answer == HANDOFF_REFUSED) {
            return answer;
        }
        asked = asked && answer != HANDOFF_LOST;
    }
    g_set_error(errp, error_quark(), ETIMEDOUT, "path=%s: there is no answer "
                "of vmmnet-hostd within %u ms", t->path, ms);
    return HANDOFF_NOTHING;
}

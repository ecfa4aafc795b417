/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions that another process validates, at a UNIX socket
 *
 * Theory of operation
 *
 * libunbound reads what strangers' servers send, and its validator has had heap
 * overflows.  So it is in a process of its own, which can ask DNS servers and do
 * nothing else (dnsd/validate), and this is the client of that process.  It
 * speaks DNS over a stream: each message is behind its length, replies come in
 * any order, and a verdict is AD and the Extended DNS Error (checked.h).
 *
 * Nothing waits: the socket is in the loop of the guest's sockets, and is not
 * blocking.  Checks are in a list in the order of their start.  Those before
 * @unsent are with the process; the others are sent when the socket takes them.
 * The id of a check is its slot and a generation, so an id is not in use twice.
 *
 * The process is not trusted: a reply to no check, with another question or with
 * a wrong length ends the connection, as the stream cannot be trusted any more.
 * So does a reply that does not come: the process itself gives up after less
 * time than this.  While it is away all checks fail at once, and it is looked
 * for with growing pauses, which begin anew when it has given a right reply.
 *
 * It may be met and hang up at once: this user may not ask it, or it is not what
 * it seems.  So that it is back is told when it has given a right reply, or has
 * stayed for a second; until then nothing is told again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/dns/upstream/checked.h"
#include "net/dns/upstream/checker.h"

#define CHECK_TIME  (10 * (int64_t)US_PER_S)    /* the process takes 8 s */
#define PAUSE_LEAST (US_PER_S / 10)
#define PAUSE_MOST  (5 * (int64_t)US_PER_S)
#define STAYED      ((int64_t)US_PER_S)
#define AT_ONCE     32              /* replies in a turn of the loop */
#define TIMERS      3

typedef enum State {
    CHECKER_NEW,                /* not looked for yet */
    CHECKER_AWAY,
    CHECKER_MET,                /* connected, and may be there */
    CHECKER_THERE,
} State;

struct DnsCheck {
    DnsCheck *next, *before;    /* in the list of all, or of those that ended */
    DnsChecker *checker;
    DnscQuery query;
    uint16_t id;
    bool is_sent;
    int64_t due;
    DnsCheckedFn *done;         /* NULL: the check was cancelled */
    void *opaque;
};

typedef struct List {
    DnsCheck *first, *last;
} List;

struct DnsChecker {
    DnscLoop *loop;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    bool wants_bogus;
    DnsCheckerNewsFn *news;
    void *opaque;
    State state;
    bool is_missed;             /* that it is away was told */
    uint64_t outages;
    int64_t pause;              /* before it is looked for again */
    unsigned reserved;          /* timers */
    DnscTimer retry, late, turn;
    DnscSource socket;
    bool wants_out;             /* the socket is watched for EPOLLOUT */

    DnsCheck *slot[DNS_CHECKS_MAX];
    uint16_t unused[DNS_CHECKS_MAX];        /* ids */
    size_t room;                /* of them */
    List all, ended;
    DnsCheck *unsent;           /* in @all */

    uint8_t out[DNS_PREFIX_LEN + DNS_QUERY_MAX];
    size_t out_at, out_len;
    uint8_t in[DNS_PREFIX_LEN + DNS_MSG_MAX];
    size_t in_len;
};

/* --- checks --------------------------------------------------------------- */

static void append(List *list, DnsCheck *check)
{
    check->next = NULL;
    check->before = list->last;
    *(list->last ? &list->last->next : &list->first) = check;
    list->last = check;
}

static void take_out(List *list, DnsCheck *check)
{
    *(check->before ? &check->before->next : &list->first) = check->next;
    *(check->next ? &check->next->before : &list->last) = check->before;
}

/* The timer is that of the check which was started first. */
static void set_late(DnsChecker *c)
{
    if (c->all.first) {
        dnsc_timer_set(c->loop, &c->late, c->all.first->due);
    } else {
        dnsc_timer_clear(c->loop, &c->late);
    }
}

static void finish(DnsCheck *check, DnscResult *result)
{
    DnsChecker *c = check->checker;
    DnsCheckedFn *done = check->done;
    void *opaque = check->opaque;

    c->slot[check->id % DNS_CHECKS_MAX] = NULL;
    /* Another generation: the id of a check that is over is no check's. */
    c->unused[c->room++] = check->id + DNS_CHECKS_MAX;
    free(check);
    if (done) {
        done(opaque, result);
    } else {
        dnsc_result_unref(result);
    }
}

static void end_all(DnsChecker *c)
{
    while (c->all.first) {
        DnsCheck *check = c->all.first;

        take_out(&c->all, check);
        append(&c->ended, check);
    }
    c->unsent = NULL;
    set_late(c);
    if (c->ended.first) {
        dnsc_timer_set(c->loop, &c->turn, dnsc_now());
    }
}

/* A failure of this host is not cached. */
static DnscResult *away(void)
{
    DnscResult *r = dnsc_result_error(VMMNET_DNS_UNREACHABLE,
                                      "vmmnet-validate is away");

    if (r->refs) {
        r->local = true;
    }
    return r;
}

/* Tell of checks that cannot be made.  They may start others. */
static void tell_ended(DnscTimer *timer)
{
    DnsChecker *c = (DnsChecker *)((char *)timer - offsetof(DnsChecker, turn));

    for (int i = 0; i < AT_ONCE && c->ended.first; i++) {
        DnsCheck *check = c->ended.first;

        take_out(&c->ended, check);
        finish(check, away());
    }
    if (c->ended.first) {
        dnsc_timer_set(c->loop, &c->turn, dnsc_now());
    }
}

/* --- the connection ------------------------------------------------------- */

/* The only place that sets the state; @why: if it is CHECKER_AWAY */
static void set_state(DnsChecker *c, State state, const char *why)
{
    bool is_missed = state == CHECKER_AWAY ||
                     (c->is_missed && state != CHECKER_THERE);

    c->state = state;
    if (state == CHECKER_AWAY) {
        dnsc_timer_set(c->loop, &c->retry, dnsc_now() + c->pause);
        c->pause = 2 * c->pause > PAUSE_MOST ? PAUSE_MOST : 2 * c->pause;
    } else if (state == CHECKER_MET) {
        dnsc_timer_set(c->loop, &c->retry, dnsc_now() + STAYED);
    } else {
        dnsc_timer_clear(c->loop, &c->retry);
    }
    if (is_missed != c->is_missed) {
        c->is_missed = is_missed;
        c->outages += is_missed;
        if (c->news) {
            c->news(c->opaque, why);
        }
    }
}

static void hang_up(DnsChecker *c)
{
    if (c->socket.fd >= 0) {
        dnsc_loop_forget(c->loop, &c->socket);
        close(c->socket.fd);
    }
    c->socket.fd = -1;
    c->wants_out = false;
    c->in_len = c->out_at = c->out_len = 0;
}

static void lose(DnsChecker *c, const char *why)
{
    hang_up(c);
    end_all(c);
    set_state(c, CHECKER_AWAY, why);
}

static void watch_out(DnsChecker *c, bool wants)
{
    if (wants != c->wants_out) {
        c->wants_out = wants;
        dnsc_loop_change(c->loop, &c->socket,
                         EPOLLIN | (wants ? EPOLLOUT : 0));
    }
}

static void put_query(DnsChecker *c, const DnsCheck *check)
{
    uint16_t flags = DNS_FLAG_RD & check->query.flags;
    size_t len = dns_query_build(c->out + DNS_PREFIX_LEN,
                                 &check->query.question,
                                 flags | (c->wants_bogus ? DNS_FLAG_CD : 0),
                                 check->query.dnssec_ok);

    dns_msg_set_id(c->out + DNS_PREFIX_LEN, check->id);
    put_be16(c->out, len);
    c->out_at = 0;
    c->out_len = DNS_PREFIX_LEN + len;
}

/*
 * Send what the socket takes.  If the process has gone, the socket is readable,
 * and that tells of it: here nothing may end, as a check is being started.
 */
static void send_some(DnsChecker *c)
{
    while (c->out_at < c->out_len || c->unsent) {
        ssize_t done;

        if (c->out_at == c->out_len) {
            put_query(c, c->unsent);
            c->unsent->is_sent = true;
            c->unsent = c->unsent->next;
        }
        done = send(c->socket.fd, c->out + c->out_at, c->out_len - c->out_at,
                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            watch_out(c, errno == EAGAIN);
            return;
        }
        c->out_at += done;
    }
    watch_out(c, false);
}

/* --- replies -------------------------------------------------------------- */

/* Returns: false if it is no right reply. */
static bool take_reply(DnsChecker *c, uint8_t *msg, size_t len)
{
    DnscResult *result;
    DnsHeader header;
    DnscQuery query;
    DnsCheck *check;

    if (dns_header_parse(msg, len, &header)) {
        return false;
    }
    check = c->slot[header.id % DNS_CHECKS_MAX];
    if (!check || check->id != header.id || !check->is_sent) {
        return false;
    }
    query = check->query;
    query.flags = c->wants_bogus ? DNS_FLAG_CD : 0;
    if (dns_checked_read(&query, msg, len, &result)) {
        return false;
    }
    c->pause = PAUSE_LEAST;
    take_out(&c->all, check);
    set_late(c);
    set_state(c, CHECKER_THERE, NULL);
    finish(check, result);
    return true;
}

/* The whole messages in the buffer.  Returns: false if one is wrong. */
static bool take_replies(DnsChecker *c)
{
    size_t at = 0;

    while (c->in_len - at >= DNS_PREFIX_LEN &&
           c->in_len - at - DNS_PREFIX_LEN >= get_be16(c->in + at)) {
        size_t len = get_be16(c->in + at);

        if (!take_reply(c, c->in + at + DNS_PREFIX_LEN, len)) {
            return false;
        }
        at += DNS_PREFIX_LEN + len;
    }
    c->in_len -= at;
    memmove(c->in, c->in + at, c->in_len);
    return true;
}

static void on_socket(DnscSource *source, uint32_t events)
{
    DnsChecker *c = (DnsChecker *)((char *)source -
                                   offsetof(DnsChecker, socket));
    ssize_t len = recv(source->fd, c->in + c->in_len,
                       sizeof(c->in) - c->in_len, MSG_DONTWAIT);

    if (len > 0) {
        c->in_len += len;
        if (!take_replies(c)) {
            lose(c, "its reply is wrong");
            return;
        }
    } else if (!len) {
        lose(c, "it has hung up");
        return;
    } else if (errno != EAGAIN && errno != EINTR) {
        lose(c, strerror(errno));
        return;
    }
    send_some(c);
}

/* Returns: a descriptor, or a negative errno. */
static int connect_to(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int ret;

    if (fd < 0) {
        return -errno;
    }
    memcpy(addr.sun_path, path, strlen(path) + 1);
    if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
        return fd;
    }
    ret = -errno;
    close(fd);
    return ret;
}

static void look_for(DnsChecker *c)
{
    int fd = connect_to(c->path), ret;
    char why[128];

    ret = fd < 0 ? fd : 0;
    if (!ret) {
        c->socket.fd = fd;
        ret = dnsc_loop_watch(c->loop, &c->socket, EPOLLIN);
    }
    if (!ret) {
        set_state(c, CHECKER_MET, NULL);
        return;
    }
    snprintf(why, sizeof(why), "%.90s", strerror(-ret));
    lose(c, why);
}

static void look_again(DnscTimer *timer)
{
    DnsChecker *c = (DnsChecker *)((char *)timer -
                                   offsetof(DnsChecker, retry));

    if (c->state == CHECKER_MET) {
        set_state(c, CHECKER_THERE, NULL);
    } else {
        look_for(c);
    }
}

static void is_late(DnscTimer *timer)
{
    lose((DnsChecker *)((char *)timer - offsetof(DnsChecker, late)),
         "it does not answer");
}

/* --- the side that asks --------------------------------------------------- */

DnsCheck *dns_check(DnsChecker *c, const DnscQuery *query, DnsCheckedFn *done,
                    void *opaque)
{
    DnsCheck *check = c->room ? calloc(1, sizeof(*check)) : NULL;

    if (!check) {
        return NULL;
    }
    if (c->state == CHECKER_NEW) {
        look_for(c);
    }
    check->checker = c;
    check->query = *query;
    check->due = dnsc_now() + CHECK_TIME;
    check->done = done;
    check->opaque = opaque;
    check->id = c->unused[--c->room];
    c->slot[check->id % DNS_CHECKS_MAX] = check;
    append(&c->all, check);
    c->unsent = c->unsent ? c->unsent : check;
    if (c->state != CHECKER_AWAY) {
        set_late(c);
        send_some(c);
    } else {
        end_all(c);
    }
    return check;
}

void dns_check_cancel(DnsCheck *check)
{
    check->done = NULL;
}

size_t dns_checker_room(const DnsChecker *c)
{
    return c->room;
}

uint64_t dns_checker_outages(const DnsChecker *c)
{
    return c->outages;
}

/* --- life ----------------------------------------------------------------- */

bool dns_checker_path_is_right(const char *path)
{
    return *path && strlen(path) < sizeof(((DnsChecker *)0)->path);
}

DnsChecker *dns_checker_new(DnscLoop *loop, const DnsCheckerOptions *options)
{
    DnsChecker *c = calloc(1, sizeof(*c));

    if (!c) {
        return NULL;
    }
    c->loop = loop;
    memcpy(c->path, options->path, strlen(options->path) + 1);
    c->wants_bogus = options->wants_bogus;
    c->news = options->news;
    c->opaque = options->opaque;
    c->pause = PAUSE_LEAST;
    c->socket = (DnscSource) { -1, on_socket };
    c->retry.fire = look_again;
    c->late.fire = is_late;
    c->turn.fire = tell_ended;
    for (; c->room < DNS_CHECKS_MAX; c->room++) {
        c->unused[c->room] = DNS_CHECKS_MAX - 1 - c->room;
    }
    for (; c->reserved < TIMERS; c->reserved++) {
        if (dnsc_loop_reserve(loop)) {
            dns_checker_free(c);
            return NULL;
        }
    }
    dnsc_timer_set(loop, &c->retry, dnsc_now());
    return c;
}

static void drop(List *list)
{
    while (list->first) {
        DnsCheck *check = list->first;

        take_out(list, check);
        free(check);
    }
}

void dns_checker_free(DnsChecker *c)
{
    if (!c) {
        return;
    }
    hang_up(c);
    drop(&c->all);
    drop(&c->ended);
    dnsc_timer_clear(c->loop, &c->retry);
    dnsc_timer_clear(c->loop, &c->late);
    dnsc_timer_clear(c->loop, &c->turn);
    for (; c->reserved; c->reserved--) {
        dnsc_loop_unreserve(c->loop);
    }
    free(c);
}

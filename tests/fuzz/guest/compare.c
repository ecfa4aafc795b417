/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory of operation
 * ===================
 *
 * Outcomes are compared fact by fact.  Three things need not be equal:
 *
 *   ports     the system's choice; the first use ties one to the other, and
 *             from then on each must stand where the other does
 *   streams   a call may move any part of them.  The world that is behind is
 *             made to catch up at once, and contents are compared, not pieces
 *   numbers   that are nobody's promise, such as buffer sizes ('i')
 *
 * A difference may be a known one, by its signature.  The sequence then goes
 * on if only an answer differs, and ends if the worlds have parted.
 */
#include "compare.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "circumstance.h"

#define KNOWN_MAX       256
#define PATTERN_MAX     1024

static char *known[KNOWN_MAX];
static unsigned known_num;

int compare_load_known(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[PATTERN_MAX];

    if (!file) {
        return -1;
    }
    while (known_num < KNOWN_MAX && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line) {
            known[known_num++] = strdup(line);
        }
    }
    fclose(file);
    return 0;
}

static bool matches(const char *signature)
{
    unsigned i;

    for (i = 0; i < known_num; i++) {
        if (!fnmatch(known[i], signature, FNM_EXTMATCH)) {
            return true;
        }
    }
    return false;
}

/* A known difference of AF_INET is one of AF_INET6, too. */
bool compare_is_known(const char *signature)
{
    const char *family = world_family_names[world_family];
    size_t len = strlen(family);

    return matches(signature) ||
           (len && !strncmp(signature, family, len) &&
            matches(signature + len + 1));
}

/* --- what differs --------------------------------------------------------- */

/* Answers that leave the sockets as they are: the sequence can go on. */
static bool leaves_alike(const struct run *run, unsigned step)
{
    const struct outcome *o = run->step[step].outcome;

    switch (run->ops[step].kind) {
    case OP_GET:
    case OP_IOCTL:
    case OP_FCNTL:
    case OP_NAME:
    case OP_POLL:
    case OP_SELECT:
    case OP_EPWAIT:
    case OP_PEER_RECVFROM:
        return true;
    case OP_SET:
        return o[NATIVE].ret < 0 || !o[OURS].ret;
    default:
        return false;
    }
}

const char *compare_type_name(int type)
{
    return type == SOCK_STREAM ? "/tcp" : type == SOCK_DGRAM ? "/udp" : "";
}

static void write_signature(struct run *run, unsigned step, const char *before,
                            const char *what)
{
    const struct op *op = &run->ops[step];
    bool option = op->kind == OP_SET || op->kind == OP_GET;

    snprintf(run->report->signature, sizeof(run->report->signature),
             "%s%s%s%s%s%s%s%s%s: %s", world_family_names[world_family],
             world_family == WORLD_INET ? "" : " ", op_name(op->kind),
             compare_type_name(run->step[step].type), before,
             circumstance_of(op), option ? " " : "",
             option ? op_option_name(op->arg[1], op->arg[2]) : "",
             run->step[step].interrupted ? " interrupted" : "", what);
}

/* Names a difference, if that is possible by a name that is known. */
static void sign(struct run *run, unsigned step, const char *what)
{
    const char *past;
    bool was;
    unsigned i;

    write_signature(run, step, "", what);
    for (i = 0; (past = circumstance_past(run, step, i, &was)); i++) {
        if (compare_is_known(run->report->signature)) {
            return;
        }
        if (was) {
            write_signature(run, step, past, what);
        }
    }
}

void compare_differ(struct run *run, unsigned step, const char *format, ...)
{
    struct report *report = run->report;
    char what[SIGNATURE_MAX / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    sign(run, step, what);
    if (run->probing) {
        return;
    }
    if (!compare_is_known(report->signature)) {
        report->verdict = VERDICT_DIFFERENT;
        report->step = step;
        run->over = true;
    } else {
        report->known++;
        if (!leaves_alike(run, step)) {
            report->verdict = VERDICT_PARTED;
            run->over = true;
        }
    }
}

void compare_part(struct run *run)
{
    run->report->verdict = VERDICT_PARTED;
    run->over = true;
}

void compare_break(struct run *run)
{
    run->report->verdict = VERDICT_BROKEN;
    run->over = true;
}

const char *compare_result_text(const struct outcome *o, char *text)
{
    if (o->ret < 0) {
        sprintf(text, "%s", op_error_name(o->error));
    } else if (o->ret == 0) {
        sprintf(text, "0");
    } else {
        sprintf(text, "n");
    }
    return text;
}

const char *compare_events_text(uint32_t events, char *text)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {
        { EPOLLIN, "IN" }, { EPOLLPRI, "PRI" }, { EPOLLOUT, "OUT" },
        { EPOLLERR, "ERR" }, { EPOLLHUP, "HUP" }, { POLLNVAL, "NVAL" },
        { EPOLLRDHUP, "RDHUP" }, { EPOLLWRBAND, "WRBAND" },
    };
    /* These two follow the first and the third. */
    uint32_t rest = events & ~(EPOLLRDNORM | EPOLLWRNORM);
    size_t i, used = 0;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (rest & names[i].bit) {
            used += sprintf(text + used, "%s%s", used ? "|" : "",
                            names[i].name);
            rest &= ~names[i].bit;
        }
    }
    if (rest || !used) {
        sprintf(text + used, "%s0x%x", used ? "|" : "", rest);
    }
    return text;
}

const char *compare_fact_text(const struct fact *fact, char *text)
{
    switch (fact->type) {
    case 'e':
        return compare_events_text(fact->value, text);
    case 'x':
        sprintf(text, "0x%llx", (unsigned long long)fact->value);
        break;
    default:
        sprintf(text, "%lld", (long long)fact->value);
    }
    return text;
}

/* --- ports ---------------------------------------------------------------- */

/* Whether one port stands for the other; from now on it does. */
static bool same_port(struct ports *ports, in_port_t native, in_port_t ours)
{
    unsigned i;

    for (i = 0; i < ports->num; i++) {
        const in_port_t *port = ports->pair[i].port;

        if (port[NATIVE] == native || port[OURS] == ours) {
            return port[NATIVE] == native && port[OURS] == ours;
        }
    }
    if (ports->num < PORTS_MAX) {
        ports->pair[ports->num++] = (struct port_pair) { { native, ours } };
    }
    return true;
}

void compare_begin(struct run *run)
{
    in_port_t base = run->world[NATIVE]->port_base;
    unsigned i;

    for (i = 0; i < FIXED_PORTS; i++) {
        same_port(&run->own, base + i, base + i);
    }
    same_port(&run->own, 0, 0);
    same_port(&run->own, 80, 80);
    same_port(&run->own, PEER_CLOSED_PORT, PEER_CLOSED_PORT);
    same_port(&run->peer, 0, 0);
    same_port(&run->peer, 80, 80);
    same_port(&run->peer, PEER_CLOSED_PORT, PEER_CLOSED_PORT);
}

/* --- streams -------------------------------------------------------------- */

static void log_append(struct stream_log *log, const uint8_t *data, size_t len)
{
    if (log->len + len > log->room) {
        log->room = (log->len + len) * 2;
        log->data = realloc(log->data, log->room);
        if (!log->data) {
            abort();
        }
    }
    memcpy(log->data + log->len, data, len);
    log->len += len;
}

/* Compares what both have received, and forgets it if it is the same. */
static bool logs_agree(struct stream_log *a, struct stream_log *b)
{
    size_t len = a->len < b->len ? a->len : b->len;

    if (len && memcmp(a->data, b->data, len)) {
        return false;
    }
    a->len -= len;
    b->len -= len;
    if (len) {
        memmove(a->data, a->data + len, a->len);
        memmove(b->data, b->data + len, b->len);
    }
    return true;
}

/* The peer's sockets that may be streams, by what the steps say. */
static uint32_t peer_streams(const struct run *run)
{
    uint32_t streams = 0;
    unsigned i;

    for (i = 0; i < run->num; i++) {
        if (run->ops[i].kind == OP_PEER_CONNECT) {
            streams |= 1u << run->ops[i].arg[0];
        } else if (run->ops[i].kind == OP_PEER_ACCEPT) {
            streams |= 1u << run->ops[i].arg[1];
        }
    }
    return streams;
}

/* Asks both peers for what they have received; whether contents agree. */
bool compare_drain_peers(struct run *run, unsigned step)
{
    uint32_t streams = peer_streams(run);
    struct peer_request request = {
        .op = OP_PEER_RECV, .arg = { PEER_DATA_MAX, MSG_DONTWAIT },
    };
    struct peer_reply reply;
    uint32_t p;
    int w;

    for (p = 0; p < PEERS; p++) {
        if (!(streams & 1u << p)) {
            continue;
        }
        request.peer = p;
        if (world_ask(run->world[NATIVE], &request) ||
            world_ask(run->world[OURS], &request)) {
            compare_break(run);
            return false;
        }
        for (w = 0; w < WORLDS; w++) {
            if (world_answer(run->world[w], &reply, run->data[w])) {
                compare_break(run);
                return false;
            }
            if (reply.ret > 0) {
                log_append(&run->world[w]->peer_log[p], run->data[w],
                           reply.ret);
            }
        }
        if (!logs_agree(&run->world[NATIVE]->peer_log[p],
                        &run->world[OURS]->peer_log[p])) {
            compare_differ(run, step, "the peer receives other data");
            return false;
        }
    }
    return true;
}

/* Whether the data are those that never change (struct world). */
static bool sends_gift(enum op_kind kind)
{
    return kind == OP_SENDFILE || kind == OP_VMSPLICE;
}

/* Sends the rest of a step's data, from @sent to @total. */
static void catch_up_sending(struct run *run, unsigned step, int which,
                             size_t sent, size_t total)
{
    const struct op *op = &run->ops[step];
    size_t start = op->kind == OP_SENDFILE ? op->arg[2] : 0;
    int64_t end = world_now_ms() + PATIENCE_MS;
    int fd = run->world[which]->fd[op->arg[0]];

    while (sent < total) {
        uint8_t data[4096];
        size_t left = total - sent;
        size_t len = left < sizeof(data) ? left : sizeof(data);
        ssize_t n;

        peer_pattern(data, len, sends_gift(op->kind) ? 0 : step, start + sent);
        n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && (errno != EAGAIN || world_now_ms() > end)) {
            /* The other world could; now it is too late. */
            compare_part(run);
            return;
        }
        if (n < 0 && !compare_drain_peers(run, step)) {
            return;
        }
        sent += n > 0 ? n : 0;
    }
}

/* Receives what the other world has received already. */
static void catch_up_receiving(struct run *run, unsigned step, int which,
                               size_t missing, int flags)
{
    struct world *world = run->world[which];
    uint32_t slot = run->ops[step].arg[0];
    int64_t end = world_now_ms() + PATIENCE_MS;

    while (missing) {
        size_t len = missing < PEER_DATA_MAX ? missing : PEER_DATA_MAX;
        ssize_t n = recv(world->fd[slot], run->data[which], len,
                         MSG_DONTWAIT | flags);

        if (n > 0) {
            missing -= n;
            if (!flags) {
                log_append(&world->log[world->log_of[slot]],
                           run->data[which], n);
            }
        } else if (n == 0 || errno != EAGAIN || world_now_ms() > end) {
            compare_differ(run, step, "%s lacks data of the stream",
                           which == OURS ? "outsourced" : "native");
            return;
        } else {
            usleep(1000);
        }
    }
}

/* Whether the next that a peer receives is a reset. */
static bool is_reset(struct run *run, int which, uint32_t peer)
{
    struct peer_request request = {
        .op = OP_PEER_RECV, .peer = peer, .arg = { 1, MSG_DONTWAIT },
    };
    struct peer_reply reply;

    return !world_ask(run->world[which], &request) &&
           !world_answer(run->world[which], &reply, run->data[which]) &&
           reply.ret == -ECONNRESET;
}

/*
 * Has the peer that is behind receive as much as the other.  A reset, if both
 * are reset, overtakes data.
 */
static void catch_up_peer(struct run *run, unsigned step, int which,
                          size_t missing)
{
    struct world *world = run->world[which];
    struct peer_request request = {
        .op = OP_PEER_RECV, .peer = run->ops[step].arg[0],
    };
    int64_t end = world_now_ms() + PATIENCE_MS;
    struct peer_reply reply;

    while (missing) {
        request.arg[0] = missing;
        if (world_ask(world, &request) ||
            world_answer(world, &reply, run->data[which])) {
            compare_break(run);
            return;
        }
        if (reply.ret > 0) {
            missing -= reply.ret;
            log_append(&world->peer_log[request.peer], run->data[which],
                       reply.ret);
        } else if (reply.ret == -ECONNRESET &&
                   is_reset(run, !which, request.peer)) {
            compare_part(run);
            return;
        } else if (world_now_ms() > end) {
            compare_differ(run, step, "%s peer lacks data of the stream",
                           which == OURS ? "outsourced" : "native");
            return;
        }
    }
}

/* --- outcomes ------------------------------------------------------------- */

static bool receives(enum op_kind kind)
{
    return kind == OP_RECV || kind == OP_SPLICE_IN || kind == OP_PEER_RECV;
}

/* Whether the call moved the beginning of a plain pattern. */
static bool sends_plainly(const struct op *op)
{
    return op->kind != OP_SEND ||
           (op->arg[4] <= LAYOUT_MOST && op->arg[3] != FORM_MMSG &&
            !(op->arg[2] & MSG_OOB));
}

/* Whether a call of native's that did all it was asked may not do less here. */
static bool must_be_complete(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    const struct outcome *o = run->step[step].outcome;
    int fd = run->world[NATIVE]->fd[op->arg[0]];

    if (run->step[step].interrupted || o[NATIVE].ret != (int64_t)op->arg[1] ||
        o[OURS].ret > o[NATIVE].ret) {
        return false;
    }
    if (op->kind == OP_RECV) {
        return (op->arg[2] & MSG_WAITALL) && op->arg[3] != FORM_MMSG;
    }
    return op->kind == OP_SEND && !(op->arg[2] & MSG_DONTWAIT) &&
           !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* Whether another task is about to send to the same socket. */
static bool another_does(const struct run *run, unsigned step,
                         bool (*what)(enum op_kind kind))
{
    unsigned t;

    for (t = 0; t < THREADS; t++) {
        int other = run->pending[t];

        if (other >= 0 && other != (int)step && what(run->ops[other].kind) &&
            run->ops[other].arg[0] == run->ops[step].arg[0]) {
            return true;
        }
    }
    return false;
}

/* Both sent something of a stream, but not the same amount. */
static void level_sending(struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    const struct outcome *o = run->step[step].outcome;
    int behind = o[NATIVE].ret < o[OURS].ret ? NATIVE : OURS;

    if (must_be_complete(run, step)) {
        compare_differ(run, step, "all -> a part");
    } else if (sends_plainly(op)) {
        catch_up_sending(run, step, behind, o[behind].ret, o[!behind].ret);
    } else {
        compare_part(run);
    }
}

/* One world has received more of a stream than the other. */
static void level_receiving(struct run *run, unsigned step, int behind,
                            size_t missing)
{
    const struct op *op = &run->ops[step];

    if (!missing) {
        return;
    }
    if (op->kind == OP_PEER_RECV) {
        catch_up_peer(run, step, behind, missing);
    } else if (must_be_complete(run, step)) {
        compare_differ(run, step, "all -> a part");
    } else {
        catch_up_receiving(run, step, behind, missing,
                           op->kind == OP_RECV ? op->arg[2] & MSG_TRUNC : 0);
    }
}

static void compare_stream_data(struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    struct outcome *o = run->step[step].outcome;
    struct stream_log *log[WORLDS];
    size_t len = o[NATIVE].len < o[OURS].len ? o[NATIVE].len : o[OURS].len;
    int w, behind;

    if (op->kind == OP_RECV && (op->arg[2] & MSG_PEEK)) {
        if (len && memcmp(o[NATIVE].data, o[OURS].data, len)) {
            compare_differ(run, step, "other data of the stream");
        }
        return;
    }
    if (op->kind == OP_RECV && (op->arg[2] & MSG_TRUNC)) {
        /* Thrown away: only how much counts. */
        behind = o[NATIVE].ret < o[OURS].ret ? NATIVE : OURS;
        level_receiving(run, step, behind, o[!behind].ret - o[behind].ret);
        return;
    }
    for (w = 0; w < WORLDS; w++) {
        struct world *world = run->world[w];

        log[w] = op->kind == OP_PEER_RECV
                 ? &world->peer_log[op->arg[0]]
                 : &world->log[world->log_of[op->arg[0]]];
        log_append(log[w], o[w].data, o[w].len);
    }
    if (logs_agree(log[NATIVE], log[OURS])) {
        behind = log[NATIVE]->len < log[OURS]->len ? NATIVE : OURS;
        level_receiving(run, step, behind, log[!behind]->len);
    }
    if (!run->over && !logs_agree(log[NATIVE], log[OURS])) {
        compare_differ(run, step, "other data of the stream");
    }
}

static void compare_data(struct run *run, unsigned step)
{
    struct outcome *o = run->step[step].outcome;

    if (o[NATIVE].stream && o[OURS].stream &&
        run->ops[step].kind != OP_PEER_RECV &&
        another_does(run, step, receives)) {
        /* Nor is who gets which part of it. */
        compare_part(run);
    } else if (o[NATIVE].stream && o[OURS].stream) {
        compare_stream_data(run, step);
    } else if (o[NATIVE].len != o[OURS].len ||
               (o[NATIVE].len &&
                memcmp(o[NATIVE].data, o[OURS].data, o[NATIVE].len))) {
        compare_differ(run, step, "other data");
    }
}

/* The first fact that differs, or -1. */
static int differing_fact(struct run *run, unsigned step)
{
    const struct outcome *o = run->step[step].outcome;
    unsigned i;

    if (o[NATIVE].facts != o[OURS].facts) {
        return 0;
    }
    for (i = 0; i < o[NATIVE].facts; i++) {
        const struct fact *a = &o[NATIVE].fact[i], *b = &o[OURS].fact[i];
        bool same;

        switch (a->type) {
        case 'o':
            same = same_port(&run->own, a->value, b->value);
            break;
        case 'p':
            same = same_port(&run->peer, a->value, b->value);
            break;
        case 'i':
            same = true;
            break;
        default:
            same = a->value == b->value;
        }
        if (!same || strcmp(a->what, b->what)) {
            return i;
        }
    }
    return -1;
}

/*
 * Whether no message of a batch was left to meet the end that the native
 * one has met: then a signal that there is not cannot have been lost.
 */
static bool has_met_no_end(const struct outcome *o)
{
    unsigned i;

    for (i = 0; i < o->facts; i++) {
        if (!strcmp(o->fact[i].what, OUTCOME_UNSENT)) {
            return !o->fact[i].value;
        }
    }
    return false;
}

static void compare_facts(struct run *run, unsigned step)
{
    const struct outcome *o = run->step[step].outcome;
    int i = differing_fact(run, step);
    const struct fact *a, *b;
    char text[WORLDS][64];

    if (i < 0) {
        return;
    }
    a = &o[NATIVE].fact[i];
    b = &o[OURS].fact[i];
    if (o[NATIVE].facts != o[OURS].facts) {
        compare_differ(run, step, "%u -> %u facts", o[NATIVE].facts,
                       o[OURS].facts);
    } else if (a->type == 'o' || a->type == 'p') {
        compare_differ(run, step, "%s: another one", a->what);
    } else {
        compare_differ(run, step, "%s: %s -> %s%s", a->what,
                       compare_fact_text(a, text[NATIVE]),
                       compare_fact_text(b, text[OURS]),
                       has_met_no_end(&o[OURS]) ? ", having sent all" : "");
    }
}

/* Whether a stream may have moved another amount. */
static bool may_be_part(const struct run *run, unsigned step)
{
    const struct op *op = &run->ops[step];
    const struct outcome *o = run->step[step].outcome;

    if (op->kind == OP_PEER_RECV) {
        return !(op->arg[2] & MSG_OOB);
    }
    return (op_sends(op->kind) || receives(op->kind)) &&
           run->step[step].type == SOCK_STREAM &&
           o[NATIVE].ret > 0 && o[OURS].ret > 0;
}

static bool same_result(const struct run *run, unsigned step)
{
    const struct outcome *o = run->step[step].outcome;

    if (run->ops[step].kind == OP_PEER_RECV && may_be_part(run, step) &&
        (o[NATIVE].ret > 0 || o[OURS].ret > 0 || !run->ops[step].arg[1])) {
        /* What one has not got yet is waited for; nothing need not be. */
        return true;
    }
    if (o[NATIVE].ret < 0 || o[OURS].ret < 0) {
        return o[NATIVE].ret == o[OURS].ret &&
               o[NATIVE].error == o[OURS].error;
    }
    return o[NATIVE].ret == o[OURS].ret || may_be_part(run, step);
}

/* A call that could not deliver data: are they still there? */
static void compare_loss(struct run *run, unsigned step)
{
    int left[WORLDS] = { 0 }, w;

    for (w = 0; w < WORLDS; w++) {
        ioctl(run->world[w]->fd[run->ops[step].arg[0]], SIOCINQ, &left[w]);
    }
    if (left[NATIVE] != left[OURS]) {
        compare_differ(run, step, left[NATIVE] > left[OURS]
                       ? "EFAULT, keeps data -> loses data"
                       : "EFAULT, loses data -> keeps data");
    }
}

void compare_step(struct run *run, unsigned step)
{
    const struct outcome *o = run->step[step].outcome;
    char text[WORLDS][32];

    if (!same_result(run, step)) {
        if (o[NATIVE].ret > 0 && o[OURS].ret > 0) {
            compare_differ(run, step, "%lld -> %lld", (long long)o[NATIVE].ret,
                           (long long)o[OURS].ret);
        } else {
            compare_differ(run, step, "%s -> %s",
                           compare_result_text(&o[NATIVE], text[NATIVE]),
                           compare_result_text(&o[OURS], text[OURS]));
        }
        return;
    }
    compare_facts(run, step);
    if (run->over) {
        return;
    }
    if (o[NATIVE].ret > 0 && op_sends(run->ops[step].kind) &&
        another_does(run, step, op_sends)) {
        /* Whose data come first, and where the others are cut, is nobody's. */
        compare_part(run);
        return;
    }
    if (o[NATIVE].error == EFAULT && run->ops[step].kind == OP_RECV) {
        compare_loss(run, step);
    } else if (o[NATIVE].data || o[OURS].data) {
        compare_data(run, step);
    } else if (o[NATIVE].ret != o[OURS].ret) {
        level_sending(run, step);
    }
}

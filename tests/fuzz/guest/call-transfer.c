/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that move data: those of sending, of receiving, and splice()
 */
#include "call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "args.h"

#define BATCH           3       /* messages of sendmmsg() and recvmmsg() */

/* --- sending -------------------------------------------------------------- */

static void send_batch(struct outcome *o, int fd, const struct msghdr *msg,
                       int flags)
{
    struct mmsghdr batch[BATCH];
    int64_t total = 0;
    int i, n;

    for (i = 0; i < BATCH; i++) {
        batch[i].msg_hdr = *msg;
        batch[i].msg_len = 0;
    }
    n = sendmmsg(fd, batch, BATCH, flags);
    for (i = 0; i < n; i++) {
        total += batch[i].msg_len;
    }
    call_result(o, n < 0 ? n : total);
    outcome_fact(o, 'i', OUTCOME_UNSENT, BATCH - (n < 0 ? 0 : n));
}

void call_send(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    size_t size = arg[1] < DATA_MAX ? arg[1] : DATA_MAX;
    int fd = w->world->fd[arg[0]], flags = arg[2];
    struct msghdr msg = { 0 };
    struct pieces p;
    uint8_t *at;

    arg_pieces(w, w->arena.tx, arg[4], size, &p);
    arg_fill(w, &p, w->arena.tx, size);
    msg.msg_iov = p.iov;
    msg.msg_iovlen = p.num;
    if ((arg[5] & 0xff) != ADDR_NONE) {
        msg.msg_namelen = arg_length(sizeof(struct sockaddr_in));
        msg.msg_name = arg_address(w, arg[5], msg.msg_namelen);
    }
    /* Calls without a vector have the first piece. */
    at = p.layout == LAYOUT_BAD_VECTOR ? w->arena.hole : p.iov[0].iov_base;
    size = p.layout == LAYOUT_BAD_VECTOR ? 1 : p.iov[0].iov_len;
    switch (arg[3]) {
    case FORM_FILE:
        call_result(o, write(fd, at, size));
        break;
    case FORM_FILE_VECTOR:
        call_result(o, writev(fd, p.iov, p.num));
        break;
    case FORM_NAME:
        call_result(o, sendto(fd, at, size, flags, msg.msg_name,
                         msg.msg_namelen));
        break;
    case FORM_MSG:
        arg_control(w, &msg, arg[6]);
        call_result(o, sendmsg(fd, &msg, flags));
        break;
    case FORM_MMSG:
        arg_control(w, &msg, arg[6]);
        send_batch(o, fd, &msg, flags);
        break;
    default:
        call_result(o, send(fd, at, size, flags));
    }
}

/* Sends until there is no room, without waiting for any. */
/* While the peer's buffer fills, room appears repeatedly. */
static bool room_comes(int fd)
{
    struct pollfd pfd = { .fd = fd, .events = POLLOUT };
    int n;

    do {
        /* SIGIO reports other events, and poll() is never restarted. */
        n = poll(&pfd, 1, 300);
    } while (n < 0 && errno == EINTR);
    /* Something in the queue of errors ends poll() at once, each time. */
    return n > 0 && (pfd.revents & POLLOUT);
}

void call_fill(struct worker *w, struct outcome *o)
{
    int fd = w->world->fd[w->op.arg[0]];
    size_t size = w->op.arg[1] < DATA_MAX ? w->op.arg[1] : DATA_MAX;
    int64_t total = 0;
    int error;
    ssize_t n;

    if (!size) {
        size = 1;
    }
    do {
        peer_pattern(w->arena.tx, size, w->step, total);
        n = send(fd, w->arena.tx, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        error = n < 0 ? errno : 0;
        total += n > 0 ? n : 0;
    } while (total < 16 * DATA_MAX &&
             (!error || (error == EAGAIN && room_comes(fd))));
    errno = error;
    call_result(o, total ? total : n);
    outcome_fact(o, 'd', "last", error);
}

void call_sendfile(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    size_t size = arg[1] < DATA_MAX ? arg[1] : DATA_MAX;
    off_t offset = (int32_t)arg[2];

    call_result(o, sendfile(w->world->fd[arg[0]], gift_file, &offset, size));
}

static void drain_pipe(int fd)
{
    char data[4096];

    while (read(fd, data, sizeof(data)) > 0) {
        /* what was left in it */
    }
}

void call_splice_out(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    size_t size = arg[1] < 65536 ? arg[1] : 65536;
    ssize_t n;

    peer_pattern(w->arena.tx, size, w->step, 0);
    n = size ? write(w->world->pipe[1], w->arena.tx, size) : 0;
    if (n >= 0) {
        n = splice(w->world->pipe[0], NULL, w->world->fd[arg[0]], NULL, n,
                   arg[2]);
    }
    call_result(o, n);
    drain_pipe(w->world->pipe[0]);
}

void call_vmsplice(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    size_t size = arg[1] < 32768 ? arg[1] : 32768;
    struct iovec iov = { gift, size };
    ssize_t n;

    n = vmsplice(w->world->pipe[1], &iov, 1, SPLICE_F_NONBLOCK);
    if (n > 0) {
        n = splice(w->world->pipe[0], NULL, w->world->fd[arg[0]], NULL, n,
                   arg[2]);
    }
    call_result(o, n);
    drain_pipe(w->world->pipe[0]);
}

/* --- receiving ------------------------------------------------------------ */

static void received(struct outcome *o, const struct worker *w,
                     const struct pieces *p, int flags, int type)
{
    size_t room = 0, got = o->ret;
    int i;

    /* An unmapped vector can still receive the end of a stream. */
    for (i = 0; p->layout != LAYOUT_BAD_VECTOR && i < p->num; i++) {
        room += p->iov[i].iov_len;
    }
    o->stream = type == SOCK_STREAM && !(flags & (MSG_OOB | MSG_ERRQUEUE));
    /* MSG_TRUNC of a stream writes nothing. */
    if (type == SOCK_STREAM && (flags & MSG_TRUNC)) {
        got = 0;
    }
    arg_take(o, w, p, got < room ? got : room);
}

static void receive_message(struct worker *w, struct outcome *o,
                            const struct pieces *p, int fd, int flags)
{
    const uint32_t *arg = w->op.arg;
    struct msghdr msg = { .msg_iov = p->iov, .msg_iovlen = p->num };
    struct msghdr before;
    socklen_t *len;

    msg.msg_name = arg_room(w, arg[5], &len);
    msg.msg_namelen = len && len != (socklen_t *)w->arena.hole ? *len : 0;
    if (arg[6]) {
        msg.msg_controllen = arg[6] < 1024 ? arg[6] : 1024;
        msg.msg_control = arg[6] == 1 ? w->arena.hole : w->arena.small + 1024;
    }
    before = msg;
    call_result(o, recvmsg(fd, &msg, flags));
    if (o->ret < 0) {
        outcome_fact(o, 'd', "unchanged",
                     !memcmp(&before, &msg, sizeof(msg)));
        return;
    }
    outcome_fact(o, 'x', "msg_flags", msg.msg_flags);
    if (msg.msg_name && msg.msg_name != w->arena.hole) {
        arg_room_facts(o, w, arg[5], msg.msg_namelen);
    }
    if (msg.msg_control != w->arena.hole) {
        arg_control_facts(o, &msg);
    }
}

static int64_t receive_batch(struct worker *w, const struct pieces *p, int fd,
                             int flags)
{
    struct mmsghdr batch[BATCH] = { 0 };
    int64_t total = 0;
    int i, n;

    /* Each has a part of the first piece. */
    for (i = 0; i < BATCH; i++) {
        struct iovec *iov = (struct iovec *)(w->arena.small + 2048) + i;

        iov->iov_len = p->iov[0].iov_len / BATCH;
        iov->iov_base = (uint8_t *)p->iov[0].iov_base + i * iov->iov_len;
        batch[i].msg_hdr.msg_iov = iov;
        batch[i].msg_hdr.msg_iovlen = 1;
    }
    n = recvmmsg(fd, batch, BATCH, flags | MSG_WAITFORONE, NULL);
    for (i = 0; i < n; i++) {
        size_t len = batch[i].msg_len, room = p->iov[0].iov_len / BATCH;

        memcpy(w->arena.out + total, batch[i].msg_hdr.msg_iov->iov_base,
               len < room ? len : room);
        total += len < room ? len : room;
    }
    return n < 0 ? n : total;
}

void call_recv(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    size_t size = arg[1] < DATA_MAX ? arg[1] : DATA_MAX;
    int fd = w->world->fd[arg[0]], flags = arg[2];
    int type = w->world->type[arg[0]];
    struct pieces p, one;
    socklen_t *len;
    void *name, *at;

    memset(w->arena.rx, POISON, size + 4096);
    memset(w->arena.rx + DATA_MAX + DATA_SLACK - size, POISON, size);
    arg_pieces(w, w->arena.rx, arg[4], size, &p);
    one = p;
    one.num = 1;
    at = p.layout == LAYOUT_BAD_VECTOR ? w->arena.hole : p.iov[0].iov_base;
    size = p.layout == LAYOUT_BAD_VECTOR ? 1 : p.iov[0].iov_len;
    switch (arg[3]) {
    case FORM_FILE:
        flags = 0;
        call_result(o, read(fd, at, size));
        break;
    case FORM_FILE_VECTOR:
        flags = 0;
        one = p;
        call_result(o, readv(fd, p.iov, p.num));
        break;
    case FORM_NAME:
        name = arg_room(w, arg[5], &len);
        call_result(o, recvfrom(fd, at, size, flags, name, len));
        if (o->ret >= 0 && name && len != (socklen_t *)w->arena.hole &&
            name != w->arena.hole) {
            arg_room_facts(o, w, arg[5], *len);
        }
        break;
    case FORM_MSG:
        one = p;
        receive_message(w, o, &p, fd, flags);
        break;
    case FORM_MMSG:
        /* A third of one or two bytes would be a read of 0 bytes. */
        if (!arg_pieces_are_good(p.layout) || (size && size < BATCH)) {
            arg_pieces(w, w->arena.rx, LAYOUT_PLAIN, BATCH * 100, &p);
        }
        call_result(o, receive_batch(w, &p, fd, flags & ~MSG_TRUNC));
        if (o->ret >= 0) {
            o->data = w->arena.out;
            o->len = o->ret;
            o->stream = type == SOCK_STREAM;
        }
        return;
    default:
        call_result(o, recv(fd, at, size, flags));
    }
    if (o->ret >= 0) {
        received(o, w, &one, flags, type);
    }
}

static ssize_t read_pipe(int fd, uint8_t *to, size_t room)
{
    size_t used = 0;
    ssize_t n;

    while (used < room && (n = read(fd, to + used, room - used)) > 0) {
        used += n;
    }
    return used;
}

void call_splice_in(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    size_t size = arg[1] < 65536 ? arg[1] : 65536;
    ssize_t n;

    n = splice(w->world->fd[arg[0]], NULL, w->world->pipe[1], NULL, size,
               arg[2]);
    call_result(o, n);
    if (n > 0 && arg[3] &&
        tee(w->world->pipe[0], w->world->pipe2[1], n, SPLICE_F_NONBLOCK) > 0) {
        read_pipe(w->world->pipe2[0], w->arena.rx, DATA_MAX);
    }
    if (n >= 0) {
        o->data = w->arena.out;
        o->len = read_pipe(w->world->pipe[0], w->arena.out, DATA_MAX);
        o->stream = true;
        outcome_fact(o, 'd', "teed",
                     n > 0 && arg[3] && memcmp(w->arena.out, w->arena.rx, n));
    }
    drain_pipe(w->world->pipe2[0]);
}

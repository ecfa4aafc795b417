/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step's system call: arguments from numbers, and facts from results
 *
 * Whatever a program could see of a call becomes part of its outcome: result,
 * errno, every value that it returned through a pointer, signals, and whether
 * memory was written that should not be.  What may differ from run to run is
 * left out here, and nowhere else.
 */
#include "args.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "random.h"

#define COUNT(array)    (sizeof(array) / sizeof((array)[0]))
#define FIRST_FD        100
#define BATCH           3       /* messages of sendmmsg() and recvmmsg() */

void outcome_fact(struct outcome *o, char type, const char *what,
                  int64_t value)
{
    if (o->facts < FACTS) {
        o->fact[o->facts++] = (struct fact) { what, type, value };
    }
}

static void result(struct outcome *o, int64_t ret)
{
    o->error = ret < 0 ? errno : 0;
    o->ret = ret < 0 ? -1 : ret;
}

/* --- sending -------------------------------------------------------------- */

static int64_t send_batch(int fd, const struct msghdr *msg, int flags)
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
    return n < 0 ? n : total;
}

static void call_send(struct worker *w, struct outcome *o)
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
        msg.msg_namelen = sizeof(struct sockaddr_in);
        msg.msg_name = arg_address(w, arg[5], msg.msg_namelen);
    }
    /* Calls without a vector have the first piece. */
    at = p.layout == LAYOUT_BAD_VECTOR ? w->arena.hole : p.iov[0].iov_base;
    size = p.layout == LAYOUT_BAD_VECTOR ? 1 : p.iov[0].iov_len;
    switch (arg[3]) {
    case FORM_FILE:
        result(o, write(fd, at, size));
        break;
    case FORM_FILE_VECTOR:
        result(o, writev(fd, p.iov, p.num));
        break;
    case FORM_NAME:
        result(o, sendto(fd, at, size, flags, msg.msg_name,
                         msg.msg_namelen));
        break;
    case FORM_MSG:
        arg_control(w, &msg, arg[6]);
        result(o, sendmsg(fd, &msg, flags));
        break;
    case FORM_MMSG:
        arg_control(w, &msg, arg[6]);
        result(o, send_batch(fd, &msg, flags));
        break;
    default:
        result(o, send(fd, at, size, flags));
    }
}

/* Sends until there is no room, without waiting for any. */
/* While the peer's buffer fills, there is room again and again. */
static bool room_comes(int fd)
{
    struct pollfd pfd = { .fd = fd, .events = POLLOUT };
    int n;

    do {
        /* SIGIO tells of other things, and poll() is never begun again. */
        n = poll(&pfd, 1, 300);
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

static void call_fill(struct worker *w, struct outcome *o)
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
    result(o, total ? total : n);
    outcome_fact(o, 'd', "last", error);
}

static void call_sendfile(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    size_t size = arg[1] < DATA_MAX ? arg[1] : DATA_MAX;
    off_t offset = (int32_t)arg[2];

    result(o, sendfile(w->world->fd[arg[0]], gift_file, &offset, size));
}

static void drain_pipe(int fd)
{
    char data[4096];

    while (read(fd, data, sizeof(data)) > 0) {
        /* what was left in it */
    }
}

static void call_splice_out(struct worker *w, struct outcome *o)
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
    result(o, n);
    drain_pipe(w->world->pipe[0]);
}

static void call_vmsplice(struct worker *w, struct outcome *o)
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
    result(o, n);
    drain_pipe(w->world->pipe[0]);
}

/* --- receiving ------------------------------------------------------------ */

static void received(struct outcome *o, const struct worker *w,
                     const struct pieces *p, int flags, int type)
{
    size_t room = 0, got = o->ret;
    int i;

    /* A vector that is not there can still receive the end of a stream. */
    for (i = 0; p->layout != LAYOUT_BAD_VECTOR && i < p->num; i++) {
        room += p->iov[i].iov_len;
    }
    o->stream = type == SOCK_STREAM && !(flags & (MSG_OOB | MSG_ERRQUEUE));
    /* What a stream is told to throw away is not written anywhere. */
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
    result(o, recvmsg(fd, &msg, flags));
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

static void call_recv(struct worker *w, struct outcome *o)
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
        result(o, read(fd, at, size));
        break;
    case FORM_FILE_VECTOR:
        flags = 0;
        one = p;
        result(o, readv(fd, p.iov, p.num));
        break;
    case FORM_NAME:
        name = arg_room(w, arg[5], &len);
        result(o, recvfrom(fd, at, size, flags, name, len));
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
        if (!arg_pieces_are_good(p.layout)) {
            arg_pieces(w, w->arena.rx, LAYOUT_PLAIN, BATCH * 100, &p);
        }
        result(o, receive_batch(w, &p, fd, flags & ~MSG_TRUNC));
        if (o->ret >= 0) {
            o->data = w->arena.out;
            o->len = o->ret;
            o->stream = type == SOCK_STREAM;
        }
        return;
    default:
        result(o, recv(fd, at, size, flags));
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

static void call_splice_in(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    size_t size = arg[1] < 65536 ? arg[1] : 65536;
    ssize_t n;

    n = splice(w->world->fd[arg[0]], NULL, w->world->pipe[1], NULL, size,
               arg[2]);
    result(o, n);
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

/* --- sockets -------------------------------------------------------------- */

/*
 * Puts a socket into a slot.  No number is used twice: a call that starts again
 * after a signal must not meet another socket, perhaps of the other world.
 */
static void place(struct world *world, uint32_t slot, int fd, int type)
{
    static atomic_int next_fd;
    static uint8_t next_log[2];
    bool second = world->netns < 0;
    int command = fcntl(fd, F_GETFD) & FD_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;

    if (world->fd[slot] >= 0) {
        close(world->fd[slot]);
    }
    world->fd[slot] = fcntl(fd, command, FIRST_FD + next_fd++);
    close(fd);
    world->type[slot] = type;
    world->log_of[slot] = next_log[second]++ % LOGS;
}

static void call_socket(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    int fd = socket(AF_INET, arg[1], (int)arg[2]);
    int type = 0;
    socklen_t len = sizeof(type);

    result(o, fd < 0 ? fd : 0);
    if (fd >= 0) {
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
        place(w->world, arg[0], fd, type);
    }
}

static void call_close(struct worker *w, struct outcome *o)
{
    struct world *world = w->world;
    uint32_t slot = w->op.arg[0];
    int fd = world->fd[slot];

    if (!w->op.fork) {
        world->fd[slot] = -1;
        world->type[slot] = 0;
    }
    result(o, close(fd));
}

static void call_dup(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    struct world *world = w->world;
    int fd = dup(world->fd[arg[0]]), type = world->type[arg[0]];
    uint8_t log = world->log_of[arg[0]];

    result(o, fd < 0 ? fd : 0);
    if (fd >= 0) {
        place(world, arg[1], fd, type);
        world->log_of[arg[1]] = log;
    }
}

static void call_bind(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;

    result(o, bind(w->world->fd[arg[0]], arg_address(w, arg[1], arg[2]),
                   arg[2]));
}

static void call_connect(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;

    result(o, connect(w->world->fd[arg[0]], arg_address(w, arg[1], arg[2]),
                      arg[2]));
}

static void call_listen(struct worker *w, struct outcome *o)
{
    result(o, listen(w->world->fd[w->op.arg[0]], (int)w->op.arg[1]));
}

static void call_accept(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    socklen_t *len;
    void *name = arg_room(w, arg[3], &len);
    int fd = accept4(w->world->fd[arg[0]], name, len, arg[2]);

    result(o, fd < 0 ? fd : 0);
    if (fd < 0) {
        return;
    }
    if (name && len != (socklen_t *)w->arena.hole && name != w->arena.hole) {
        arg_room_facts(o, w, arg[3], *len);
    }
    outcome_fact(o, 'x', "F_GETFL", fcntl(fd, F_GETFL));
    outcome_fact(o, 'x', "F_GETFD", fcntl(fd, F_GETFD));
    place(w->world, arg[1], fd, SOCK_STREAM);
}

static void call_shutdown(struct worker *w, struct outcome *o)
{
    result(o, shutdown(w->world->fd[w->op.arg[0]], (int)w->op.arg[1]));
}

static void call_name(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    int fd = w->world->fd[arg[0]];
    socklen_t *len;
    void *name = arg_room(w, arg[2], &len);

    result(o, arg[1] ? getpeername(fd, name, len)
                     : getsockname(fd, name, len));
    if (o->ret >= 0 && name && name != w->arena.hole) {
        arg_room_facts(o, w, arg[2], *len);
    }
}

/* Sends the descriptor through a UNIX socket and takes it out again. */
static void call_pass(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    struct world *world = w->world;
    int type = world->type[arg[0]], pair[2], fd = -1;
    uint8_t control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec iov = { "x", 1 };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = control,
    };
    uint8_t log = world->log_of[arg[0]];

    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair)) {
        result(o, -1);
        return;
    }
    arg_put_control(&msg, SOL_SOCKET, SCM_RIGHTS, &world->fd[arg[0]],
                    sizeof(int));
    result(o, sendmsg(pair[0], &msg, MSG_DONTWAIT));
    if (o->ret >= 0) {
        iov.iov_base = w->arena.out;
        result(o, recvmsg(pair[1], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
        memcpy(&fd, CMSG_DATA((struct cmsghdr *)control), sizeof(fd));
    }
    if (o->ret >= 0 && fd >= 0) {
        place(world, arg[1], fd, type);
        world->log_of[arg[1]] = log;
    }
    close(pair[0]);
    close(pair[1]);
}

/* Calls for files that sockets must answer for as well. */
static void call_odd(struct worker *w, struct outcome *o)
{
    int fd = w->world->fd[w->op.arg[0]];
    struct stat st = { 0 };
    char text[64] = "";
    void *at;

    switch (w->op.arg[1]) {
    case 0:
        result(o, fstat(fd, &st));
        outcome_fact(o, 'x', "st_mode", st.st_mode);
        break;
    case 1:
        result(o, lseek(fd, 0, SEEK_CUR));
        break;
    case 2:
        result(o, pread(fd, text, 1, 0));
        break;
    case 3:
        result(o, fsync(fd));
        break;
    case 4:
        result(o, ftruncate(fd, 0));
        break;
    case 5:
        at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
        result(o, at == MAP_FAILED ? -1 : 0);
        break;
    case 6:
        result(o, fgetxattr(fd, "system.sockprotoname", text, sizeof(text)));
        o->data = w->arena.out;
        o->len = sizeof(text);
        memcpy(o->data, text, sizeof(text));
        break;
    case 7:
        result(o, fallocate(fd, 0, 0, 1));
        break;
    case 8:
        result(o, syscall(SYS_getdents64, fd, w->arena.out, 4096));
        break;
    default:
        result(o, fchmod(fd, 0600));
    }
}

/* --- readiness ------------------------------------------------------------ */

static void call_poll(struct worker *w, struct outcome *o)
{
    static const char *const names[SLOTS] = {
        "s0", "s1", "s2", "s3", "s4", "s5",
    };
    const uint32_t *arg = w->op.arg;
    struct pollfd pfd[SLOTS];
    unsigned i;

    for (i = 0; i < SLOTS; i++) {
        pfd[i].fd = arg[0] & 1u << i ? w->world->fd[i] : -1;
        pfd[i].events = arg[1];
        pfd[i].revents = 0;
    }
    result(o, poll(pfd, SLOTS, (int)arg[2]));
    for (i = 0; i < SLOTS; i++) {
        outcome_fact(o, 'e', names[i], (uint16_t)pfd[i].revents);
    }
}

static void call_select(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    struct timeval tv = { 0, (int)arg[1] * 1000 };
    uint32_t found[3] = { 0 };
    fd_set set[3];
    int top = 0;
    unsigned i, j;

    for (j = 0; j < 3; j++) {
        FD_ZERO(&set[j]);
    }
    for (i = 0; i < SLOTS; i++) {
        int fd = w->world->fd[i];

        if (fd >= 0 && fd < FD_SETSIZE && (arg[0] & 1u << i)) {
            for (j = 0; j < 3; j++) {
                FD_SET(fd, &set[j]);
            }
            top = fd >= top ? fd + 1 : top;
        }
    }
    result(o, select(top, &set[0], &set[1], &set[2],
                     (int)arg[1] < 0 ? NULL : &tv));
    for (i = 0; o->ret >= 0 && i < SLOTS; i++) {
        for (j = 0; j < 3; j++) {
            int fd = w->world->fd[i];

            if (fd >= 0 && fd < FD_SETSIZE && (arg[0] & 1u << i) &&
                FD_ISSET(fd, &set[j])) {
                found[j] |= 1u << i;
            }
        }
    }
    outcome_fact(o, 'x', "readable", found[0]);
    outcome_fact(o, 'x', "writable", found[1]);
    outcome_fact(o, 'x', "exceptional", found[2]);
}

static int epoll_of(struct world *world, uint32_t i)
{
    int *fd = &world->epoll[i % EPOLLS];

    if (*fd <= 0) {
        *fd = epoll_create1(EPOLL_CLOEXEC);
    }
    return *fd;
}

static void call_epctl(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    struct epoll_event event = { .events = arg[3], .data.u32 = arg[2] };

    result(o, epoll_ctl(epoll_of(w->world, arg[0]), (int)arg[1],
                        w->world->fd[arg[2]], &event));
}

static void call_epwait(struct worker *w, struct outcome *o)
{
    static const char *const names[SLOTS] = {
        "s0", "s1", "s2", "s3", "s4", "s5",
    };
    const uint32_t *arg = w->op.arg;
    struct epoll_event event[16];
    uint32_t found[SLOTS] = { 0 };
    int max = (int)arg[1] < 16 ? (int)arg[1] : 16;
    int i, n;

    n = epoll_wait(epoll_of(w->world, arg[0]), event, max, (int)arg[2]);
    result(o, n);
    for (i = 0; i < n; i++) {
        found[event[i].data.u32 % SLOTS] |= event[i].events;
    }
    for (i = 0; n >= 0 && i < SLOTS; i++) {
        outcome_fact(o, 'e', names[i], found[i]);
    }
}

/* --- options, ioctl, fcntl ------------------------------------------------ */

static const char *const text_values[] = {
    "reno", "cubic", "nonsense", "", "tls", "lo", "eth7", "vmrpc0",
};

static bool is_text(int level, int name)
{
    return (level == SOL_TCP &&
            (name == TCP_CONGESTION || name == TCP_ULP)) ||
           (level == SOL_SOCKET && name == SO_BINDTODEVICE);
}

static bool is_time(int level, int name)
{
    return level == SOL_SOCKET &&
           (name == SO_RCVTIMEO || name == SO_SNDTIMEO ||
            name == 66 || name == 67);
}

/* Writes a value that the option may have, in 512 bytes. */
static void put_value(uint8_t *to, int level, int name, uint32_t value)
{
    static const struct timeval times[] = {
        { 0, 0 }, { 0, 1000 }, { 0, 50000 }, { 0, 1000001 }, { -1, 0 },
        { 0, -1 },
    };
    struct linger linger = { value & 1, value >> 1 & 1 };
    struct ip_mreqn mreq = {
        .imr_multiaddr = arg_in_addr(ADDR_MULTICAST),
        .imr_address = addresses.me,
    };

    memset(to, 0, 512);
    /* Bound to an interface that is not there, the native side is deaf. */
    if (level != SOL_SOCKET || name != SO_BINDTOIFINDEX) {
        memcpy(to, &value, sizeof(value));
    }
    if (is_text(level, name)) {
        strcpy((char *)to, text_values[value % COUNT(text_values)]);
    } else if (is_time(level, name)) {
        memcpy(to, &times[value % COUNT(times)], sizeof(times[0]));
    } else if (level == SOL_SOCKET && name == SO_LINGER) {
        memcpy(to, &linger, sizeof(linger));
    } else if (level == SOL_IP && (name == IP_ADD_MEMBERSHIP ||
                                   name == IP_DROP_MEMBERSHIP ||
                                   name == IP_MULTICAST_IF)) {
        memcpy(to, &mreq, sizeof(mreq));
    }
}

static void call_set(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    socklen_t len = arg[4];
    uint8_t *at = w->arena.small;
    uint8_t value[512];

    put_value(value, arg[1], arg[2], arg[3]);
    switch (arg[5]) {
    case PTR_NULL:
        at = NULL;
        break;
    case PTR_EDGE:
        at = w->arena.hole - (len < 512 ? len : 512);
        memcpy(at, value, len < 512 ? len : 512);
        break;
    case PTR_BAD:
        at = w->arena.hole;
        break;
    default:
        memcpy(at, value, sizeof(value));
    }
    result(o, setsockopt(w->world->fd[arg[0]], arg[1], arg[2], at, len));
}

/* Options whose values nobody can foretell. */
static bool is_unpredictable(int level, int name)
{
    static const struct {
        int level, name;
    } some[] = {
        { SOL_SOCKET, SO_INCOMING_CPU }, { SOL_SOCKET, SO_INCOMING_NAPI_ID },
        { SOL_SOCKET, SO_COOKIE }, { SOL_SOCKET, SO_MEMINFO },
        { SOL_SOCKET, SO_PEERNAME }, { SOL_SOCKET, 71 }, /* SO_NETNS_COOKIE */
        { SOL_IP, 52 },         /* IP_PROTOCOL: of Linux, the port */
        { SOL_TCP, TCP_CONGESTION },
        { SOL_TCP, TCP_CC_INFO }, { SOL_TCP, TCP_TIMESTAMP },
        { SOL_TCP, TCP_INFO }, { SOL_TCP, TCP_QUICKACK },
        { SOL_TCP, TCP_ZEROCOPY_RECEIVE }, { SOL_TCP, TCP_SAVED_SYN },
        { SOL_TCP, TCP_WINDOW_CLAMP },
    };
    size_t i;

    for (i = 0; i < COUNT(some); i++) {
        if (some[i].level == level && some[i].name == name) {
            return true;
        }
    }
    return false;
}

static void value_facts(struct outcome *o, int level, int name,
                        const uint8_t *value, socklen_t len)
{
    struct tcp_info info = { 0 };
    int32_t number = 0;

    if (level == SOL_TCP && name == TCP_INFO) {
        memcpy(&info, value, len < sizeof(info) ? len : sizeof(info));
        outcome_fact(o, 'd', "tcpi_state", info.tcpi_state);
        return;
    }
    if (is_unpredictable(level, name)) {
        return;
    }
    outcome_fact(o, 'd', "optlen", len);
    memcpy(&number, value, len < 4 ? len : 4);
    /* The kernel makes these larger as it likes. */
    if (level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_RCVBUF)) {
        outcome_fact(o, 'i', "value", number);
    } else {
        outcome_fact(o, 'd', "value", number);
    }
}

static void call_get(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    socklen_t *len = (socklen_t *)(w->arena.small + 8);
    uint8_t *at = w->arena.small + 64;
    socklen_t room = arg[3] < 512 ? arg[3] : 512;

    memset(at, POISON, 1024);
    *len = arg[3];
    switch (arg[4]) {
    case PTR_NULL:
        at = NULL;
        break;
    case PTR_EDGE:
        at = w->arena.hole - room;
        memset(at, POISON, room);
        break;
    case PTR_BAD:
        at = w->arena.hole;
        break;
    case PTR_BAD_LENGTH:
        len = (socklen_t *)w->arena.hole;
        break;
    }
    result(o, getsockopt(w->world->fd[arg[0]], arg[1], arg[2], at, len));
    if (o->ret < 0 || !at || at == w->arena.hole ||
        (uint8_t *)len == w->arena.hole) {
        return;
    }
    value_facts(o, arg[1], arg[2], at, *len < room ? *len : room);
    if (arg[4] == PTR_GOOD) {
        outcome_fact(o, 'd', "overrun",
                     at[*len < room ? *len : room] != POISON);
    }
}

/*
 * Signals go to a thread of this world.  Those to a process, which is both
 * worlds, are one if the second comes before the first is taken.
 */
static int own_signals(struct worker *w, int fd)
{
    struct f_owner_ex owner = { F_OWNER_TID, w->world->worker[0].tid };

    return fcntl(fd, F_SETOWN_EX, &owner);
}

static void call_ioctl(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    int32_t *at = (int32_t *)(w->arena.hole - 64), value = arg[2];

    memset(at, 0, 64);
    *at = value;
    switch (arg[3]) {
    case PTR_NULL:
        at = NULL;
        break;
    case PTR_BAD:
        at = (int32_t *)w->arena.hole;
        break;
    }
    if (arg[1] == FIOSETOWN || arg[1] == SIOCSPGRP) {
        value = w->world->worker[0].tid;
        memcpy(w->arena.hole - 64, &value, sizeof(value));
    }
    result(o, ioctl(w->world->fd[arg[0]], arg[1], at));
    if (o->ret < 0 || !at || at == (int32_t *)w->arena.hole) {
        return;
    }
    switch (arg[1]) {
    case FIOSETOWN:
    case SIOCSPGRP:
        own_signals(w, w->world->fd[arg[0]]);
        break;
    case SIOCINQ:
    case SIOCATMARK:
        outcome_fact(o, 'd', "value", *at);
        break;
    case FIOGETOWN:
    case SIOCGPGRP:
        outcome_fact(o, 'd', "owned", *at != 0);
        break;
    }
}

static void call_fcntl(struct worker *w, struct outcome *o)
{
    const uint32_t *arg = w->op.arg;
    int fd = w->world->fd[arg[0]];
    struct f_owner_ex owner = { };
    struct flock lock = { .l_type = F_RDLCK };

    switch (arg[1]) {
    case F_SETOWN:
    case F_SETOWN_EX:
        result(o, own_signals(w, fd));
        break;
    case F_GETOWN_EX:
    case F_GETOWN:
        result(o, fcntl(fd, F_GETOWN_EX, &owner));
        outcome_fact(o, 'd', "owned", owner.pid != 0);
        break;
    case F_GETLK:
    case F_SETLK:
        result(o, fcntl(fd, arg[1], &lock));
        break;
    default:
        result(o, fcntl(fd, arg[1], (long)(int)arg[2]));
    }
}

/* --- all together --------------------------------------------------------- */

typedef void call_fn(struct worker *w, struct outcome *o);

static call_fn *const calls[OP_KINDS] = {
    [OP_SOCKET] = call_socket,
    [OP_CLOSE] = call_close,
    [OP_DUP] = call_dup,
    [OP_BIND] = call_bind,
    [OP_LISTEN] = call_listen,
    [OP_CONNECT] = call_connect,
    [OP_ACCEPT] = call_accept,
    [OP_SHUTDOWN] = call_shutdown,
    [OP_NAME] = call_name,
    [OP_SEND] = call_send,
    [OP_RECV] = call_recv,
    [OP_FILL] = call_fill,
    [OP_SPLICE_IN] = call_splice_in,
    [OP_SPLICE_OUT] = call_splice_out,
    [OP_SENDFILE] = call_sendfile,
    [OP_VMSPLICE] = call_vmsplice,
    [OP_POLL] = call_poll,
    [OP_SELECT] = call_select,
    [OP_EPCTL] = call_epctl,
    [OP_EPWAIT] = call_epwait,
    [OP_SET] = call_set,
    [OP_GET] = call_get,
    [OP_IOCTL] = call_ioctl,
    [OP_FCNTL] = call_fcntl,
    [OP_PASS] = call_pass,
    [OP_ODD] = call_odd,
};

static __thread unsigned broken_pipes;

static void on_broken_pipe(int number)
{
    broken_pipes++;
}

void call_make(struct worker *worker)
{
    struct sigaction pipe = { .sa_handler = on_broken_pipe };
    struct outcome *o = worker->arena.outcome;

    sigaction(SIGPIPE, &pipe, NULL);
    broken_pipes = 0;
    calls[worker->op.kind](worker, o);
    outcome_fact(o, 'd', "SIGPIPE", broken_pipes);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

/* How long to wait for what is on its way, a corked segment included. */
#define PATIENCE_MS     250
/* And for more, once something has come. */
#define MORE_MS         5

struct peer {
    const struct peer_config *config;
    int fd[PEERS], type[PEERS];
    uint8_t data[PEER_DATA_MAX];
};

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

int peer_read(int fd, void *data, size_t len)
{
    uint8_t *p = data;

    while (len) {
        ssize_t n = read(fd, p, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return -1;
        }
        p += n;
        len -= n;
    }
    return 0;
}

int peer_write(int fd, const void *data, size_t len)
{
    const uint8_t *p = data;

    while (len) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return -1;
        }
        p += n;
        len -= n;
    }
    return 0;
}

void peer_pattern(uint8_t *data, size_t len, uint32_t step, size_t offset)
{
    size_t i;

    for (i = 0; i < len; i++) {
        size_t at = offset + i;

        data[i] = step * 101 + at * 31 + (at >> 8) * 17;
    }
}

static int parse_address(const char *text, struct sockaddr_storage *ss,
                         socklen_t *len)
{
    struct sockaddr_in *sin = (struct sockaddr_in *)ss;
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;

    memset(ss, 0, sizeof(*ss));
    if (inet_pton(AF_INET, text, &sin->sin_addr) == 1) {
        sin->sin_family = AF_INET;
        *len = sizeof(*sin);
        return 0;
    }
    if (inet_pton(AF_INET6, text, &sin6->sin6_addr) == 1) {
        sin6->sin6_family = AF_INET6;
        *len = sizeof(*sin6);
        return 0;
    }
    return -1;
}

int peer_config_parse(struct peer_config *config, char *const text[3])
{
    if (parse_address(text[0], &config->address[0], &config->len) ||
        parse_address(text[1], &config->address[1], &config->len) ||
        parse_address(text[2], &config->vm, &config->len) ||
        config->address[0].ss_family != config->vm.ss_family ||
        config->address[1].ss_family != config->vm.ss_family) {
        return -1;
    }
    return 0;
}

/* The port is at the same place in both families. */
static void set_port(struct sockaddr_storage *ss, uint32_t port)
{
    ((struct sockaddr_in *)ss)->sin_port = htons(port);
}

static uint32_t get_port(const struct sockaddr_storage *ss)
{
    return ntohs(((const struct sockaddr_in *)ss)->sin_port);
}

static bool is_vm(const struct peer *p, const struct sockaddr_storage *ss)
{
    const struct sockaddr_storage *vm = &p->config->vm;

    if (vm->ss_family == AF_INET) {
        return ((const struct sockaddr_in *)vm)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)ss)->sin_addr.s_addr;
    }
    return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)vm)->sin6_addr,
                              &((const struct sockaddr_in6 *)ss)->sin6_addr);
}

/* Waits for any of the events; returns those that there are. */
static int await_events(int fd, int events, int ms)
{
    struct pollfd pfd = { .fd = fd, .events = events };

    return poll(&pfd, 1, ms) > 0 ? pfd.revents : 0;
}

/* Waits until everything that was sent has arrived. */
static void await_arrival(int fd)
{
    int64_t end = now_ms() + PATIENCE_MS;
    int left;

    while (!ioctl(fd, SIOCOUTQ, &left) && left > 0 && now_ms() < end) {
        usleep(500);
    }
}

static void drop(struct peer *p, uint32_t i)
{
    if (p->fd[i] >= 0) {
        close(p->fd[i]);
    }
    p->fd[i] = -1;
}

/* --- requests: each returns what is to be in peer_reply.ret --------------- */

static int new_socket(struct peer *p, uint32_t i, int type, uint32_t address)
{
    const struct sockaddr_storage *ss = &p->config->address[address % 2];
    int one = 1, fd;

    drop(p, i);
    fd = socket(ss->ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    if (type == SOCK_STREAM) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    } else if (ss->ss_family == AF_INET) {
        setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &one, sizeof(one));
        setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof(one));
    } else {
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &one, sizeof(one));
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &one, sizeof(one));
    }
    if (bind(fd, (const struct sockaddr *)ss, p->config->len)) {
        int err = errno;

        close(fd);
        return -err;
    }
    p->fd[i] = fd;
    p->type[i] = type;
    return 0;
}

static int report_port(struct peer *p, uint32_t i, struct peer_reply *reply)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);

    if (getsockname(p->fd[i], (struct sockaddr *)&ss, &len)) {
        return -errno;
    }
    reply->port = get_port(&ss);
    return 0;
}

static int do_listen(struct peer *p, const struct peer_request *req,
                     struct peer_reply *reply)
{
    int ret = new_socket(p, req->peer, SOCK_STREAM, req->arg[1]);

    if (ret) {
        return ret;
    }
    if (listen(p->fd[req->peer], (int)req->arg[0])) {
        return -errno;
    }
    return report_port(p, req->peer, reply);
}

static int do_accept(struct peer *p, const struct peer_request *req,
                     struct peer_reply *reply)
{
    uint32_t to = req->arg[0] % PEERS;
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    int one = 1, fd;

    await_events(p->fd[req->peer], POLLIN, PATIENCE_MS);
    fd = accept4(p->fd[req->peer], (struct sockaddr *)&ss, &len,
                 SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    drop(p, to);
    p->fd[to] = fd;
    p->type[to] = SOCK_STREAM;
    reply->port = get_port(&ss);
    reply->from_vm = is_vm(p, &ss);
    return 0;
}

static int do_connect(struct peer *p, const struct peer_request *req,
                      struct peer_reply *reply)
{
    struct sockaddr_storage vm = p->config->vm;
    int ret = new_socket(p, req->peer, SOCK_STREAM, 0);
    socklen_t len = sizeof(ret);
    int fd = p->fd[req->peer];

    if (ret) {
        return ret;
    }
    set_port(&vm, req->arg[0]);
    if (connect(fd, (struct sockaddr *)&vm, p->config->len) &&
        errno != EINPROGRESS) {
        return -errno;
    }
    if (!await_events(fd, POLLOUT, PATIENCE_MS)) {
        return -EINPROGRESS;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &ret, &len)) {
        return -errno;
    }
    return ret ? -ret : report_port(p, req->peer, reply);
}

static int do_send(struct peer *p, const struct peer_request *req,
                   struct peer_reply *reply)
{
    size_t size = req->arg[0] % (PEER_DATA_MAX + 1), sent = 0;
    int fd = p->fd[req->peer];
    ssize_t n;

    peer_pattern(p->data, size, req->step, 0);
    do {
        n = send(fd, p->data + sent, size - sent,
                 req->arg[1] | MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN &&
            await_events(fd, POLLOUT, PATIENCE_MS)) {
            continue;
        }
        sent += n > 0 ? n : 0;
    } while (n >= 0 && sent < size);
    if (n < 0 && !sent) {
        return -errno;
    }
    await_arrival(fd);
    return sent;
}

static int do_recv(struct peer *p, const struct peer_request *req,
                   struct peer_reply *reply)
{
    size_t size = req->arg[0] % (PEER_DATA_MAX + 1), got = 0;
    int fd = p->fd[req->peer], flags = req->arg[1];
    int ms = flags & MSG_DONTWAIT ? MORE_MS : PATIENCE_MS;
    ssize_t n = 0;

    do {
        await_events(fd, flags & MSG_OOB ? POLLPRI : POLLIN, ms);
        n = recv(fd, p->data + got, size - got, flags | MSG_DONTWAIT);
        got += n > 0 ? n : 0;
        ms = MORE_MS;
    } while (n > 0 && got < size && !(flags & ~MSG_DONTWAIT));
    if (n < 0 && !got) {
        return -errno;
    }
    reply->data_len = got;
    return got;
}

/* Waits until the end of the stream has arrived there. */
static void await_end(int fd)
{
    int64_t end = now_ms() + PATIENCE_MS;
    struct tcp_info info;
    socklen_t len;

    do {
        len = sizeof(info);
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) ||
            (info.tcpi_state != TCP_FIN_WAIT1 &&
             info.tcpi_state != TCP_LAST_ACK &&
             info.tcpi_state != TCP_CLOSING)) {
            return;
        }
        usleep(500);
    } while (now_ms() < end);
}

static int do_shutdown(struct peer *p, const struct peer_request *req,
                       struct peer_reply *reply)
{
    if (shutdown(p->fd[req->peer], (int)req->arg[0])) {
        return -errno;
    }
    await_end(p->fd[req->peer]);
    return 0;
}

static int do_close(struct peer *p, const struct peer_request *req,
                    struct peer_reply *reply)
{
    drop(p, req->peer);
    return 0;
}

static int do_reset(struct peer *p, const struct peer_request *req,
                    struct peer_reply *reply)
{
    struct linger linger = { .l_onoff = 1 };

    setsockopt(p->fd[req->peer], SOL_SOCKET, SO_LINGER, &linger,
               sizeof(linger));
    return do_close(p, req, reply);
}

static int do_open(struct peer *p, const struct peer_request *req,
                   struct peer_reply *reply)
{
    int ret = new_socket(p, req->peer, SOCK_DGRAM, req->arg[0]);

    return ret ? ret : report_port(p, req->peer, reply);
}

/* arg[1]: the size, and the type of service from bit 20 on */
static int do_sendto(struct peer *p, const struct peer_request *req,
                     struct peer_reply *reply)
{
    struct sockaddr_storage vm = p->config->vm;
    size_t size = (req->arg[1] & 0xfffff) % PEER_DATA_MAX;
    int tos = req->arg[1] >> 20 & 0xff, fd = p->fd[req->peer];
    ssize_t n;

    if (vm.ss_family == AF_INET) {
        setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
    } else {
        setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
    }
    peer_pattern(p->data, size, req->step, 0);
    set_port(&vm, req->arg[0]);
    n = sendto(fd, p->data, size, MSG_DONTWAIT, (struct sockaddr *)&vm,
               p->config->len);
    return n < 0 ? -errno : n;
}

static void read_control(struct msghdr *msg, struct peer_reply *reply)
{
    struct cmsghdr *c;

    for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        bool ip = c->cmsg_level == IPPROTO_IP;

        if (c->cmsg_type == (ip ? IP_TTL : IPV6_HOPLIMIT)) {
            memcpy(&reply->ttl, CMSG_DATA(c), sizeof(reply->ttl));
        } else if (c->cmsg_type == (ip ? IP_TOS : IPV6_TCLASS)) {
            reply->tos = *CMSG_DATA(c);
        }
    }
}

static int do_recvfrom(struct peer *p, const struct peer_request *req,
                       struct peer_reply *reply)
{
    struct sockaddr_storage ss = { 0 };
    char control[256];
    struct iovec iov = { p->data, sizeof(p->data) };
    struct msghdr msg = {
        .msg_name = &ss, .msg_namelen = sizeof(ss),
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = control, .msg_controllen = sizeof(control),
    };
    ssize_t n;

    await_events(p->fd[req->peer], POLLIN, PATIENCE_MS);
    n = recvmsg(p->fd[req->peer], &msg, MSG_DONTWAIT);
    if (n < 0) {
        return -errno;
    }
    read_control(&msg, reply);
    reply->port = get_port(&ss);
    reply->from_vm = is_vm(p, &ss);
    reply->data_len = n;
    return n;
}

static int do_forget(struct peer *p)
{
    uint32_t i;

    for (i = 0; i < PEERS; i++) {
        drop(p, i);
    }
    return 0;
}

typedef int request_fn(struct peer *p, const struct peer_request *req,
                       struct peer_reply *reply);

/* @type: the socket must be of that type; 0: of any.  @any: or not be there */
static const struct {
    request_fn *make;
    int type;
    bool any;
} requests[OP_KINDS] = {
    [OP_PEER_LISTEN] = { do_listen, 0, true },
    [OP_PEER_ACCEPT] = { do_accept, SOCK_STREAM, false },
    [OP_PEER_CONNECT] = { do_connect, 0, true },
    [OP_PEER_SEND] = { do_send, SOCK_STREAM, false },
    [OP_PEER_RECV] = { do_recv, SOCK_STREAM, false },
    [OP_PEER_SHUTDOWN] = { do_shutdown, SOCK_STREAM, false },
    [OP_PEER_CLOSE] = { do_close, 0, false },
    [OP_PEER_RESET] = { do_reset, SOCK_STREAM, false },
    [OP_PEER_OPEN] = { do_open, 0, true },
    [OP_PEER_SENDTO] = { do_sendto, SOCK_DGRAM, false },
    [OP_PEER_RECVFROM] = { do_recvfrom, SOCK_DGRAM, false },
};

static void answer(struct peer *p, const struct peer_request *req,
                   struct peer_reply *reply)
{
    memset(reply, 0, sizeof(*reply));
    reply->id = req->id;
    if (req->op == PEER_FORGET) {
        reply->ret = do_forget(p);
    } else if (req->op >= OP_KINDS || !requests[req->op].make ||
               req->peer >= PEERS) {
        reply->ret = -ENOSYS;
    } else if (!requests[req->op].any && p->fd[req->peer] < 0) {
        reply->ret = -EBADF;
    } else if (requests[req->op].type &&
               requests[req->op].type != p->type[req->peer]) {
        reply->ret = -EPROTOTYPE;
    } else {
        reply->ret = requests[req->op].make(p, req, reply);
    }
}

void peer_serve(const struct peer_config *config, int channel)
{
    struct peer *p = calloc(1, sizeof(*p));
    struct peer_request req;
    struct peer_reply reply;

    if (!p) {
        return;
    }
    p->config = config;
    memset(p->fd, -1, sizeof(p->fd));
    while (!peer_read(channel, &req, sizeof(req))) {
        answer(p, &req, &reply);
        if (peer_write(channel, &reply, sizeof(reply)) ||
            peer_write(channel, p->data, reply.data_len)) {
            break;
        }
    }
    do_forget(p);
    free(p);
}

/* --- the storm's peer ----------------------------------------------------- */

#define STORM_SOCKETS   64
#define STORM_FIXED     2       /* the listener and a datagram socket */

static void storm_break(int fd, struct random *r)
{
    struct linger linger = { .l_onoff = random_percent(r, 50) };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    if (random_percent(r, 30)) {
        shutdown(fd, random_below(r, 3));
    }
    close(fd);
}

static void storm_talk(int fd, struct random *r)
{
    static uint8_t data[1 << 16];
    size_t size = random_below(r, random_percent(r, 20) ? sizeof(data) : 200);
    int flags = MSG_DONTWAIT | MSG_NOSIGNAL;

    switch (random_below(r, 4)) {
    case 0:
        recv(fd, data, sizeof(data), flags);
        break;
    case 1:
        send(fd, data, size, flags);
        break;
    case 2:
        send(fd, data, 1, flags | MSG_OOB);
        break;
    default:
        while (recv(fd, data, sizeof(data), flags) > 0) {
            /* read on */
        }
    }
}

static void storm_datagrams(struct peer *p, struct random *r)
{
    struct sockaddr_storage ss = p->config->vm;
    socklen_t len = sizeof(ss);
    ssize_t n;

    n = recvfrom(p->fd[1], p->data, 1 << 16, MSG_DONTWAIT,
                 (struct sockaddr *)&ss, &len);
    if (n < 0) {
        /* Nobody has sent: a fixed port may have somebody. */
        ss = p->config->vm;
        set_port(&ss, 10000 + random_below(r, 16));
        len = p->config->len;
        n = random_below(r, 2000);
    }
    sendto(p->fd[1], p->data, n, MSG_DONTWAIT, (struct sockaddr *)&ss, len);
}

static int storm_connect(struct peer *p, struct random *r)
{
    struct sockaddr_storage vm = p->config->vm;
    int fd = socket(vm.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    0);

    if (fd < 0) {
        return -1;
    }
    set_port(&vm, 10000 + random_below(r, 16));
    if (connect(fd, (struct sockaddr *)&vm, p->config->len) &&
        errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

static int storm_fixed(struct peer *p)
{
    struct sockaddr_storage ss = p->config->address[0];
    int one = 1, i;

    for (i = 0; i < STORM_FIXED; i++) {
        p->fd[i] = socket(ss.ss_family, (i ? SOCK_DGRAM : SOCK_STREAM) |
                          SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        set_port(&ss, PEER_STORM_PORT);
        setsockopt(p->fd[i], SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(p->fd[i], (struct sockaddr *)&ss, p->config->len)) {
            return -1;
        }
    }
    return listen(p->fd[0], 64);
}

void peer_storm(const struct peer_config *config, uint64_t seed)
{
    struct random r = { seed };
    struct peer *p = calloc(1, sizeof(*p));
    int fd[STORM_SOCKETS];
    uint32_t i;

    memset(fd, -1, sizeof(fd));
    if (!p) {
        return;
    }
    p->config = config;
    if (storm_fixed(p)) {
        return;
    }
    for (;;) {
        /* A thousand acts a second leave the guest its part of the machine. */
        usleep(1000);
        i = random_below(&r, STORM_SOCKETS);
        storm_datagrams(p, &r);
        if (fd[i] < 0) {
            fd[i] = random_percent(&r, 80)
                    ? accept4(p->fd[0], NULL, NULL,
                              SOCK_NONBLOCK | SOCK_CLOEXEC)
                    : storm_connect(p, &r);
        } else if (random_percent(&r, 10)) {
            storm_break(fd[i], &r);
            fd[i] = -1;
        } else {
            storm_talk(fd[i], &r);
        }
    }
}

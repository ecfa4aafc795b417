/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/server-fixture.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/server/state.h"

const char *fx_vm6 = "::1", *fx_peer6 = "::1";

/* --- the place ----------------------------------------------------------- */

/*
 * Waits for the local route of @addr, which the kernel adds some time after the
 * address.  A connection in between would get no answer.
 */
static bool await_route(int monitor, const struct in6_addr *addr)
{
    uint8_t buf[4096] __attribute__((aligned(8)));
    ssize_t len;

    while ((len = recv(monitor, buf, sizeof(buf), 0)) > 0) {
        const struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

        for (; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len)) {
            const struct rtmsg *rtm = NLMSG_DATA(nlh);
            const struct rtattr *rta = RTM_RTA(rtm);

            for (int left = RTM_PAYLOAD(nlh);
                 nlh->nlmsg_type == RTM_NEWROUTE &&
                 rtm->rtm_type == RTN_LOCAL && RTA_OK(rta, left);
                 rta = RTA_NEXT(rta, left)) {
                if (rta->rta_type == RTA_DST &&
                    memcmp(RTA_DATA(rta), addr, sizeof(*addr)) == 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* IFA_F_NODAD: otherwise the address would be tentative for a moment. */
static bool add_address(int fd, int monitor, const char *text)
{
    struct {
        struct nlmsghdr nlh;
        struct ifaddrmsg ifa;
        struct rtattr rta_addr;
        struct in6_addr addr;
        struct rtattr rta_flags;
        uint32_t flags;
    } req = {
        .nlh = { .nlmsg_len = sizeof(req), .nlmsg_type = RTM_NEWADDR,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE },
        .ifa = { .ifa_family = AF_INET6, .ifa_prefixlen = 128,
                 .ifa_index = if_nametoindex("lo") },
        .rta_addr = { sizeof(req.rta_addr) + sizeof(req.addr), IFA_LOCAL },
        .rta_flags = { sizeof(req.rta_flags) + sizeof(req.flags), IFA_FLAGS },
        .flags = IFA_F_NODAD | IFA_F_PERMANENT,
    };
    struct {
        struct nlmsghdr nlh;
        struct nlmsgerr err;
    } ack;

    inet_pton(AF_INET6, text, &req.addr);
    return send(fd, &req, sizeof(req), 0) == sizeof(req) &&
           recv(fd, &ack, sizeof(ack), 0) >= (ssize_t)sizeof(ack) &&
           ack.nlh.nlmsg_type == NLMSG_ERROR && ack.err.error == 0 &&
           await_route(monitor, &req.addr);
}

void fx_init(void)
{
    static const char *const addrs[] = {
        "2001:db8::10", "2001:db8::20", FX_LINK6,
        /*
         * IPv4 addresses behind FX_NAT64: 127.0.0.1, the guest's, its
         * resolver's, a pool address and a valid one; the last one also behind
         * FX_NAT64_TOO
         */
        FX_NAT64 "7f00:1", FX_NAT64 "a00:20f", FX_NAT64 "c000:1",
        FX_NAT64 "c612:5", FX_NAT64 "c633:6405", FX_NAT64_TOO "c633:6405",
    };
    struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    struct sockaddr_nl group = { .nl_family = AF_NETLINK,
                                 .nl_groups = RTMGRP_IPV6_ROUTE };
    struct timeval limit = { .tv_sec = FX_WAIT_MS / 1000 };
    int fd, netlink, monitor;
    bool ok;

    /* Root needs no user namespace; other users need one. */
    if (unshare(CLONE_NEWNET) < 0 &&
        unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
        return;
    }
    fd = socket(AF_INET6, SOCK_DGRAM, 0);
    netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    monitor = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    ok = fd >= 0 && netlink >= 0 && monitor >= 0 &&
         bind(monitor, (struct sockaddr *)&group, sizeof(group)) == 0 &&
         setsockopt(monitor, SOL_SOCKET, SO_RCVTIMEO, &limit,
                    sizeof(limit)) == 0 &&
         ioctl(fd, SIOCSIFFLAGS, &ifr) == 0;
    for (size_t i = 0; ok && i < G_N_ELEMENTS(addrs); i++) {
        ok = add_address(netlink, monitor, addrs[i]);
    }
    close(monitor);
    close(netlink);
    close(fd);
    if (ok) {
        fx_vm6 = addrs[0];
        fx_peer6 = addrs[1];
    }
}

bool fx_has_namespace(void)
{
    return strcmp(fx_vm6, fx_peer6) != 0;
}

/* --- life ---------------------------------------------------------------- */

static char *write_policy(const char *text)
{
    g_autoptr(GError) err = NULL;
    char *name;
    int fd = g_file_open_tmp("vmrpc-policy-XXXXXX", &name, &err);

    g_assert_no_error(err);
    close(fd);
    g_file_set_contents(name, text, -1, &err);
    g_assert_no_error(err);
    return name;
}

Fx *fx_new(const FxOptions *o)
{
    g_auto(GStrv) dns = g_strsplit(o->dns ?: "::1@9", "+", -1);
    g_autofree char *policy = o->policy ? write_policy(o->policy) : NULL;
    g_autoptr(GError) err = NULL;
    Fx *fx = g_new0(Fx, 1);
    VmrpcServerConfig config = {
        .reach = {
            .translate = !o->ipv4,
            .has_address6 = !o->ipv4 && !o->no_address6,
            .guest4_prefix = 24,
            .pool4_prefix = o->pool4_prefix ?: 16,
        },
        .alg = true,
        .happy_eyeballs = true,
        .dns = (const char *const *)dns,
        .zones = o->zones,
        .policy_file = o->policy_path ?: policy,
        .max_sockets = o->max_sockets ?: FX_HANDLES,
    };

    fx->extra_fd = -1;
    fx->flags = VMRPC_REQ_WATCH;
    inet_pton(AF_INET, o->ipv4 ? "127.0.0.1" : FX_GUEST4, &fx->guest4);
    config.reach.guest4 = fx->guest4;
    if (!o->ipv4) {
        inet_pton(AF_INET, FX_POOL4, &config.reach.pool4);
        inet_pton(AF_INET6, fx_vm6, &config.reach.address6);
    }
    if (!o->ipv4 && !o->no_resolver) {
        inet_pton(AF_INET, FX_RESOLVER4, &fx->resolver4);
        config.reach.resolver4 = fx->resolver4;
    }
    if (o->nat64) {
        config.nat64_mode = VMRPC_NAT64_FIXED;
        g_assert_true(nat64_prefix_parse(FX_NAT64 "/96", &config.nat64_prefix,
                                         NULL));
    } else if (o->nat64_auto) {
        config.nat64_mode = VMRPC_NAT64_AUTO;
    }
    fx->srv = vmrpc_server_new(&config, o->incoming, &err);
    g_assert_no_error(err);
    g_assert_nonnull(fx->srv);
    if (policy) {
        g_unlink(policy);
    }
    fx->peer4 = o->ipv4 ? fx->guest4 : fx_map(fx, fx_peer6);
    return fx;
}

Fx *fx_new_default(void)
{
    return fx_new(&(FxOptions) { .policy = "allow ::1\nallow host\n" });
}

void fx_free(Fx *fx)
{
    vmrpc_server_free(fx->srv);
    g_free(fx);
}

struct in_addr fx_map(Fx *fx, const char *addr6)
{
    struct in6_addr in6;
    struct in_addr in4;

    g_assert_cmpint(inet_pton(AF_INET6, addr6, &in6), ==, 1);
    g_assert_cmpint(vmrpc_addrmap_lease(vmrpc_server_addrmap(fx->srv), &in6,
                                        3600, g_get_monotonic_time() / 1000,
                                        &in4, NULL), ==, 0);
    return in4;
}

struct in_addr fx_peer4(Fx *fx)
{
    return fx_has_namespace() ? fx->peer4 : fx->guest4;
}

/* --- calls --------------------------------------------------------------- */

/* Handles a report of readiness, from a response or an event. */
static void told(Fx *fx, uint32_t handle, uint32_t gen, uint32_t ready,
                 uint32_t seq, uint32_t so_error, bool is_event)
{
    FxMirror *m;

    g_assert_cmpuint(ready & ~VMRPC_READY_ALL, ==, 0);
    if (handle >= FX_HANDLES) {
        return;
    }
    m = &fx->sock[handle];
    g_assert_cmpuint(m->gen, ==, gen);
    /* strictly increasing over responses and events */
    g_assert_cmpint((int32_t)(seq - m->seq), >, 0);
    if (is_event) {
        m->events++;
        g_assert_true((ready & ~m->ready) || fx->edge || ready & VMRPC_PRI ||
                      (so_error && !(so_error >> VMRPC_ERROR_AGE)));
    }
    m->ready = ready;
    m->seq = seq;
    if (so_error && !(so_error >> VMRPC_ERROR_AGE)) {
        m->so_error = so_error;
        m->so_error_seq = seq;
        m->so_errors++;
    } else if (so_error) {
        /* again, as this report may have overtaken an earlier one */
        g_assert_cmpint(so_error & 0xffff, ==, m->so_error);
        g_assert_cmpuint(seq - (so_error >> VMRPC_ERROR_AGE), ==,
                         m->so_error_seq);
    }
}

/* Vectors over @len bytes: @first bytes and the rest, or equal pieces. */
static unsigned make_iov(struct iovec **iov, uint8_t *data, size_t len,
                         size_t first, size_t cut)
{
    size_t piece = cut ?: MIN(first, len);
    unsigned n = 0;

    *iov = g_new0(struct iovec, cut ? len / cut + 3 : 3);
    for (size_t done = 0; done < len; done += (*iov)[n++].iov_len) {
        (*iov)[n].iov_base = data + done;
        (*iov)[n].iov_len = cut || !done ? MIN(piece, len - done)
                                         : len - done;
    }
    /* an empty vector must not matter */
    (*iov)[n].iov_base = data + len;
    return n + 1;
}

FxReply fx_call(Fx *fx, const struct vmrpc_req *req,
                const void *out, size_t out_len, void *in, size_t in_len)
{
    size_t out_total = sizeof(*req) + out_len;
    size_t in_total = sizeof(struct vmrpc_resp) + in_len;
    /* of their exact size, so that the sanitizer finds overruns */
    g_autofree uint8_t *out_buf = g_malloc(out_total);
    g_autofree uint8_t *in_buf = g_malloc(in_total);
    g_autofree struct iovec *out_iov = NULL, *in_iov = NULL;
    unsigned out_num = make_iov(&out_iov, out_buf, out_total, sizeof(*req),
                                fx->cut);
    unsigned in_num = make_iov(&in_iov, in_buf, in_total,
                               sizeof(struct vmrpc_resp), fx->cut);
    struct vmrpc_resp resp;
    FxReply reply = { };

    memcpy(out_buf, req, sizeof(*req));
    if (out_len) {
        memcpy(out_buf + sizeof(*req), out, out_len);
    }
    memset(in_buf, 0xa5, in_total);
    reply.ret = vmrpc_server_call(fx->srv, out_iov, out_num, in_iov, in_num,
                                  fx->may_wait);
    g_assert_cmpint(reply.ret, >=, (ssize_t)sizeof(resp));
    g_assert_cmpint(reply.ret, <=, (ssize_t)in_total);
    memcpy(&resp, in_buf, sizeof(resp));
    for (size_t i = reply.ret; i < in_total && !fx->shortened; i++) {
        /* TCP could use more of the buffer than it returns, but does not */
        g_assert_cmphex(in_buf[i], ==, 0xa5);
    }
    if (in_len) {
        memcpy(in, in_buf + sizeof(resp), in_len);
    }

    reply.error = GUINT32_FROM_LE(resp.error);
    reply.value = GUINT32_FROM_LE(resp.value);
    reply.ready = GUINT32_FROM_LE(resp.ready);
    reply.so_error = GUINT32_FROM_LE(resp.so_error);
    reply.msg_flags = GUINT32_FROM_LE(resp.msg_flags);
    reply.control_len = GUINT32_FROM_LE(resp.control_len);
    reply.watched = GUINT32_FROM_LE(resp.flags) & VMRPC_RESP_WATCHED;
    reply.opened = GUINT32_FROM_LE(resp.flags) & VMRPC_RESP_OPENED;
    g_assert_cmphex(GUINT32_FROM_LE(resp.flags) &
                    ~(VMRPC_RESP_WATCHED | VMRPC_RESP_OPENED), ==, 0);
    if (resp.addr.family) {
        g_assert_cmpuint(GUINT16_FROM_LE(resp.addr.family), ==,
                         VMRPC_AF_INET);
        reply.addr.sin_family = AF_INET;
        reply.addr.sin_port = resp.addr.port;
        reply.addr.sin_addr.s_addr = resp.addr.addr;
    }
    if (resp.ready_seq) {
        told(fx, GUINT32_FROM_LE(req->sock), GUINT32_FROM_LE(req->gen),
             reply.ready, GUINT32_FROM_LE(resp.ready_seq), reply.so_error,
             false);
    }
    return reply;
}

struct vmrpc_req fx_req(Fx *fx, unsigned op, uint32_t handle)
{
    return (struct vmrpc_req) {
        .op = GUINT16_TO_LE(op),
        .flags = GUINT16_TO_LE(fx->flags),
        .sock = GUINT32_TO_LE(handle),
        .gen = GUINT32_TO_LE(handle < FX_HANDLES ? fx->sock[handle].gen : 0),
    };
}

FxReply fx_op(Fx *fx, unsigned op, uint32_t handle, uint32_t a0, uint32_t a1)
{
    struct vmrpc_req req = fx_req(fx, op, handle);

    req.u.raw[0] = GUINT32_TO_LE(a0);
    req.u.raw[1] = GUINT32_TO_LE(a1);
    return fx_call(fx, &req, NULL, 0, NULL, 0);
}

static void put_addr(struct vmrpc_req *req, struct in_addr addr, unsigned port)
{
    req->addr.family = GUINT16_TO_LE(VMRPC_AF_INET);
    req->addr.addr = addr.s_addr;
    req->addr.port = htons(port);
}

FxReply fx_addr_op(Fx *fx, unsigned op, uint32_t handle, struct in_addr addr,
                   unsigned port)
{
    struct vmrpc_req req = fx_req(fx, op, handle);

    put_addr(&req, addr, port);
    return fx_call(fx, &req, NULL, 0, NULL, 0);
}

static void begin(Fx *fx, uint32_t handle, uint32_t gen)
{
    if (handle < FX_HANDLES) {
        fx->sock[handle] = (FxMirror) { .gen = gen };
    }
}

FxReply fx_socket(Fx *fx, uint32_t handle, uint32_t gen, int type)
{
    begin(fx, handle, gen);
    return fx_op(fx, VMRPC_SOCKET, handle, type, 0);
}

FxReply fx_open_op(Fx *fx, unsigned op, uint32_t handle, uint32_t gen,
                   int type, struct in_addr addr, unsigned port)
{
    struct vmrpc_req req;

    begin(fx, handle, gen);
    req = fx_req(fx, op, handle);
    req.flags |= GUINT16_TO_LE(VMRPC_REQ_OPEN);
    req.u.socket.type = GUINT32_TO_LE(type);
    put_addr(&req, addr, port);
    return fx_call(fx, &req, NULL, 0, NULL, 0);
}

FxReply fx_accept(Fx *fx, uint32_t handle, uint32_t child, uint32_t gen)
{
    FxReply reply = fx_op(fx, VMRPC_ACCEPT, handle, child, gen);

    if (!reply.error) {
        fx->sock[child] = (FxMirror) { .gen = gen, .ready = reply.value };
    }
    return reply;
}

FxReply fx_send(Fx *fx, uint32_t handle, const void *data, size_t len)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_SENDMSG, handle);

    return fx_call(fx, &req, data, len, NULL, 0);
}

FxReply fx_sendto(Fx *fx, uint32_t handle, struct in_addr addr, unsigned port,
                  const void *data, size_t len)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_SENDMSG, handle);

    put_addr(&req, addr, port);
    return fx_call(fx, &req, data, len, NULL, 0);
}

FxReply fx_recv(Fx *fx, uint32_t handle, void *data, size_t len, int flags)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_RECVMSG, handle);

    req.u.msg.flags = GUINT32_TO_LE(flags);
    return fx_call(fx, &req, NULL, 0, data, len);
}

FxReply fx_setsockopt(Fx *fx, uint32_t handle, int level, int name,
                      const void *value, size_t len)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_SETSOCKOPT, handle);

    req.u.opt.level = GUINT32_TO_LE(level);
    req.u.opt.name = GUINT32_TO_LE(name);
    return fx_call(fx, &req, value, len, NULL, 0);
}

FxReply fx_getsockopt(Fx *fx, uint32_t handle, int level, int name,
                      void *value, size_t len)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_GETSOCKOPT, handle);

    req.u.opt.level = GUINT32_TO_LE(level);
    req.u.opt.name = GUINT32_TO_LE(name);
    return fx_call(fx, &req, NULL, 0, value, len);
}

int fx_getsockopt_int(Fx *fx, uint32_t handle, int level, int name)
{
    uint32_t value;
    FxReply reply = fx_getsockopt(fx, handle, level, name, &value,
                                  sizeof(value));

    fx_ok(reply);
    g_assert_cmpuint(reply.value, ==, sizeof(value));
    return (int)GUINT32_FROM_LE(value);
}

/* --- readiness ----------------------------------------------------------- */

void fx_pump(Fx *fx)
{
    struct vmrpc_event ev;

    while (vmrpc_server_process(fx->srv)) {
        /* bounded by the number of events */
    }
    while (vmrpc_server_has_event(fx->srv)) {
        g_assert_true(vmrpc_server_next_event(fx->srv, &ev));
        told(fx, GUINT32_FROM_LE(ev.sock), GUINT32_FROM_LE(ev.gen),
             GUINT32_FROM_LE(ev.ready), GUINT32_FROM_LE(ev.ready_seq),
             GUINT32_FROM_LE(ev.so_error), true);
    }
    g_assert_false(vmrpc_server_next_event(fx->srv, &ev));
}

void fx_wait_any(Fx *fx)
{
    struct pollfd pfd[2] = {
        { .fd = vmrpc_server_fd(fx->srv), .events = POLLIN },
        { .fd = fx->extra_fd, .events = POLLIN },
    };

    g_assert_cmpint(poll(pfd, 2, FX_WAIT_MS), >, 0);
    if (pfd[1].revents) {
        fx->extra(fx->extra_opaque);
    }
    fx_pump(fx);
}

void fx_wait(Fx *fx, uint32_t handle, uint32_t bits)
{
    fx_pump(fx);
    while ((fx->sock[handle].ready & bits) != bits) {
        fx_wait_any(fx);
    }
}

int fx_wait_error(Fx *fx, uint32_t handle)
{
    fx_pump(fx);
    while (!fx->sock[handle].so_errors) {
        fx_wait_any(fx);
    }
    return fx->sock[handle].so_error;
}

/* --- peers --------------------------------------------------------------- */

static struct sockaddr_in6 addr_of(const char *text, uint16_t port)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
                                 .sin6_port = htons(port) };

    inet_pton(AF_INET6, text, &sin6.sin6_addr);
    return sin6;
}

int peer_socket(int type, uint16_t *port)
{
    struct sockaddr_in6 sin6 = addr_of(fx_peer6, 0);
    socklen_t len = sizeof(sin6);
    int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin6, len), ==, 0);
    if (type == SOCK_STREAM) {
        g_assert_cmpint(listen(fd, 16), ==, 0);
    }
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sin6, &len), ==, 0);
    *port = ntohs(sin6.sin6_port);
    return fd;
}

int peer_connect(int type, uint16_t port)
{
    struct sockaddr_in6 from = addr_of(fx_peer6, 0);
    struct sockaddr_in6 to = addr_of(fx_vm6, port);
    int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&from, sizeof(from)), ==, 0);
    g_assert_cmpint(connect(fd, (struct sockaddr *)&to, sizeof(to)), ==, 0);
    return fd;
}

void peer_await(int fd)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };

    g_assert_cmpint(poll(&pfd, 1, FX_WAIT_MS), ==, 1);
}

void peer_read(int fd, void *data, size_t len)
{
    for (size_t done = 0; done < len; ) {
        ssize_t n;

        peer_await(fd);
        n = recv(fd, (uint8_t *)data + done, len - done, 0);
        g_assert_cmpint(n, >, 0);
        done += n;
    }
}

void peer_close_reset(int fd)
{
    struct linger linger = { .l_onoff = 1 };

    g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger,
                               sizeof(linger)), ==, 0);
    close(fd);
}

unsigned fx_open_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    g_assert_nonnull(dir);
    while (readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

/* --- what many tests do --------------------------------------------------- */

uint32_t fx_le(uint32_t v)
{
    return GUINT32_TO_LE(v);
}

struct in_addr fx_ip4(const char *text)
{
    struct in_addr addr;

    g_assert_cmpint(inet_pton(AF_INET, text, &addr), ==, 1);
    return addr;
}

void fx_assert_addr(const FxReply *r, struct in_addr addr, unsigned port)
{
    g_assert_cmpint(r->addr.sin_family, ==, AF_INET);
    g_assert_cmphex(ntohl(r->addr.sin_addr.s_addr), ==, ntohl(addr.s_addr));
    g_assert_cmpuint(ntohs(r->addr.sin_port), ==, port);
}

const VmrpcCounters *fx_counters(Fx *fx)
{
    return &fx->srv->counters;
}

const VmrpcReachCounters *fx_reach_counters(Fx *fx)
{
    return &fx->srv->reach.counters;
}

int fx_connect_stream(Fx *fx, uint32_t handle, int listener, uint16_t port)
{
    FxReply r;
    int fd;

    fx_ok(fx_socket(fx, handle, 1, SOCK_STREAM));
    r = fx_addr_op(fx, VMRPC_CONNECT, handle, fx->peer4, port);
    fx_fails(r, EINPROGRESS);
    fx_wait(fx, handle, VMRPC_OUT);
    g_assert_cmpint(fx->sock[handle].so_errors, ==, 0);
    fd = accept(listener, NULL, NULL);
    g_assert_cmpint(fd, >=, 0);
    return fd;
}

FxReply fx_try_connect(Fx *fx, struct in_addr addr, int type)
{
    FxReply r;

    fx_ok(fx_socket(fx, 9, 1, type));
    r = fx_addr_op(fx, VMRPC_CONNECT, 9, addr, 9);
    fx_op(fx, VMRPC_CLOSE, 9, 0, 0);
    return r;
}

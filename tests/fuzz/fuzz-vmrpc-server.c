/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hostile guest's requests to the socket server, and a hostile source of a
 * migration
 *
 * Input: operations of four octets, some with a body that follows.
 *
 *   what        low four bits: an operation of the wire format, 0 for a raw
 *               header, 15 for what is not a request (see other()); bit 7: the
 *               socket is to be made, or the data are in a buffer
 *   who         bits 0-2 handle, 3-4 generation, 5-7 address
 *   arg         an argument; of messages the flags, and the port; bit 6: the
 *               caller waits, for a moment
 *   len         octets of the body; bit 7: many times that, of zeros
 *
 * The process enters a network namespace of its own, and a policy refuses
 * every destination but ::1 and one that no route leads to, so nothing is sent
 * anywhere.  Without the namespace these are refused as well.  A name has both
 * addresses, so that connections are raced.  The DNS server that the proxy asks
 * is a socket on ::1 that never answers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/vmrpc/server/policy-file.h"
#include "hw/vmrpc/server/server.h"
#include "hw/vmrpc/sock/resolver-queue.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/wire/multicast.h"

#define MAX_SOCKETS     6
#define MAX_OPS         256
#define MAX_SAVED       MAX_SOCKETS
#define WAIT_US         20
/* The server looks at these two. */
#define FEATURES        (1u << VMRPC_F_MOMENTS | 1u << VMRPC_F_LONG_VALUES | \
                         1u << VMRPC_F_INET6)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Input {
    const uint8_t *data;
    size_t size;
} Input;

typedef struct World {
    VmrpcServer *srv;
    in_port_t port;             /* the last that was bound */
    VmrpcSavedSock saved[MAX_SAVED];
    unsigned saved_num;
    GPtrArray *memory;          /* the guest's, that may be mapped */
} World;

static VmrpcServerConfig config = {
    .reach = {
        .translate = true,
        .has_address6 = true,
        .guest4_prefix = 24,
        .pool4_prefix = 29,
    },
    .alg = true,
    .happy_eyeballs = true,
    .nat64_mode = VMRPC_NAT64_FIXED,
    .max_sockets = MAX_SOCKETS,
};
static char *policy_name, *dns_name;
static int proxy_fd;            /* where a proxy listens */
static const char *dns[2];

static void remove_policy(void)
{
    g_unlink(policy_name);
}

static int listen_on_loopback(unsigned *port)
{
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
                                 .sin6_addr = in6addr_loopback };
    socklen_t len = sizeof(sin6);
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin6, len), ==, 0);
    g_assert_cmpint(listen(fd, 100), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sin6, &len), ==, 0);
    *port = ntohs(sin6.sin6_port);
    return fd;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
                                 .sin6_addr = in6addr_loopback };
    socklen_t len = sizeof(sin6);
    bool alone = unshare(CLONE_NEWNET) == 0 ||
                 unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    g_autofree char *rules = NULL;
    unsigned port;

    if (alone) {
        ioctl(fd, SIOCSIFFLAGS, &ifr);
    }
    g_assert_cmpint(bind(fd, (struct sockaddr *)&sin6, len), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sin6, &len), ==, 0);
    /* fd stays open and is never read */
    dns_name = g_strdup_printf("::1@%u", ntohs(sin6.sin6_port));
    dns[0] = dns_name;

    proxy_fd = listen_on_loopback(&port);
    rules = g_strdup_printf("default deny\nproxy p http ::1 %u\n"
                            "allow ::1 tcp 1-20000 via p sent 1M/h\n"
                            "allow ::1 udp 1-20000 sent 64K/h\nallow ::1\n"
                            "allow a.test tcp 1-9000 tls\n"
                            "allow a.test tcp 9001-18000 http\n"
                            "allow a.test udp 1-18000 tls\n"
                            "allow 192.0.2.1\n"
                            "allow *.test names 9/h\n", port);
    close(g_file_open_tmp("vmrpc-fuzz-XXXXXX", &policy_name, NULL));
    g_assert_true(g_file_set_contents(policy_name, alone ? rules
                                                         : "default deny\n",
                                      -1, NULL));
    atexit(remove_policy);

    config.reach.address6 = in6addr_loopback;
    inet_pton(AF_INET, "10.0.2.15", &config.reach.guest4);
    inet_pton(AF_INET, "192.0.0.1", &config.reach.resolver4);
    inet_pton(AF_INET, "198.18.0.0", &config.reach.pool4);
    nat64_prefix_parse("64:ff9b::/96", &config.nat64_prefix, NULL);
    config.dns = dns;
    config.policy_file = policy_name;
    return 0;
}

/* The proxy takes a connection, and answers right, wrongly or not at all. */
static void serve_proxy(uint8_t how)
{
    static const char *const answers[] = {
        "", "HTTP/1.1 200 OK\r\n\r\nand more", "HTTP/1.1 403 No\r\n\r\n",
        "HTTP/1.1 2",
    };
    int fd = accept4(proxy_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const char *answer = answers[how % G_N_ELEMENTS(answers)];

    if (fd >= 0) {
        send(fd, answer, strlen(answer), MSG_NOSIGNAL);
        close(fd);
    }
}

/* The guest has looked up a name. */
static void note_name(VmrpcServer *srv)
{
    VmrpcNameAddr addrs[] = {
        { .addr6 = in6addr_loopback, .ttl_s = 60 },
        { .addr6 = { .s6_addr = { [10] = 0xff, 0xff, 192, 0, 2, 1 } },
          .ttl_s = 60 },
    };
    DnsName name;

    dns_name_from_text(&name, "a.test");
    vmrpc_names_note(srv->reach.names, &name, addrs, G_N_ELEMENTS(addrs),
                     vmrpc_now_ms());
}

static VmrpcServer *make_server(void)
{
    VmrpcServer *srv = vmrpc_server_new(&config, false, NULL);
    VmrpcMemoryOps memory = { };
    struct in_addr addr4;

    g_assert_nonnull(srv);
    vmrpc_server_set_memory(srv, &memory);
    vmrpc_server_set_features(srv, FEATURES);
    note_name(srv);
    vmrpc_addrmap_lease(vmrpc_server_addrmap(srv), &in6addr_loopback, 3600,
                        vmrpc_now_ms(), &addr4, NULL);
    return srv;
}

static uint8_t take(Input *in)
{
    if (!in->size) {
        return 0;
    }
    in->size--;
    return *in->data++;
}

static void take_bytes(Input *in, void *to, size_t len)
{
    size_t n = MIN(len, in->size);

    memset(to, 0, len);
    if (n) {
        memcpy(to, in->data, n);
    }
    in->data += n;
    in->size -= n;
}

/* --- requests ------------------------------------------------------------ */

/* Splits @len bytes; the pieces depend on what is asked. */
static unsigned split(struct iovec iov[4], uint8_t *data, size_t len,
                      uint8_t how)
{
    size_t piece = how & 1 ? 13 : len;
    unsigned n = 0;

    for (size_t done = 0; done < len && n < 4; n++) {
        size_t part = n == 3 ? len - done : MIN(piece, len - done);

        iov[n].iov_base = data + done;
        iov[n].iov_len = part;
        done += part;
    }
    return n;
}

static void call(World *w, const uint8_t *out, size_t out_len, size_t in_len,
                 uint8_t how)
{
    uint8_t *out_copy = g_memdup2(out, out_len);
    uint8_t *in = g_malloc0(MAX(in_len, 1));
    struct iovec out_iov[4], in_iov[4];
    unsigned out_num = split(out_iov, out_copy, out_len, how);
    unsigned in_num = split(in_iov, in, in_len, how >> 1);
    struct vmrpc_resp resp;
    ssize_t n;

    g_ptr_array_add(w->memory, out_copy);
    g_ptr_array_add(w->memory, in);
    n = vmrpc_server_call(w->srv, out_iov, out_num, in_iov, in_num, true);
    if (n < 0) {
        g_assert_cmpint(n, ==, -EBADMSG);
        return;
    }
    g_assert_cmpint(n, >=, sizeof(resp));
    g_assert_cmpint(n, <=, in_len);
    memcpy(&resp, in, sizeof(resp));
    g_assert_cmpuint(GUINT32_FROM_LE(resp.error), <, 4096);
    g_assert_cmphex(GUINT32_FROM_LE(resp.ready) & ~VMRPC_READY_ALL, ==, 0);
    g_assert_cmpuint(GUINT32_FROM_LE(resp.control_len), <=,
                     VMRPC_CONTROL_MAX);
    if (resp.addr.family && resp.addr.port) {
        w->port = resp.addr.port;
    }
}

static void choose_addr(World *w, struct vmrpc_addr *addr, uint8_t which,
                        uint8_t arg)
{
    static const char *const addrs[] = {
        NULL, "0.0.0.0", "10.0.2.15", "192.0.0.1", "198.18.0.1",
        "198.18.0.2", "198.51.100.1", "127.0.0.1",
    };
    static const uint16_t ports[] = { 0, 53, 9, 0 };

    if (!addrs[which & 7]) {
        return;
    }
    addr->family = GUINT16_TO_LE(VMRPC_AF_INET);
    inet_pton(AF_INET, addrs[which & 7], &addr->addr);
    addr->port = (arg & 3) == 3 ? w->port : htons(ports[arg & 3]);
}

/* The same for a socket of AF_INET6: IPv4-mapped, or not. */
static void choose_addr6(struct vmrpc_addr *addr, struct vmrpc_addr6 *addr6,
                         uint8_t arg)
{
    static const char *const addrs[] = {
        "::", "2001:db8::5", "64:ff9b::7f00:1", "ff1e::239.1.2.3",
        "fd76:6d6d:6e65:7400::a00:20f", "ff02::1", "::1", "fe80::1",
    };

    if (!addr->family) {
        return;
    }
    addr->family = GUINT16_TO_LE(VMRPC_AF_INET6);
    if (arg & 0x20) {
        inet_pton(AF_INET6, addrs[arg >> 2 & 7], addr6);
    } else {
        addr6->addr[10] = addr6->addr[11] = 0xff;
        memcpy(addr6->addr + 12, &addr->addr, sizeof(addr->addr));
    }
    addr->addr = 0;
}

/* Of an option that joins or leaves, the value is soon of a group, and sound. */
static void choose_group(const struct vmrpc_req *req, uint8_t *value,
                         size_t len)
{
    bool inet6 = GUINT32_FROM_LE(req->u.opt.level) == SOL_IPV6;
    size_t group = inet6 ? 16 : 4;

    if (GUINT16_FROM_LE(req->op) != VMRPC_SETSOCKOPT || len < group + 4 ||
        !vmrpc_membership_is_option(GUINT32_FROM_LE(req->u.opt.level),
                                    GUINT32_FROM_LE(req->u.opt.name))) {
        return;
    }
    value[0] |= inet6 ? 0xff : 0xe0;
    memset(value + group, 0, len - group);
}

static void request(World *w, Input *in, uint8_t what)
{
    static const uint16_t levels[] = { 1, 0, 6, 17 };
    static const uint16_t levels6[] = { 1, 41, 6, 17 };
    uint8_t who = take(in), arg = take(in), len = take(in);
    size_t body = len & 0x80 ? (len & 0x7f) * 517u : len;
    struct vmrpc_req req = {
        .op = GUINT16_TO_LE(what & 15),
        .sock = GUINT32_TO_LE(who & 7),
        .gen = GUINT32_TO_LE(who >> 3 & 3),
        .wait_us = GUINT32_TO_LE(arg & 0x40 ? WAIT_US : 0),
    };
    /* Handles of this generation are sockets of AF_INET6. */
    bool inet6 = (who >> 3 & 3) == 3;
    size_t more = inet6 ? sizeof(struct vmrpc_addr6) : 0;
    g_autofree uint8_t *out = g_malloc0(sizeof(req) + more + body);
    size_t in_len = sizeof(struct vmrpc_resp) + more + body;
    struct vmrpc_addr6 addr6 = { };

    choose_addr(w, &req.addr, who >> 5, arg);
    switch (what & 15) {
    case VMRPC_SOCKET:
        req.u.socket.type = GUINT32_TO_LE(arg % 3);
        break;
    case VMRPC_BIND:
    case VMRPC_CONNECT:
        if (what >> 7 & 1) {
            req.flags = GUINT16_TO_LE(VMRPC_REQ_OPEN);
            req.u.socket.type = GUINT32_TO_LE(len % 3);
        }
        break;
    case VMRPC_ACCEPT:
        req.u.accept.sock = GUINT32_TO_LE(arg & 7);
        req.u.accept.gen = GUINT32_TO_LE(arg >> 3 & 3);
        break;
    case VMRPC_SENDMSG:
    case VMRPC_RECVMSG:
        req.u.msg.flags = GUINT32_TO_LE(arg >> 2 | (arg & 3) << 13);
        req.control_len = GUINT32_TO_LE(what >> 6 & 1 ? MIN(body, 48) : 0);
        if (what >> 7 & 1) {
            req.flags = GUINT16_TO_LE(VMRPC_REQ_BUFFER);
            req.u.msg.buffer = GUINT32_TO_LE(arg & 3);
            req.u.msg.offset = GUINT32_TO_LE(arg >> 2);
            req.u.msg.len = GUINT32_TO_LE(body);
            body = 0;
            in_len = sizeof(struct vmrpc_resp) + more +
                     GUINT32_FROM_LE(req.control_len);
        }
        break;
    case VMRPC_GETSOCKOPT:
    case VMRPC_SETSOCKOPT:
        req.u.opt.level = GUINT32_TO_LE((inet6 ? levels6
                                               : levels)[who >> 5 & 3]);
        req.u.opt.name = GUINT32_TO_LE(arg);
        break;
    case VMRPC_IOCTL:
        req.u.ioctl.cmd = GUINT32_TO_LE(arg & 1 ? 0x541B :
                                        arg & 2 ? 0x5411 :
                                        arg & 4 ? 0x8905 : 0x894B);
        break;
    default:
        req.u.raw[0] = GUINT32_TO_LE((int32_t)(int8_t)arg);
    }
    if (inet6) {
        req.flags |= GUINT16_TO_LE(VMRPC_REQ_INET6);
        choose_addr6(&req.addr, &addr6, arg);
        memcpy(out + sizeof(req), &addr6, sizeof(addr6));
    }
    memcpy(out, &req, sizeof(req));
    if (!(len & 0x80)) {
        take_bytes(in, out + sizeof(req) + more, body);
        choose_group(&req, out + sizeof(req) + more, body);
    }
    call(w, out, sizeof(req) + more + body, in_len, what >> 4);
}

/* A header of any bytes, and too few of them, too. */
static void raw(World *w, Input *in, uint8_t what)
{
    uint8_t out[128];
    uint8_t out_len = take(in) % sizeof(out), in_len = take(in);

    take_bytes(in, out, out_len);
    call(w, out, out_len, in_len, what >> 4);
}

/* --- all the rest -------------------------------------------------------- */

static void process(World *w)
{
    struct vmrpc_event ev;

    vmrpc_server_process(w->srv);
    while (vmrpc_server_has_event(w->srv)) {
        g_assert_true(vmrpc_server_next_event(w->srv, &ev));
        g_assert_nonnull(vmrpc_sock_find(w->srv, GUINT32_FROM_LE(ev.sock),
                                         GUINT32_FROM_LE(ev.gen)));
    }
}

static void keep(void *opaque, const VmrpcSavedSock *saved)
{
    World *w = opaque;

    g_assert_cmpuint(w->saved_num, <, MAX_SAVED);
    w->saved[w->saved_num++] = *saved;
}

static void restore_entry(const VmrpcAddrMapEntry *entry, void *opaque)
{
    int ret = vmrpc_addrmap_restore(opaque, entry->addr4, &entry->addr6,
                                    entry->remaining_ms, vmrpc_now_ms());

    g_assert_true(ret == 0 || ret == -EEXIST);
}

/*
 * The VM migrates; the saved state must be accepted, also of sockets that wait,
 * with @late, for the ports of the source.
 */
static void migrate(World *w, bool late)
{
    VmrpcServer *to = vmrpc_server_new(&config, false, NULL), *from = w->srv;
    VmrpcSavedNat64 nat64[VMRPC_NAT64_MAX];
    uint32_t nat64_num = vmrpc_server_save_nat64(w->srv, nat64);

    g_assert_nonnull(to);
    vmrpc_server_set_memory(to, &(VmrpcMemoryOps) { });
    /* A guest of a module that knows none of them goes on, too. */
    vmrpc_server_set_features(to, late ? FEATURES : 0);
    w->saved_num = 0;
    vmrpc_server_save(w->srv, keep, w);
    vmrpc_addrmap_foreach(vmrpc_server_addrmap(w->srv), vmrpc_now_ms(),
                          restore_entry, vmrpc_server_addrmap(to));
    w->srv = to;
    if (!late) {
        vmrpc_server_free(from);
    }
    g_assert_cmpuint(vmrpc_server_restore_nat64(to, nat64, nat64_num), ==,
                     nat64_num);
    for (unsigned i = 0; i < w->saved_num; i++) {
        g_assert_cmpint(vmrpc_server_restore(to, &w->saved[i]), ==, 0);
    }
    if (late) {
        vmrpc_server_free(from);
    }
}

/* The same for NAT64 prefixes, which the policy uses. */
static void hostile_prefixes(World *w, Input *in)
{
    static const uint8_t lens[] = { 32, 40, 48, 56, 64, 96, 0, 97 };
    VmrpcSavedNat64 saved[VMRPC_NAT64_MAX + 1];
    const VmrpcNat64List *list = &w->srv->reach.nat64;
    uint32_t num = take(in) % (G_N_ELEMENTS(saved) + 1);

    for (uint32_t i = 0; i < num; i++) {
        uint8_t what = take(in);

        saved[i] = (VmrpcSavedNat64) { .len = lens[what & 7],
                                       .in_use = what >> 3 & 3 };
        take_bytes(in, saved[i].addr6, what >> 5 << 1);
    }
    vmrpc_server_restore_nat64(w->srv, saved, num);
    /* the configured prefix stays in use */
    g_assert_cmpuint(list->num, <=, VMRPC_NAT64_MAX);
    g_assert_cmpuint(list->current, ==, 1);
    g_assert_true(nat64_prefix_equal(&list->prefix[0], &config.nat64_prefix));
}

/* A record that no server would write. */
static void hostile_record(World *w, Input *in)
{
    VmrpcSavedSock saved = { };
    uint8_t opt = take(in);

    if (opt & 8) {
        hostile_prefixes(w, in);
    }
    take_bytes(in, &saved, offsetof(VmrpcSavedSock, option));
    if (opt & 1) {
        /* most of it plausible */
        saved.handle &= 7;
        saved.type = 1 + (saved.type & 1);
        saved.flags &= 15 | VMRPC_SAVED_INET6 | VMRPC_SAVED_MAPPED;
        saved.backlog &= 0xff;
        saved.option_num &= 1;
    }
    if (opt & 2) {
        choose_addr(w, &(struct vmrpc_addr) { }, 0, 0);
        saved.peer4 = opt & 4 ? htonl(0xc6120001)
                              : config.reach.resolver4.s_addr;
    }
    if (saved.local_port && saved.local_port < 1024) {
        saved.local_port = 0;
    }
    take_bytes(in, &saved.option[0], 16);
    vmrpc_server_restore(w->srv, &saved);
}

/* Maps memory, readable or writable, or unmaps it. */
static void remap(World *w, Input *in)
{
    uint8_t how = take(in);
    size_t len = take(in) * 67u;
    bool map = how & 4, writable = how & 8;
    struct vmrpc_req req = {
        .op = GUINT16_TO_LE(map ? VMRPC_MAP : VMRPC_UNMAP),
        .sock = GUINT32_TO_LE(UINT32_MAX),
        .u.map.buffer = GUINT32_TO_LE(how & 3),
    };
    g_autofree uint8_t *out = g_malloc0(sizeof(req) + len);

    memcpy(out, &req, sizeof(req));
    call(w, out, sizeof(req) + (map && !writable ? len : 0),
         sizeof(struct vmrpc_resp) + (map && writable ? len : 0), how >> 4);
}

/* Reads a refusal, with room for it or without. */
static void read_refusal(World *w, Input *in)
{
    uint8_t how = take(in);
    struct vmrpc_req req = {
        .op = GUINT16_TO_LE(VMRPC_REFUSED),
        .sock = GUINT32_TO_LE(UINT32_MAX),
        .u.refused.from = how & 1 ? UINT64_MAX : GUINT64_TO_LE(how),
    };

    call(w, (uint8_t *)&req, sizeof(req), sizeof(struct vmrpc_resp) +
         (how & 2 ? sizeof(struct vmrpc_refusal) : how), how >> 4);
}

/* Changes limits, as a reloaded policy file would. */
static void change_limits(World *w, Input *in)
{
    uint8_t what = take(in);
    VmrpcLimitsConfig limits = {
        .sockets = what & 7,
        .buffers = (what >> 3 & 7) * 96 * 1024,
        .connections = { what >> 6 & 1, what >> 6 & 1 },
        .dns = { what >> 7, what >> 7 },
        .flow = { { what & 32 ? 1 << 20 : 0, 1024 },
                  { what & 16 ? 1 << 20 : 0, 1024 } },
    };

    vmrpc_change_limits(w->srv, &limits);
    /* Without a limit nothing is held. */
    g_assert_true(limits.buffers || !w->srv->reach.limits.buffers);
}

/* Whatever a guest does, the log has lines: no octet can end one. */
static void read_log(void)
{
    const char *text;
    size_t len = vmrpc_audit_peek(config.audit, 0, &text);

    for (size_t i = 0; i < len; i++) {
        g_assert_true((text[i] >= ' ' && text[i] <= '~') || text[i] == '\n');
    }
    vmrpc_audit_consume(config.audit, len);
}

/* The log's outlet gets stuck, or takes lines. */
static void use_log(World *w, uint8_t how)
{
    if (how & 4) {
        read_log();
    }
    if (vmrpc_audit_set_stuck(config.audit, how & 1)) {
        vmrpc_server_audit_has_room(w->srv);
        process(w);
    }
}

static void other(World *w, Input *in)
{
    uint8_t what = take(in);

    switch (what % 11) {
    case 0:
    case 1:
        process(w);
        break;
    case 2:
        migrate(w, what >= 128);
        break;
    case 3:
        hostile_record(w, in);
        break;
    case 5:
        remap(w, in);
        break;
    case 4:
        vmrpc_server_reset(w->srv);
        g_assert_cmpuint(w->srv->dns_bytes, ==, 0);
        g_assert_cmpuint(w->srv->reach.limits.buffers, ==, 0);
        break;
    case 6:
        change_limits(w, in);
        break;
    case 7:
        serve_proxy(take(in));
        process(w);
        break;
    case 8:
        vmrpc_server_end_refused(w->srv);
        break;
    case 9:
        read_refusal(w, in);
        break;
    case 10:
        use_log(w, take(in));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const VmrpcAuditConfig audit = { .full = VMRPC_AUDIT_WAIT, .sockets = 16 };
    Input in = { data, size };
    World w = { .srv = (config.audit = vmrpc_audit_new(&audit), make_server()),
                .memory = g_ptr_array_new_with_free_func(g_free) };
    VmrpcAddrMapStats stats;

    for (int i = 0; in.size && i < MAX_OPS; i++) {
        uint8_t what = take(&in);

        switch (what & 15) {
        case 0:
            raw(&w, &in, what);
            break;
        case 15:
            other(&w, &in);
            break;
        default:
            request(&w, &in, what);
        }
        g_assert_cmpuint(w.srv->dns_bytes, <=, VMRPC_DNS_BYTES_MAX);
    }
    process(&w);
    vmrpc_server_reset(w.srv);
    g_assert_cmpuint(vmrpc_server_sockets(w.srv), ==, 0);
    g_assert_cmpuint(w.srv->dns_bytes, ==, 0);
    g_assert_cmpuint(w.srv->attempt_num, ==, 0);
    g_assert_cmpuint(w.srv->reach.limits.buffers, ==, 0);
    g_assert_cmpint(g_sequence_get_length(w.srv->races), ==, 0);
    g_assert_true(g_queue_is_empty(&w.srv->proxied));
    for (int i = 0; i < VMRPC_FLOW_NUM; i++) {
        g_assert_true(g_queue_is_empty(&w.srv->throttled[i]));
    }
    g_assert_false(vmrpc_server_has_event(w.srv));
    vmrpc_addrmap_stats(vmrpc_server_addrmap(w.srv), &stats);
    g_assert_cmpuint(stats.in_use, ==, 0);
    vmrpc_server_free(w.srv);
    read_log();
    vmrpc_audit_free(config.audit);
    g_ptr_array_free(w.memory, TRUE);
    return 0;
}

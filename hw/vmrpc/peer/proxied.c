/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: connections through a proxy of the policy ("via")
 *
 * Theory of operation
 * ===================
 *
 * The policy decides about the destination first, by name or address.  If the
 * rule says "via", the host socket connects to the proxy, and handshake.c asks
 * the proxy for the name that matched.  The guest sees a socket that is
 * connecting, and as its peer the address that it named.  Its connect() ends
 * with the proxy's answer.  From then on the stream is the kernel's: nothing
 * is read or copied here.
 *
 * The guest must never speak to the proxy itself, or it could ask for what the
 * policy refuses.  So the backing is in place before the host's connect(): no
 * call of another thread reaches the host socket until the proxy has agreed.
 * A thread that is using the socket already makes connect() fail.  An answer
 * is looked at first and taken off the socket then; the guest has options that
 * change what a look shows (SO_PEEK_OFF), so both must be the same octets.
 *
 * A proxy that fails is a connection that fails.  There is no other way to the
 * destination, and no race (race.c): the proxy knows the addresses.
 */
#include "hw/vmrpc/peer/proxied.h"

#include <errno.h>
#include <string.h>

#include "hw/vmrpc/peer/bind.h"
#include "hw/vmrpc/reach/report.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/sock/watch.h"
#include "hw/vmrpc/wire/icmp-error.h"

/* The proxy's connection, its secret and its own connect() take no longer. */
#define PATIENCE_MS     60000

/* Octets of an answer that are looked at together. */
#define LOOK            512

struct VmrpcProxied {
    VmrpcVia via;
    VmrpcSock *s;
    int64_t due_ms;
    GList link;                 /* in srv->proxied, by due_ms */
};

/* --- the end ------------------------------------------------------------ */

static VMRPC_LOCKED void drop(VmrpcServer *srv, VmrpcSock *s)
{
    g_queue_unlink(&srv->proxied, &s->proxied->link);
    explicit_bzero(&s->proxied->via, sizeof(s->proxied->via));
    g_clear_pointer(&s->proxied, g_free);
    vmrpc_sock_set_backing(srv, s, &vmrpc_host_backing);
}

/* Without a handshake the host socket must not stay connected. */
static VMRPC_LOCKED void give_up(VmrpcServer *srv, VmrpcSock *s)
{
    drop(srv, s);
    vmrpc_host_abort(srv, s, 0);
}

/* --- progress ----------------------------------------------------------- */

/* Returns false if the host wants to wait; *@error: if the socket has failed */
static bool tell(const VmrpcSock *s, int *error)
{
    VmrpcVia *via = &s->proxied->via;
    const uint8_t *data;
    size_t len;
    ssize_t n;

    data = vmrpc_via_to_send(via, &len);
    n = send(s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
        *error = errno == EAGAIN ? 0 : -vmrpc_icmp_pending(errno);
        return false;
    }
    vmrpc_via_sent(via, n);
    return true;
}

static bool hear(const VmrpcSock *s, int *error)
{
    VmrpcVia *via = &s->proxied->via;
    uint8_t seen[LOOK], taken[LOOK];
    ssize_t n, num;

    n = recv(s->fd, seen, sizeof(seen), MSG_PEEK | MSG_DONTWAIT);
    if (n < 0) {
        *error = errno == EAGAIN ? 0 : -vmrpc_icmp_pending(errno);
        return false;
    }
    num = vmrpc_via_feed(via, seen, n);
    if (num && (recv(s->fd, taken, num, MSG_DONTWAIT) != num ||
                memcmp(seen, taken, num) != 0)) {
        *error = -EPROTO;
        return false;
    }
    return true;
}

/* Goes as far as it can.  Returns 0, -EINPROGRESS or the error. */
static VMRPC_LOCKED int advance(VmrpcSock *s)
{
    VmrpcVia *via = &s->proxied->via;
    int error = 0;
    size_t len;

    while (vmrpc_via_state(via) == VMRPC_VIA_SHAKING) {
        vmrpc_via_to_send(via, &len);
        if (!(len ? tell(s, &error) : hear(s, &error))) {
            return error ?: -EINPROGRESS;
        }
    }
    return vmrpc_via_error(via);
}

static VMRPC_LOCKED void end(VmrpcServer *srv, VmrpcSock *s, int ret)
{
    drop(srv, s);
    if (ret < 0) {
        srv->counters.proxied_failed++;
        vmrpc_host_abort(srv, s, -ret);
    } else {
        vmrpc_sock_refresh(srv, s);
    }
}

static VMRPC_LOCKED void progress(VmrpcServer *srv, VmrpcSock *s)
{
    int ret = advance(s);

    if (ret != -EINPROGRESS) {
        end(srv, s, ret);
    }
}

static const VmrpcBackingOps proxied_backing = {
    .kind = VMRPC_BACKING_HOST,
    .admit = vmrpc_sock_admit_connecting,
    .refresh = progress,
    .ready = vmrpc_sock_ready_connecting,
    .process = vmrpc_sock_look_again,
    .detach = give_up,
};

int vmrpc_proxied_timeout_ms(VmrpcServer *srv)
{
    const VmrpcProxied *first = g_queue_peek_head(&srv->proxied);

    return first ? CLAMP(first->due_ms - vmrpc_now_ms(), 0, PATIENCE_MS) : -1;
}

void vmrpc_proxied_process_timer(VmrpcServer *srv)
{
    while (vmrpc_proxied_timeout_ms(srv) == 0) {
        VmrpcProxied *late = g_queue_peek_head(&srv->proxied);
        VmrpcSock *s = late->s;

        end(srv, s, -ETIMEDOUT);
        vmrpc_sock_notify(srv, s);
    }
}

/* --- the start ---------------------------------------------------------- */

/* Returns the length of *@ss, or a negative errno. */
static VMRPC_LOCKED int place_of(VmrpcServer *srv, const VmrpcProxy *proxy,
                                 struct sockaddr_storage *ss)
{
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;

    if (proxy->family == AF_INET) {
        return vmrpc_addr_to_host(&srv->reach, proxy->addr4,
                                  htons(proxy->port), ss);
    }
    if (vmrpc_host_family(srv) != AF_INET6) {
        return -EAFNOSUPPORT;
    }
    memset(ss, 0, sizeof(*ss));
    sin6->sin6_family = AF_INET6;
    sin6->sin6_addr = proxy->addr6;
    sin6->sin6_port = htons(proxy->port);
    return sizeof(*sin6);
}

static VmrpcViaTarget target_of(const struct sockaddr_storage *host,
                                const VmrpcPass *pass)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)host;
    VmrpcViaTarget target = {
        .name = pass->name[0] ? pass->name : NULL,
        .port = ntohs(sin6->sin6_port),     /* that of a sockaddr_in, too */
    };

    if (host->ss_family == AF_INET6) {
        target.addr6 = sin6->sin6_addr;
    } else {
        target.addr6.s6_addr[10] = target.addr6.s6_addr[11] = 0xff;
        memcpy(&target.addr6.s6_addr[12],
               &((const struct sockaddr_in *)host)->sin_addr, 4);
    }
    return target;
}

static VMRPC_LOCKED void begin(VmrpcServer *srv, VmrpcSock *s,
                               const VmrpcProxy *proxy,
                               const VmrpcViaTarget *target)
{
    VmrpcViaProxy greeting = {
        .kind = proxy->kind,
        .user = proxy->user,
        .password = proxy->password,
    };
    VmrpcProxied *task = g_new0(VmrpcProxied, 1);

    vmrpc_via_start(&task->via, &greeting, target);
    task->s = s;
    task->due_ms = vmrpc_now_ms() + PATIENCE_MS;
    task->link.data = task;
    g_queue_push_tail_link(&srv->proxied, &task->link);
    s->proxied = task;
    s->ready = 0;               /* until the proxy has agreed */
    vmrpc_sock_set_backing(srv, s, &proxied_backing);
    srv->counters.connections_proxied++;
    if (g_queue_get_length(&srv->proxied) == 1) {
        vmrpc_timer_rearm(srv);
    }
}

int vmrpc_proxied_connect(VmrpcServer *srv, VmrpcSock *s,
                          const struct sockaddr_storage *host,
                          const VmrpcPass *pass)
{
    const VmrpcProxy *proxy = pass->terms->via;
    VmrpcViaTarget target = target_of(host, pass);
    struct sockaddr_storage ss;
    int len = place_of(srv, proxy, &ss), ret;

    if (len < 0) {
        return len;
    }
    begin(srv, s, proxy, &target);
    ret = connect(s->fd, (struct sockaddr *)&ss, len) < 0 ? -errno : 0;
    ret = vmrpc_sock_error(srv, s, &ss, ret);
    if (ret < 0 && ret != -EINPROGRESS) {
        srv->counters.proxied_failed++;
        drop(srv, s);
        return ret;
    }
    vmrpc_sock_watch(srv, s);
    return -EINPROGRESS;
}

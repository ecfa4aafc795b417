/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: sockets across a migration
 *
 * The host's sockets stay behind.  What can be made again on the destination
 * is made again under the guest's handles: a listening socket listens on the
 * same port, a datagram socket has its port and its peer.  An established
 * stream is lost; the guest's program gets ECONNRESET at once instead of
 * waiting for a peer that will never answer.
 *
 * The VM's address may arrive on the destination a little later than the VM,
 * and when both QEMUs run on one host the source has the ports until it ends.
 * Sockets that cannot be bound, or cannot join their groups, for these reasons
 * are "arriving": to the guest they look idle, and they are tried again for
 * ARRIVING_MAX_MS.
 */
#include "hw/vmrpc/server-internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ARRIVING_RETRY_MS       100
#define ARRIVING_MAX_MS         30000

static in_port_t local_port(const VmrpcSock *s)
{
    struct sockaddr_storage ss = { };
    socklen_t len = sizeof(ss);

    if (s->fd < 0 || getsockname(s->fd, (struct sockaddr *)&ss, &len) < 0) {
        return 0;
    }
    return ss.ss_family == AF_INET6
           ? ((struct sockaddr_in6 *)&ss)->sin6_port
           : ((struct sockaddr_in *)&ss)->sin_port;
}

static void save_one(const VmrpcSock *s, VmrpcSavedSock *saved)
{
    if (s->arriving) {
        *saved = *s->arriving;
        saved->ready_seq = s->ready_seq;
        return;
    }
    memset(saved, 0, sizeof(*saved));
    saved->handle = s->handle;
    saved->gen = s->gen;
    saved->type = s->type;
    saved->ready_seq = s->ready_seq;
    saved->backlog = s->backlog;
    saved->local_port = ntohs(local_port(s));
    saved->peer4 = s->peer4.s_addr;
    saved->peer_port = ntohs(s->peer_port);
    saved->flags = (s->bound && saved->local_port ? VMRPC_SAVED_BOUND : 0) |
                   (s->listening ? VMRPC_SAVED_LISTENING : 0) |
                   (s->connected || s->backing == VMRPC_BACKING_LOST
                    ? VMRPC_SAVED_CONNECTED : 0) |
                   (s->peer_is_resolver ? VMRPC_SAVED_RESOLVER : 0) |
                   (s->peer_is_self ? VMRPC_SAVED_SELF : 0) |
                   (vmrpc_sock_is_ping(s) ? VMRPC_SAVED_PING : 0);
    if (s->bound_group.s_addr) {
        saved->backlog = s->bound_group.s_addr;
    }
    saved->option_num = vmrpc_options_save(s->options, saved->option);
    saved->option_num += vmrpc_groups_save(s, &saved->option[
                                                  saved->option_num]);
}

void vmrpc_server_save(const VmrpcServer *srv,
                       void (*fn)(void *opaque, const VmrpcSavedSock *saved),
                       void *opaque)
{
    g_autofree VmrpcSavedSock *saved = g_new(VmrpcSavedSock, 1);

    for (uint32_t i = 0; i < srv->config.max_sockets; i++) {
        if (srv->socks[i]) {
            save_one(srv->socks[i], saved);
            fn(opaque, saved);
        }
    }
}

/* --- names -------------------------------------------------------------- */

typedef struct NameSaver {
    void (*fn)(void *opaque, const VmrpcSavedName *saved);
    void *opaque;
    uint32_t num;
} NameSaver;

static void save_name(void *opaque, const VmrpcNameEntry *entry)
{
    NameSaver *saver = opaque;
    VmrpcSavedName saved = {
        .len = entry->name->len,
        .ttl_s = entry->addr.ttl_s,
    };

    saver->num++;
    if (saver->fn) {
        memcpy(saved.name, entry->name->wire, entry->name->len);
        memcpy(saved.addr6, &entry->addr.addr6, sizeof(saved.addr6));
        saver->fn(saver->opaque, &saved);
    }
}

uint32_t vmrpc_server_save_names(const VmrpcServer *srv,
                                 void (*fn)(void *opaque,
                                            const VmrpcSavedName *saved),
                                 void *opaque)
{
    NameSaver saver = { .fn = fn, .opaque = opaque };

    if (srv->names) {
        vmrpc_names_foreach(srv->names, vmrpc_now_ms(), save_name, &saver);
    }
    return saver.num;
}

int vmrpc_server_restore_name(VmrpcServer *srv, const VmrpcSavedName *saved)
{
    VmrpcNameAddr addr = { .ttl_s = saved->ttl_s };
    size_t offset = 0;
    DnsName name;

    if (!srv->names || saved->len > sizeof(saved->name) ||
        dns_name_parse(saved->name, saved->len, &offset, &name) < 0 ||
        offset != saved->len || name.len != saved->len) {
        return -EINVAL;
    }
    memcpy(&addr.addr6, saved->addr6, sizeof(addr.addr6));
    vmrpc_names_restore(srv->names, &name, &addr, vmrpc_now_ms());
    return 0;
}

/* --- NAT64 -------------------------------------------------------------- */

uint32_t vmrpc_server_save_nat64(const VmrpcServer *srv,
                                 VmrpcSavedNat64 saved[VMRPC_NAT64_MAX])
{
    const VmrpcNat64List *list = &srv->nat64;

    for (unsigned i = 0; i < list->num; i++) {
        memcpy(saved[i].addr6, &list->prefix[i].addr, sizeof(saved[i].addr6));
        saved[i].len = list->prefix[i].len;
        saved[i].in_use = i < list->told;
        saved[i].age_s = CLAMP((vmrpc_now_ms() - list->told_ms[i]) / 1000, 0,
                               UINT32_MAX);
    }
    return list->num;
}

/* Adds a record to @list; false if it cannot be there. */
static bool add_nat64(VmrpcNat64List *list, const VmrpcSavedNat64 *saved)
{
    unsigned num = list->num;
    struct in6_addr addr6;
    Nat64Prefix prefix;

    memcpy(&addr6, saved->addr6, sizeof(addr6));
    if (saved->in_use > (list->told == num) ||
        !nat64_prefix_init(&prefix, &addr6, saved->len, NULL)) {
        return false;
    }
    vmrpc_nat64_add_old(list, &prefix,
                        vmrpc_now_ms() - 1000LL * saved->age_s);
    list->told += saved->in_use;
    return list->num > num;     /* there is room, and it is not there twice */
}

uint32_t vmrpc_server_restore_nat64(VmrpcServer *srv,
                                    const VmrpcSavedNat64 *saved,
                                    uint32_t num)
{
    VmrpcNat64List source = { .num = 0 };

    for (uint32_t i = 0; i < num; i++) {
        if (!add_nat64(&source, &saved[i])) {
            return i;
        }
    }
    if (srv->config.nat64_mode == VMRPC_NAT64_AUTO && !srv->nat64.told) {
        vmrpc_nat64_found(&srv->nat64, source.prefix, source.num,
                          vmrpc_now_ms());
        memcpy(srv->nat64.told_ms, source.told_ms,
               source.num * sizeof(source.told_ms[0]));
        srv->nat64.told = source.told;
        /* This network may have others. */
        srv->nat64_due_ms = 0;
        vmrpc_timer_rearm(srv);
        return num;
    }
    for (unsigned i = 0; i < source.num; i++) {
        vmrpc_nat64_add_old(&srv->nat64, &source.prefix[i],
                            source.told_ms[i]);
    }
    return num;
}

/* --- sockets ------------------------------------------------------------ */

/* Which flags go together, as save_one() sets them. */
static bool flags_are_sane(const VmrpcServer *srv, const VmrpcSavedSock *saved)
{
    bool bound = saved->flags & VMRPC_SAVED_BOUND;
    bool listening = saved->flags & VMRPC_SAVED_LISTENING;
    bool connected = saved->flags & VMRPC_SAVED_CONNECTED;
    bool resolver = saved->flags & VMRPC_SAVED_RESOLVER;
    bool ping = saved->flags & VMRPC_SAVED_PING;
    bool self = saved->flags & VMRPC_SAVED_SELF;

    if (saved->flags & ~(VMRPC_SAVED_BOUND | VMRPC_SAVED_LISTENING |
                         VMRPC_SAVED_CONNECTED | VMRPC_SAVED_RESOLVER |
                         VMRPC_SAVED_PING | VMRPC_SAVED_SELF)) {
        return false;
    }
    if (ping && (saved->type != SOCK_DGRAM || resolver)) {
        return false;
    }
    if (bound && !saved->local_port) {
        return false;
    }
    if (self && (saved->type != SOCK_DGRAM || !bound || connected)) {
        return false;
    }
    /* Unbound, the host would listen on all of its addresses. */
    if (listening &&
        (saved->type != SOCK_STREAM || !bound || connected)) {
        return false;
    }
    return !resolver || (saved->type == SOCK_DGRAM && connected &&
                         srv->dns_proxy);
}

/* A virtual address of a peer travels with the map, which is here already. */
static bool peer_is_sane(const VmrpcServer *srv, const VmrpcSavedSock *saved)
{
    struct in_addr peer4 = { .s_addr = saved->peer4 };
    struct in6_addr addr6;

    return !(saved->flags & VMRPC_SAVED_CONNECTED) || !srv->map ||
           !vmrpc_addrmap_contains(srv->map, peer4) ||
           vmrpc_addrmap_lookup4(srv->map, peer4, &addr6) == 0;
}

static bool backlog_is_sane(const VmrpcSavedSock *saved)
{
    if (saved->type == SOCK_STREAM) {
        return saved->backlog <= INT32_MAX;
    }
    return !saved->backlog || IN_MULTICAST(ntohl(saved->backlog));
}

static bool record_is_sane(const VmrpcServer *srv,
                           const VmrpcSavedSock *saved)
{
    if (saved->type != SOCK_STREAM && saved->type != SOCK_DGRAM) {
        return false;
    }
    if (!flags_are_sane(srv, saved) || !peer_is_sane(srv, saved)) {
        return false;
    }
    if (saved->option_num > VMRPC_SAVED_OPTIONS || !backlog_is_sane(saved)) {
        return false;
    }
    for (uint32_t i = 0; i < saved->option_num; i++) {
        if (saved->option[i].len > VMRPC_OPTVAL_MAX) {
            return false;
        }
    }
    return true;
}

static void restore_options(VmrpcServer *srv, VmrpcSock *s,
                            const VmrpcSavedSock *saved)
{
    for (uint32_t i = 0; i < saved->option_num; i++) {
        const VmrpcSavedOption *o = &saved->option[i];

        if (vmrpc_groups_is_option(o->level, o->name)) {
            continue;           /* restore_groups() */
        }
        vmrpc_options_remember(&s->options, 0, o->level, o->name, o->value,
                               o->len);
        vmrpc_host_setsockopt(srv, s, o->level, o->name, o->value, o->len);
    }
}

/* A datagram socket has no backlog: that is the group then. */
static bool is_bound_to_group(const VmrpcSavedSock *saved)
{
    return saved->type == SOCK_DGRAM && saved->backlog;
}

/* Returns 0 or -errno. */
static int restore_binding(VmrpcServer *srv, VmrpcSock *s,
                           const VmrpcSavedSock *saved)
{
    struct in_addr group4 = { saved->backlog };
    in_port_t port = htons(saved->local_port);

    if (is_bound_to_group(saved)) {
        return vmrpc_groups_bind_socket(srv, s, group4, port);
    }
    return vmrpc_host_bind(srv, s, port);
}

static bool has_groups(const VmrpcSavedSock *saved)
{
    for (uint32_t i = 0; i < saved->option_num; i++) {
        if (vmrpc_groups_is_option(saved->option[i].level,
                                   saved->option[i].name)) {
            return true;
        }
    }
    return false;
}

/*
 * Groups are heard by the interface of the VM's address.  As long as it is not
 * here, there is none, or that of the default route is taken for it.
 */
static bool groups_must_wait(VmrpcServer *srv, const VmrpcSavedSock *saved)
{
    struct sockaddr_storage own;

    return (is_bound_to_group(saved) || has_groups(saved)) &&
           vmrpc_own_address(srv, 0, &own) >= 0 &&
           !vmrpc_route_is_local(srv->route, (struct sockaddr *)&own, NULL, 0);
}

/*
 * When all else is done: only a host socket can join, so @s must be one again,
 * and each group is tried once.  What fails then is lost.
 */
static void restore_groups(VmrpcServer *srv, VmrpcSock *s,
                           const VmrpcSavedSock *saved)
{
    for (uint32_t i = 0; i < saved->option_num; i++) {
        const VmrpcSavedOption *o = &saved->option[i];
        int ret = vmrpc_groups_option(srv, s, o->level, o->name, o->value,
                                      o->len);

        srv->counters.connections_lost += ret < 0;
    }
}

/* Binds, listens, connects as the record says; returns 0 or -errno. */
static int restore_host(VmrpcServer *srv, VmrpcSock *s,
                        const VmrpcSavedSock *saved, bool last_try)
{
    struct sockaddr_storage ss;
    int len, ret;

    /* In the end it goes on without them. */
    if (!last_try && groups_must_wait(srv, saved)) {
        return -EADDRNOTAVAIL;
    }
    if (saved->flags & VMRPC_SAVED_BOUND && !s->bound) {
        ret = restore_binding(srv, s, saved);
        if (ret < 0) {
            return ret;
        }
        s->bound_by_guest = true;
        s->local_port = htons(saved->local_port);
    }
    if (saved->flags & VMRPC_SAVED_LISTENING) {
        if (listen(s->fd, saved->backlog) < 0) {
            return -errno;
        }
        s->listening = true;
        s->backlog = saved->backlog;
    }
    if (saved->flags & VMRPC_SAVED_CONNECTED &&
        !(saved->flags & VMRPC_SAVED_RESOLVER)) {
        struct sockaddr_in peer = {
            .sin_family = AF_INET,
            .sin_addr.s_addr = saved->peer4,
            .sin_port = htons(saved->peer_port),
        };

        ret = vmrpc_host_bind_source(srv, s);
        if (ret < 0) {
            return ret;
        }
        len = vmrpc_dest_to_host(srv, &peer, s->proto, &ss);
        if (len < 0 || connect(s->fd, (struct sockaddr *)&ss, len) < 0) {
            return len < 0 ? len : -errno;
        }
    }
    return saved->flags & VMRPC_SAVED_SELF ? vmrpc_host_connect_self(srv, s)
                                           : 0;
}

/* The guest's program finds out by an error and a hang-up. */
static void lose(VmrpcServer *srv, VmrpcSock *s, int err)
{
    vmrpc_budget_release(srv, &s->buffers);
    if (s->fd >= 0) {
        close(s->fd);
        s->fd = -1;
    }
    s->backing = VMRPC_BACKING_LOST;
    s->so_error = err;
    srv->counters.connections_lost++;
}

void vmrpc_arriving_forget(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->arriving) {
        g_clear_pointer(&s->arriving, g_free);
        srv->arriving_num--;
    }
}

int vmrpc_arriving_timeout_ms(const VmrpcServer *srv)
{
    if (!srv->arriving_num) {
        return -1;
    }
    return CLAMP(srv->arriving_due_ms - vmrpc_now_ms(), 0, ARRIVING_RETRY_MS);
}

/* Binds @s as its record says, now or later, or gives it up. */
static void arrive(VmrpcServer *srv, VmrpcSock *s,
                   const VmrpcSavedSock *saved, bool last_try)
{
    int ret = restore_host(srv, s, saved, last_try);

    if (ret == 0) {
        s->backing = VMRPC_BACKING_HOST;
        /* The guest may have asked for edges, and does not ask again. */
        s->edge = true;
        restore_groups(srv, s, saved);
        vmrpc_arriving_forget(srv, s);
    } else if ((ret == -EADDRINUSE || ret == -EADDRNOTAVAIL) && !last_try) {
        if (!s->arriving) {
            s->arriving = g_memdup2(saved, sizeof(*saved));
            srv->arriving_num++;
        }
        s->backing = VMRPC_BACKING_ARRIVING;
        s->listening = saved->flags & VMRPC_SAVED_LISTENING;
        return;
    } else {
        vmrpc_arriving_forget(srv, s);
        lose(srv, s, -ret);
    }
    vmrpc_sock_refresh(srv, s);
    vmrpc_sock_notify(srv, s);
}

void vmrpc_arriving_process_timer(VmrpcServer *srv)
{
    int64_t now = vmrpc_now_ms();
    bool last_try = now >= srv->arriving_end_ms;

    if (!srv->arriving_num || now < srv->arriving_due_ms) {
        return;
    }
    for (uint32_t i = 0; i < srv->config.max_sockets; i++) {
        VmrpcSock *s = srv->socks[i];

        if (s && s->arriving) {
            arrive(srv, s, s->arriving, last_try);
        }
    }
    srv->arriving_due_ms = now + ARRIVING_RETRY_MS;
}

int vmrpc_server_restore(VmrpcServer *srv, const VmrpcSavedSock *saved)
{
    bool is_stream = saved->type == SOCK_STREAM;
    bool lost = is_stream && saved->flags & VMRPC_SAVED_CONNECTED;
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = saved->peer4,
        .sin_port = htons(saved->peer_port),
    };
    int proto = is_stream ? IPPROTO_TCP :
                saved->flags & VMRPC_SAVED_PING ? IPPROTO_ICMP : IPPROTO_UDP;
    VmrpcBuffers buffers = { };
    VmrpcSock *s;
    int fd = -1;

    if (!record_is_sane(srv, saved)) {
        return -EINVAL;
    }
    if (!lost && vmrpc_budget_reserve(srv, NULL, NULL, &buffers) == 0) {
        fd = vmrpc_host_socket(srv, saved->type, proto);
    }
    if (fd >= 0) {
        vmrpc_budget_apply(srv, fd, &buffers);
    }
    if (vmrpc_sock_add(srv, saved->handle, saved->gen, saved->type, fd,
                       &buffers, &s) < 0) {
        return -EINVAL;
    }
    s->proto = proto;
    s->ready_seq = saved->ready_seq;
    if (saved->flags & VMRPC_SAVED_CONNECTED) {
        vmrpc_sock_set_peer(srv, s, &peer);
        s->peer_is_resolver = !is_stream && saved->flags & VMRPC_SAVED_RESOLVER;
    }
    /* What the guest believes is unknown here: tell it anew. */
    s->told = 0;
    if (fd < 0) {
        lose(srv, s, ECONNRESET);
        vmrpc_sock_refresh(srv, s);
        vmrpc_sock_notify(srv, s);
        return 0;
    }
    restore_options(srv, s, saved);
    srv->arriving_end_ms = vmrpc_now_ms() + ARRIVING_MAX_MS;
    arrive(srv, s, saved, false);
    vmrpc_timer_rearm(srv);
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: sockets across a migration
 *
 * The host's sockets stay behind.  The destination makes them again where it
 * can, under the guest's handles: a listening socket listens on the same port,
 * a datagram socket has its port and its peer.  An established stream is lost;
 * the guest's program gets ECONNRESET at once instead of waiting for a peer
 * that will never answer.
 *
 * A record says what a socket shall be.  A socket that is still arriving from
 * the migration before (arriving.c) has such a record, too, so the guest can
 * migrate again at any time.
 */
#include "hw/vmrpc/server/server.h"

#include <errno.h>
#include <string.h>

#include "hw/vmrpc/peer/arriving.h"
#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/server/resolver.h"
#include "hw/vmrpc/sock/groups.h"
#include "hw/vmrpc/sock/options.h"
#include "hw/vmrpc/sock/state.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/wire/multicast.h"

/* The port of its host socket; network byte order. */
static in_port_t host_port(const VmrpcSock *s)
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

/* The port that it has, or shall have; network byte order; 0: none. */
static in_port_t saved_port(const VmrpcSock *s)
{
    if (!vmrpc_sock_is_host(s)) {
        return s->local_port;
    }
    return vmrpc_sock_is_bound(s) ? host_port(s) : 0;
}

/*
 * A stream is lost, or new, or bound, or bound and listening.
 * @bound: 0 or VMRPC_SAVED_BOUND
 */
static uint32_t stream_flags(const VmrpcSock *s, uint32_t bound)
{
    if (vmrpc_sock_is_connected(s) || vmrpc_sock_is_lost(s)) {
        return VMRPC_SAVED_CONNECTED;
    }
    return bound && vmrpc_sock_is_listening(s)
           ? bound | VMRPC_SAVED_LISTENING : bound;
}

/* A datagram socket is bound or not, and has one of three peers or none. */
static uint32_t datagram_flags(const VmrpcSock *s, uint32_t bound)
{
    uint32_t ping = vmrpc_sock_is_ping(s) ? VMRPC_SAVED_PING : 0;

    if (s->peer == VMRPC_PEER_RESOLVER && !ping) {
        return bound | VMRPC_SAVED_CONNECTED | VMRPC_SAVED_RESOLVER;
    }
    if (vmrpc_sock_is_connected(s)) {
        return bound | VMRPC_SAVED_CONNECTED | ping;
    }
    return bound && s->peer == VMRPC_PEER_SELF ? bound | VMRPC_SAVED_SELF | ping
                                               : bound | ping;
}

static VMRPC_LOCKED void save_one(const VmrpcServer *srv, const VmrpcSock *s,
                                  VmrpcSavedSock *saved)
{
    in_port_t port = saved_port(s);
    uint32_t bound = port ? VMRPC_SAVED_BOUND : 0;
    bool is_stream = s->type == SOCK_STREAM;

    memset(saved, 0, sizeof(*saved));
    saved->handle = s->handle;
    saved->gen = s->gen;
    saved->type = s->type;
    saved->ready_seq = s->ready_seq;
    saved->flags = is_stream ? stream_flags(s, bound)
                             : datagram_flags(s, bound);
    if (s->inet6) {
        saved->flags |= VMRPC_SAVED_INET6;
        saved->flags |= s->mapped ? VMRPC_SAVED_MAPPED : 0;
    }
    if (saved->flags & VMRPC_SAVED_BOUND) {
        saved->local_port = ntohs(port);
        if (is_stream) {
            saved->backlog = s->backlog;
        } else {
            saved->bound_group = s->bound_group.s_addr;
        }
    }
    if (saved->flags & VMRPC_SAVED_CONNECTED) {
        saved->peer4 = s->peer4.s_addr;
        saved->peer_port = ntohs(s->peer_port);
    }
    saved->option_num = vmrpc_options_save(s->options, saved->option);
    saved->option_num += vmrpc_groups_save(srv, s, &saved->option[
                                                       saved->option_num]);
}

void vmrpc_server_save(const VmrpcServer *srv,
                       void (*fn)(void *opaque, const VmrpcSavedSock *saved),
                       void *opaque)
{
    vmrpc_sole_user(srv);
    g_autofree VmrpcSavedSock *saved = g_new(VmrpcSavedSock, 1);

    for (uint32_t i = 0; i < srv->config.max_sockets; i++) {
        if (srv->socks[i]) {
            save_one(srv, srv->socks[i], saved);
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

    vmrpc_sole_user(srv);
    if (srv->reach.names) {
        vmrpc_names_foreach(srv->reach.names, vmrpc_now_ms(), save_name,
                            &saver);
    }
    return saver.num;
}

int vmrpc_server_restore_name(VmrpcServer *srv, const VmrpcSavedName *saved)
{
    VmrpcNameAddr addr = { .ttl_s = saved->ttl_s };
    size_t offset = 0;
    DnsName name;

    vmrpc_sole_user(srv);
    if (!srv->reach.names || saved->len > sizeof(saved->name) ||
        dns_name_parse(saved->name, saved->len, &offset, &name) < 0 ||
        offset != saved->len || name.len != saved->len) {
        return -EINVAL;
    }
    memcpy(&addr.addr6, saved->addr6, sizeof(addr.addr6));
    vmrpc_names_restore(srv->reach.names, &name, &addr, vmrpc_now_ms());
    return 0;
}

/* --- NAT64 -------------------------------------------------------------- */

uint32_t vmrpc_server_save_nat64(const VmrpcServer *srv,
                                 VmrpcSavedNat64 saved[VMRPC_NAT64_MAX])
{
    const VmrpcNat64List *list = &srv->reach.nat64;

    vmrpc_sole_user(srv);
    for (unsigned i = 0; i < list->num; i++) {
        memcpy(saved[i].addr6, &list->prefix[i].addr, sizeof(saved[i].addr6));
        saved[i].len = list->prefix[i].len;
        saved[i].in_use = i < list->current;
        saved[i].age_s = CLAMP((vmrpc_now_ms() - list->seen_ms[i]) / 1000, 0,
                               UINT32_MAX);
    }
    return list->num;
}

/* Adds a record to @list; false if no source can have written it. */
static bool add_nat64(VmrpcNat64List *list, const VmrpcSavedNat64 *saved)
{
    unsigned num = list->num;
    struct in6_addr addr6;
    Nat64Prefix prefix;

    memcpy(&addr6, saved->addr6, sizeof(addr6));
    if (saved->in_use > (list->current == num) ||
        !nat64_prefix_init(&prefix, &addr6, saved->len, NULL)) {
        return false;
    }
    vmrpc_nat64_add_old(list, &prefix,
                        vmrpc_now_ms() - 1000LL * saved->age_s);
    list->current += saved->in_use;
    return list->num > num;     /* there is room, and it is not there twice */
}

uint32_t vmrpc_server_restore_nat64(VmrpcServer *srv,
                                    const VmrpcSavedNat64 *saved,
                                    uint32_t num)
{
    VmrpcNat64List source = { .num = 0 };

    vmrpc_sole_user(srv);
    for (uint32_t i = 0; i < num; i++) {
        if (!add_nat64(&source, &saved[i])) {
            return i;
        }
    }
    if (srv->config.nat64_mode == VMRPC_NAT64_AUTO &&
        !srv->reach.nat64.current) {
        vmrpc_nat64_adopt(&srv->reach.nat64, &source);
        vmrpc_resolver_forget(srv);
        /* This network may have others. */
        srv->nat64_due_ms = 0;
        vmrpc_timer_rearm(srv);
        return num;
    }
    for (unsigned i = 0; i < source.num; i++) {
        vmrpc_nat64_add_old(&srv->reach.nat64, &source.prefix[i],
                            source.seen_ms[i]);
    }
    return num;
}

/* --- budgets ------------------------------------------------------------ */

GBytes *vmrpc_server_save_budgets(const VmrpcServer *srv)
{
    vmrpc_sole_user(srv);
    return vmrpc_policy_save_budgets(srv->reach.policy, g_get_monotonic_time());
}

bool vmrpc_server_restore_budgets(VmrpcServer *srv, GBytes *saved)
{
    vmrpc_sole_user(srv);
    return vmrpc_policy_restore_budgets(srv->reach.policy, saved,
                                        g_get_monotonic_time());
}

/* --- sockets ------------------------------------------------------------ */

/* Has a save_one(), of any version, set these flags together? */
static bool flags_are_sane(const VmrpcServer *srv, const VmrpcSavedSock *saved)
{
    bool bound = saved->flags & VMRPC_SAVED_BOUND;
    bool listening = saved->flags & VMRPC_SAVED_LISTENING;
    bool connected = saved->flags & VMRPC_SAVED_CONNECTED;
    bool resolver = saved->flags & VMRPC_SAVED_RESOLVER;
    bool ping = saved->flags & VMRPC_SAVED_PING;
    bool self = saved->flags & VMRPC_SAVED_SELF;
    bool inet6 = saved->flags & VMRPC_SAVED_INET6;

    if (saved->flags & ~(VMRPC_SAVED_BOUND | VMRPC_SAVED_LISTENING |
                         VMRPC_SAVED_CONNECTED | VMRPC_SAVED_RESOLVER |
                         VMRPC_SAVED_PING | VMRPC_SAVED_SELF |
                         VMRPC_SAVED_INET6 | VMRPC_SAVED_MAPPED)) {
        return false;
    }
    if (inet6 ? !srv->config.reach.translate
              : saved->flags & VMRPC_SAVED_MAPPED) {
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

/*
 * The virtual address of a peer must be in the map, which was restored before.
 * Not that of a stream, which is lost and holds no reference.
 */
static VMRPC_LOCKED bool peer_is_sane(const VmrpcServer *srv,
                                      const VmrpcSavedSock *saved)
{
    struct in_addr peer4 = { .s_addr = saved->peer4 };
    struct in6_addr addr6;

    return !(saved->flags & VMRPC_SAVED_CONNECTED) || !srv->reach.map ||
           saved->type == SOCK_STREAM ||
           !vmrpc_addrmap_contains(srv->reach.map, peer4) ||
           vmrpc_addrmap_lookup4(srv->reach.map, peer4, &addr6) == 0;
}

static bool backlog_is_sane(const VmrpcSavedSock *saved)
{
    return saved->type != SOCK_STREAM || saved->backlog <= INT32_MAX;
}

/* An IPv6 group is in the map, which was restored before. */
static VMRPC_LOCKED bool bound_group_is_sane(const VmrpcServer *srv,
                                             const VmrpcSavedSock *saved)
{
    struct in_addr group4 = { .s_addr = saved->bound_group };

    return saved->type != SOCK_DGRAM || !saved->bound_group ||
           (vmrpc_addr_is_multicast(&srv->reach, group4) &&
            !(saved->flags & VMRPC_SAVED_PING));
}

static VMRPC_LOCKED bool record_is_sane(const VmrpcServer *srv,
                                        const VmrpcSavedSock *saved)
{
    if (saved->type != SOCK_STREAM && saved->type != SOCK_DGRAM) {
        return false;
    }
    if (!flags_are_sane(srv, saved) || !peer_is_sane(srv, saved)) {
        return false;
    }
    if (!backlog_is_sane(saved) || !bound_group_is_sane(srv, saved) ||
        saved->option_num > VMRPC_SAVED_OPTIONS) {
        return false;
    }
    for (uint32_t i = 0; i < saved->option_num; i++) {
        if (saved->option[i].len > VMRPC_OPTVAL_MAX) {
            return false;
        }
    }
    return true;
}

static VMRPC_LOCKED void restore_options(VmrpcServer *srv, VmrpcSock *s,
                                         const VmrpcSavedSock *saved)
{
    for (uint32_t i = 0; i < saved->option_num; i++) {
        const VmrpcSavedOption *o = &saved->option[i];

        if (vmrpc_membership_is_option(o->level, o->name)) {
            vmrpc_groups_restore(srv, s, o);
        } else {
            vmrpc_options_remember(&s->options, 0, o->level, o->name, o->value,
                                   o->len);
        }
    }
}

static VMRPC_LOCKED void restore_peer(VmrpcServer *srv, VmrpcSock *s,
                                      const VmrpcSavedSock *saved)
{
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = saved->peer4,
        .sin_port = htons(saved->peer_port),
    };

    if (saved->flags & VMRPC_SAVED_LISTENING) {
        vmrpc_sock_set_peer(srv, s, VMRPC_PEER_CLIENTS, NULL);
    } else if (saved->flags & VMRPC_SAVED_SELF) {
        vmrpc_sock_set_peer(srv, s, VMRPC_PEER_SELF, NULL);
    } else if (saved->flags & VMRPC_SAVED_CONNECTED) {
        vmrpc_sock_set_peer(srv, s, saved->flags & VMRPC_SAVED_RESOLVER
                            ? VMRPC_PEER_RESOLVER : VMRPC_PEER_REMOTE, &peer);
    }
}

/* The inverse of save_one(). */
static VMRPC_LOCKED void restore_one(VmrpcServer *srv, VmrpcSock *s,
                                     const VmrpcSavedSock *saved)
{
    s->proto = saved->type == SOCK_STREAM ? IPPROTO_TCP :
               saved->flags & VMRPC_SAVED_PING ? IPPROTO_ICMP : IPPROTO_UDP;
    s->ready_seq = saved->ready_seq;
    s->inet6 = saved->flags & VMRPC_SAVED_INET6;
    s->mapped = saved->flags & VMRPC_SAVED_MAPPED;
    if (saved->flags & VMRPC_SAVED_BOUND) {
        vmrpc_sock_guest_binds(srv, s);
        s->local_port = htons(saved->local_port);
        if (saved->type == SOCK_STREAM) {
            s->backlog = saved->backlog;
        } else {
            vmrpc_groups_set_bound(srv, s, (struct in_addr) {
                                       saved->bound_group });
        }
    }
    restore_peer(srv, s, saved);
    restore_options(srv, s, saved);
}

int vmrpc_server_restore(VmrpcServer *srv, const VmrpcSavedSock *saved)
{
    VmrpcSock *s;

    vmrpc_sole_user(srv);
    if (!record_is_sane(srv, saved) ||
        vmrpc_sock_add(srv, saved->handle, saved->gen, saved->type,
                       &vmrpc_lost_backing, &s) < 0) {
        return -EINVAL;
    }
    restore_one(srv, s, saved);
    /* The guest's cache is unknown here: report everything. */
    s->reported = 0;
    if (s->type == SOCK_STREAM && vmrpc_sock_is_connected(s)) {
        vmrpc_sock_lose(srv, s, ECONNRESET);
    } else {
        vmrpc_arriving_begin(srv, s);
    }
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host's routing says about addresses
 *
 * Theory of operation
 * ===================
 *
 * The list of interface addresses is not enough: a route of type local can
 * make a whole prefix the host's own (AnyIP), and policy routing can hide it.
 * So this file asks the kernel for the route of the packet (RTM_GETROUTE),
 * with its destination, source, protocol and port, since rules select by each
 * of them; the kernel adds QEMU's user id.  Asking does not wait (base/rtnl.h).
 *
 * A packet without a source gets the one that its first route prefers, and the
 * kernel routes it again by that source.  So this file asks again, too.
 *
 * Answers are cached (direct-mapped) until the kernel reports a change that can
 * affect routing: of addresses, routes, rules, next hops or links.  IPv4 routes
 * vanish with their link, and move into a VRF with it, without a message of
 * their own.
 */
#include "hw/vmrpc/reach/route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "base/rtnl.h"

#define CACHE_SLOTS     256     /* a power of two */

/* The part of a packet that routing depends on; without padding */
typedef struct Flow {
    uint8_t dest[16];           /* of IPv4, the first four */
    uint8_t source[16];
    uint16_t family;
    in_port_t port;             /* of the destination, network order; 0: any */
    uint8_t proto;              /* IPPROTO_TCP ...; 0: any */
    uint8_t has_dest, has_source;
    uint8_t unused;
} Flow;

G_STATIC_ASSERT(sizeof(Flow) == 40);

typedef struct CacheSlot {
    bool used;
    bool local;
    Flow flow;
} CacheSlot;

struct VmrpcRoute {
    Rtnl query;
    Rtnl monitor;               /* asks nothing: it has the groups below */
    uint64_t changes;
    VmrpcRouteWatcher *changed; /* NULL: none */
    void *opaque;
    CacheSlot cache[CACHE_SLOTS];
    struct {
        bool used;
        Flow own;               /* its source is the own address */
        unsigned index;         /* of the last vmrpc_route_interface() */
        unsigned gone;          /* how often it was deleted */
    } interface;
};

/* Changes that an answer can depend on */
static const unsigned monitored[] = {
    RTNLGRP_LINK,
    RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV4_RULE,
    RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV6_RULE,
    RTNLGRP_NEXTHOP,
};

/* Subscribes to all changes. Returns: 0 or a negative errno */
static int monitor(int fd)
{
    for (size_t i = 0; i < G_N_ELEMENTS(monitored); i++) {
        unsigned group = monitored[i];

        /* An older kernel has no next hop objects. */
        if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
                       sizeof(group)) < 0 &&
            (group != RTNLGRP_NEXTHOP || errno != EINVAL)) {
            return -errno;
        }
    }
    return 0;
}

VmrpcRoute *vmrpc_route_new(GError **errp)
{
    VmrpcRoute *route = g_new0(VmrpcRoute, 1);
    int ret;

    route->changes = 1;
    route->monitor.fd = -1;
    ret = rtnl_open(&route->query);
    ret = ret ? ret : rtnl_open(&route->monitor);
    ret = ret ? ret : monitor(route->monitor.fd);
    if (ret < 0) {
        g_set_error(errp, g_quark_from_static_string("vmrpc-route-error"),
                    -ret, "netlink socket, needed to tell the host's own "
                    "addresses: %s", g_strerror(-ret));
        vmrpc_route_free(route);
        return NULL;
    }
    return route;
}

void vmrpc_route_free(VmrpcRoute *route)
{
    if (route) {
        rtnl_close(&route->query);
        rtnl_close(&route->monitor);
        g_free(route);
    }
}

static size_t addr_len(const Flow *flow)
{
    return flow->family == AF_INET6 ? 16 : 4;
}

/*
 * Asks for the route of @flow; without a destination, for the default route.
 * Returns 0 or a negative errno.
 */
static int query(VmrpcRoute *route, const Flow *flow, RtnlAnswer *answer)
{
    size_t alen = addr_len(flow);
    const struct rtmsg rtm = {
        .rtm_family = flow->family,
        .rtm_dst_len = flow->has_dest ? alen * 8 : 0,
        .rtm_src_len = flow->has_source ? alen * 8 : 0,
    };
    RtnlRequest r;

    rtnl_request(&r, RTM_GETROUTE, 0, &rtm, sizeof(rtm));
    if (flow->has_dest) {
        rtnl_put(&r, RTA_DST, flow->dest, alen);
    }
    if (flow->has_source) {
        rtnl_put(&r, RTA_SRC, flow->source, alen);
    }
    if (flow->proto) {
        rtnl_put(&r, RTA_IP_PROTO, &flow->proto, sizeof(flow->proto));
    }
    if (flow->port) {
        rtnl_put(&r, RTA_DPORT, &flow->port, sizeof(flow->port));
    }
    return rtnl_ask(&route->query, &r, answer);
}

static unsigned type_of(const RtnlAnswer *answer)
{
    return ((const struct rtmsg *)NLMSG_DATA(&answer->head))->rtm_type;
}

/* Copies an attribute of the answer; false if it is not there. */
static bool read_attribute(const RtnlAnswer *answer, unsigned type, void *data,
                           size_t len)
{
    return rtnl_attribute(&answer->head, sizeof(struct rtmsg), type, data, len);
}

void vmrpc_route_watch(VmrpcRoute *route, VmrpcRouteWatcher *changed,
                       void *opaque)
{
    route->changed = changed;
    route->opaque = opaque;
}

int vmrpc_route_fd(const VmrpcRoute *route)
{
    return route->monitor.fd;
}

/* Does the message say that the interface @index is deleted? */
static bool is_deleted(const uint8_t *buf, ssize_t len, unsigned index)
{
    const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;
    const struct ifinfomsg *msg = NLMSG_DATA(nlh);

    /* A port that leaves its bridge is deleted there, in AF_BRIDGE. */
    return len >= (ssize_t)NLMSG_LENGTH(sizeof(*msg)) &&
           nlh->nlmsg_type == RTM_DELLINK && msg->ifi_family == AF_UNSPEC &&
           (unsigned)msg->ifi_index == index;
}

/* Any message of the kernel about its routing invalidates the cache. */
void vmrpc_route_process(VmrpcRoute *route)
{
    uint8_t buf[4096] __attribute__((aligned(NLMSG_ALIGNTO)));
    bool changed = false;
    ssize_t len;

    while ((len = recv(route->monitor.fd, buf, sizeof(buf), MSG_TRUNC)) >= 0 ||
           errno == ENOBUFS) {
        changed = true;
        /* A message that was lost may have said so. */
        route->interface.gone += len < 0 ||
                                 is_deleted(buf, len, route->interface.index);
    }
    if (!changed) {
        return;
    }
    route->changes++;
    memset(route->cache, 0, sizeof(route->cache));
    route->interface.used = false;
    if (route->changed) {
        route->changed(route->opaque);
    }
}

uint64_t vmrpc_route_changes(VmrpcRoute *route)
{
    vmrpc_route_process(route);
    return route->changes;
}

static unsigned slot_of(const Flow *flow)
{
    const uint8_t *byte = (const uint8_t *)flow;
    uint32_t hash = 2166136261u;    /* FNV-1a */

    for (size_t i = 0; i < sizeof(*flow); i++) {
        hash = (hash ^ byte[i]) * 16777619u;
    }
    return (hash ^ hash >> 16) & (CACHE_SLOTS - 1);
}

static void copy_addr(uint8_t to[16], const struct sockaddr *addr)
{
    if (addr->sa_family == AF_INET6) {
        memcpy(to, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
    } else {
        memcpy(to, &((const struct sockaddr_in *)addr)->sin_addr, 4);
    }
}

static Flow flow_of(const struct sockaddr *dest, const struct sockaddr *source,
                    int proto)
{
    Flow flow = { .family = dest->sa_family, .proto = proto,
                  .has_dest = true, .has_source = source != NULL };

    copy_addr(flow.dest, dest);
    if (source) {
        copy_addr(flow.source, source);
    }
    if (proto == IPPROTO_TCP || proto == IPPROTO_UDP) {
        /* The port has the same offset in both families. */
        flow.port = ((const struct sockaddr_in *)dest)->sin_port;
    }
    return flow;
}

static bool is_local(const RtnlAnswer *answer)
{
    unsigned type = type_of(answer);

    return type == RTN_LOCAL || type == RTN_ANYCAST;
}

/* Returns 1, 0 or a negative errno. */
static int ask_local(VmrpcRoute *route, const Flow *flow)
{
    RtnlAnswer answer;
    Flow from = *flow;
    int ret = query(route, flow, &answer);

    if (ret == 0 && !flow->has_source && !is_local(&answer) &&
        read_attribute(&answer, RTA_PREFSRC, from.source, addr_len(flow))) {
        from.has_source = true;
        ret = query(route, &from, &answer);
    }
    return ret < 0 ? ret : is_local(&answer);
}

bool vmrpc_route_is_local(VmrpcRoute *route, const struct sockaddr *dest,
                          const struct sockaddr *source, int proto)
{
    Flow flow = flow_of(dest, source, proto);
    CacheSlot *slot = &route->cache[slot_of(&flow)];
    int ret;

    vmrpc_route_process(route);
    if (slot->used && !memcmp(&slot->flow, &flow, sizeof(flow))) {
        return slot->local;
    }
    ret = ask_local(route, &flow);
    if (ret == -ENETUNREACH || ret == -EHOSTUNREACH || ret == -EACCES ||
        ret == -EINVAL) {
        ret = 0;            /* no route, or one that rejects packets */
    }
    if (ret < 0) {
        return true;
    }
    *slot = (CacheSlot) { .used = true, .local = ret, .flow = flow };
    return ret;
}

bool vmrpc_route_is_prohibited(VmrpcRoute *route, const struct sockaddr *dest,
                               const struct sockaddr *source, int proto)
{
    Flow flow = flow_of(dest, source, proto);
    RtnlAnswer answer;

    return query(route, &flow, &answer) == -EACCES;
}

/* The interface that has the source of @own; 0: none, or the loopback */
static unsigned interface_with(const Flow *own)
{
    struct ifaddrs *list, *ifa;
    unsigned index = 0;

    if (getifaddrs(&list) < 0) {
        return 0;
    }
    for (ifa = list; ifa && !index; ifa = ifa->ifa_next) {
        uint8_t addr[sizeof(own->source)];

        if (!ifa->ifa_addr || ifa->ifa_addr->sa_family != own->family ||
            ifa->ifa_flags & IFF_LOOPBACK) {
            continue;
        }
        copy_addr(addr, ifa->ifa_addr);
        if (!memcmp(addr, own->source, addr_len(own))) {
            index = if_nametoindex(ifa->ifa_name);
        }
    }
    freeifaddrs(list);
    return index;
}

static unsigned find_interface(VmrpcRoute *route, const Flow *own)
{
    unsigned index = interface_with(own);
    RtnlAnswer answer;

    if (!index && query(route, own, &answer) == 0 &&
        type_of(&answer) == RTN_UNICAST) {
        read_attribute(&answer, RTA_OIF, &index, sizeof(index));
    }
    return index;
}

int vmrpc_route_interface(VmrpcRoute *route, const struct sockaddr *own)
{
    Flow flow = { .family = own->sa_family, .has_source = true };

    copy_addr(flow.source, own);
    vmrpc_route_process(route);
    /* Listing thousands of interfaces takes long. */
    if (!route->interface.used ||
        memcmp(&route->interface.own, &flow, sizeof(flow))) {
        route->interface.index = find_interface(route, &flow);
        route->interface.own = flow;
        route->interface.used = true;
    }
    return route->interface.index ? (int)route->interface.index : -ENODEV;
}

unsigned vmrpc_route_interface_gone(VmrpcRoute *route)
{
    vmrpc_route_process(route);
    return route->interface.gone;
}

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
 * of them; the kernel adds QEMU's user id.  The kernel answers inside send(),
 * so the following recv() finds the answer and does not wait.
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
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define CACHE_SLOTS     256     /* a power of two */
#define ANSWER_MAX      4096    /* bytes of the kernel's answer */

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
    int query_fd;
    int monitor_fd;
    uint32_t seq;               /* of the last query */
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

static int open_netlink(void)
{
    struct sockaddr_nl nl = { .nl_family = AF_NETLINK };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    NETLINK_ROUTE);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&nl, sizeof(nl)) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Subscribes to all changes; false, with errno set, if that fails. */
static bool monitor(int fd)
{
    for (size_t i = 0; i < G_N_ELEMENTS(monitored); i++) {
        unsigned group = monitored[i];

        /* An older kernel has no next hop objects. */
        if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
                       sizeof(group)) < 0 &&
            (group != RTNLGRP_NEXTHOP || errno != EINVAL)) {
            return false;
        }
    }
    return true;
}

VmrpcRoute *vmrpc_route_new(GError **errp)
{
    VmrpcRoute *route = g_new0(VmrpcRoute, 1);

    route->changes = 1;
    route->query_fd = open_netlink();
    route->monitor_fd = open_netlink();
    if (route->query_fd < 0 || route->monitor_fd < 0 ||
        !monitor(route->monitor_fd)) {
        g_set_error(errp, g_quark_from_static_string("vmrpc-route-error"),
                    errno, "netlink socket, needed to tell the host's own "
                    "addresses: %s", g_strerror(errno));
        vmrpc_route_free(route);
        return NULL;
    }
    return route;
}

void vmrpc_route_free(VmrpcRoute *route)
{
    if (!route) {
        return;
    }
    if (route->query_fd >= 0) {
        close(route->query_fd);
    }
    if (route->monitor_fd >= 0) {
        close(route->monitor_fd);
    }
    g_free(route);
}

/* The route in the kernel's answer; returns 0 or a negative errno. */
static int read_route(const uint8_t *buf, ssize_t len,
                      const struct rtmsg **rtm)
{
    const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;

    if (len < (ssize_t)sizeof(*nlh) || !NLMSG_OK(nlh, (size_t)len)) {
        return -EPROTO;
    }
    if (nlh->nlmsg_type == NLMSG_ERROR) {
        const struct nlmsgerr *err = NLMSG_DATA(nlh);

        return nlh->nlmsg_len < NLMSG_LENGTH(sizeof(*err)) || !err->error
               ? -EPROTO : err->error;
    }
    if (nlh->nlmsg_type != RTM_NEWROUTE ||
        nlh->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg))) {
        return -EPROTO;
    }
    *rtm = NLMSG_DATA(nlh);
    return 0;
}

typedef struct RouteQuery {
    struct nlmsghdr nlh;
    struct rtmsg rtm;
    uint8_t attributes[2 * RTA_LENGTH(16) + 2 * RTA_SPACE(2)];
} RouteQuery;

static void add_attribute(RouteQuery *req, unsigned type, const void *data,
                          size_t len)
{
    struct rtattr rta = { .rta_len = RTA_LENGTH(len), .rta_type = type };
    uint8_t *to = (uint8_t *)req + req->nlh.nlmsg_len;

    memcpy(to, &rta, sizeof(rta));
    memcpy(to + RTA_LENGTH(0), data, len);
    req->nlh.nlmsg_len += RTA_SPACE(len);
}

static size_t addr_len(const Flow *flow)
{
    return flow->family == AF_INET6 ? 16 : 4;
}

/*
 * Asks for the route of @flow; without a destination, for the default route.
 * The answer is in @buf.  Returns 0 or a negative errno.
 */
static int query(VmrpcRoute *route, const Flow *flow, uint8_t *buf,
                 size_t size, const struct rtmsg **rtm)
{
    size_t alen = addr_len(flow);
    RouteQuery req = {
        .nlh = {
            .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
            .nlmsg_type = RTM_GETROUTE,
            .nlmsg_flags = NLM_F_REQUEST,
            .nlmsg_seq = ++route->seq,
        },
        .rtm = { .rtm_family = flow->family },
    };
    ssize_t len;

    if (flow->has_dest) {
        req.rtm.rtm_dst_len = alen * 8;
        add_attribute(&req, RTA_DST, flow->dest, alen);
    }
    if (flow->has_source) {
        req.rtm.rtm_src_len = alen * 8;
        add_attribute(&req, RTA_SRC, flow->source, alen);
    }
    if (flow->proto) {
        add_attribute(&req, RTA_IP_PROTO, &flow->proto, sizeof(flow->proto));
    }
    if (flow->port) {
        add_attribute(&req, RTA_DPORT, &flow->port, sizeof(flow->port));
    }
    if (send(route->query_fd, &req, req.nlh.nlmsg_len, 0) < 0) {
        return -errno;
    }
    /* Skip the answer to an earlier query that nobody has read. */
    do {
        len = recv(route->query_fd, buf, size, 0);
    } while (len >= (ssize_t)sizeof(struct nlmsghdr) &&
             ((struct nlmsghdr *)buf)->nlmsg_seq != route->seq);
    return len < 0 ? -errno : read_route(buf, len, rtm);
}

/* Copies an attribute of the answer; false if it is not there. */
static bool read_attribute(const struct rtmsg *rtm, unsigned type, void *data,
                           size_t len)
{
    const struct nlmsghdr *nlh = (const void *)((const uint8_t *)rtm -
                                                NLMSG_HDRLEN);
    const struct rtattr *rta = RTM_RTA(rtm);
    int left = RTM_PAYLOAD(nlh);

    for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
        if (rta->rta_type == type && RTA_PAYLOAD(rta) >= len) {
            memcpy(data, RTA_DATA(rta), len);
            return true;
        }
    }
    return false;
}

void vmrpc_route_watch(VmrpcRoute *route, VmrpcRouteWatcher *changed,
                       void *opaque)
{
    route->changed = changed;
    route->opaque = opaque;
}

int vmrpc_route_fd(const VmrpcRoute *route)
{
    return route->monitor_fd;
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

    while ((len = recv(route->monitor_fd, buf, sizeof(buf), MSG_TRUNC)) >= 0 ||
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

static bool is_local(const struct rtmsg *rtm)
{
    return rtm->rtm_type == RTN_LOCAL || rtm->rtm_type == RTN_ANYCAST;
}

/* Returns 1, 0 or a negative errno. */
static int ask_local(VmrpcRoute *route, const Flow *flow)
{
    uint8_t buf[ANSWER_MAX] __attribute__((aligned(8)));
    const struct rtmsg *rtm;
    Flow from = *flow;
    int ret = query(route, flow, buf, sizeof(buf), &rtm);

    if (ret == 0 && !flow->has_source && !is_local(rtm) &&
        read_attribute(rtm, RTA_PREFSRC, from.source, addr_len(flow))) {
        from.has_source = true;
        ret = query(route, &from, buf, sizeof(buf), &rtm);
    }
    return ret < 0 ? ret : is_local(rtm);
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
        return false;       /* no route, or one that rejects packets */
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
    uint8_t buf[ANSWER_MAX] __attribute__((aligned(8)));
    Flow flow = flow_of(dest, source, proto);
    const struct rtmsg *rtm;

    return query(route, &flow, buf, sizeof(buf), &rtm) == -EACCES;
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
    uint8_t buf[ANSWER_MAX] __attribute__((aligned(8)));
    unsigned index = interface_with(own);
    const struct rtmsg *rtm;

    if (!index && query(route, own, buf, sizeof(buf), &rtm) == 0 &&
        rtm->rtm_type == RTN_UNICAST) {
        read_attribute(rtm, RTA_OIF, &index, sizeof(index));
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host's routing says of addresses
 *
 * Theory of operation
 * ===================
 *
 * The list of interface addresses is not the answer: a route of type local
 * can make a whole prefix the host's own (AnyIP), and policy routing can
 * hide it from a naive look.  So the kernel is asked for the route of the
 * very destination (RTM_GETROUTE), which takes the same way as the packet
 * would.  The kernel answers inside the sendto(), so the receive that
 * follows finds the answer and does not wait.
 *
 * Answers are cached, direct-mapped, until the kernel reports any change of
 * addresses or routes.
 */
#include "hw/vmrpc/route.h"

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

typedef struct CacheSlot {
    bool used;
    bool local;
    sa_family_t family;
    uint8_t addr[16];
} CacheSlot;

struct VmrpcRoute {
    int query_fd;
    int monitor_fd;
    uint32_t seq;               /* of the last query */
    CacheSlot cache[CACHE_SLOTS];
};

static int open_netlink(unsigned groups)
{
    struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_groups = groups };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    NETLINK_ROUTE);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&nl, sizeof(nl)) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

VmrpcRoute *vmrpc_route_new(GError **errp)
{
    VmrpcRoute *route = g_new0(VmrpcRoute, 1);

    route->query_fd = open_netlink(0);
    route->monitor_fd = open_netlink(RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR |
                                     RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE);
    if (route->query_fd < 0 || route->monitor_fd < 0) {
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
    uint8_t attributes[2 * RTA_LENGTH(16)];
} RouteQuery;

static void add_address(RouteQuery *req, unsigned attribute, const void *addr,
                        size_t len)
{
    struct rtattr rta = { .rta_len = RTA_LENGTH(len), .rta_type = attribute };
    uint8_t *to = (uint8_t *)req + req->nlh.nlmsg_len;

    memcpy(to, &rta, sizeof(rta));
    memcpy(to + RTA_LENGTH(0), addr, len);
    req->nlh.nlmsg_len += RTA_LENGTH(len);
}

/*
 * Asks for the route to @dest (NULL: the default route) of packets from
 * @source (NULL: from anywhere).  The answer goes into @buf.
 * Returns 0 or a negative errno.
 */
static int query(VmrpcRoute *route, sa_family_t family, const void *dest,
                 const void *source, uint8_t *buf, size_t size,
                 const struct rtmsg **rtm)
{
    size_t addr_len = family == AF_INET6 ? 16 : 4;
    RouteQuery req = {
        .nlh = {
            .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
            .nlmsg_type = RTM_GETROUTE,
            .nlmsg_flags = NLM_F_REQUEST,
            .nlmsg_seq = ++route->seq,
        },
        .rtm = { .rtm_family = family },
    };
    ssize_t len;

    if (dest) {
        req.rtm.rtm_dst_len = addr_len * 8;
        add_address(&req, RTA_DST, dest, addr_len);
    }
    if (source) {
        req.rtm.rtm_src_len = addr_len * 8;
        add_address(&req, RTA_SRC, source, addr_len);
    }
    if (send(route->query_fd, &req, req.nlh.nlmsg_len, 0) < 0) {
        return -errno;
    }
    /* An answer that an earlier query did not fetch is not this one's. */
    do {
        len = recv(route->query_fd, buf, size, 0);
    } while (len >= (ssize_t)sizeof(struct nlmsghdr) &&
             ((struct nlmsghdr *)buf)->nlmsg_seq != route->seq);
    return len < 0 ? -errno : read_route(buf, len, rtm);
}

/* Anything the kernel has to say about addresses or routes ends the cache. */
static void watch_changes(VmrpcRoute *route)
{
    uint8_t buf[4096];
    bool changed = false;

    while (recv(route->monitor_fd, buf, sizeof(buf), MSG_TRUNC) >= 0 ||
           errno == ENOBUFS) {
        changed = true;
    }
    if (changed) {
        memset(route->cache, 0, sizeof(route->cache));
    }
}

static unsigned slot_of(const uint8_t *addr, size_t len)
{
    uint32_t hash = 2166136261u;    /* FNV-1a */

    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ addr[i]) * 16777619u;
    }
    return (hash ^ hash >> 16) & (CACHE_SLOTS - 1);
}

bool vmrpc_route_is_local(VmrpcRoute *route, const struct sockaddr *addr)
{
    uint8_t key[16] = { };
    size_t len = addr->sa_family == AF_INET6 ? 16 : 4;
    uint8_t buf[ANSWER_MAX] __attribute__((aligned(8)));
    const struct rtmsg *rtm;
    CacheSlot *slot;
    int ret;

    if (addr->sa_family == AF_INET6) {
        memcpy(key, &((const struct sockaddr_in6 *)addr)->sin6_addr, len);
    } else {
        memcpy(key, &((const struct sockaddr_in *)addr)->sin_addr, len);
    }
    watch_changes(route);
    slot = &route->cache[slot_of(key, len)];
    if (slot->used && slot->family == addr->sa_family &&
        !memcmp(slot->addr, key, sizeof(key))) {
        return slot->local;
    }

    ret = query(route, addr->sa_family, key, NULL, buf, sizeof(buf), &rtm);
    if (ret == -ENETUNREACH || ret == -EHOSTUNREACH || ret == -EACCES ||
        ret == -EINVAL) {
        return false;       /* no route, or one that refuses */
    }
    if (ret < 0) {
        return true;
    }
    slot->used = true;
    slot->family = addr->sa_family;
    memcpy(slot->addr, key, sizeof(key));
    slot->local = rtm->rtm_type == RTN_LOCAL || rtm->rtm_type == RTN_ANYCAST;
    return slot->local;
}

bool vmrpc_route_is_prohibited(VmrpcRoute *route, const struct in6_addr *dest,
                               const struct in6_addr *own)
{
    uint8_t buf[ANSWER_MAX] __attribute__((aligned(8)));
    const struct rtmsg *rtm;

    return query(route, AF_INET6, dest, own, buf, sizeof(buf),
                 &rtm) == -EACCES;
}

/* The interface that has the address; 0: none but the loopback. */
static unsigned interface_with(const struct in6_addr *own)
{
    struct ifaddrs *list, *ifa;
    unsigned index = 0;

    if (getifaddrs(&list) < 0) {
        return 0;
    }
    for (ifa = list; ifa && !index; ifa = ifa->ifa_next) {
        const struct sockaddr_in6 *sin6 = (void *)ifa->ifa_addr;

        if (sin6 && sin6->sin6_family == AF_INET6 &&
            !(ifa->ifa_flags & IFF_LOOPBACK) &&
            IN6_ARE_ADDR_EQUAL(&sin6->sin6_addr, own)) {
            index = if_nametoindex(ifa->ifa_name);
        }
    }
    freeifaddrs(list);
    return index;
}

static unsigned interface_of_route(const struct rtmsg *rtm)
{
    const struct nlmsghdr *nlh = (const void *)((const uint8_t *)rtm -
                                                NLMSG_HDRLEN);
    const struct rtattr *rta = RTM_RTA(rtm);
    int left = RTM_PAYLOAD(nlh);
    unsigned index = 0;

    for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
        if (rta->rta_type == RTA_OIF && RTA_PAYLOAD(rta) >= sizeof(index)) {
            memcpy(&index, RTA_DATA(rta), sizeof(index));
        }
    }
    return index;
}

int vmrpc_route_interface(VmrpcRoute *route, const struct in6_addr *own)
{
    uint8_t buf[ANSWER_MAX] __attribute__((aligned(8)));
    unsigned index = interface_with(own);
    const struct rtmsg *rtm;

    if (!index && query(route, AF_INET6, NULL, own, buf, sizeof(buf),
                        &rtm) == 0 &&
        rtm->rtm_type == RTN_UNICAST) {
        index = interface_of_route(rtm);
    }
    return index ? (int)index : -ENODEV;
}

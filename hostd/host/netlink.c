/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of the host's interfaces */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "hostd/host/netlink.h"

#define HOST_BITS       128
#define ANSWER_S        5       /* time limit, s; the kernel needs some us */

typedef struct Request {
    struct nlmsghdr head;
    struct ifaddrmsg msg;
    char attributes[128];
} Request;

static bool fail(GError **errp, const char *what, const HostdAddress *address)
{
    char text[INET6_ADDRSTRLEN];
    int error = errno;

    inet_ntop(AF_INET6, &address->addr, text, sizeof(text));
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "cannot %s %s on %s: %s",
                what, text, address->dev, strerror(error));
    return false;
}

static void put_attribute(Request *r, uint16_t type, const void *data,
                          size_t len)
{
    struct rtattr *attribute = (void *)((char *)r +
                                        NLMSG_ALIGN(r->head.nlmsg_len));

    attribute->rta_type = type;
    attribute->rta_len = RTA_LENGTH(len);
    memcpy(RTA_DATA(attribute), data, len);
    r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + RTA_LENGTH(len);
}

static Request request(uint16_t type, uint16_t flags,
                       const HostdAddress *address, unsigned index)
{
    Request r = {
        .head.nlmsg_type = type,
        .head.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg)),
        .head.nlmsg_flags = NLM_F_REQUEST | flags,
        .msg.ifa_family = AF_INET6,
        .msg.ifa_prefixlen = HOST_BITS,
        .msg.ifa_scope = RT_SCOPE_UNIVERSE,
        .msg.ifa_index = index,
    };

    put_attribute(&r, IFA_LOCAL, &address->addr, sizeof(address->addr));
    put_attribute(&r, IFA_ADDRESS, &address->addr, sizeof(address->addr));
    return r;
}

/*
 * Sends a request and waits for the answer: a message of @type, which is copied
 * to @msg, or the kernel's error.
 */
static bool ask(HostdNetlink *n, Request *r, uint16_t type,
                struct ifaddrmsg *msg)
{
    char buf[4096] __attribute__((aligned(NLMSG_ALIGNTO)));
    const struct nlmsghdr *head = (void *)buf;
    const struct nlmsgerr *error = NLMSG_DATA(head);
    ssize_t len;

    r->head.nlmsg_seq = ++n->serial;
    if (send(n->fd, r, r->head.nlmsg_len, 0) < 0) {
        return false;
    }
    do {
        len = recv(n->fd, buf, sizeof(buf), 0);
        if (len < 0 && errno != EINTR) {
            return false;
        }
    } while (len < 0 || !NLMSG_OK(head, len) || head->nlmsg_seq != n->serial);
    if (type && head->nlmsg_type == type) {
        memcpy(msg, NLMSG_DATA(head), sizeof(*msg));
        return true;
    }
    errno = head->nlmsg_type == NLMSG_ERROR ? -error->error : EPROTO;
    return errno == 0;
}

/*
 * Removes an address from all interfaces but @keep (0: from all). An interface
 * that was renamed took it along.
 */
static bool remove_elsewhere(HostdNetlink *n, const HostdAddress *address,
                             unsigned keep)
{
    for (;;) {
        Request r = request(RTM_GETADDR, 0, address, 0);
        struct ifaddrmsg found;

        if (!ask(n, &r, RTM_NEWADDR, &found)) {
            return errno == EADDRNOTAVAIL;
        } else if (found.ifa_index == keep) {
            return true;
        }
        r = request(RTM_DELADDR, NLM_F_ACK, address, found.ifa_index);
        r.msg.ifa_prefixlen = found.ifa_prefixlen;
        if (!ask(n, &r, 0, NULL) && errno != EADDRNOTAVAIL &&
            errno != ENODEV) {
            return false;
        }
    }
}

bool hostd_netlink_add(HostdNetlink *n, const HostdAddress *address,
                       GError **errp)
{
    const uint32_t flags = IFA_F_NODAD | IFA_F_NOPREFIXROUTE;
    const struct ifa_cacheinfo deprecated = {
        .ifa_prefered = 0,
        .ifa_valid = UINT32_MAX,
    };
    unsigned index = if_nametoindex(address->dev);
    Request r;

    if (!index || !remove_elsewhere(n, address, index)) {
        return fail(errp, "take", address);
    }
    r = request(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE,
                address, index);
    put_attribute(&r, IFA_FLAGS, &flags, sizeof(flags));
    put_attribute(&r, IFA_CACHEINFO, &deprecated, sizeof(deprecated));
    return ask(n, &r, 0, NULL) || fail(errp, "take", address);
}

bool hostd_netlink_has(HostdNetlink *n, const HostdAddress *address)
{
    unsigned index = if_nametoindex(address->dev);
    struct ifaddrmsg found;
    Request r;

    if (!index) {
        return false;
    }
    r = request(RTM_GETADDR, 0, address, index);
    return ask(n, &r, RTM_NEWADDR, &found) && found.ifa_index == index;
}

bool hostd_netlink_is_up(HostdNetlink *n, const char *dev)
{
    struct ifreq r = { .ifr_flags = 0 };

    g_strlcpy(r.ifr_name, dev, sizeof(r.ifr_name));
    return ioctl(n->fd, SIOCGIFFLAGS, &r) == 0 && (r.ifr_flags & IFF_UP);
}

bool hostd_netlink_remove(HostdNetlink *n, const HostdAddress *address,
                          GError **errp)
{
    return remove_elsewhere(n, address, 0) || fail(errp, "yield", address);
}

bool hostd_netlink_open(HostdNetlink *n, GError **errp)
{
    const struct timeval limit = { .tv_sec = ANSWER_S };

    n->serial = 0;
    n->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (n->fd >= 0 && setsockopt(n->fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
                                 sizeof(limit)) == 0) {
        return true;
    }
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "cannot open netlink: %s",
                strerror(errno));
    if (n->fd >= 0) {
        close(n->fd);
    }
    return false;
}

void hostd_netlink_close(HostdNetlink *n)
{
    close(n->fd);
}

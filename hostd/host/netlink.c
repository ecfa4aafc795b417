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

#include "hostd/host/netlink.h"

#define HOST_BITS       128

static bool netlink_fail(GError **errp, const char *what,
                         const HostdAddress *address)
{
    char text[INET6_ADDRSTRLEN];
    int error = errno;

    inet_ntop(AF_INET6, &address->addr, text, sizeof(text));
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "cannot %s %s on %s: %s",
                what, text, address->dev, strerror(error));
    return false;
}

static void request(RtnlRequest *r, uint16_t type, uint16_t flags,
                    const HostdAddress *address, unsigned index,
                    uint8_t prefix_len)
{
    const struct ifaddrmsg msg = {
        .ifa_family = AF_INET6,
        .ifa_prefixlen = prefix_len,
        .ifa_scope = RT_SCOPE_UNIVERSE,
        .ifa_index = index,
    };

    rtnl_request(r, type, flags, &msg, sizeof(msg));
    rtnl_put(r, IFA_LOCAL, &address->addr, sizeof(address->addr));
    rtnl_put(r, IFA_ADDRESS, &address->addr, sizeof(address->addr));
}

/*
 * Finds an address on an interface (0: any). Returns: false with errno set;
 * EADDRNOTAVAIL: the host does not have it
 */
static bool find(HostdNetlink *n, const HostdAddress *address, unsigned index,
                 struct ifaddrmsg *found)
{
    RtnlRequest r;
    RtnlAnswer answer;

    request(&r, RTM_GETADDR, 0, address, index, HOST_BITS);
    errno = -rtnl_ask(n, &r, &answer);
    if (errno) {
        return false;
    }
    memcpy(found, NLMSG_DATA(&answer.head), sizeof(*found));
    return true;
}

/*
 * Removes an address from all interfaces but @keep (0: from all). An interface
 * that was renamed took it along.
 */
static bool remove_elsewhere(HostdNetlink *n, const HostdAddress *address,
                             unsigned keep)
{
    for (;;) {
        struct ifaddrmsg found;
        RtnlRequest r;

        if (!find(n, address, 0, &found)) {
            return errno == EADDRNOTAVAIL;
        } else if (found.ifa_index == keep) {
            return true;
        }
        request(&r, RTM_DELADDR, 0, address, found.ifa_index,
                found.ifa_prefixlen);
        errno = -rtnl_do(n, &r);
        if (errno && errno != EADDRNOTAVAIL && errno != ENODEV) {
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
    RtnlRequest r;

    if (!index || !remove_elsewhere(n, address, index)) {
        return netlink_fail(errp, "take", address);
    }
    request(&r, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, address, index,
            HOST_BITS);
    rtnl_put(&r, IFA_FLAGS, &flags, sizeof(flags));
    rtnl_put(&r, IFA_CACHEINFO, &deprecated, sizeof(deprecated));
    errno = -rtnl_do(n, &r);
    return !errno || netlink_fail(errp, "take", address);
}

bool hostd_netlink_has(HostdNetlink *n, const HostdAddress *address)
{
    unsigned index = if_nametoindex(address->dev);
    struct ifaddrmsg found;

    return index && find(n, address, index, &found) &&
           found.ifa_index == index;
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
    return remove_elsewhere(n, address, 0) ||
           netlink_fail(errp, "yield", address);
}

bool hostd_netlink_open(HostdNetlink *n, GError **errp)
{
    int ret = rtnl_open(n);

    if (ret < 0) {
        g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "cannot open netlink: "
                    "%s", strerror(-ret));
    }
    return ret == 0;
}

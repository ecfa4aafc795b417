/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of the host's interfaces (rtnetlink(7)) */
#ifndef HOSTD_NETLINK_H
#define HOSTD_NETLINK_H

#include "hostd/core/registry.h"

typedef struct HostdNetlink {
    int fd;
    uint32_t serial;            /* of requests */
} HostdNetlink;

bool hostd_netlink_open(HostdNetlink *n, GError **errp);
void hostd_netlink_close(HostdNetlink *n);

/**
 * hostd_netlink_add: give an interface an address, which it may have already
 *
 * Usable at once, without duplicate address detection: whose it is, is decided
 * elsewhere. No route to others comes with it, and the host itself does not
 * choose it (it is "deprecated", RFC 4862 section 5.5.4): it is the VM's, which
 * names it.
 *
 * Needs CAP_NET_ADMIN.
 *
 * Returns: false with @errp, which names address and interface
 */
bool hostd_netlink_add(HostdNetlink *n, const HostdAddress *address,
                       GError **errp);

/**
 * hostd_netlink_remove: take it away, whatever prefix length it has
 *
 * One that is not there, or whose interface is not, is no error.
 */
bool hostd_netlink_remove(HostdNetlink *n, const HostdAddress *address,
                          GError **errp);

#endif /* HOSTD_NETLINK_H */

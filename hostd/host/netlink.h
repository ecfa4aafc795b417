/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of the host's interfaces (rtnetlink(7)) */
#ifndef HOSTD_NETLINK_H
#define HOSTD_NETLINK_H

#include "base/rtnl.h"
#include "hostd/core/registry.h"

typedef Rtnl HostdNetlink;      /* close it by rtnl_close() */

bool hostd_netlink_open(HostdNetlink *n, GError **errp);

/**
 * hostd_netlink_add: add an address to an interface; success if it is there
 *
 * If another interface has it, it is removed there.
 *
 * The address is usable at once, without duplicate address detection: its place
 * is decided elsewhere. No route is added with it, and the host itself does not
 * select it as a source (it is "deprecated", RFC 4862 section 5.5.4): only the
 * VM's sockets, which bind to it, use it.
 *
 * Needs CAP_NET_ADMIN.
 *
 * Returns: false with @errp, which names address and interface
 */
bool hostd_netlink_add(HostdNetlink *n, const HostdAddress *address,
                       GError **errp);

/** hostd_netlink_has: does the interface exist and have the address? */
bool hostd_netlink_has(HostdNetlink *n, const HostdAddress *address);

/** hostd_netlink_is_up: does the interface exist, and is it up? */
bool hostd_netlink_is_up(HostdNetlink *n, const char *dev);

/**
 * hostd_netlink_remove: remove an address from the host
 *
 * Whatever its prefix length is, and whatever its interface is called now. It
 * is no error if the host does not have it.
 */
bool hostd_netlink_remove(HostdNetlink *n, const HostdAddress *address,
                          GError **errp);

#endif /* HOSTD_NETLINK_H */

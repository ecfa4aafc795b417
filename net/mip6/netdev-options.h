/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev mip6: its options */
#ifndef NET_MIP6_NETDEV_OPTIONS_H
#define NET_MIP6_NETDEV_OPTIONS_H

#include "net/mip6/port/port.h"
#include "qapi/qapi-types-net.h"

/**
 * mip6_netdev_options: read and check the options of a netdev
 * @id: of the netdev, for messages
 * @config: was zeroed; set, but for @protect
 *
 * Returns: false with @errp set, which names the option and its value
 */
bool mip6_netdev_options(const char *id, const NetdevMip6Options *o,
                         Mip6PortConfig *config, Error **errp);

/**
 * mip6_netdev_protect: make the associations of ipsec=esp
 * @id: of the netdev, for messages
 * @o: that mip6_netdev_options() has checked
 * @protect: set, of each home address in their order; all NULL with ipsec=off,
 *           or without success
 *
 * Returns: false with @errp set, which names the option and its value
 */
bool mip6_netdev_protect(const char *id, const NetdevMip6Options *o,
                         Mip6Protect *protect[MIP6_HOME_ADDRESSES],
                         Error **errp);

/** mip6_netdev_unprotect: free them */
void mip6_netdev_unprotect(Mip6Protect *protect[MIP6_HOME_ADDRESSES]);

#endif /* NET_MIP6_NETDEV_OPTIONS_H */

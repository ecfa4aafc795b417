/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev mip6: its options */
#ifndef NET_MIP6_NETDEV_OPTIONS_H
#define NET_MIP6_NETDEV_OPTIONS_H

#include "net/mip6/port/port.h"
#include "qapi/qapi-types-net.h"

/**
 * mip6_netdev_options: parse and check the options of a netdev
 * @id: of the netdev, for messages
 * @config: zeroed; filled in, except @protect
 *
 * Returns: false with @errp set, which names the option and its value
 */
bool mip6_netdev_options(const char *id, const NetdevMip6Options *o,
                         Mip6PortConfig *config, Error **errp);

/**
 * mip6_netdev_protect: create the associations of ipsec=esp
 * @id: of the netdev, for messages
 * @o: must have passed mip6_netdev_options()
 * @protect: set, for each home address in order; all NULL with ipsec=off, and
 *           on failure
 *
 * Returns: false with @errp set, which names the option and its value
 */
bool mip6_netdev_protect(const char *id, const NetdevMip6Options *o,
                         Mip6Protect *protect[MIP6_HOME_ADDRESSES],
                         Error **errp);

/** mip6_netdev_unprotect: free them */
void mip6_netdev_unprotect(Mip6Protect *protect[MIP6_HOME_ADDRESSES]);

#endif /* NET_MIP6_NETDEV_OPTIONS_H */

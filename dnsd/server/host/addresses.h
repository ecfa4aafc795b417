/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the addresses of server.listen; for the control thread */
#ifndef DNSD_SERVER_HOST_ADDRESSES_H
#define DNSD_SERVER_HOST_ADDRESSES_H

#include "dnsd/server/config/config.h"
#include "dnsd/server/core/links.h"

typedef struct DnsdAddresses DnsdAddresses;

/**
 * dnsd_addresses_new: begin to follow, after the sockets were opened
 *
 * An address that is missing at that time was told with its socket.
 *
 * Returns: NULL, and errno is set.
 */
DnsdAddresses *dnsd_addresses_new(const DnsdConfig *config,
                                  const DnsdLinks *links);

/** dnsd_addresses_free: NULL is allowed */
void dnsd_addresses_free(DnsdAddresses *all);

/**
 * dnsd_addresses_look: log which have left this host, and which are back
 *
 * At most one line an address, so call it once a second only.
 */
void dnsd_addresses_look(DnsdAddresses *all, const DnsdLinks *links);

#endif /* DNSD_SERVER_HOST_ADDRESSES_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the interfaces of this host; for the control thread */
#ifndef DNSD_SERVER_HOST_INTERFACES_H
#define DNSD_SERVER_HOST_INTERFACES_H

#include "dnsd/server/core/links.h"

typedef struct DnsdInterfaces DnsdInterfaces;

/**
 * dnsd_interfaces_new: begin to follow; all that exist are known on return
 *
 * Returns: NULL, and errno is set.
 */
DnsdInterfaces *dnsd_interfaces_new(void);

/** dnsd_interfaces_free: NULL is allowed */
void dnsd_interfaces_free(DnsdInterfaces *all);

/** dnsd_interfaces_fd: readable when dnsd_interfaces_look() has work */
int dnsd_interfaces_fd(const DnsdInterfaces *all);

/**
 * dnsd_interfaces_look: learn what has changed; call it once a second too
 *
 * Returns: false if nothing has.
 */
bool dnsd_interfaces_look(DnsdInterfaces *all);

/** dnsd_interfaces_links: what is known; valid until the next look */
const DnsdLinks *dnsd_interfaces_links(const DnsdInterfaces *all);

#endif /* DNSD_SERVER_HOST_INTERFACES_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does an image keep all that docs/dns-image.md promises? */
#ifndef NET_DNS_ZONE_VERIFY_H
#define NET_DNS_ZONE_VERIFY_H

#include "net/dns/zone/image.h"

/**
 * zone_image_verify: pages, then nodes, then indexes
 *
 * It takes the time that it takes to read all of the image, and the memory of
 * two references for each label of a name.
 *
 * Returns: false, and @fault is the first that is wrong.
 */
bool zone_image_verify(ZoneImage *image, ZoneFault *fault);

#endif /* NET_DNS_ZONE_VERIFY_H */

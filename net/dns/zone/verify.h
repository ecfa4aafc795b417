/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verification of an image against docs/dns-image.md */
#ifndef NET_DNS_ZONE_VERIFY_H
#define NET_DNS_ZONE_VERIFY_H

#include "net/dns/zone/image.h"

/**
 * zone_image_verify: verify the pages, then the nodes, then the indexes
 *
 * It takes the time to read the whole image, and the memory of two references
 * for each label of a name.
 *
 * Returns: false, and @fault is the first fault.
 */
bool zone_image_verify(ZoneImage *image, ZoneFault *fault);

#endif /* NET_DNS_ZONE_VERIFY_H */

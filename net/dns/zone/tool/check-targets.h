/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do the names in NS, MX and SRV records have addresses? */
#ifndef NET_DNS_ZONE_TOOL_CHECK_TARGETS_H
#define NET_DNS_ZONE_TOOL_CHECK_TARGETS_H

#include "net/dns/zone/image.h"
#include "net/dns/zone/tool/places.h"
#include "net/dns/zone/tool/progress.h"
#include "net/dns/zone/tool/report.h"

/**
 * check_targets: check the names within the zone, as named-checkzone -i local
 * @places: of all such records, in the order of the image; rewound
 *
 * Names outside the zone are not looked up, as that takes a resolver.
 */
void check_targets(ZoneImage *image, Places *places, Report *report,
                   Progress *progress);

#endif /* NET_DNS_ZONE_TOOL_CHECK_TARGETS_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that NS, MX and SRV records refer to: have they addresses? */
#ifndef NET_DNS_ZONE_TOOL_CHECK_TARGETS_H
#define NET_DNS_ZONE_TOOL_CHECK_TARGETS_H

#include "net/dns/zone/image.h"
#include "net/dns/zone/tool/places.h"
#include "net/dns/zone/tool/progress.h"
#include "net/dns/zone/tool/report.h"

/**
 * check_targets: those within the zone, as named-checkzone -i local does
 * @places: of all such records, in the order of the image; rewound
 *
 * Names outside the zone are not looked up: that is a resolver's work.
 */
void check_targets(ZoneImage *image, Places *places, Report *report,
                   Progress *progress);

#endif /* NET_DNS_ZONE_TOOL_CHECK_TARGETS_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do the names in NS, MX and SRV records have addresses? */
#ifndef DNSD_ZONE_CHECK_TARGETS_H
#define DNSD_ZONE_CHECK_TARGETS_H

#include "net/dns/zone/image.h"
#include "dnsd/zone/places.h"
#include "dnsd/zone/progress.h"
#include "dnsd/zone/report.h"

/**
 * check_targets: check the names within the zone, as named-checkzone -i local
 * @places: of all such records, in the order of the image; flushed
 *
 * Names outside the zone are not looked up, as that takes a resolver.  The
 * messages are the same for any number of threads.
 *
 * Returns: 0 or -ENOMEM.
 */
int check_targets(ZoneImage *image, const Places *places, unsigned threads,
                  Report *report, Progress *progress);

#endif /* DNSD_ZONE_CHECK_TARGETS_H */

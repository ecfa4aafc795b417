/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images of changes */
#ifndef DNSD_UPDATE_CHANGE_DELTA_H
#define DNSD_UPDATE_CHANGE_DELTA_H

#include "dnsd/update/change/edit-internal.h"
#include "net/dns/zone/write.h"

/**
 * dns_delta_write: write the overlay as a delta over the view of the edit
 *
 * No edit may be open.
 *
 * Returns: 0 and the length of the image, or an error of zone_writer_...().
 */
int dns_delta_write(DnsEdit *edit, const ZoneAbout *about, ZoneOut *out,
                    uint64_t *len);

/** dns_delta_read: fill the overlay, which is empty, from such an image */
int dns_delta_read(Overlay *overlay, ZoneImage *image);

/**
 * dns_view_write: write all layers of a view as one image
 *
 * With about->is_delta, deleted names stay in it, marked as deleted.
 */
int dns_view_write(const ZoneView *view, const ZoneAbout *about, ZoneOut *out,
                   uint64_t *len);

#endif /* DNSD_UPDATE_CHANGE_DELTA_H */

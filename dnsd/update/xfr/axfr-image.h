/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A zone image from the records of AXFR, which come in any order */
#ifndef DNSD_UPDATE_XFR_AXFR_IMAGE_H
#define DNSD_UPDATE_XFR_AXFR_IMAGE_H

#include <stdatomic.h>

#include "net/dns/zone/write.h"

typedef struct AxfrImage AxfrImage;

/**
 * axfr_image_new: NULL without memory, or if the folder is not writable
 * @stop: NULL, or a flag that ends axfr_image_finish() early
 */
AxfrImage *axfr_image_new(const char *path, const DnsName *origin,
                          uint16_t rrclass, const atomic_bool *stop);

/** axfr_image_add: add a record of the zone; 0 or a negative errno */
int axfr_image_add(AxfrImage *image, const DnsName *name,
                   const ZoneRecord *record);

/**
 * axfr_image_finish: write the file; durable on return
 *
 * Returns: 0; -ENODATA if the zone has no NS; -EINVAL if the records are no zone
 * otherwise; or a negative errno.
 */
int axfr_image_finish(AxfrImage *image);

/**
 * axfr_image_dropped: signatures of types that their names do not have
 *
 * They say nothing, and the image has none of them.
 */
uint64_t axfr_image_dropped(const AxfrImage *image);

/** axfr_image_free: the file stays if it was finished */
void axfr_image_free(AxfrImage *image);

#endif /* DNSD_UPDATE_XFR_AXFR_IMAGE_H */

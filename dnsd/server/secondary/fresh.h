/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time of a secondary's last success, in a file beside the image:
 * IMAGE.time
 *
 * The time of an image or a journal also changes when it is merged or restored,
 * and this must not extend the life of the zone.  So there is a file for it.
 * It is written after the success, so a crash makes the zone older, never
 * younger.
 */
#ifndef DNSD_SERVER_SECONDARY_FRESH_H
#define DNSD_SERVER_SECONDARY_FRESH_H

#include <stdbool.h>
#include <stdint.h>

/** dnsd_fresh_read: seconds since 1970; 0 without a file */
uint64_t dnsd_fresh_read(const char *image);

/** dnsd_fresh_write: 0 or a negative errno; durable on return */
int dnsd_fresh_write(const char *image, uint64_t when);

#endif /* DNSD_SERVER_SECONDARY_FRESH_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A secondary's last success, kept beside the image: IMAGE.time
 *
 * A file of its own: the time of an image or a journal changes also when it is
 * merged or restored, and a zone that nobody has confirmed must not live on
 * by that.  It is written when what it says is true, so that a crash before
 * makes the zone older than it is, never younger.
 */
#ifndef NET_DNS_SERVER_SECONDARY_FRESH_H
#define NET_DNS_SERVER_SECONDARY_FRESH_H

#include <stdbool.h>
#include <stdint.h>

/** dnsd_fresh_read: seconds since 1970; 0 if there is none. */
uint64_t dnsd_fresh_read(const char *image);

/** dnsd_fresh_write: 0 or a negative errno; durable on return */
int dnsd_fresh_write(const char *image, uint64_t when);

#endif /* NET_DNS_SERVER_SECONDARY_FRESH_H */

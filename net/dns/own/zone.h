/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A zone image (docs/dns-image.md) that is read into memory, for a VM */
#ifndef NET_DNS_OWN_ZONE_H
#define NET_DNS_OWN_ZONE_H

#include <glib.h>

#include "net/dns/zone/image.h"

/*
 * The largest image that is read, octets.  It takes memory of the VM's process.
 */
#define DNS_OWN_ZONE_SIZE_MAX (256 << 20)

typedef struct DnsOwnZone {
    void *memory;
    size_t len;
    ZoneImage *image;
} DnsOwnZone;

/**
 * dns_own_zone_read: read the image at @path and check every page of it
 *
 * Returns: NULL, and @errp says what is wrong and where in the file.  It does
 * not name the file.
 */
DnsOwnZone *dns_own_zone_read(const char *path, GError **errp);
void dns_own_zone_free(DnsOwnZone *zone);

#endif /* NET_DNS_OWN_ZONE_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of records whose names are looked up when the image is whole
 *
 * One place a record, in the order of the image, in a file without a name: the
 * kernel keeps it in memory as long as there is some.
 */
#ifndef NET_DNS_ZONE_TOOL_PLACES_H
#define NET_DNS_ZONE_TOOL_PLACES_H

#include <stdio.h>

#include "net/dns/zone/tool/bundle.h"

typedef struct Places {
    FILE *file;
} Places;

/** places_open: in the folder @dir.  0 or a negative errno. */
int places_open(Places *places, const char *dir);

/** places_add: the next one.  0 or a negative errno. */
int places_add(Places *places, ZonePlace place);

/** places_rewind: read from the first one.  0 or a negative errno. */
int places_rewind(Places *places);

/** places_next: of the next record; without a line behind the last. */
ZonePlace places_next(Places *places);

void places_close(Places *places);

#endif /* NET_DNS_ZONE_TOOL_PLACES_H */

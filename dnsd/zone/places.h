/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of records whose targets are looked up in the finished image
 *
 * The places are in the order of the image, in a file without a name.  The
 * kernel keeps it in memory as long as it can.
 */
#ifndef DNSD_ZONE_PLACES_H
#define DNSD_ZONE_PLACES_H

#include <stdio.h>

#include "dnsd/zone/bundle.h"

typedef struct Places {
    FILE *file;
} Places;

/** places_open: create the file in @dir; 0 or a negative errno */
int places_open(Places *places, const char *dir);

/** places_add: append a place; 0 or a negative errno */
int places_add(Places *places, ZonePlace place);

/** places_rewind: start to read at the first place; 0 or a negative errno */
int places_rewind(Places *places);

/** places_next: the place of the next record; line 0 behind the last one */
ZonePlace places_next(Places *places);

void places_close(Places *places);

#endif /* DNSD_ZONE_PLACES_H */

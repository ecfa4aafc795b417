/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of records whose targets are looked up in the finished image
 *
 * The places are in the order of the image, in a file without a name.  The
 * kernel keeps it in memory as long as it can.
 */
#ifndef DNSD_ZONE_PLACES_H
#define DNSD_ZONE_PLACES_H

#include <stdbool.h>
#include <stdio.h>

#include "dnsd/zone/bundle.h"

/* The place at which the nodes from @ref on begin to add theirs */
typedef struct PlaceMark {
    uint64_t number;            /* of places before it */
    uint32_t ref;
} PlaceMark;

typedef struct Places {
    FILE *file;
    uint64_t count;
    PlaceMark *mark;
    size_t marks;
    size_t marks_room;
    bool has_dname;             /* a name of the zone has a DNAME record */
} Places;

#define PLACES_AT_ONCE  512

/* Reads the places of consecutive nodes */
typedef struct PlacesReader {
    int fd;
    uint64_t next;              /* number of the place behind those held */
    unsigned at;
    unsigned held;
    ZonePlace place[PLACES_AT_ONCE];
} PlacesReader;

/** places_open: create the file in @dir; 0 or a negative errno */
int places_open(Places *places, const char *dir);

/** places_add: append a place; 0 or a negative errno */
int places_add(Places *places, ZonePlace place);

/**
 * places_mark: note that the places of the node @ref come next
 *
 * Returns: 0 or -ENOMEM.
 */
int places_mark(Places *places, uint32_t ref);

/** places_flush: write all, so that they can be read; 0 or a negative errno */
int places_flush(Places *places);

/** places_read: start to read at a mark, or at the first place if it is NULL */
void places_read(const Places *places, const PlaceMark *mark,
                 PlacesReader *reader);

/** places_next: the place of the next record; line 0 behind the last one */
ZonePlace places_next(PlacesReader *reader);

void places_close(Places *places);

#endif /* DNSD_ZONE_PLACES_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a view in canonical order, all layers together */
#ifndef DNSD_UPDATE_CHANGE_WALK_H
#define DNSD_UPDATE_CHANGE_WALK_H

#include "dnsd/update/change/key.h"
#include "net/dns/zone/find.h"

typedef struct ViewWalkLayer {
    uint32_t ref;               /* of the next node; 0 behind the last one */
    ZoneNode node;
    NameKey key;
} ViewWalkLayer;

typedef struct ViewWalk {
    unsigned layers;
    bool has_failed;            /* an image is damaged */
    ZoneNode node;              /* of the youngest layer that has the name */
    NameKey key;
    ViewWalkLayer layer[ZONE_LAYERS_MAX];
} ViewWalk;

/** view_walk_begin: begin at a name, or behind it; NULL: at the first name */
void view_walk_begin(ViewWalk *walk, const ZoneView *view, const NameKey *from,
                     bool behind);

/**
 * view_walk_next: go to the next node, walk->node, which may be marked GONE
 *
 * Returns: false behind the last one, or if walk->has_failed.
 */
bool view_walk_next(ViewWalk *walk);

#endif /* DNSD_UPDATE_CHANGE_WALK_H */

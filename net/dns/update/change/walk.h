/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a view in canonical order, all layers together */
#ifndef NET_DNS_UPDATE_CHANGE_WALK_H
#define NET_DNS_UPDATE_CHANGE_WALK_H

#include "net/dns/update/change/key.h"
#include "net/dns/zone/find.h"

typedef struct ViewWalkLayer {
    uint32_t ref;               /* of the next node; 0 behind the last */
    ZoneNode node;
    NameKey key;
} ViewWalkLayer;

typedef struct ViewWalk {
    unsigned layers;
    bool has_failed;            /* an image is damaged */
    ZoneNode node;              /* the youngest of its name */
    NameKey key;
    ViewWalkLayer layer[ZONE_LAYERS_MAX];
} ViewWalk;

/**
 * view_walk_begin: from a name on, or from the one behind it; NULL: from the
 * first one
 */
void view_walk_begin(ViewWalk *walk, const ZoneView *view, const NameKey *from,
                     bool behind);

/**
 * view_walk_next: walk->node, which may be GONE
 *
 * Returns: false behind the last one, or if walk->has_failed.
 */
bool view_walk_next(ViewWalk *walk);

#endif /* NET_DNS_UPDATE_CHANGE_WALK_H */

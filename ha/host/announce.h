/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Announcements of home addresses on the home link (RFC 6275 section 10.4.1),
 * with a rate limit
 *
 * Times are in ns of a monotonic clock.
 */
#ifndef HA_ANNOUNCE_H
#define HA_ANNOUNCE_H

#include <netinet/in.h>

#include "ha/base/expiry.h"

#define MIP6_ANNOUNCE_TIMES     3u      /* MAX_NEIGHBOR_ADVERTISEMENT */
#define MIP6_ANNOUNCE_TURN      32u     /* maximum number in a turn */

typedef struct Mip6Announce {
    void (*send)(void *opaque, const struct in6_addr *home);
    void *opaque;
    GHashTable *queued;         /* by address */
    Mip6Expiry expiry;
    int64_t turn;               /* earliest time of the next one */
    uint64_t sent;
} Mip6Announce;

/** mip6_announce_init: @send sends one announcement */
void mip6_announce_init(Mip6Announce *q,
                        void (*send)(void *opaque,
                                     const struct in6_addr *home),
                        void *opaque);

void mip6_announce_destroy(Mip6Announce *q);

/**
 * mip6_announce_add: announce @home soon, @times in all, at intervals of a
 * second
 *
 * Only mip6_announce_tick() sends.
 */
void mip6_announce_add(Mip6Announce *q, int64_t now,
                       const struct in6_addr *home, unsigned times);

/**
 * mip6_announce_at_once: announce @home now, and @times in all
 *
 * The answer to the mobile node's next packet needs the new neighbour cache
 * entry, possibly before the next turn.
 */
void mip6_announce_at_once(Mip6Announce *q, int64_t now,
                           const struct in6_addr *home, unsigned times);

/** mip6_announce_remove: stop the announcements of @home */
void mip6_announce_remove(Mip6Announce *q, const struct in6_addr *home);

/** mip6_announce_deadline: when to call mip6_announce_tick() */
int64_t mip6_announce_deadline(const Mip6Announce *q);
void mip6_announce_tick(Mip6Announce *q, int64_t now);

#endif /* HA_ANNOUNCE_H */

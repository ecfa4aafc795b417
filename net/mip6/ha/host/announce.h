/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Announcements of home addresses on the home link (RFC 6275 section 10.4.1),
 * at a bounded rate
 *
 * Times are ns of a clock that never steps.
 */
#ifndef NET_MIP6_HA_ANNOUNCE_H
#define NET_MIP6_HA_ANNOUNCE_H

#include <netinet/in.h>

#include "net/mip6/ha/base/expiry.h"

#define MIP6_ANNOUNCE_TIMES     3u      /* MAX_NEIGHBOR_ADVERTISEMENT */
#define MIP6_ANNOUNCE_TURN      32u     /* in one turn */

typedef struct Mip6Announce {
    void (*send)(void *opaque, const struct in6_addr *home);
    void *opaque;
    GHashTable *queued;         /* by address */
    Mip6Expiry expiry;
    int64_t turn;               /* the next one, not sooner */
    uint64_t sent;
} Mip6Announce;

/** mip6_announce_init: @send announces an address once */
void mip6_announce_init(Mip6Announce *q,
                        void (*send)(void *opaque,
                                     const struct in6_addr *home),
                        void *opaque);

void mip6_announce_destroy(Mip6Announce *q);

/**
 * mip6_announce_add: announce @home soon, @times in all, a second apart
 *
 * Nothing is sent before mip6_announce_tick().
 */
void mip6_announce_add(Mip6Announce *q, int64_t now,
                       const struct in6_addr *home, unsigned times);

/**
 * mip6_announce_at_once: announce @home, and again, @times in all
 *
 * The answer to what a mobile node sends next must find its way, and that may
 * be before the next turn.
 */
void mip6_announce_at_once(Mip6Announce *q, int64_t now,
                           const struct in6_addr *home, unsigned times);

/** mip6_announce_remove: no longer */
void mip6_announce_remove(Mip6Announce *q, const struct in6_addr *home);

/** mip6_announce_deadline: when to call mip6_announce_tick() */
int64_t mip6_announce_deadline(const Mip6Announce *q);
void mip6_announce_tick(Mip6Announce *q, int64_t now);

#endif /* NET_MIP6_HA_ANNOUNCE_H */

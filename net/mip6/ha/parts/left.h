/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Care-of addresses that mobile nodes have left to return home
 *
 * A bounded number of them, for a bounded time; nothing is done when that is
 * over but to forget them. Times are ns of a clock that never steps.
 */
#ifndef NET_MIP6_HA_LEFT_H
#define NET_MIP6_HA_LEFT_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "net/mip6/ha/base/expiry.h"

typedef struct Mip6LeftHome {
    struct in6_addr home, care_of;
    Mip6Due due;                /* it is forgotten */
} Mip6LeftHome;

typedef struct Mip6Left {
    GHashTable *homes;          /* &Mip6LeftHome.home -> itself */
    Mip6Expiry expiry;          /* Mip6LeftHome.due */
} Mip6Left;

void mip6_left_init(Mip6Left *l);
void mip6_left_destroy(Mip6Left *l);

/**
 * mip6_left_add: the node of @home has left @care_of, which is known until then
 * @max: homes at most; one more is not remembered
 */
void mip6_left_add(Mip6Left *l, const struct in6_addr *home,
                   const struct in6_addr *care_of, int64_t until, unsigned max);

/** mip6_left_remove: @home, if it is there, has left no address */
void mip6_left_remove(Mip6Left *l, const struct in6_addr *home);

/** mip6_left_find: what the node of @home has left; NULL: nothing */
const Mip6LeftHome *mip6_left_find(const Mip6Left *l, int64_t now,
                                   const struct in6_addr *home);

/** mip6_left_deadline: when to call mip6_left_tick(); INT64_MAX: never */
int64_t mip6_left_deadline(const Mip6Left *l);

/** mip6_left_tick: forget at most @max of those whose time is over */
void mip6_left_tick(Mip6Left *l, int64_t now, unsigned max);

#endif /* NET_MIP6_HA_LEFT_H */

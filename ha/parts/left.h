/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Care-of addresses of nodes that have returned home
 *
 * Their number and lifetime are limited. Times are in ns of a monotonic clock.
 */
#ifndef HA_LEFT_H
#define HA_LEFT_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "ha/base/expiry.h"

typedef struct Mip6LeftHome {
    struct in6_addr home, care_of;
    Mip6Due due;                /* time to forget it */
} Mip6LeftHome;

typedef struct Mip6Left {
    GHashTable *homes;          /* &Mip6LeftHome.home -> itself */
    Mip6Expiry expiry;          /* Mip6LeftHome.due */
} Mip6Left;

void mip6_left_init(Mip6Left *l);
void mip6_left_destroy(Mip6Left *l);

/**
 * mip6_left_add: the node of @home has left @care_of; remember it until @until
 * @max: maximum number of homes; further ones are not remembered
 */
void mip6_left_add(Mip6Left *l, const struct in6_addr *home,
                   const struct in6_addr *care_of, int64_t until, unsigned max);

/** mip6_left_remove: forget the entry of @home, if there is one */
void mip6_left_remove(Mip6Left *l, const struct in6_addr *home);

/** mip6_left_find: the address that the node of @home has left; NULL: none */
const Mip6LeftHome *mip6_left_find(const Mip6Left *l, int64_t now,
                                   const struct in6_addr *home);

/** mip6_left_deadline: when to call mip6_left_tick(); INT64_MAX: never */
int64_t mip6_left_deadline(const Mip6Left *l);

/** mip6_left_tick: forget entries whose time is over, at most @max */
void mip6_left_tick(Mip6Left *l, int64_t now, unsigned max);

#endif /* HA_LEFT_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The departure of this QEMU's VM, for those who keep something for it
 *
 * QEMU's migration tells what it does; what that means for an address, a
 * binding, a claim or a key is the same for all of them, and is decided here
 * (state.h), once a process.  All functions need the BQL.
 */
#ifndef NET_DEPARTURE_DEPARTURE_H
#define NET_DEPARTURE_DEPARTURE_H

#include "net/departure/state.h"
#include "qemu/queue.h"

typedef enum DepartureTurn {
    DEPARTURE_TURN_LEAVING,     /* a migration has begun */
    DEPARTURE_TURN_LEFT,        /* the destination is the owner */
    DEPARTURE_TURN_STAYS,       /* it has failed: the source still is */
} DepartureTurn;

typedef struct Departure {
    void (*turn)(void *opaque, DepartureTurn turn);
    void *opaque;
    QLIST_ENTRY(Departure) next;
} Departure;

/**
 * departure_follow: call @turn at each turn until departure_unfollow()
 *
 * A person can run a VM here that has left.  No turn tells of that, but the
 * handlers of the VM's run state.
 */
void departure_follow(Departure *d,
                      void (*turn)(void *opaque, DepartureTurn turn),
                      void *opaque);

/**
 * departure_is_snapshot: is the state that QEMU saves a snapshot's?
 *
 * The VM stays, and the state can be loaded more than once.
 */
bool departure_is_snapshot(void);

/** departure_unfollow: no more calls; @d may be one that does not follow */
void departure_unfollow(Departure *d);

#endif /* NET_DEPARTURE_DEPARTURE_H */

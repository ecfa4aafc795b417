/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a VM is while it migrates away: whose addresses, bindings and keys
 *
 *             setup            switch            done
 *      STAYS ---------> LEAVING --------> GONE ---------> LEFT
 *
 *      LEAVING - done -> LEFT        pre-copy has no switch
 *      LEAVING - failed -> STAYS
 *      GONE - failed -> LOST
 *      GONE, LEFT, LOST - run -> STAYS
 *
 * The source owns what belongs to the VM in STAYS and LEAVING, the destination
 * in all others.  Post-copy lets the VM run at the destination before its
 * memory is there, which is the switch.  From then on, what happens to the
 * migration gives nothing back to the source: in GONE, the connection can be
 * lost and made again (postcopy-paused, postcopy-recover); in LOST, the source
 * has heard of no end, so the VM may run at the destination.
 *
 * What gives it back is that the VM is made to run here.  In LEFT and LOST a
 * person does so, who alone can know that it does not run there.  In GONE,
 * where QEMU refuses "cont", QEMU does so itself if the destination has not
 * been able to load the state of its devices (postcopy-device).
 */
#ifndef NET_DEPARTURE_STATE_H
#define NET_DEPARTURE_STATE_H

#include <stdbool.h>

typedef enum DepartureState {
    DEPARTURE_STAYS,            /* no migration, or one that came to nothing */
    DEPARTURE_LEAVING,          /* it runs here, and its memory is sent */
    DEPARTURE_GONE,             /* it runs there, its memory follows */
    DEPARTURE_LEFT,             /* all of it is there */
    DEPARTURE_LOST,             /* post-copy failed: it may run there */
    DEPARTURE_STATES,
} DepartureState;

typedef enum DepartureEvent {
    DEPARTURE_SETUP,            /* a migration begins */
    DEPARTURE_SWITCH,           /* post-copy: the destination may run it */
    DEPARTURE_DONE,
    DEPARTURE_FAILED,           /* or cancelled */
    DEPARTURE_RUN,              /* the VM begins to run here */
    DEPARTURE_EVENTS,
} DepartureEvent;

/** departure_next: the state after @event in @state */
DepartureState departure_next(DepartureState state, DepartureEvent event);

/** departure_is_away: is the destination the owner in @state? */
static inline bool departure_is_away(DepartureState state)
{
    return state > DEPARTURE_LEAVING;
}

#endif /* NET_DEPARTURE_STATE_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a VM is while it migrates away; see state.h */
#include "net/departure/state.h"

#define STAYS   DEPARTURE_STAYS
#define LEAVING DEPARTURE_LEAVING
#define GONE    DEPARTURE_GONE
#define LEFT    DEPARTURE_LEFT
#define LOST    DEPARTURE_LOST

/*
 * A VM that has left, and that somebody migrates once more from here, is not
 * this host's if that fails: only RUN ends LEFT and LOST.
 */
static const DepartureState next[DEPARTURE_STATES][DEPARTURE_EVENTS] = {
    /*            SETUP    SWITCH  DONE  FAILED  RUN */
    [STAYS]   = { LEAVING, GONE,   LEFT, STAYS,  STAYS },
    [LEAVING] = { LEAVING, GONE,   LEFT, STAYS,  LEAVING },
    [GONE]    = { GONE,    GONE,   LEFT, LOST,   STAYS },
    [LEFT]    = { LEFT,    LEFT,   LEFT, LEFT,   STAYS },
    [LOST]    = { LOST,    GONE,   LEFT, LOST,   STAYS },
};

DepartureState departure_next(DepartureState state, DepartureEvent event)
{
    return next[state][event];
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The departure of this QEMU's VM: events of QEMU's migration become turns
 *
 * QEMU before 11.0 has one event, DONE, for the switch of post-copy and for the
 * end of a migration.  The migration still runs at the former.  A background
 * snapshot is a migration to a file, and no departure.
 */
#include "qemu/osdep.h"

#include "net/departure/departure.h"
#include "migration/misc.h"
#include "migration/client-options.h"    /* needs misc.h */
#include "qemu/error-report.h"
#include "system/runstate.h"
#include "vmmnet/qemu-compat.h"

/* Before all other handlers, whose priority is 0 or more. */
#define PRIORITY        (-100)

static DepartureState state;
static QLIST_HEAD(, Departure) followers = QLIST_HEAD_INITIALIZER(followers);
static NotifierWithReturn migration;

static void tell(DepartureTurn turn)
{
    Departure *d, *next;

    QLIST_FOREACH_SAFE(d, &followers, next, next) {
        d->turn(d->opaque, turn);
    }
}

static void set_state(DepartureState to)
{
    DepartureState from = state;

    state = to;
    if (to == DEPARTURE_LOST && from != to) {
        warn_report("The migration has failed after the VM went on at its "
                    "destination: its addresses are there. Only if it does "
                    "not run there, continue it here: 'cont' takes them back");
    }
    if (to == DEPARTURE_LEAVING && from != to) {
        tell(DEPARTURE_TURN_LEAVING);
    } else if (departure_is_away(to) && !departure_is_away(from)) {
        tell(DEPARTURE_TURN_LEFT);
    } else if (to == DEPARTURE_STAYS &&
               (from == DEPARTURE_LEAVING || from == DEPARTURE_GONE)) {
        tell(DEPARTURE_TURN_STAYS);
    }
}

static void happen(DepartureEvent event)
{
    set_state(departure_next(state, event));
}

static int migration_changed(NotifierWithReturn *notifier, MigrationEvent *ev,
                             Error **errp)
{
    if (migrate_background_snapshot()) {
        return 0;
    }
    switch (ev->type) {
    case MIG_EVENT_SETUP:
        happen(DEPARTURE_SETUP);
        break;
    case MIG_EVENT_FAILED:
        happen(DEPARTURE_FAILED);
        break;
    case MIG_EVENT_POSTCOPY_START:
        happen(DEPARTURE_SWITCH);
        break;
    case MIG_EVENT_DONE:
        happen(migration_is_running() ? DEPARTURE_SWITCH : DEPARTURE_DONE);
        break;
    default:
        break;
    }
    return 0;
}

static void vm_state_changed(void *opaque, bool running, RunState run_state)
{
    if (running) {
        happen(DEPARTURE_RUN);
    }
}

bool departure_is_snapshot(void)
{
    return runstate_check(RUN_STATE_SAVE_VM) || migrate_background_snapshot();
}

void departure_follow(Departure *d,
                      void (*turn)(void *opaque, DepartureTurn turn),
                      void *opaque)
{
    if (!migration.notify) {
        migration_add_notifier(&migration, migration_changed);
        qemu_add_vm_change_state_handler_prio(vm_state_changed, NULL,
                                              PRIORITY);
    }
    d->turn = turn;
    d->opaque = opaque;
    QLIST_INSERT_HEAD(&followers, d, next);
}

void departure_unfollow(Departure *d)
{
    if (d->turn) {
        QLIST_REMOVE(d, next);
        d->turn = NULL;
    }
}

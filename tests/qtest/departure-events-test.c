/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net/departure: events of QEMU's migration, in the form of its series
 *
 * Theory of operation
 * ===================
 *
 * Which events come, and in which order, depends on the series and on how a
 * migration fails, some of which takes a second host that dies at a certain
 * moment.  So this program has net/departure in it, and plays QEMU's migration.
 * tests/guest/test_postcopy.py has those that a real one can be made to tell.
 */
#include "qemu/osdep.h"

#include "net/departure/departure.h"
#include "system/runstate.h"
#include "vmmnet/qemu-compat.h"

/* --- QEMU's part ---------------------------------------------------------- */

static NotifierWithReturn *notifier;
static MigrationNotifyFunc told;
static VMChangeStateHandler *state_changed;
static bool is_migrating, is_snapshot;

void migration_add_notifier(NotifierWithReturn *notify,
                            MigrationNotifyFunc func)
{
    notifier = notify;
    notifier->notify = (NotifierWithReturnFunc)func;
    told = func;
}

VMChangeStateEntry *qemu_add_vm_change_state_handler_prio(
    VMChangeStateHandler *cb, void *opaque, int priority)
{
    state_changed = cb;
    return NULL;
}

bool migration_is_running(void)
{
    return is_migrating;
}

bool migrate_background_snapshot(void)
{
    return is_snapshot;
}

bool runstate_check(RunState state)
{
    return false;
}

static void tell(MigrationEventType type, bool migrating)
{
    MigrationEvent event = { .type = type };

    is_migrating = migrating;
    g_assert_cmpint(told(notifier, &event, NULL), ==, 0);
}

/* --- courses -------------------------------------------------------------- */

/*
 * S: set up; P: the switch of post-copy; D: done; F: failed; f: the same, told
 * before the migration has ended; R: the VM begins to run; B: from here on,
 * migrations are background snapshots.
 */
static void play(char step)
{
    switch (step) {
    case 'S':
        tell(MIG_EVENT_SETUP, true);
        break;
    case 'P':
        tell((int)MIG_EVENT_POSTCOPY_START == MIG_EVENT_MAX
             ? MIG_EVENT_DONE : MIG_EVENT_POSTCOPY_START, true);
        break;
    case 'D':
        tell(MIG_EVENT_DONE, false);
        break;
    case 'F':
        tell(MIG_EVENT_FAILED, false);
        break;
    case 'f':
        tell(MIG_EVENT_FAILED, true);
        break;
    case 'R':
        state_changed(NULL, true, RUN_STATE_RUNNING);
        break;
    case 'B':
        is_snapshot = true;
        break;
    default:
        g_assert_not_reached();
    }
}

typedef struct Course {
    const char *name, *steps, *turns;
} Course;

static const Course courses[] = {
    { "pre-copy", "SD", "leaving left " },
    { "pre-copy-fails", "SF", "leaving stays " },
    { "pre-copy-fails-at-its-end", "SfF", "leaving stays " },
    { "fails-before-it-begins", "F", "" },
    { "post-copy", "SPD", "leaving left " },
    { "post-copy-fails", "SPF", "leaving left " },
    { "post-copy-fails-at-the-switch", "SPfF", "leaving left " },
    { "post-copy-fails-before-the-switch", "SF", "leaving stays " },
    /* The devices' state was not loaded: QEMU runs the VM here. */
    { "not-loaded", "SPR", "leaving left stays " },
    /* "cont": handlers of the run state take all back, not a turn. */
    { "taken-back", "SPFR", "leaving left " },
    { "taken-back-and-away", "SPFRSD", "leaving left leaving left " },
    { "lost-and-sent-again", "SPFSF", "leaving left " },
    { "snapshot", "BSRD", "" },
    { "snapshot-of-a-paused-vm", "BSD", "" },
    { "snapshot-fails", "BSF", "" },
};

static void note(void *opaque, DepartureTurn turn)
{
    static const char *const names[] = {
        [DEPARTURE_TURN_LEAVING] = "leaving ",
        [DEPARTURE_TURN_LEFT] = "left ",
        [DEPARTURE_TURN_STAYS] = "stays ",
    };

    g_string_append(opaque, names[turn]);
}

static void test_course(gconstpointer opaque)
{
    const Course *course = opaque;
    g_autoptr(GString) turns = g_string_new(NULL);
    Departure d = {}, other = {};

    /* One process has one departure: begin anew. */
    departure_follow(&other, note, turns);
    play('R');
    departure_unfollow(&other);
    g_string_truncate(turns, 0);

    departure_follow(&d, note, turns);
    for (const char *step = course->steps; *step; step++) {
        play(*step);
    }
    departure_unfollow(&d);
    is_snapshot = false;
    g_assert_cmpstr(turns->str, ==, course->turns);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(courses); i++) {
        g_autofree char *path = g_strdup_printf("/departure/events/%s",
                                                courses[i].name);

        g_test_add_data_func(path, &courses[i], test_course);
    }
    return g_test_run();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who owns what belongs to a VM that migrates away */
#include <glib.h>

#include "net/departure/state.h"

#define SETUP   DEPARTURE_SETUP
#define SWITCH  DEPARTURE_SWITCH
#define DONE    DEPARTURE_DONE
#define FAILED  DEPARTURE_FAILED
#define RUN     DEPARTURE_RUN
#define END     DEPARTURE_EVENTS

typedef struct Course {
    const char *name;
    DepartureEvent event[8];
    DepartureState state;
} Course;

static const Course courses[] = {
    { "pre-copy", { SETUP, DONE, END }, DEPARTURE_LEFT },
    { "pre-copy-failed", { SETUP, FAILED, END }, DEPARTURE_STAYS },
    { "failed-before-setup", { FAILED, END }, DEPARTURE_STAYS },
    { "pre-copy-continues", { SETUP, RUN, END }, DEPARTURE_LEAVING },
    { "pre-copy-failed-runs", { SETUP, RUN, FAILED, END }, DEPARTURE_STAYS },
    { "post-copy", { SETUP, SWITCH, DONE, END }, DEPARTURE_LEFT },
    { "post-copy-is-on", { SETUP, SWITCH, END }, DEPARTURE_GONE },
    { "post-copy-failed", { SETUP, SWITCH, FAILED, END }, DEPARTURE_LOST },
    /* QEMU tells twice of a switch that fails. */
    { "told-twice", { SETUP, SWITCH, FAILED, FAILED, END }, DEPARTURE_LOST },
    { "not-loaded", { SETUP, SWITCH, RUN, FAILED, END }, DEPARTURE_STAYS },
    { "left-and-run", { SETUP, DONE, RUN, END }, DEPARTURE_STAYS },
    { "lost-and-run", { SETUP, SWITCH, FAILED, RUN, END }, DEPARTURE_STAYS },
    { "left-once-more", { SETUP, DONE, SETUP, FAILED, END }, DEPARTURE_LEFT },
    { "lost-once-more", { SETUP, SWITCH, FAILED, SETUP, FAILED, END },
      DEPARTURE_LOST },
    { "back-and-away", { SETUP, DONE, RUN, SETUP, SWITCH, END },
      DEPARTURE_GONE },
    /* Someone who began to look when a migration was on its way. */
    { "switch-only", { SWITCH, END }, DEPARTURE_GONE },
    { "done-only", { DONE, END }, DEPARTURE_LEFT },
};

static void test_course(gconstpointer opaque)
{
    const Course *course = opaque;
    DepartureState state = DEPARTURE_STAYS;

    for (const DepartureEvent *e = course->event; *e != END; e++) {
        state = departure_next(state, *e);
    }
    g_assert_cmpint(state, ==, course->state);
}

static void test_owner(void)
{
    g_assert_false(departure_is_away(DEPARTURE_STAYS));
    g_assert_false(departure_is_away(DEPARTURE_LEAVING));
    g_assert_true(departure_is_away(DEPARTURE_GONE));
    g_assert_true(departure_is_away(DEPARTURE_LEFT));
    g_assert_true(departure_is_away(DEPARTURE_LOST));
    /* Nothing but RUN makes the source the owner again. */
    for (int e = 0; e < DEPARTURE_EVENTS; e++) {
        for (int s = DEPARTURE_GONE; s < DEPARTURE_STATES; s++) {
            g_assert_cmpint(departure_is_away(departure_next(s, e)), ==,
                            e != DEPARTURE_RUN);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/departure/owner", test_owner);
    for (unsigned i = 0; i < G_N_ELEMENTS(courses); i++) {
        g_autofree char *path = g_strdup_printf("/departure/%s",
                                                courses[i].name);

        g_test_add_data_func(path, &courses[i], test_course);
    }
    return g_test_run();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of each family's report, with a simulated clock */

#include <glib.h>

#include "net/dns/client/core/race.h"

#define DELAY 50

static DnscRace both(bool once)
{
    DnscRace race;

    dnsc_race_init(&race, true, true, once, DELAY);
    return race;
}

static void test_aaaa_first(void)
{
    DnscRace race = both(false);

    g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP6, DNSC_OUTCOME_USABLE, 7),
                    ==, DNSC_MOVE_FIRST);
    g_assert_cmpint(race.due, ==, DNSC_NEVER);
    g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP4, DNSC_OUTCOME_USABLE, 9),
                    ==, DNSC_MOVE_LAST);
}

/* For any result of the other question, and without one */
static void test_a_first(void)
{
    static const DnscOutcome later[] = {
        DNSC_OUTCOME_USABLE, DNSC_OUTCOME_UNUSABLE, DNSC_OUTCOME_NO_NAME,
    };

    for (size_t i = 0; i < G_N_ELEMENTS(later); i++) {
        DnscRace race = both(false);

        g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP4, DNSC_OUTCOME_USABLE,
                                         7), ==, DNSC_MOVE_WAIT);
        g_assert_cmpint(race.due, ==, 7 + DELAY);
        g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP6, later[i], 20), ==,
                        DNSC_MOVE_LAST);
        g_assert_cmpint(race.due, ==, DNSC_NEVER);

        race = both(false);
        dnsc_race_settle(&race, DNSC_IP4, DNSC_OUTCOME_USABLE, 7);
        g_assert_cmpint(dnsc_race_due(&race), ==, DNSC_MOVE_FIRST);
        g_assert_true(race.handed);
        g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP6, later[i], 9000), ==,
                        DNSC_MOVE_LAST);
    }
}

/*
 * After a malformed reply for one family, wait for the other.
 */
static void test_spoilt_first(void)
{
    DnscRace race = both(false);

    g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP6, DNSC_OUTCOME_NO_NAME, 7),
                    ==, DNSC_MOVE_WAIT);
    g_assert_cmpint(race.due, ==, DNSC_NEVER);
    g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP4, DNSC_OUTCOME_USABLE, 70),
                    ==, DNSC_MOVE_LAST);

    race = both(false);
    g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP4, DNSC_OUTCOME_UNUSABLE,
                                     7), ==, DNSC_MOVE_WAIT);
    g_assert_cmpint(race.due, ==, DNSC_NEVER);
    g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP6, DNSC_OUTCOME_USABLE, 70),
                    ==, DNSC_MOVE_LAST);
}

/*
 * The name does not exist, so the other family is not awaited.
 */
static void test_no_name(void)
{
    DnscRace race = both(false);

    g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP4, DNSC_OUTCOME_NO_NAME, 7),
                    ==, DNSC_MOVE_WAIT);
    g_assert_cmpint(race.due, ==, 7 + DELAY);
    g_assert_cmpint(dnsc_race_due(&race), ==, DNSC_MOVE_LAST);
    g_assert_false(race.handed);
}

static void test_once(void)
{
    static const DnscFamily families[] = { DNSC_IP6, DNSC_IP4 };

    for (size_t i = 0; i < G_N_ELEMENTS(families); i++) {
        DnscRace race = both(true);

        g_assert_cmpint(dnsc_race_settle(&race, families[i],
                                         DNSC_OUTCOME_USABLE, 7), ==,
                        DNSC_MOVE_WAIT);
        g_assert_cmpint(race.due, ==, 7 + DELAY);
        g_assert_cmpint(dnsc_race_due(&race), ==, DNSC_MOVE_LAST);
    }
}

/* Who is told once waits for the other family if there is no route. */
static void test_no_route(void)
{
    static const DnscFamily families[] = { DNSC_IP6, DNSC_IP4 };

    for (size_t i = 0; i < G_N_ELEMENTS(families); i++) {
        DnscRace race = both(true);

        g_assert_cmpint(dnsc_race_settle(&race, families[i],
                                         DNSC_OUTCOME_NO_ROUTE, 7), ==,
                        DNSC_MOVE_WAIT);
        g_assert_cmpint(race.due, ==, DNSC_NEVER);
        g_assert_cmpint(dnsc_race_settle(&race, !families[i],
                                         DNSC_OUTCOME_UNUSABLE, 9000), ==,
                        DNSC_MOVE_LAST);
        race = both(false);
        g_assert_cmpint(dnsc_race_settle(&race, families[i],
                                         DNSC_OUTCOME_NO_ROUTE, 7), ==,
                        families[i] == DNSC_IP6 ? DNSC_MOVE_FIRST :
                        DNSC_MOVE_WAIT);
        g_assert_cmpint(race.due, ==, families[i] == DNSC_IP6 ? DNSC_NEVER :
                        7 + DELAY);
    }
}

static void test_one_family(void)
{
    DnscRace race;

    dnsc_race_init(&race, false, true, false, DELAY);
    g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP4, DNSC_OUTCOME_USABLE, 7),
                    ==, DNSC_MOVE_LAST);
    dnsc_race_init(&race, true, false, false, DELAY);
    g_assert_cmpint(dnsc_race_settle(&race, DNSC_IP6, DNSC_OUTCOME_UNUSABLE,
                                     7), ==, DNSC_MOVE_LAST);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-client/race/aaaa-first", test_aaaa_first);
    g_test_add_func("/dns-client/race/a-first", test_a_first);
    g_test_add_func("/dns-client/race/spoilt-first", test_spoilt_first);
    g_test_add_func("/dns-client/race/no-name", test_no_name);
    g_test_add_func("/dns-client/race/once", test_once);
    g_test_add_func("/dns-client/race/no-route", test_no_route);
    g_test_add_func("/dns-client/race/one-family", test_one_family);
    return g_test_run();
}

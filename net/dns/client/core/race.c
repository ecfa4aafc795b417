/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to report the addresses of each family: RFC 8305 section 3 */

#include "net/dns/client/core/race.h"

void dnsc_race_init(DnscRace *race, bool wanted6, bool wanted4, bool once,
                    int64_t delay)
{
    *race = (DnscRace){
        .wanted = { [DNSC_IP6] = wanted6, [DNSC_IP4] = wanted4 },
        .once = once,
        .delay = delay,
        .due = DNSC_NEVER,
    };
}

static bool is_out(const DnscRace *race, DnscFamily family)
{
    return race->wanted[family] &&
           race->outcome[family] == DNSC_OUTCOME_NONE;
}

static bool has_addresses(DnscOutcome outcome)
{
    return outcome == DNSC_OUTCOME_USABLE || outcome == DNSC_OUTCOME_NO_ROUTE;
}

DnscMove dnsc_race_settle(DnscRace *race, DnscFamily family,
                          DnscOutcome outcome, int64_t now)
{
    race->outcome[family] = outcome;
    if (!is_out(race, DNSC_IP6) && !is_out(race, DNSC_IP4)) {
        race->due = DNSC_NEVER;
        return DNSC_MOVE_LAST;
    }
    if (has_addresses(outcome)) {
        if (family == DNSC_IP6 && !race->once) {
            race->handed = true;
            return DNSC_MOVE_FIRST;
        }
        /* A caller that is told once could reach nothing: wait on. */
        if (!race->once || outcome == DNSC_OUTCOME_USABLE) {
            race->due = now + race->delay;
        }
    } else if (outcome == DNSC_OUTCOME_NO_NAME && family == DNSC_IP4) {
        /*
         * The name does not exist for any type, so there is nothing to wait
         * for.  The converse is no proof: some servers deny a name with an A
         * record if they are asked for AAAA (RFC 4074 section 4.2).
         */
        race->due = now + race->delay;
    }
    return DNSC_MOVE_WAIT;
}

DnscMove dnsc_race_due(DnscRace *race)
{
    bool usable = has_addresses(race->outcome[DNSC_IP6]) ||
                  has_addresses(race->outcome[DNSC_IP4]);

    race->due = DNSC_NEVER;
    if (usable && !race->once) {
        race->handed = true;
        return DNSC_MOVE_FIRST;
    }
    return DNSC_MOVE_LAST;
}

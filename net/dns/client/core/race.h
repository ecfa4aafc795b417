/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to report the addresses of each family: RFC 8305 section 3
 *
 * Both families are asked at the same time.  A family is settled when its
 * question has an outcome.  Times are of any clock.
 */

#ifndef VMMNET_DNS_CLIENT_RACE_H
#define VMMNET_DNS_CLIENT_RACE_H

#include <stdbool.h>
#include <stdint.h>

#define DNSC_NEVER INT64_MAX

typedef enum DnscFamily { DNSC_IP6, DNSC_IP4 } DnscFamily;

typedef enum DnscOutcome {
    DNSC_OUTCOME_NONE,          /* not settled */
    DNSC_OUTCOME_USABLE,        /* there are addresses */
    DNSC_OUTCOME_NO_ROUTE,      /* there are addresses, and a route to none */
    DNSC_OUTCOME_NO_NAME,       /* the name does not exist, for any type */
    DNSC_OUTCOME_UNUSABLE,      /* anything else */
} DnscOutcome;

typedef enum DnscMove {
    /* Report nothing; call again when a family is settled, or at race->due. */
    DNSC_MOVE_WAIT,
    DNSC_MOVE_FIRST,            /* report what is known; more follows */
    DNSC_MOVE_LAST,             /* report the rest: the end */
} DnscMove;

typedef struct DnscRace {
    DnscOutcome outcome[2];     /* by DnscFamily */
    bool wanted[2];
    /*
     * Report once: wait shortly for both, and as long as it takes if there is
     * no route to what is known.
     */
    bool once;
    bool handed;                /* DNSC_MOVE_FIRST was returned */
    int64_t delay;
    int64_t due;                /* DNSC_NEVER: wait for a family only */
} DnscRace;

/* At least one of wanted6 and wanted4 is true. */
void dnsc_race_init(DnscRace *race, bool wanted6, bool wanted4, bool once,
                    int64_t delay);

/* A family that was not settled has an outcome. */
DnscMove dnsc_race_settle(DnscRace *race, DnscFamily family,
                          DnscOutcome outcome, int64_t now);

/* The time race->due has come. */
DnscMove dnsc_race_due(DnscRace *race);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to hand on the addresses of which family; RFC 8305 section 3
 *
 * Both families are asked at the same time.  A family is settled when its
 * question has an outcome, whatever it is.  Times are of any clock.
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
    DNSC_OUTCOME_NO_NAME,       /* there is no such name, of any type */
    DNSC_OUTCOME_UNUSABLE,      /* whatever else */
} DnscOutcome;

typedef enum DnscMove {
    /* Nothing; call again when a family is settled or at race->due */
    DNSC_MOVE_WAIT,
    DNSC_MOVE_FIRST,            /* hand on what there is; another one follows */
    DNSC_MOVE_LAST,             /* hand on what was not handed on: the end */
} DnscMove;

typedef struct DnscRace {
    DnscOutcome outcome[2];     /* by DnscFamily */
    bool wanted[2];
    bool once;                  /* no second call: wait for both, a moment */
    bool handed;                /* DNSC_MOVE_FIRST has been */
    int64_t delay;
    int64_t due;                /* DNSC_NEVER: only a settled family matters */
} DnscRace;

/* wanted6, wanted4: at least one */
void dnsc_race_init(DnscRace *race, bool wanted6, bool wanted4, bool once,
                    int64_t delay);

/* A wanted family that is not settled yet has an outcome. */
DnscMove dnsc_race_settle(DnscRace *race, DnscFamily family,
                          DnscOutcome outcome, int64_t now);

/* The time is race->due or later. */
DnscMove dnsc_race_due(DnscRace *race);

#endif

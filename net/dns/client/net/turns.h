/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns: so many at a time, the others wait in a line
 */

#ifndef VMMNET_DNS_CLIENT_TURNS_H
#define VMMNET_DNS_CLIENT_TURNS_H

#include <stdbool.h>

typedef struct DnscTurn DnscTurn;
typedef void DnscTurnFn(DnscTurn *turn);

/* All 0 before the first time */
struct DnscTurn {
    DnscTurn *next, **at;       /* in the line, if at is set */
    bool has;
    DnscTurnFn *come;           /* it is this one's turn after all */
};

typedef struct DnscTurns {
    unsigned max;               /* 0: no bound */
    unsigned out;
    DnscTurn *first, *last;
} DnscTurns;

/* Is it its turn now?  Else come() is called when it is. */
bool dnsc_turn_take(DnscTurns *turns, DnscTurn *turn);

/* Its turn is over, or it leaves the line; no matter if neither */
void dnsc_turn_end(DnscTurns *turns, DnscTurn *turn);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns: a limited number at a time, the others queue */

#ifndef VMMNET_DNS_CLIENT_TURNS_H
#define VMMNET_DNS_CLIENT_TURNS_H

#include <stdbool.h>

typedef struct DnscTurn DnscTurn;
typedef void DnscTurnFn(DnscTurn *turn);

/* Must be all 0 at first. */
struct DnscTurn {
    DnscTurn *next, **at;       /* in the queue, if at is set */
    bool has;
    DnscTurnFn *come;           /* called when its turn has come */
};

typedef struct DnscTurns {
    unsigned max;               /* 0: no limit */
    unsigned out;
    DnscTurn *first, *last;
} DnscTurns;

/* Take a turn.  Returns false if it must wait; come() is called later. */
bool dnsc_turn_take(DnscTurns *turns, DnscTurn *turn);

/* End a turn, or leave the queue.  The turn may be in neither state. */
void dnsc_turn_end(DnscTurns *turns, DnscTurn *turn);

#endif

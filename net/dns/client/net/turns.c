/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns: a limited number at a time, the others queue */

#include <stddef.h>

#include "net/dns/client/net/turns.h"

bool dnsc_turn_take(DnscTurns *turns, DnscTurn *turn)
{
    if (!turns->max || turns->out < turns->max) {
        turns->out++;
        turn->has = true;
        return true;
    }
    turn->next = NULL;
    turn->at = turns->first ? &turns->last->next : &turns->first;
    *turn->at = turn;
    turns->last = turn;
    return false;
}

static void leave_line(DnscTurns *turns, DnscTurn *turn)
{
    *turn->at = turn->next;
    if (turn->next) {
        turn->next->at = turn->at;
    } else {
        turns->last = turn->at == &turns->first ? NULL :
                      (DnscTurn *)((char *)turn->at -
                                   offsetof(DnscTurn, next));
    }
    turn->at = NULL;
}

void dnsc_turn_end(DnscTurns *turns, DnscTurn *turn)
{
    DnscTurn *next;

    if (turn->at) {
        leave_line(turns, turn);
    }
    if (!turn->has) {
        return;
    }
    turn->has = false;
    turns->out--;
    next = turns->first;
    if (next) {
        leave_line(turns, next);
        turns->out++;
        next->has = true;
        next->come(next);
    }
}

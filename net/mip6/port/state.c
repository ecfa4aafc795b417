/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the VM is, and if it runs there
 *
 * The two states are independent: a VM may stop, and leave, at each place.
 */
#include <glib.h>

#include "net/mip6/port/internal.h"

typedef struct State {
    const char *name;
    unsigned next;              /* bit N: state N may follow */
} State;

#define MAY_BE(place)   (1u << MIP6_PLACE_##place)

static const State places[] = {
    [MIP6_PLACE_UNKNOWN] = { "unknown", MAY_BE(HOME) | MAY_BE(AWAY) },
    [MIP6_PLACE_ASSUMED] = { "assumed", MAY_BE(HOME) | MAY_BE(AWAY) },
    [MIP6_PLACE_HOME] = { "home", MAY_BE(DOUBTED) },
    [MIP6_PLACE_DOUBTED] = { "doubted", MAY_BE(HOME) | MAY_BE(AWAY) },
    [MIP6_PLACE_AWAY] = { "away", MAY_BE(HOME) },
};

#undef MAY_BE
#define MAY_BE(presence)    (1u << MIP6_PRESENCE_##presence)

static const State presences[] = {
    [MIP6_PRESENCE_STOPPED] = { "stopped", MAY_BE(RUNNING) | MAY_BE(LEFT) },
    [MIP6_PRESENCE_RUNNING] = { "running", MAY_BE(STOPPED) },
    [MIP6_PRESENCE_LEFT] = { "left", MAY_BE(RUNNING) | MAY_BE(RELEASED) },
    [MIP6_PRESENCE_RELEASED] = { "released", MAY_BE(RUNNING) },
};

static void check(const Mip6Port *p, const char *what, const State *states,
                  unsigned from, unsigned to)
{
    g_assert(states[from].next & 1u << to);
    if (p->ops->moved) {
        p->ops->moved(p->opaque, what, states[from].name, states[to].name);
    }
}

void mip6_port_set_place(Mip6Port *p, Mip6Place to)
{
    check(p, "place", places, p->place, to);
    p->place = to;
}

void mip6_port_set_presence(Mip6Port *p, Mip6Presence to)
{
    check(p, "presence", presences, p->presence, to);
    p->presence = to;
}

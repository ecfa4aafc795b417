/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do two nodes have one home address? */
#include "ha/parts/contest.h"
#include "base/units.h"
#include "net/packet/ip6.h"

#define TELL_GAP        (60 * SECOND)
#define RETURNS_MIN     2u

static void become(Mip6Contest *c, int64_t now, Mip6ContestState state)
{
    c->state = state;
    c->returns = state == MIP6_CONTEST_NONE ? 0 : c->returns;
    c->told = now;
}

/* Puts @from among the addresses that were left, once. */
static void note_left(Mip6Contest *c, const struct in6_addr *from,
                      int64_t until)
{
    unsigned at = c->next;

    for (unsigned i = 0; i < MIP6_CONTEST_LEFT; i++) {
        if (packet_ip6_equal(&c->left[i].care_of, from)) {
            at = i;
        }
    }
    if (at == c->next) {
        c->next = (c->next + 1) % MIP6_CONTEST_LEFT;
    }
    c->left[at].care_of = *from;
    c->left[at].until = until;
}

static bool is_return(const Mip6Contest *c, int64_t now,
                      const struct in6_addr *to)
{
    for (unsigned i = 0; i < MIP6_CONTEST_LEFT; i++) {
        if (now < c->left[i].until &&
            packet_ip6_equal(&c->left[i].care_of, to)) {
            return true;
        }
    }
    return false;
}

bool mip6_contest_moved(Mip6Contest *c, int64_t now, int64_t window,
                        const struct in6_addr *from, const struct in6_addr *to)
{
    bool returns = is_return(c, now, to);

    note_left(c, from, now + window);
    if (now >= c->until) {
        c->returns = c->moves = 0;
    }
    if (returns) {
        c->returns++;
        c->until = now + window;
    }
    c->moves++;
    if (c->state == MIP6_CONTESTED ? now - c->told < TELL_GAP
                                   : c->returns < RETURNS_MIN) {
        return false;
    }
    become(c, now, MIP6_CONTESTED);
    return true;
}

bool mip6_contest_stayed(Mip6Contest *c, int64_t now)
{
    if (c->state == MIP6_CONTEST_NONE || now < c->until) {
        return false;
    }
    become(c, now, MIP6_CONTEST_NONE);
    return true;
}

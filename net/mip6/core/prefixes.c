/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mobile node asks its home agent for the home link's prefixes
 *
 * It asks before the home prefix is not preferred any more, when the agent says
 * that there is something new, and to answer an advertisement that was not
 * asked for. Without an answer it asks again after 3 s; the time doubles each
 * time, up to 1000 s: some agents know no prefix discovery.
 */
#include <string.h>

#include "net/mip6/core/prefixes.h"

#define SECOND          1000000000ll
#define WAIT_FIRST      (3 * SECOND)    /* INITIAL_SOLICIT_TIMER */
#define WAIT_MAX        (1000 * SECOND)
#define BEFORE_END      1000u           /* s; half of the lifetime at most */

void mip6_prefixes_init(Mip6Prefixes *p, const Mip6PrefixesOps *ops,
                        void *opaque)
{
    memset(p, 0, sizeof(*p));
    p->ops = ops;
    p->opaque = opaque;
    p->next = INT64_MAX;
}

void mip6_prefixes_bound(Mip6Prefixes *p, bool bound)
{
    p->bound = bound;
}

void mip6_prefixes_lifetime(Mip6Prefixes *p, int64_t now, uint32_t s)
{
    p->tries = 0;
    if (s == PACKET_ND_INFINITE || s == 0) {
        p->next = INT64_MAX;
    } else {
        p->next = now + (s / 2 < BEFORE_END ? s - s / 2 : s - BEFORE_END) *
                  SECOND;
    }
}

void mip6_prefixes_ask(Mip6Prefixes *p, int64_t now)
{
    if (!p->tries) {
        p->next = now;
    }
}

void mip6_prefixes_advert(Mip6Prefixes *p, int64_t now,
                          const Mip6Icmp *advert, uint32_t s)
{
    bool asked = p->tries && advert->id == p->id;

    p->advertised++;
    mip6_prefixes_lifetime(p, now, s);
    if (!asked) {
        mip6_prefixes_ask(p, now);
    }
}

int64_t mip6_prefixes_deadline(const Mip6Prefixes *p)
{
    return p->bound ? p->next : INT64_MAX;
}

void mip6_prefixes_tick(Mip6Prefixes *p, int64_t now)
{
    int64_t wait = WAIT_FIRST;

    if (mip6_prefixes_deadline(p) > now) {
        return;
    }
    for (unsigned i = 0; i < p->tries && wait < WAIT_MAX; i++) {
        wait *= 2;
    }
    p->id = p->ops->random(p->opaque);
    p->tries++;
    p->next = now + (wait < WAIT_MAX ? wait : WAIT_MAX);
    p->solicited++;
    p->ops->solicit(p->opaque, p->id);
}

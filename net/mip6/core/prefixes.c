/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mobile prefix discovery, by the mobile node
 *
 * The node sends a solicitation before the preferred lifetime of the home
 * prefix ends, when the agent indicates a change, and as the answer to an
 * unsolicited advertisement. Without an answer it is repeated after 3 s; the
 * interval doubles each time, up to 1000 s, because some agents do not support
 * prefix discovery.
 */
#include <string.h>

#include "net/mip6/core/prefixes.h"
#include "base/units.h"

#define WAIT_FIRST      (3 * SECOND)    /* INITIAL_SOLICIT_TIMER */
#define WAIT_MAX        (1000 * SECOND)
#define BEFORE_END      1000u           /* s; at most half of the lifetime */

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

void mip6_prefixes_arrive(Mip6Prefixes *p, int64_t now, uint32_t s)
{
    if (p->next == INT64_MAX) {
        mip6_prefixes_lifetime(p, now, s);
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

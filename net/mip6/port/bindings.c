/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bindings of a port: one for each home address
 *
 * The configured addresses come first and always have a binding. Addresses that
 * the guest was heard to use get one while the VM is away, if this is
 * configured and there is space; they lose it when the VM is back and all
 * bindings have ended.
 *
 * All updates go to one home agent. RFC 6275 section 11.8 limits the rate of
 * all home addresses of a node together; the bindings at the start of the table
 * have precedence.
 *
 * A binding may last for minutes after the path to the agent is lost. So if the
 * guest's packets go into the tunnel and nothing comes from the agent, the
 * bindings are refreshed: an agent that is there answers, and one-way traffic
 * is no fault. Without an answer the reason is that of any unanswered update,
 * and another care-of address has its turn. So it has if an agent has to be
 * discovered, and nothing answers the requests.
 */
#include <limits.h>

#include "base/units.h"
#include "net/mip6/port/internal.h"

/* Interval of UPDATE_RATE updates (MAX_UPDATE_RATE, RFC 6275 section 12). */
/* Unanswered updates or requests until another address is tried; and later. */
#define TRIES_FIRST     3u
#define TRIES_AGAIN     7u      /* the interval is the longest by then */
#define REQUESTS_AGAIN  5u      /* the same for requests to discover an agent */
#define SILENCE_MAX     (10 * SECOND)
#define UPDATE_WINDOW   (SECOND / MIP6_PORT_UPDATE_RATE * MIP6_PORT_UPDATE_RATE)

int64_t mip6_port_may_update(void *opaque)
{
    const Mip6Port *p = opaque;

    return p->updates < MIP6_PORT_UPDATE_RATE
           ? INT64_MIN
           : p->updated[p->updates % MIP6_PORT_UPDATE_RATE] + UPDATE_WINDOW;
}

void mip6_port_has_updated(Mip6Port *p)
{
    p->updated[p->updates++ % MIP6_PORT_UPDATE_RATE] = p->now;
}

Mip6Binding *mip6_port_binding(Mip6Port *p, const struct in6_addr *home)
{
    for (unsigned i = 0; i < p->bindings; i++) {
        if (packet_ip6_equal(&p->binding[i].config.home, home)) {
            return &p->binding[i];
        }
    }
    return NULL;
}

bool mip6_port_any_is(const Mip6Port *p, Mip6State state)
{
    for (unsigned i = 0; i < p->bindings; i++) {
        if (p->binding[i].state == state) {
            return true;
        }
    }
    return false;
}

Mip6Binding *mip6_port_bind(Mip6Port *p, const struct in6_addr *home)
{
    Mip6BindingConfig config = {
        .home = *home,
        .lifetime = p->config.lifetime,
    };
    Mip6Binding *b = &p->binding[p->bindings];

    if (p->bindings == MIP6_HOME_ADDRESSES) {
        return NULL;
    }
    mip6_binding_init(b, &config, p->binding_ops, p, p->ops->random(p->opaque));
    p->unsent &= ~(1u << p->bindings++);
    return b;
}

void mip6_port_bind_configured(Mip6Port *p, const Mip6BindingOps *ops)
{
    const Mip6HomeLearned *l = &p->home.learned;

    p->binding_ops = ops;
    for (unsigned i = 0; i < mip6_home_configured(&p->home); i++) {
        mip6_port_bind(p, &l->address[i]);
    }
}

static void bind_heard(Mip6Port *p)
{
    const Mip6HomeLearned *l = &p->home.learned;

    for (unsigned i = mip6_home_configured(&p->home);
         p->config.heard_addresses && i < l->addresses; i++) {
        if (!mip6_port_binding(p, &l->address[i]) &&
            !mip6_port_is_agent(p, &l->address[i])) {
            mip6_port_bind(p, &l->address[i]);
        }
    }
}

void mip6_port_register(Mip6Port *p, int64_t now,
                        const struct in6_addr *care_of, int64_t valid_until)
{
    bind_heard(p);
    for (unsigned i = 0; i < p->bindings; i++) {
        mip6_binding_limit(&p->binding[i], valid_until);
        if (care_of && !p->dhaad.agents) {
            mip6_binding_discover(&p->binding[i], care_of,
                                  p->dhaad.tries > 1);
        } else {
            mip6_binding_away(&p->binding[i], now, care_of);
        }
    }
}

void mip6_port_refresh(Mip6Port *p, int64_t now)
{
    for (unsigned i = 0; i < p->bindings; i++) {
        mip6_binding_refresh(&p->binding[i], now);
    }
}

void mip6_port_resume(Mip6Port *p, int64_t now)
{
    for (unsigned i = 0; i < p->bindings; i++) {
        mip6_binding_resume(&p->binding[i], now);
    }
}

void mip6_port_look(Mip6Port *p, int64_t now)
{
    for (unsigned i = 0; i < p->bindings; i++) {
        mip6_binding_look(&p->binding[i], now);
    }
}

int64_t mip6_port_bound_until(const Mip6Port *p)
{
    int64_t at = INT64_MAX;

    for (unsigned i = 0; i < p->bindings; i++) {
        const Mip6Binding *b = &p->binding[i];

        at = b->state == MIP6_BOUND && b->expires < at ? b->expires : at;
    }
    return at;
}

void mip6_port_deregister(Mip6Port *p, int64_t now)
{
    for (unsigned i = 0; i < p->bindings; i++) {
        mip6_binding_home(&p->binding[i], now);
    }
}

void mip6_port_retry(Mip6Port *p, int64_t now)
{
    unsigned unsent = p->unsent;

    p->unsent = 0;
    for (unsigned i = 0; i < p->bindings; i++) {
        if (unsent & 1u << i) {
            mip6_binding_retry(&p->binding[i], now);
        }
    }
}

bool mip6_port_came_home(Mip6Port *p, struct in6_addr *home)
{
    for (unsigned i = 0; i < p->bindings; i++) {
        const Mip6Binding *b = &p->binding[i];

        if (p->returning & 1u << i && b->state != MIP6_RETURNING) {
            p->returning &= ~(1u << i);
            if (b->state == MIP6_HOME) {
                *home = b->config.home;
                return true;
            }
        }
        p->returning |= (unsigned)(b->state == MIP6_RETURNING) << i;
    }
    if (mip6_port_is_home(p) && mip6_port_is_running(p) && !p->early.is_on &&
        !p->returning) {
        p->bindings = mip6_home_configured(&p->home);
    }
    return false;
}

int64_t mip6_port_bindings_deadline(const Mip6Port *p)
{
    int64_t at = INT64_MAX;

    for (unsigned i = 0; i < p->bindings; i++) {
        int64_t next = mip6_binding_deadline(&p->binding[i]);

        at = next < at ? next : at;
    }
    return at;
}

void mip6_port_bindings_tick(Mip6Port *p, int64_t now)
{
    for (unsigned i = 0; i < p->bindings; i++) {
        mip6_binding_tick(&p->binding[i], now);
    }
}

void mip6_port_has_sent(Mip6Port *p, int64_t now)
{
    Mip6Silence *s = &p->silence;

    if (s->since == INT64_MAX) {
        s->since = now;
    }
    if (s->look == INT64_MAX) {
        s->look = now + SILENCE_MAX;
    }
}

void mip6_port_silence_tick(Mip6Port *p, int64_t now)
{
    Mip6Silence *s = &p->silence;

    if (s->look > now) {
        return;
    }
    if (s->since == INT64_MAX) {
        s->look = INT64_MAX;
    } else if (now - s->since < SILENCE_MAX) {
        s->look = s->since + SILENCE_MAX;
    } else {
        s->since = s->look = INT64_MAX;
        mip6_port_refresh(p, now);
        mip6_port_probe(p, now);
    }
}

/* Returns: how many updates of each home address have no answer */
static unsigned unanswered_updates(const Mip6Port *p,
                                   const struct in6_addr *care_of)
{
    unsigned tries = UINT_MAX;

    for (unsigned i = 0; i < p->bindings; i++) {
        const Mip6Binding *b = &p->binding[i];

        if (p->unsent & 1u << i || mip6_binding_is_refused(b) ||
            !packet_ip6_equal(&b->care_of, care_of)) {
            return 0;
        }
        tries = b->tries < tries ? b->tries : tries;
    }
    return p->bindings ? tries : 0;
}

void mip6_port_try_other_address(Mip6Port *p, int64_t now)
{
    const struct in6_addr *care_of = mip6_careof_address(&p->careof, now);
    unsigned tries, again = TRIES_AGAIN;

    if (!mip6_port_is_away(p) || !care_of) {
        return;
    }
    if (p->config.discover && !mip6_port_any_is(p, MIP6_BOUND)) {
        /* Other agents have had their turns before they are asked for. */
        tries = mip6_dhaad_tries(&p->dhaad, care_of);
        again = REQUESTS_AGAIN;
    } else {
        tries = unanswered_updates(p, care_of);
    }
    if (tries >= TRIES_FIRST) {
        mip6_careof_doubt(&p->careof, now, care_of, tries >= again);
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic home agent address discovery, by the mobile node (RFC 6275 section
 * 11.4.1)
 *
 * A request is retransmitted after 3 s, 6 s, 12 s and 24 s, with the same
 * identifier. Without an answer within another 48 s, the RFC's attempt has
 * failed. A VM cannot give up: it then sends a new request every 48 s.
 *
 * The messages are not protected: everybody who knows the identifier can
 * answer. So an answer is only a list of addresses to try, restricted to
 * addresses that can belong to a home agent. The agent's Binding
 * Acknowledgement then proves that it is one.
 */
#include <string.h>

#include "net/mip6/core/dhaad.h"
#include "base/units.h"
#include "net/packet/ip6.h"

/* RFC 6275 section 12. */
#define INITIAL         (3 * SECOND)    /* INITIAL_DHAAD_TIMEOUT */
#define RETRIES         4u              /* DHAAD_RETRIES */

/* Minimum interval between requests, for a node that moves often. */
#define GAP             SECOND
/* Delay of the next request after all agents of a list have refused. */
#define REST            (32 * SECOND)

void mip6_dhaad_init(Mip6Dhaad *d, const struct in6_addr *prefix, uint8_t len,
                     const Mip6DhaadOps *ops, void *opaque)
{
    memset(d, 0, sizeof(*d));
    d->ops = ops;
    d->opaque = opaque;
    d->prefix = *prefix;
    d->prefix_len = len;
    d->anycast = mip6_icmp_anycast(prefix, len);
    d->sent = d->replied = INT64_MIN;
}

/* --- validity of addresses ------------------------------------------------ */

/* Is it the subnet-router anycast address (RFC 4291 section 2.6.1)? */
static bool is_routers_anycast(const Mip6Dhaad *d, const struct in6_addr *addr)
{
    for (unsigned bit = d->prefix_len; bit < 128; bit++) {
        if (addr->s6_addr[bit / 8] & 0x80 >> bit % 8) {
            return false;
        }
    }
    return true;
}

bool mip6_dhaad_is_agents(const Mip6Dhaad *d, const struct in6_addr *addr)
{
    return packet_ip6_in_prefix(addr, &d->prefix, d->prefix_len) &&
           packet_ip6_is_routable(addr) && !is_routers_anycast(d, addr) &&
           !packet_ip6_equal(addr, &d->anycast) &&
           !d->ops->is_own(d->opaque, addr);
}

static bool is_among(const struct in6_addr *addr, const struct in6_addr *list,
                     unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (packet_ip6_equal(addr, &list[i])) {
            return true;
        }
    }
    return false;
}

/* --- list of agents ------------------------------------------------------- */

void mip6_dhaad_use(Mip6Dhaad *d, const struct in6_addr *agent)
{
    d->agents = 1;
    d->agent[0] = *agent;
    d->current = 0;
}

bool mip6_dhaad_reply(Mip6Dhaad *d, int64_t now, const Mip6Icmp *reply)
{
    struct in6_addr agent[MIP6_ICMP_AGENTS_MAX];
    unsigned agents = 0;

    if (!d->is_asking || !d->tries || reply->id != d->id) {
        return false;
    }
    for (unsigned i = 0; i < reply->agents; i++) {
        if (mip6_dhaad_is_agents(d, &reply->agent[i]) &&
            !is_among(&reply->agent[i], agent, agents)) {
            agent[agents++] = reply->agent[i];
        }
    }
    if (!agents) {
        return false;
    }
    memcpy(d->agent, agent, agents * sizeof(*agent));
    d->agents = agents;
    d->current = 0;
    d->replied = now;
    mip6_dhaad_stop(d);
    return true;
}

bool mip6_dhaad_next(Mip6Dhaad *d)
{
    if (d->current + 1 >= d->agents) {
        return false;
    }
    d->current++;
    return true;
}

/* --- requests ------------------------------------------------------------- */

static int64_t later(int64_t at, int64_t than)
{
    return at > than ? at : than;
}

void mip6_dhaad_ask(Mip6Dhaad *d, int64_t now, const struct in6_addr *care_of)
{
    if (d->is_asking && packet_ip6_equal(&d->care_of, care_of)) {
        return;
    }
    d->is_asking = true;
    d->care_of = *care_of;
    d->tries = 0;
    d->next = now;
    if (d->sent != INT64_MIN) {
        d->next = later(d->next, d->sent + GAP);
    }
    if (d->replied != INT64_MIN) {
        d->next = later(d->next, d->replied + REST);
    }
    mip6_dhaad_tick(d, now);
}

void mip6_dhaad_stop(Mip6Dhaad *d)
{
    d->is_asking = false;
    d->tries = 0;
}

unsigned mip6_dhaad_tries(const Mip6Dhaad *d, const struct in6_addr *care_of)
{
    return d->is_asking && packet_ip6_equal(&d->care_of, care_of) ? d->tries
                                                                  : 0;
}

int64_t mip6_dhaad_deadline(const Mip6Dhaad *d)
{
    return d->is_asking ? d->next : INT64_MAX;
}

void mip6_dhaad_tick(Mip6Dhaad *d, int64_t now)
{
    if (mip6_dhaad_deadline(d) > now) {
        return;
    }
    if (d->tries == 0 || d->tries > RETRIES) {
        d->id = d->ops->random(d->opaque);
    }
    d->sent = now;
    d->next = now + (INITIAL << (d->tries < RETRIES ? d->tries : RETRIES));
    if (d->tries <= RETRIES) {
        d->tries++;
    }
    d->ops->request(d->opaque, d->id);
}

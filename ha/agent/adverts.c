/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mobile prefix advertisements to bound mobile nodes (RFC 6275 section 10.6)
 *
 * A solicitation is answered at once. Unsolicited advertisements are sent when
 * prefixes have changed, and in long intervals: at random times, so that they
 * are not all sent together. A change that deprecates the home prefix is
 * urgent, so the delay is short then. The node answers with a solicitation;
 * without one, the advertisement is repeated, PREFIX_ADV_RETRIES times in all.
 */
#include <stddef.h>

#include "ha/agent/adverts.h"
#include "ha/agent/internal.h"

/* Sections 12 and 13. */
#define RETRIES         3u              /* PREFIX_ADV_RETRIES */
#define TIMEOUT         (3 * SECOND)    /* PREFIX_ADV_TIMEOUT */
#define INTERVAL_MAX    86400u          /* MaxMobPfxAdvInterval, s */
#define INTERVAL_MIN    600u            /* MinMobPfxAdvInterval, s */
#define SOON            10u             /* s, if the prefix gets deprecated */

static uint32_t random_below(const Mip6Agent *a, uint32_t end)
{
    return a->ops->random && end ? a->ops->random(a->opaque) % end : 0;
}

/* RAND_ADV_DELAY of section 10.6.2, limited by a short preferred lifetime. */
static int64_t delay(const Mip6Agent *a, int64_t now)
{
    uint32_t valid, preferred, most = INTERVAL_MAX;

    if (mip6_ha_link_left(&a->link, now, &valid, &preferred) && preferred) {
        most = MIN(most, preferred);
    }
    if (most <= INTERVAL_MIN) {
        return (most / 2 + random_below(a, most / 4)) * SECOND;
    }
    return (INTERVAL_MIN + random_below(a, most - INTERVAL_MIN)) * SECOND;
}

static void schedule(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    b->advert_tries = 0;
    mip6_expiry_set(&a->adverts, &b->advert, now + delay(a, now));
}

void mip6_adverts_begin(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    b->prefixes_version = a->link.version;
    schedule(a, now, b);
}

void mip6_adverts_end(Mip6Agent *a, Mip6AgentBinding *b)
{
    mip6_expiry_remove(&a->adverts, &b->advert);
}

void mip6_adverts_changed(Mip6Agent *a, int64_t now)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, a->bindings);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Mip6AgentBinding *b = value;
        int64_t at = now + (a->link.deprecated
                            ? random_below(a, SOON) * SECOND : delay(a, now));

        if (!b->tentative && at < b->advert.at) {
            b->advert_tries = 0;
            mip6_expiry_set(&a->adverts, &b->advert, at);
        }
    }
}

uint8_t mip6_adverts_status(const Mip6Agent *a, const Mip6AgentBinding *b)
{
    return b->prefixes_version == a->link.version ? MIP6_BA_ACCEPTED
                                               : MIP6_BA_PREFIX_DISCOVERY;
}

/* Section 10.6.3: to the care-of address, with a type 2 routing header. */
static void send_advert(Mip6Agent *a, int64_t now, const Mip6AgentBinding *b)
{
    uint8_t packet[PACKET_IP6_LEN + MIP6_RH2_LEN + MIP6_ICMP_MAX +
                   MIP6_PROTECT_MORE];
    uint8_t *at = packet + PACKET_IP6_LEN;
    Mip6Icmp advert = { .type = MIP6_ICMP_PREFIX_ADVERT, .id = b->advert_id };
    PacketIp6 ip = {
        .src = a->config.address,
        .dst = b->care_of,
        .next = PACKET_PROTO_ROUTING,
        .hops = HOPS,
    };

    mip6_ha_link_prefixes(&a->link, now, &advert);
    at += mip6_rh2_build(at, PACKET_PROTO_ICMP6, &b->home);
    at += mip6_icmp_build(at, &a->config.address, &b->home, &advert);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    mip6_agent_signal(a, &b->home, packet, at - packet);
}

/*
 * After a start the home prefix may not be known yet: an advertisement without
 * it would say that it is gone.
 */
static bool knows_home(const Mip6Agent *a, int64_t now)
{
    uint32_t valid, preferred;

    return mip6_ha_link_left(&a->link, now, &valid, &preferred);
}

void mip6_adverts_solicited(Mip6Agent *a, int64_t now, Mip6AgentBinding *b,
                            uint16_t id)
{
    a->solicited++;
    if (!knows_home(a, now)) {
        return;                 /* the node asks again */
    }
    b->advert_id = id;
    b->prefixes_version = a->link.version;
    send_advert(a, now, b);
    schedule(a, now, b);
}

static void advertise(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    if (!knows_home(a, now)) {
        schedule(a, now, b);
        return;
    }
    if (b->advert_tries == RETRIES) {
        a->unheard++;
        schedule(a, now, b);
        return;
    }
    b->advert_id = random_below(a, UINT16_MAX);
    mip6_expiry_set(&a->adverts, &b->advert,
                    now + (TIMEOUT << b->advert_tries));
    b->advert_tries++;
    a->advertised++;
    send_advert(a, now, b);
}

void mip6_adverts_tick(Mip6Agent *a, int64_t now)
{
    for (unsigned i = 0; i < MIP6_AGENT_TURN; i++) {
        Mip6Due *next = mip6_expiry_next(&a->adverts);

        if (!next || next->at > now) {
            break;
        }
        advertise(a, now, (void *)((char *)next -
                                   offsetof(Mip6AgentBinding, advert)));
    }
}

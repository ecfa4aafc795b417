/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mobile node with a scripted home agent: see mip6-ready.h */
#include <glib.h>
#include <string.h>

#include "mip6-ready.h"
#include "net/packet/octets.h"

const uint8_t router_2_mac[] = { 0x02, 0xbb, 0, 0, 0, 2 };

World *ready_begin(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);

    w->deaf = w->alive = true;
    mip6_port_start(&w->port, w->now);
    mip6_port_run(&w->port, w->now);
    return w;
}

World *ready_bound(void)
{
    World *w = ready_begin();

    advertise(w, FOREIGN, router_mac);
    pass(w, 1100 * MS);
    ready_accept(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    pass(w, SECOND);            /* beyond what the rate of updates bounds */
    ready_forget(w);
    return w;
}

World *ready_returning(void)
{
    World *w = ready_bound();

    advertise(w, HOME_PREFIX, home_router_mac);
    answer_for(w, &w->port.config.agent);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_RETURNING);
    pass(w, 500 * MS);
    g_assert_cmpint(ready_updates(w), ==, 1);
    return w;
}

void ready_forget(World *w)
{
    w->logged = 0;
    w->to_link = w->to_guest = 0;
}

/* --- what was sent -------------------------------------------------------- */

static bool parse_update(const Frame *f, Update *u)
{
    const uint8_t *packet = f->buf + PACKET_ETH_LEN;
    size_t len = f->len - PACKET_ETH_LEN;
    struct in6_addr home;
    PacketIp6Ext ext;

    memset(u, 0, sizeof(*u));
    if (!packet_ip6_parse(&u->ip, packet, len) ||
        !packet_ip6_walk(&ext, packet, len) || ext.next != PACKET_PROTO_MH) {
        return false;
    }
    home = u->ip.src;
    if (u->ip.next == PACKET_PROTO_DSTOPTS) {
        const uint8_t *header = packet + PACKET_IP6_LEN;

        u->has_hao = mip6_hao_parse(&u->home, header, (header[1] + 1) * 8);
        home = u->home;
    }
    /* The checksum is correct only with the home address. */
    return mip6_mh_parse(&u->mh, &home, &u->ip.dst, packet + ext.offset,
                         len - ext.offset) == MIP6_MH_GOOD &&
           u->mh.type == MIP6_MH_BU;
}

unsigned ready_updates(const World *w)
{
    unsigned found = 0;
    Update u;

    g_assert_cmpint(w->logged, <=, WORLD_LOG);
    for (unsigned i = 0; i < w->logged; i++) {
        found += parse_update(&w->log[i], &u);
    }
    return found;
}

Update ready_update_at(const World *w, unsigned which)
{
    Update u;

    for (unsigned i = 0; i < w->logged; i++) {
        if (parse_update(&w->log[i], &u) && which-- == 0) {
            u.at = w->log_at[i];
            return u;
        }
    }
    g_assert_not_reached();
}

Update ready_update(const World *w)
{
    return ready_update_at(w, ready_updates(w) - 1);
}

unsigned ready_nd(const World *w, uint8_t type, PacketNd *nd)
{
    unsigned found = 0;
    PacketNd one;

    g_assert_cmpint(w->logged, <=, WORLD_LOG);
    for (unsigned i = 0; i < w->logged; i++) {
        const Frame *f = &w->log[i];

        if (packet_nd_parse(&one, f->buf + PACKET_ETH_LEN,
                            f->len - PACKET_ETH_LEN) && one.type == type) {
            found++;
            *nd = one;
        }
    }
    return found;
}

/* --- what the agent and the routers say ----------------------------------- */

Mip6Mh ready_ack(const World *w, uint8_t status)
{
    Update u = ready_update(w);

    return (Mip6Mh) {
        .type = MIP6_MH_BA, .status = status, .sequence = u.mh.sequence,
        .lifetime = status < 128 ? u.mh.lifetime : 0,
    };
}

void ready_accept(World *w)
{
    Mip6Mh ba = ready_ack(w, MIP6_BA_ACCEPTED);

    from_agent(w, &ba);
}

void ready_give_mh(World *w, const char *src, const struct in6_addr *dst,
                   const struct in6_addr *rh2,
                   const struct in6_addr *sum_dst, const Mip6Mh *mh)
{
    struct in6_addr from = address(src);
    uint8_t frame[256], *at = frame + PACKET_ETH_LEN + PACKET_IP6_LEN;
    PacketIp6 ip = {
        .src = from, .dst = *dst, .hops = 64,
        .next = rh2 ? PACKET_PROTO_ROUTING : PACKET_PROTO_MH,
    };

    if (rh2) {
        ip.payload = mip6_rh2_build(at, PACKET_PROTO_MH, rh2);
    }
    ip.payload += mip6_mh_build(at + ip.payload, 128, &from, sum_dst, mh);
    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    from_link(w, frame, PACKET_ETH_LEN + PACKET_IP6_LEN + ip.payload);
}

void ready_advertise(World *w, const uint8_t *mac, uint16_t lifetime,
                     const char *prefix, uint32_t valid, uint32_t preferred)
{
    PacketNdRa ra = {
        .hop_limit = 64, .lifetime = lifetime, .prefixes = 1,
        .prefix[0] = { address(prefix), 64, true, true, false, valid,
                       preferred },
    };

    advertise_ra(w, &ra, mac);
}

bool ready_care_of_in(const World *w, const char *prefix)
{
    struct in6_addr addr = address(prefix);

    return w->port.binding[0].has_care_of &&
           packet_ip6_in_prefix(&w->port.binding[0].care_of, &addr, 64);
}

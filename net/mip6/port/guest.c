/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of the guest
 */
#include "net/mip6/port/internal.h"

/* Headers that are looked at in one piece. */
#define HEAD_MAX        512u

/* Not now, but soon; or not at all. */
static Mip6Verdict hold(Mip6Port *p, int64_t now)
{
    if (now >= p->hold_until) {
        return mip6_port_drop(p, MIP6_DROP_UNBOUND);
    }
    p->holding = true;
    return MIP6_HELD;
}

static bool is_ready(const Mip6Port *p)
{
    return p->binding.state == MIP6_BOUND;
}

static Mip6Verdict into_tunnel(Mip6Port *p, int64_t now, const PacketEth *eth,
                               const struct iovec *iov, int iovcnt,
                               const PacketOffload *offload)
{
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    Mip6Drop why;

    if (!is_ready(p)) {
        return hold(p, now);
    }
    if (!mip6_careof_next_hop(&p->careof, now, &p->config.agent, mac)) {
        return mip6_port_drop(p, MIP6_DROP_NO_NEXT_HOP);
    }
    why = mip6_tunnel_send(&p->tunnel, now, mac, p->careof.mac, iov, iovcnt,
                           eth->len, offload, mip6_port_router(p));
    if (why != MIP6_DROP_NONE) {
        return mip6_port_drop(p, why);
    }
    p->sent++;
    return MIP6_DONE;
}

Mip6Verdict mip6_port_from_guest(Mip6Port *p, int64_t now,
                                 const struct iovec *iov, int iovcnt,
                                 const PacketOffload *offload)
{
    uint8_t head[HEAD_MAX];
    bool tunnel;
    PacketEth eth;
    Mip6Drop why;
    size_t len;

    p->now = now;
    if (!p->is_known) {
        return hold(p, now);
    }
    len = packet_iov_copy(iov, iovcnt, 0, head, p->is_away
                          ? sizeof(head) : PACKET_ETH_LEN);
    if (!p->is_away) {
        if (len == PACKET_ETH_LEN && packet_eth_is_group(head)) {
            mip6_port_overhear(p, now, true, iov, iovcnt);
        }
        return MIP6_PASS;
    }
    if (!packet_eth_parse(&eth, head, len)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    why = mip6_home_from_guest(&p->home, &eth, head + eth.len, len - eth.len,
                               &tunnel);
    if (why != MIP6_DROP_NONE) {
        return mip6_port_drop(p, why);
    }
    return tunnel ? into_tunnel(p, now, &eth, iov, iovcnt, offload)
                  : MIP6_DONE;
}

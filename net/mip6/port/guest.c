/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of the guest
 */
#include <string.h>

#include "net/mip6/port/internal.h"

/* Headers are copied into one part up to this length. */
#define HEAD_MAX        512u

/*
 * Holds a frame for a binding, or drops it. A frame that is held delays all
 * later ones of the guest, so an address whose binding was refused does not
 * wait while other addresses are bound.
 */
static Mip6Verdict hold(Mip6Port *p, int64_t now, const Mip6Binding *b)
{
    if (now >= p->hold_until ||
        (b && mip6_binding_is_refused(b) && mip6_port_any_is(p, MIP6_BOUND))) {
        return mip6_port_drop(p, MIP6_DROP_UNBOUND);
    }
    p->holding = true;
    return MIP6_HELD;
}

static Mip6Verdict into_tunnel(Mip6Port *p, int64_t now,
                               const struct in6_addr *src,
                               const PacketEth *eth, const struct iovec *iov,
                               int iovcnt, const PacketOffload *offload)
{
    /* A report about groups, from a link-local address, may use any binding. */
    bool report = IN6_IS_ADDR_LINKLOCAL(src) || IN6_IS_ADDR_UNSPECIFIED(src);
    Mip6Binding *b = report ? &p->binding[0] : mip6_port_binding(p, src);
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    Mip6Drop why;

    if (!b) {
        return mip6_port_drop(p, MIP6_DROP_UNBOUND);
    }
    if (b->state != MIP6_BOUND) {
        return hold(p, now, b);
    }
    if (!mip6_careof_next_hop(&p->careof, now, mip6_port_agent(p), mac)) {
        mip6_binding_trouble(b, now, MIP6_WHY_NO_NEXT_HOP);
        return mip6_port_drop(p, MIP6_DROP_NO_NEXT_HOP);
    }
    mip6_binding_trouble_over(b, MIP6_WHY_NO_NEXT_HOP);
    mip6_port_choose(p, b);
    why = mip6_tunnel_send(&p->tunnel, now, mac, p->careof.mac, iov, iovcnt,
                           eth->len, offload, mip6_port_router(p));
    if (why != MIP6_DROP_NONE) {
        return mip6_port_drop(p, why);
    }
    p->sent++;
    mip6_port_has_sent(p, now);
    return MIP6_DONE;
}

/*
 * At home, to a router that is not there: made up before one was heard, or
 * replaced while the VM was away. The guest uses it until its next
 * reachability check (RFC 4861 section 7.3), which can take a minute; so the
 * frame is sent to the real router.
 */
static Mip6Verdict to_router(Mip6Port *p, const uint8_t *head,
                             const struct iovec *iov, int iovcnt,
                             const PacketOffload *offload)
{
    uint8_t mended[PACKET_ETH_LEN];
    struct iovec part[1 + MIP6_TUNNEL_PARTS_MAX] = {
        { mended, sizeof(mended) },
    };
    size_t len = packet_iov_len(iov, iovcnt) - PACKET_ETH_LEN;
    int rest = packet_iov_slice(iov, iovcnt, PACKET_ETH_LEN, len, part + 1,
                                MIP6_TUNNEL_PARTS_MAX);

    if (rest < 0) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    memcpy(mended, head, sizeof(mended));
    memcpy(mended, p->home.learned.router_mac, PACKET_ETH_ADDR_LEN);
    p->ops->to_link(p->opaque, part, 1 + rest, offload);
    return MIP6_DONE;
}

/* At home; @head is the complete Ethernet header. */
static Mip6Verdict at_home(Mip6Port *p, const uint8_t *head,
                           const struct iovec *iov, int iovcnt,
                           const PacketOffload *offload)
{
    if (packet_eth_is_group(head)) {
        mip6_port_overhear(p, p->now, true, iov, iovcnt);
    }
    if (mip6_port_suppresses(p, true, iov, iovcnt)) {
        return MIP6_DONE;
    }
    if (mip6_home_is_gone(&p->home, head) && p->home.learned.has_router) {
        return to_router(p, head, iov, iovcnt, offload);
    }
    return MIP6_PASS;
}

Mip6Verdict mip6_port_from_guest(Mip6Port *p, int64_t now,
                                 const struct iovec *iov, int iovcnt,
                                 const PacketOffload *offload)
{
    uint8_t head[HEAD_MAX];
    struct in6_addr src;
    bool tunnel;
    PacketEth eth;
    unsigned addresses = p->home.learned.addresses;
    Mip6Drop why;
    size_t len;

    p->now = now;
    if (mip6_port_has_left(p)) {
        /*
         * It was sent before the VM's stop: the VM on the new host repeats it.
         */
        return mip6_port_drop(p, MIP6_DROP_LATE);
    }
    if (p->place == MIP6_PLACE_UNKNOWN) {
        return hold(p, now, NULL);
    }
    len = packet_iov_copy(iov, iovcnt, 0, head,
                          mip6_port_is_away(p) ? sizeof(head) : PACKET_ETH_LEN);
    if (!mip6_port_is_away(p)) {
        return len < PACKET_ETH_LEN ? MIP6_PASS
                                    : at_home(p, head, iov, iovcnt, offload);
    }
    if (!packet_eth_parse(&eth, head, len)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    why = mip6_home_from_guest(&p->home, &eth, head + eth.len, len - eth.len,
                               &tunnel);
    if (why != MIP6_DROP_NONE) {
        return mip6_port_drop(p, why);
    }
    if (p->home.learned.addresses != addresses) {
        p->settle = true;       /* a new address may get a binding */
        mip6_port_settle(p, now);
    }
    if (!tunnel) {
        return MIP6_DONE;
    }
    memcpy(&src, head + eth.len + 8, sizeof(src));
    return into_tunnel(p, now, &src, &eth, iov, iovcnt, offload);
}

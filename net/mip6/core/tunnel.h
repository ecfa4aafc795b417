/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tunnel between a mobile node and its home agent (RFC 2473) */
#ifndef NET_MIP6_TUNNEL_H
#define NET_MIP6_TUNNEL_H

#include "net/mip6/core/drop.h"
#include "net/mip6/core/protect.h"
#include "net/mip6/core/sent.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/segment.h"

/* Headers before the packet: Ethernet's and the outer IPv6's. */
#define MIP6_TUNNEL_HEAD_LEN    (PACKET_ETH_LEN + PACKET_IP6_LEN)
/* Parts of one frame. */
#define MIP6_TUNNEL_PARTS_MAX   64
/* Longest packet behind the outer header, if it is protected. */
#define MIP6_TUNNEL_SEALED_MAX  2048u

typedef struct Mip6TunnelOps {
    /* A frame for the foreign link; it is gone after the call. */
    void (*transmit)(void *opaque, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload);
    /* A frame for the guest, from the IPv6 header on. */
    void (*to_guest)(void *opaque, const void *packet, size_t len);
} Mip6TunnelOps;

typedef struct Mip6Tunnel {
    const Mip6TunnelOps *ops;
    void *opaque;
    struct in6_addr local, remote;      /* care-of address, home agent */
    uint32_t link_mtu;          /* of the foreign link */
    uint32_t path_mtu;          /* to the home agent, 1280..@link_mtu */
    int64_t path_until;         /* when @path_mtu is forgotten */
    uint8_t hop_limit;
    uint32_t fragment_id;       /* of the last packet; begin it at random */
    uint64_t fragmented;        /* packets that went in fragments */
    Mip6Sent big;               /* flows whose packets may be too big */
    Mip6Protect *const *protects;       /* of the home addresses */
    unsigned protected;         /* how many; 0: packets go as they are */
    Mip6Protect *protect;       /* of those, that of what is sent now; NULL */
    uint8_t sealed[MIP6_TUNNEL_SEALED_MAX];     /* the one that is sent now */
} Mip6Tunnel;

/**
 * mip6_tunnel_init: make a tunnel
 * @protects: associations of @protected home addresses, all with the same
 *            algorithm; not owned. 0 of them: there is no ESP
 */
void mip6_tunnel_init(Mip6Tunnel *t, const Mip6TunnelOps *ops, void *opaque,
                      Mip6Protect *const *protects, unsigned protected);

/**
 * mip6_tunnel_choose: packets are of home address @which from now on, at first
 * of 0; without ESP that is the same
 */
void mip6_tunnel_choose(Mip6Tunnel *t, unsigned which);

/** mip6_tunnel_set: another end, or another link; the path is new then */
void mip6_tunnel_set(Mip6Tunnel *t, const struct in6_addr *local,
                     const struct in6_addr *remote, uint32_t link_mtu,
                     uint8_t hop_limit);

/**
 * mip6_tunnel_mtu: the largest packet that goes into the tunnel, 1280 or more
 *
 * Over a path of less than 1320 octets, and what ESP needs, it goes in two
 * fragments.
 */
uint32_t mip6_tunnel_mtu(const Mip6Tunnel *t, int64_t now);

/* Octets of a packet that mip6_tunnel_may_be_syn() looks at. */
#define MIP6_TUNNEL_LOOK        (PACKET_IP6_LEN + 14)

/**
 * mip6_tunnel_may_be_syn: does a packet need mip6_tunnel_clamp()?
 * @packet: @len octets of it, at best MIP6_TUNNEL_LOOK
 *
 * Returns: false if it is no TCP SYN; true if it is, or may be one
 */
bool mip6_tunnel_may_be_syn(const uint8_t *packet, size_t len);

/**
 * mip6_tunnel_clamp: make a TCP connection announce what fits
 * @packet: a copy of the inner packet's headers, @len octets
 * @partial: its checksum is still to be made
 *
 * In both directions the announced segment size becomes that of packets which
 * need no fragments.
 *
 * Returns: true if @packet is changed
 */
bool mip6_tunnel_clamp(const Mip6Tunnel *t, int64_t now, uint8_t *packet,
                       size_t len, bool partial);

/**
 * mip6_tunnel_send: take a packet of the guest into the tunnel
 * @mac: of the foreign link: destination and source
 * @iov: the frame, with its Ethernet header of @eth_len octets
 * @router: where a "packet too big" comes from
 *
 * Super-frames of TCP are cut to what fits, those of UDP to the datagrams that
 * they stand for. What is too big otherwise goes back to the guest as "packet
 * too big".
 */
Mip6Drop mip6_tunnel_send(Mip6Tunnel *t, int64_t now, const uint8_t dst_mac[6],
                          const uint8_t src_mac[6], const struct iovec *iov,
                          int iovcnt, size_t eth_len,
                          const PacketOffload *offload,
                          const struct in6_addr *router);

/**
 * mip6_tunnel_too_big: ICMPv6 says that a packet of the tunnel did not fit
 * @mtu: that it says
 * @outer: the packet that was sent, from its IPv6 header on, cut
 *
 * Returns: false, and nothing changes, if it was not one of ours, would have
 * fitted, or @mtu is less than PACKET_IP6_MTU_MIN (RFC 8201 section 4)
 */
bool mip6_tunnel_too_big(Mip6Tunnel *t, int64_t now, uint32_t mtu,
                         const void *outer, size_t len);

/**
 * mip6_tunnel_inner: the guest's packet that an ICMPv6 error is about
 * @outer: the packet that was sent, from its IPv6 header on, cut
 *
 * Returns: from its IPv6 header on, with @inner_len set; NULL if it was not one
 * of ours, or nothing of the guest's packet is there
 */
const uint8_t *mip6_tunnel_inner(const Mip6Tunnel *t, const void *outer,
                                 size_t len, size_t *inner_len);

/**
 * mip6_tunnel_report: tell the guest what became of its packet in the tunnel
 * @type, @code: of the ICMPv6 error; of "packet too big" the path's MTU is
 *               known already
 * @inner: from mip6_tunnel_inner(); the caller has looked at whose it is
 * @router: where the guest hears it from
 *
 * Returns: false if there is nothing to tell (RFC 2473 section 8.2)
 */
bool mip6_tunnel_report(Mip6Tunnel *t, int64_t now, uint8_t type, uint8_t code,
                        const uint8_t *inner, size_t len,
                        const struct in6_addr *router);

#endif /* NET_MIP6_TUNNEL_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tunnel between a mobile node and its home agent (RFC 2473) */
#ifndef NET_MIP6_TUNNEL_H
#define NET_MIP6_TUNNEL_H

#include "net/mip6/drop.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/segment.h"

/* Headers before the packet: Ethernet's and the outer IPv6's. */
#define MIP6_TUNNEL_HEAD_LEN    (PACKET_ETH_LEN + PACKET_IP6_LEN)
/* Parts of one frame. */
#define MIP6_TUNNEL_PARTS_MAX   64

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
} Mip6Tunnel;

void mip6_tunnel_init(Mip6Tunnel *t, const Mip6TunnelOps *ops, void *opaque);

/** mip6_tunnel_set: another end, or another link; the path is new then */
void mip6_tunnel_set(Mip6Tunnel *t, const struct in6_addr *local,
                     const struct in6_addr *remote, uint32_t link_mtu,
                     uint8_t hop_limit);

/** mip6_tunnel_mtu: what fits into the tunnel, 1280 or more */
uint32_t mip6_tunnel_mtu(const Mip6Tunnel *t, int64_t now);

/**
 * mip6_tunnel_send: take a packet of the guest into the tunnel
 * @mac: of the foreign link: destination and source
 * @iov: the frame, with its Ethernet header of @eth_len octets
 * @router: where a "packet too big" comes from
 *
 * Super-frames are cut to what fits. What is too big otherwise goes back to the
 * guest as "packet too big".
 */
Mip6Drop mip6_tunnel_send(Mip6Tunnel *t, int64_t now, const uint8_t dst_mac[6],
                          const uint8_t src_mac[6], const struct iovec *iov,
                          int iovcnt, size_t eth_len,
                          const PacketOffload *offload,
                          const struct in6_addr *router);

/**
 * mip6_tunnel_too_big: ICMPv6 says that a packet of the tunnel did not fit
 * @outer: the packet that was sent, from its IPv6 header on, cut
 *
 * Returns: false if it was not one of ours
 */
bool mip6_tunnel_too_big(Mip6Tunnel *t, int64_t now, uint32_t mtu,
                         const void *outer, size_t len);

#endif /* NET_MIP6_TUNNEL_H */

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

/* Headers before the packet: Ethernet and outer IPv6. */
#define MIP6_TUNNEL_HEAD_LEN    (PACKET_ETH_LEN + PACKET_IP6_LEN)
/* Maximum number of parts of a frame. */
#define MIP6_TUNNEL_PARTS_MAX   64
/* Maximum length after the outer header with ESP. */
#define MIP6_TUNNEL_SEALED_MAX  2048u

typedef struct Mip6TunnelOps {
    /* Send a frame to the foreign link; it is invalid after the call. */
    void (*transmit)(void *opaque, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload);
    /* Send a packet to the guest, from the IPv6 header on. */
    void (*to_guest)(void *opaque, const void *packet, size_t len);
} Mip6TunnelOps;

typedef struct Mip6Tunnel {
    const Mip6TunnelOps *ops;
    void *opaque;
    struct in6_addr local, remote;      /* care-of address, home agent */
    uint32_t link_mtu;          /* of the foreign link */
    uint32_t path_mtu;          /* to the home agent, 1280..@link_mtu */
    int64_t path_until;         /* end of the validity of @path_mtu */
    uint8_t hop_limit;
    uint32_t fragment_id;       /* of the last packet; random at first */
    uint64_t fragmented;        /* packets that were fragmented */
    Mip6Sent big, small;        /* flows with large packets; with others */
    Mip6Protect *const *protects;       /* for each home address */
    unsigned protected;         /* their number; 0: no ESP */
    Mip6Protect *protect;       /* the one for the current packet; or NULL */
    uint8_t sealed[MIP6_TUNNEL_SEALED_MAX];     /* for the current packet */
} Mip6Tunnel;

/**
 * mip6_tunnel_init: initialize a tunnel
 * @protects: associations of @protected home addresses, all with the same
 *            algorithm; not owned. @protected 0: no ESP
 */
void mip6_tunnel_init(Mip6Tunnel *t, const Mip6TunnelOps *ops, void *opaque,
                      Mip6Protect *const *protects, unsigned protected);

/**
 * mip6_tunnel_choose: select the home address of the packets that follow; 0 at
 * first. Without ESP this has no effect
 */
void mip6_tunnel_choose(Mip6Tunnel *t, unsigned which);

/** mip6_tunnel_set: set endpoints and link; resets the path MTU */
void mip6_tunnel_set(Mip6Tunnel *t, const struct in6_addr *local,
                     const struct in6_addr *remote, uint32_t link_mtu,
                     uint8_t hop_limit);

/**
 * mip6_tunnel_mtu: maximum length of a packet for the tunnel, 1280 or more
 *
 * If the path MTU is less than 1320 octets, plus what ESP adds, a packet of
 * that length is sent in two fragments.
 */
uint32_t mip6_tunnel_mtu(const Mip6Tunnel *t, int64_t now);

/* Octets of a packet that mip6_tunnel_may_be_syn() reads. */
#define MIP6_TUNNEL_LOOK        (PACKET_IP6_LEN + 14)

/**
 * mip6_tunnel_may_be_syn: does a packet need mip6_tunnel_clamp()?
 * @packet: @len octets of it, MIP6_TUNNEL_LOOK if it has so many
 *
 * Returns: false if it is certainly not a TCP SYN
 */
bool mip6_tunnel_may_be_syn(const uint8_t *packet, size_t len);

/**
 * mip6_tunnel_clamp: clamp the MSS in a TCP SYN, in both directions
 * @packet: a copy of the inner packet's headers, @len octets
 * @partial: its checksum is partial
 *
 * The MSS is set to the size of packets that need no fragments.
 *
 * Returns: true if @packet was changed
 */
bool mip6_tunnel_clamp(const Mip6Tunnel *t, int64_t now, uint8_t *packet,
                       size_t len, bool partial);

/**
 * mip6_tunnel_send: send a packet of the guest through the tunnel
 * @mac: MAC addresses on the foreign link: destination and source
 * @iov: the frame, with its Ethernet header of @eth_len octets
 * @router: source address for "packet too big"
 *
 * TCP super-frames are segmented to the size that fits, UDP super-frames into
 * their datagrams. For other packets that are too big, the guest gets "packet
 * too big".
 */
Mip6Drop mip6_tunnel_send(Mip6Tunnel *t, int64_t now, const uint8_t dst_mac[6],
                          const uint8_t src_mac[6], const struct iovec *iov,
                          int iovcnt, size_t eth_len,
                          const PacketOffload *offload,
                          const struct in6_addr *router);

/**
 * mip6_tunnel_too_big: process an ICMPv6 "packet too big" about a tunnel packet
 * @mtu: the MTU in the error
 * @outer: the packet that was sent, from its IPv6 header on, may be truncated
 *
 * Returns: false, with nothing changed, if it is not a packet of ours, if it
 * was not larger than @mtu, or if @mtu is less than PACKET_IP6_MTU_MIN (RFC
 * 8201 section 4)
 */
bool mip6_tunnel_too_big(Mip6Tunnel *t, int64_t now, uint32_t mtu,
                         const void *outer, size_t len);

/**
 * mip6_tunnel_was_sent: is it a packet that went into the tunnel lately?
 * @outer: quoted in an ICMPv6 error, may be truncated
 *
 * Returns: true only if the error's sender has seen a packet of the same flow,
 * or with ESP a recent packet
 */
bool mip6_tunnel_was_sent(const Mip6Tunnel *t, int64_t now, const void *outer,
                          size_t len);

/**
 * mip6_tunnel_inner: find the guest's packet in an ICMPv6 error
 * @outer: the packet that was sent, from its IPv6 header on, may be truncated
 *
 * Returns: the inner packet from its IPv6 header on, with @inner_len set; NULL
 * if it is not a packet of ours, or ends before the inner packet
 */
const uint8_t *mip6_tunnel_inner(const Mip6Tunnel *t, const void *outer,
                                 size_t len, size_t *inner_len);

/**
 * mip6_tunnel_report: send the guest an ICMPv6 error about its packet
 * @type, @code: of the ICMPv6 error; for "packet too big" the path MTU was
 *               updated before
 * @inner: from mip6_tunnel_inner(); the caller has checked its source address
 * @router: source address of the error
 *
 * Returns: false if the guest must not get an error (RFC 2473 section 8.2)
 */
bool mip6_tunnel_report(Mip6Tunnel *t, int64_t now, uint8_t type, uint8_t code,
                        const uint8_t *inner, size_t len,
                        const struct in6_addr *router);

#endif /* NET_MIP6_TUNNEL_H */

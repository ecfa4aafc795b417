/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The home link, emulated for a guest that is away
 *
 * Times are in ns of a monotonic clock. Frames are Ethernet, without tags and
 * without FCS.
 */
#ifndef NET_MIP6_HOME_H
#define NET_MIP6_HOME_H

#include "net/mip6/core/drop.h"
#include "net/mip6/core/icmp.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

#define MIP6_HOME_ADDRESSES     8u      /* global addresses of a guest */

typedef struct Mip6HomeConfig {
    struct in6_addr address;    /* the first home address */
    unsigned more;              /* number of further ones */
    struct in6_addr more_address[MIP6_HOME_ADDRESSES - 1];
    uint8_t prefix_len;         /* of the home link */
    bool has_guest_mac, has_router_mac;
    uint8_t guest_mac[PACKET_ETH_ADDR_LEN];
    uint8_t router_mac[PACKET_ETH_ADDR_LEN];
} Mip6HomeConfig;

typedef struct Mip6HomeOps {
    /* Send a frame to the guest; @frame is invalid after the call. */
    void (*to_guest)(void *opaque, const void *frame, size_t len);
} Mip6HomeOps;

/* A default router of the home link, or one in its place. */
typedef struct Mip6HomeRouter {
    bool is_known;
    struct in6_addr addr;       /* its link-local address */
    uint8_t mac[PACKET_ETH_ADDR_LEN];
} Mip6HomeRouter;

/* What was learned at home; it migrates with the VM. */
typedef struct Mip6HomeLearned {
    bool has_guest_mac, has_router, has_ra;
    uint8_t guest_mac[PACKET_ETH_ADDR_LEN];
    struct in6_addr router;     /* its link-local address */
    uint8_t router_mac[PACKET_ETH_ADDR_LEN];
    PacketNdRa ra;              /* its last advertisement */
    /* The guest's: the configured ones, then those that were heard. */
    unsigned addresses;
    struct in6_addr address[MIP6_HOME_ADDRESSES];
} Mip6HomeLearned;

typedef struct Mip6Home {
    Mip6HomeConfig config;
    const Mip6HomeOps *ops;
    void *opaque;
    Mip6HomeLearned learned;
    bool has_nic_mac;
    uint8_t nic_mac[PACKET_ETH_ADDR_LEN];       /* until the guest is heard */
    int64_t advertise;          /* time of the next RA; INT64_MAX: none */
    bool is_heard;              /* the router was heard on this home link */
    bool owes;                  /* its guest comes from elsewhere */
    Mip6HomeRouter told;        /* the router as the guest knows it */
    Mip6HomeRouter gone;        /* frames for its MAC go to the router */
} Mip6Home;

void mip6_home_init(Mip6Home *h, const Mip6HomeConfig *config,
                    const Mip6HomeOps *ops, void *opaque);

/** mip6_home_configured: number of configured home addresses */
unsigned mip6_home_configured(const Mip6Home *h);

/** mip6_home_set_nic_mac: the MAC address of the guest's NIC */
void mip6_home_set_nic_mac(Mip6Home *h,
                           const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/** mip6_home_guest_mac: the guest's MAC address; NULL: unknown */
const uint8_t *mip6_home_guest_mac(const Mip6Home *h);

/** mip6_home_is_guests: is it one of the guest's global addresses? */
bool mip6_home_is_guests(const Mip6Home *h, const struct in6_addr *addr);

/**
 * mip6_home_is_gone: at home: does the guest know this MAC address, but nobody
 * has it? It was made up, or is of a router that was replaced meanwhile.
 */
bool mip6_home_is_gone(const Mip6Home *h,
                       const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/** mip6_home_is_alive: at home: a neighbour sends from this MAC address */
void mip6_home_is_alive(Mip6Home *h, const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/**
 * mip6_home_is_home_prefix: is @ra from a router of the home link?
 *
 * That is, the home prefix is on-link (RFC 6275 section 11.5.5). Without the L
 * flag an advertisement does not say where a prefix is (RFC 4861 section
 * 4.6.2).
 */
bool mip6_home_is_home_prefix(const Mip6Home *h, const PacketNdRa *ra);

/** mip6_home_is_off_link: does @ra have it, but without the L flag? */
bool mip6_home_is_off_link(const Mip6Home *h, const PacketNdRa *ra);

/**
 * mip6_home_heard: at home: a message of neighbour discovery passes through
 * @from_guest: the guest has sent it
 * @mac: the frame's source
 */
void mip6_home_heard(Mip6Home *h, const PacketNd *nd, bool from_guest,
                     const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/**
 * mip6_home_load: load what was learned on another host
 *
 * Only addresses that the guest may have here are used. If a router was heard
 * here, because this is the home link, it has precedence over the loaded one.
 */
void mip6_home_load(Mip6Home *h, const Mip6HomeLearned *learned);

/**
 * mip6_home_leave: the guest is away; advertise its router to it
 *
 * If no router was heard at home, one is made up: without a prefix, until the
 * home agent tells the home link's.
 */
void mip6_home_leave(Mip6Home *h, int64_t now);

/** mip6_home_is_made_up: is the guest's router such a one? */
bool mip6_home_is_made_up(const Mip6Home *h);

/**
 * mip6_home_arrive: the guest runs at home
 * @is_there: the router that the guest knows (h->told) is on the link, too
 *
 * Once the router was heard, a guest that comes from elsewhere is told of it:
 * another may have its address, or it may have replaced another one.
 */
void mip6_home_arrive(Mip6Home *h, bool is_there);

/**
 * mip6_home_repeat: the guest runs at home; the last advertisement was for this
 * host alone, and is given to the guest, too
 */
void mip6_home_repeat(Mip6Home *h);

/**
 * mip6_home_query: ask the guest for its multicast groups (RFC 3810)
 *
 * Its report goes to the multicast router of its current link.
 */
void mip6_home_query(Mip6Home *h);

/**
 * mip6_home_renew: away: the home agent has sent the home link's prefixes
 *
 * The guest learns them from a router advertisement. A prefix that is gone has
 * lifetime 0 in it.
 *
 * Returns: preferred lifetime of the home prefix in s; 0 if it is gone
 */
uint32_t mip6_home_renew(Mip6Home *h, int64_t now, const Mip6Icmp *advert);

/** mip6_home_preferred: that lifetime, as last heard; 0: not heard */
uint32_t mip6_home_preferred(const Mip6Home *h);

/** mip6_home_return: the guest is at home again; stop the emulation. */
void mip6_home_return(Mip6Home *h);

/**
 * mip6_home_from_guest: away: process a frame of the guest
 * @packet: the frame after its Ethernet header
 * @len: octets at @packet: all, or the headers of a long packet
 * @tunnel: set if the packet must be tunnelled
 *
 * Questions to nodes of the home link are answered here.
 *
 * Returns: the reason to drop the frame; MIP6_DROP_NONE if it must be tunnelled
 * or was answered
 */
Mip6Drop mip6_home_from_guest(Mip6Home *h, const PacketEth *eth,
                              const void *packet, size_t len, bool *tunnel);

/** mip6_home_frame_head: write the Ethernet header of a frame to the guest */
bool mip6_home_frame_head(const Mip6Home *h, void *buf);

int64_t mip6_home_deadline(const Mip6Home *h);
void mip6_home_tick(Mip6Home *h, int64_t now);

#endif /* NET_MIP6_HOME_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The home link, as a guest sees it that has left it
 *
 * Times are ns of a clock that never steps. Frames are Ethernet, without tags
 * and without FCS.
 */
#ifndef NET_MIP6_HOME_H
#define NET_MIP6_HOME_H

#include "net/mip6/core/drop.h"
#include "net/mip6/core/icmp.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

#define MIP6_HOME_ADDRESSES     8u      /* global addresses of one guest */

typedef struct Mip6HomeConfig {
    struct in6_addr address;    /* the first home address */
    unsigned more;              /* further ones */
    struct in6_addr more_address[MIP6_HOME_ADDRESSES - 1];
    uint8_t prefix_len;         /* of the home link */
    bool has_guest_mac, has_router_mac;
    uint8_t guest_mac[PACKET_ETH_ADDR_LEN];
    uint8_t router_mac[PACKET_ETH_ADDR_LEN];
} Mip6HomeConfig;

typedef struct Mip6HomeOps {
    /* Send a frame to the guest; @frame is gone after the call. */
    void (*to_guest)(void *opaque, const void *frame, size_t len);
} Mip6HomeOps;

/* Facts that were learned at home; a migration carries them. */
typedef struct Mip6HomeLearned {
    bool has_guest_mac, has_router, has_ra;
    uint8_t guest_mac[PACKET_ETH_ADDR_LEN];
    struct in6_addr router;     /* its link-local address */
    uint8_t router_mac[PACKET_ETH_ADDR_LEN];
    PacketNdRa ra;              /* its last advertisement */
    /* The guest's: those of the configuration, then those that were heard. */
    unsigned addresses;
    struct in6_addr address[MIP6_HOME_ADDRESSES];
} Mip6HomeLearned;

typedef struct Mip6Home {
    Mip6HomeConfig config;
    const Mip6HomeOps *ops;
    void *opaque;
    Mip6HomeLearned learned;
    bool has_nic_mac;
    uint8_t nic_mac[PACKET_ETH_ADDR_LEN];       /* of a guest not heard yet */
    int64_t advertise;          /* next router advertisement; INT64_MAX: none */
} Mip6Home;

void mip6_home_init(Mip6Home *h, const Mip6HomeConfig *config,
                    const Mip6HomeOps *ops, void *opaque);

/** mip6_home_configured: number of home addresses of the configuration */
unsigned mip6_home_configured(const Mip6Home *h);

/** mip6_home_set_nic_mac: the MAC address of the guest's NIC */
void mip6_home_set_nic_mac(Mip6Home *h,
                           const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/** mip6_home_guest_mac: the guest's MAC address; NULL: not known yet */
const uint8_t *mip6_home_guest_mac(const Mip6Home *h);

/** mip6_home_is_guests: is it one of the guest's global addresses? */
bool mip6_home_is_guests(const Mip6Home *h, const struct in6_addr *addr);

/**
 * mip6_home_is_made_up: is it the MAC address that neighbours have for a guest
 * that has left home before a router was heard there?
 */
bool mip6_home_is_made_up(const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/** mip6_home_is_home_prefix: does @ra come from the home link? */
bool mip6_home_is_home_prefix(const Mip6Home *h, const PacketNdRa *ra);

/**
 * mip6_home_heard: at home, a message of neighbour discovery passes by
 * @from_guest: the guest has sent it
 * @mac: the frame's source
 */
void mip6_home_heard(Mip6Home *h, const PacketNd *nd, bool from_guest,
                     const uint8_t mac[PACKET_ETH_ADDR_LEN]);

/**
 * mip6_home_load: go on with what was learned elsewhere
 *
 * Of its addresses those count that may be the guest's here. A router that was
 * heard here, as this is the home link, counts more than the one of before.
 */
void mip6_home_load(Mip6Home *h, const Mip6HomeLearned *learned);

/** mip6_home_leave: the guest is away, and hears who its router is */
void mip6_home_leave(Mip6Home *h, int64_t now);

/**
 * mip6_home_query: ask the guest which groups it listens to (RFC 3810)
 *
 * Its report goes to the multicast router of where it is now.
 */
void mip6_home_query(Mip6Home *h);

/**
 * mip6_home_renew: away, the home agent says which prefixes the link has
 *
 * The guest hears of it by its router's advertisement. A prefix that is gone
 * has no lifetime there.
 *
 * Returns: for how many s the home prefix is preferred; 0 if it is gone
 */
uint32_t mip6_home_renew(Mip6Home *h, int64_t now, const Mip6Icmp *advert);

/** mip6_home_preferred: the same, as it was last heard; 0: it was not */
uint32_t mip6_home_preferred(const Mip6Home *h);

/** mip6_home_return: the guest is back, and the link speaks for itself. */
void mip6_home_return(Mip6Home *h);

/**
 * mip6_home_from_guest: away, the guest has sent a frame
 * @packet: what is behind the Ethernet header
 * @len: octets at @packet, all of them or, of a long one, the headers
 * @tunnel: set if the packet is to be tunnelled
 *
 * Answers what the home link's nodes would answer.
 *
 * Returns: why the frame ends here; MIP6_DROP_NONE if it is to be tunnelled,
 * or was answered
 */
Mip6Drop mip6_home_from_guest(Mip6Home *h, const PacketEth *eth,
                              const void *packet, size_t len, bool *tunnel);

/** mip6_home_frame_head: the Ethernet header of a packet for the guest */
bool mip6_home_frame_head(const Mip6Home *h, void *buf);

int64_t mip6_home_deadline(const Mip6Home *h);
void mip6_home_tick(Mip6Home *h, int64_t now);

#endif /* NET_MIP6_HOME_H */

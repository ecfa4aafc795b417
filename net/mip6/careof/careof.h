/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mobile node's own host on the foreign link: it configures a care-of
 * address and resolves the next hop to the home agent (RFC 4861, 4862, 8415)
 *
 * Times are in ns of a monotonic clock. Frames are Ethernet, without tags and
 * without FCS.
 */
#ifndef NET_MIP6_CAREOF_CAREOF_H
#define NET_MIP6_CAREOF_CAREOF_H

#include "net/mip6/careof/dhcp6.h"
#include "net/packet/eth.h"
#include "net/packet/mld.h"
#include "net/packet/nd.h"

#define MIP6_CAREOF_MTU_MAX     1500u   /* of a link */
#define MIP6_CAREOF_ADDRESSES   8u
#define MIP6_CAREOF_PREFIXES    16u
#define MIP6_CAREOF_NEIGHBOURS  8u      /* including routers */

typedef struct Mip6CareOfOps {
    /* Send a frame to the foreign link; @frame is invalid after the call. */
    void (*transmit)(void *opaque, const void *frame, size_t len);
    uint32_t (*random)(void *opaque);
    /*
     * The result of mip6_careof_address(), of mip6_careof_next_hop(), or the
     * MTU may have changed. Calls are not nested.
     */
    void (*changed)(void *opaque);
} Mip6CareOfOps;

typedef enum Mip6AddressState {
    MIP6_ADDRESS_NONE,          /* the entry is unused */
    MIP6_ADDRESS_TENTATIVE,     /* duplicate address detection runs */
    MIP6_ADDRESS_VALID,         /* preferred or deprecated */
    MIP6_ADDRESS_DUPLICATE,     /* another node has it */
} Mip6AddressState;

typedef struct Mip6Address {
    Mip6AddressState state;
    struct in6_addr addr;
    bool fixed;                 /* configured, not from a prefix */
    bool leased;                /* by DHCPv6 */
    int64_t preferred, valid;   /* end times; INT64_MAX: infinite */
    int64_t since;              /* since when it is VALID */
    int64_t doubted;            /* nothing answers to it; 0: no doubt */
    int64_t next;               /* next step of DAD */
    unsigned probes;            /* probes left to send */
    struct in6_addr router;     /* advertised it, or M; "::": configured */
    unsigned collisions;        /* identifiers that were duplicates */
} Mip6Address;

typedef struct Mip6OnLink {
    struct in6_addr prefix;
    uint8_t len;
    int64_t valid;              /* end time; 0: the entry is unused */
} Mip6OnLink;

/* RFC 4861 section 7.3.2. */
typedef enum Mip6Reach {
    MIP6_REACH_NONE,            /* the entry is unused */
    MIP6_REACH_INCOMPLETE,
    MIP6_REACH_REACHABLE,
    MIP6_REACH_STALE,
    MIP6_REACH_DELAY,
    MIP6_REACH_PROBE,
    MIP6_REACH_FAILED,          /* a router that does not answer */
} Mip6Reach;

typedef struct Mip6Neighbour {
    Mip6Reach reach;
    struct in6_addr addr;
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    bool has_mac;
    int64_t router;             /* end of router lifetime; 0: no router */
    int8_t preference;          /* RFC 4191 */
    int64_t next;               /* time of the next step, or INT64_MAX */
    int64_t used;
    unsigned probes;            /* solicitations without an answer */
} Mip6Neighbour;

typedef struct Mip6CareOf {
    const Mip6CareOfOps *ops;
    void *opaque;
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    bool running;
    /* Readable by all: */
    Mip6Address link_local;
    Mip6Address address[MIP6_CAREOF_ADDRESSES];
    Mip6OnLink on_link[MIP6_CAREOF_PREFIXES];
    Mip6Neighbour neighbour[MIP6_CAREOF_NEIGHBOURS];
    uint32_t mtu;               /* of link and path, 1280 or more */
    uint8_t hop_limit;
    unsigned duplicates;        /* addresses that were duplicates */
    struct in6_addr toward;     /* set by all: the home agent */
    Mip6Dhcp6 dhcp;
    /* Private. */
    bool is_foreign;            /* may ask DHCPv6 servers */
    bool is_managed;            /* a router has advertised M: */
    struct in6_addr managed_by;
    uint32_t path_mtu;          /* from mip6_careof_init() */
    uint32_t retrans;           /* ms */
    uint32_t reachable;         /* ms, randomised */
    bool has_fixed;
    struct in6_addr fixed;
    int64_t solicit;            /* time of the next router solicitation */
    unsigned solicitations;
    int64_t report;             /* time of the answer to a query */
    int64_t mld1_until;         /* a querier of RFC 2710 is there */
    int64_t last;               /* "now" of the last tick */
} Mip6CareOf;

/**
 * mip6_careof_init: initialize; nothing is sent before mip6_careof_start()
 * @mac: of this host on the foreign link
 * @mtu: of the path, 1280..MIP6_CAREOF_MTU_MAX; advertisements can only
 *       lower it
 * @fixed: the care-of address to use; NULL: make addresses from prefixes
 */
void mip6_careof_init(Mip6CareOf *c, const uint8_t mac[PACKET_ETH_ADDR_LEN],
                      uint32_t mtu, const struct in6_addr *fixed,
                      const Mip6CareOfOps *ops, void *opaque);

/** mip6_careof_start: the host is on a new link. */
void mip6_careof_start(Mip6CareOf *c, int64_t now);

/** mip6_careof_solicit: start to solicit routers again */
void mip6_careof_solicit(Mip6CareOf *c, int64_t now);

/**
 * mip6_careof_foreign: is it a foreign link? Only there, where a router
 * advertises the M flag and no prefix gives an address, DHCPv6 is used. An
 * address that it gave ends with @is_foreign false.
 */
void mip6_careof_foreign(Mip6CareOf *c, int64_t now, bool is_foreign);

/** mip6_careof_leave: the host is not used here any more: releases its lease */
void mip6_careof_leave(Mip6CareOf *c, int64_t now);

/**
 * mip6_careof_dhcp6: process a message of a DHCPv6 server, from its type on
 *
 * Returns: false if it is no answer to us
 */
bool mip6_careof_dhcp6(Mip6CareOf *c, int64_t now, const void *message,
                       size_t len);

/** mip6_careof_stop: the host leaves the link; everything is forgotten. */
void mip6_careof_stop(Mip6CareOf *c);

/**
 * mip6_careof_nd: process a message of neighbour discovery
 * @src_mac: the frame's source
 *
 * The work is bounded, and unsolicited messages create no state, except for
 * router advertisements.
 */
void mip6_careof_nd(Mip6CareOf *c, int64_t now, const PacketNd *nd,
                    const uint8_t src_mac[PACKET_ETH_ADDR_LEN]);

/**
 * mip6_careof_mld: process a message of multicast listener discovery
 *
 * Queries are answered with the solicited-node groups of all own addresses,
 * also of tentative ones, at most ten times a second.
 */
void mip6_careof_mld(Mip6CareOf *c, int64_t now, const PacketMld *mld);

/**
 * mip6_careof_address: choose the care-of address
 *
 * Addresses whose router answers are better. Among these, preferred ones are
 * better. Those of which mip6_careof_doubt() told come last, the latest at the
 * end. Then the label of the home agent's address is better (RFC 6724 section
 * 5, rule 6): a global address leads to a global one, a unique local one to its
 * like. Of several, the best is the one that has been valid for the longest
 * time, so that routers with different prefixes do not move the node back and
 * forth; of deprecated ones, that with the longest lifetime.
 *
 * Returns: NULL if there is no address or no default router
 */
const struct in6_addr *mip6_careof_address(const Mip6CareOf *c, int64_t now);

/**
 * mip6_careof_doubt: the home agent does not answer to @addr
 * @again: also if it is in doubt already, because the others were tried too
 *
 * Another address may be better: its prefix may be routed, and this one's not.
 */
void mip6_careof_doubt(Mip6CareOf *c, int64_t now, const struct in6_addr *addr,
                       bool again);

/** mip6_careof_trust: the home agent has answered to @addr */
void mip6_careof_trust(Mip6CareOf *c, const struct in6_addr *addr);

/** mip6_careof_valid_until: end of @addr; INT64_MAX: none, or unknown */
int64_t mip6_careof_valid_until(const Mip6CareOf *c,
                                const struct in6_addr *addr);

/** mip6_careof_has_router: is a router there with this link-local address? */
bool mip6_careof_has_router(const Mip6CareOf *c, int64_t now,
                            const struct in6_addr *addr);

/** mip6_careof_owns: is it an address of this host, and not tentative? */
bool mip6_careof_owns(const Mip6CareOf *c, const struct in6_addr *addr);

/**
 * mip6_careof_next_hop: resolve the MAC address of the next hop
 * @dst: a destination, on-link or not
 *
 * If the next hop is unknown, resolution starts, and @changed is called when it
 * completes.
 *
 * Returns: false if it is not known yet
 */
bool mip6_careof_next_hop(Mip6CareOf *c, int64_t now,
                          const struct in6_addr *dst,
                          uint8_t mac[PACKET_ETH_ADDR_LEN]);

/** mip6_careof_confirm: @dst has answered, so its next hop is reachable. */
void mip6_careof_confirm(Mip6CareOf *c, int64_t now,
                         const struct in6_addr *dst);

/** mip6_careof_deadline: when to call mip6_careof_tick(); INT64_MAX: never */
int64_t mip6_careof_deadline(const Mip6CareOf *c);

/** mip6_careof_tick: do what is due */
void mip6_careof_tick(Mip6CareOf *c, int64_t now);

#endif /* NET_MIP6_CAREOF_CAREOF_H */

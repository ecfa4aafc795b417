/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host of its own on the foreign link: it gets a care-of address and knows
 * the next hop to the home agent (RFC 4861, 4862)
 *
 * Times are ns of a clock that never steps. Frames are Ethernet, without tags
 * and without FCS.
 */
#ifndef NET_MIP6_CAREOF_CAREOF_H
#define NET_MIP6_CAREOF_CAREOF_H

#include "net/packet/eth.h"
#include "net/packet/nd.h"

#define MIP6_CAREOF_ADDRESSES   8u
#define MIP6_CAREOF_PREFIXES    16u
#define MIP6_CAREOF_NEIGHBOURS  8u      /* routers among them */

typedef struct Mip6CareOfOps {
    /* Send a frame to the foreign link; @frame is gone after the call. */
    void (*transmit)(void *opaque, const void *frame, size_t len);
    uint32_t (*random)(void *opaque);
    /*
     * mip6_careof_address(), mip6_careof_next_hop() or the MTU may say
     * something else now. Not called from within itself.
     */
    void (*changed)(void *opaque);
} Mip6CareOfOps;

typedef enum Mip6AddressState {
    MIP6_ADDRESS_NONE,          /* the entry is free */
    MIP6_ADDRESS_TENTATIVE,     /* duplicate address detection runs */
    MIP6_ADDRESS_VALID,         /* preferred or deprecated, by its times */
    MIP6_ADDRESS_DUPLICATE,     /* somebody else has it */
} Mip6AddressState;

typedef struct Mip6Address {
    Mip6AddressState state;
    struct in6_addr addr;
    bool fixed;                 /* configured, not from a prefix */
    int64_t preferred, valid;   /* until; INT64_MAX: without an end */
    int64_t since;              /* it is MIP6_ADDRESS_VALID */
    int64_t next;               /* of duplicate address detection */
    unsigned probes;            /* that are still to be sent */
    struct in6_addr router;     /* that offers it; "::": configured */
    unsigned collisions;        /* identifiers that somebody else had */
} Mip6Address;

typedef struct Mip6OnLink {
    struct in6_addr prefix;
    uint8_t len;
    int64_t valid;              /* until; 0: the entry is free */
} Mip6OnLink;

/* RFC 4861 section 7.3.2. */
typedef enum Mip6Reach {
    MIP6_REACH_NONE,            /* the entry is free */
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
    int64_t router;             /* a default router until; 0: none */
    int8_t preference;          /* RFC 4191 */
    int64_t next;               /* of the state; INT64_MAX: none */
    int64_t used;
    unsigned probes;            /* solicitations that were not answered */
} Mip6Neighbour;

typedef struct Mip6CareOf {
    const Mip6CareOfOps *ops;
    void *opaque;
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    bool running;
    /* For all to read: */
    Mip6Address link_local;
    Mip6Address address[MIP6_CAREOF_ADDRESSES];
    Mip6OnLink on_link[MIP6_CAREOF_PREFIXES];
    Mip6Neighbour neighbour[MIP6_CAREOF_NEIGHBOURS];
    uint32_t mtu;               /* of the link, 1280.. */
    uint8_t hop_limit;
    unsigned duplicates;        /* addresses that somebody else had */
    /* Private. */
    uint32_t link_mtu;          /* as it was given */
    uint32_t retrans;           /* ms */
    uint32_t reachable;         /* ms, randomised */
    bool has_fixed;
    struct in6_addr fixed;
    int64_t solicit;            /* next router solicitation */
    unsigned solicitations;
    int64_t last;               /* "now" of the last tick */
} Mip6CareOf;

/**
 * mip6_careof_init: nothing is sent before mip6_careof_start()
 * @mac: of the host on the foreign link
 * @mtu: of the link, 1280..65535
 * @fixed: a care-of address to use; NULL: those that routers offer
 */
void mip6_careof_init(Mip6CareOf *c, const uint8_t mac[PACKET_ETH_ADDR_LEN],
                      uint32_t mtu, const struct in6_addr *fixed,
                      const Mip6CareOfOps *ops, void *opaque);

/** mip6_careof_start: the host is on a link that it knows nothing of. */
void mip6_careof_start(Mip6CareOf *c, int64_t now);

/** mip6_careof_solicit: ask for routers again, from now on */
void mip6_careof_solicit(Mip6CareOf *c, int64_t now);

/** mip6_careof_stop: it leaves; all is forgotten. */
void mip6_careof_stop(Mip6CareOf *c);

/**
 * mip6_careof_nd: a message of neighbour discovery has come
 * @src_mac: the frame's sender
 *
 * Bounded work; nothing is kept for those who are not asked for.
 */
void mip6_careof_nd(Mip6CareOf *c, int64_t now, const PacketNd *nd,
                    const uint8_t src_mac[PACKET_ETH_ADDR_LEN]);

/**
 * mip6_careof_address: which care-of address to use
 *
 * One whose router is there, before others. Among them the preferred one that
 * has been in use for the longest time, so that routers with prefixes of their
 * own do not move the node back and forth; else the deprecated one that is
 * valid for the longest time.
 *
 * Returns: NULL if there is none, or no default router
 */
const struct in6_addr *mip6_careof_address(const Mip6CareOf *c, int64_t now);

/** mip6_careof_valid_until: when @addr ends; INT64_MAX: never, or unknown */
int64_t mip6_careof_valid_until(const Mip6CareOf *c,
                                const struct in6_addr *addr);

/** mip6_careof_owns: is it an address of this host, and not tentative? */
bool mip6_careof_owns(const Mip6CareOf *c, const struct in6_addr *addr);

/**
 * mip6_careof_next_hop: the MAC address to send to
 * @dst: somewhere, on the link or not
 *
 * An address that has to be resolved is being resolved then; @changed tells.
 *
 * Returns: false if it is not known yet
 */
bool mip6_careof_next_hop(Mip6CareOf *c, int64_t now,
                          const struct in6_addr *dst,
                          uint8_t mac[PACKET_ETH_ADDR_LEN]);

/** mip6_careof_confirm: @dst has answered, so its next hop works. */
void mip6_careof_confirm(Mip6CareOf *c, int64_t now,
                         const struct in6_addr *dst);

/** mip6_careof_deadline: when to call mip6_careof_tick(); INT64_MAX: never */
int64_t mip6_careof_deadline(const Mip6CareOf *c);

/** mip6_careof_tick: do what is due */
void mip6_careof_tick(Mip6CareOf *c, int64_t now);

#endif /* NET_MIP6_CAREOF_CAREOF_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A home agent (RFC 6275 section 10): bindings, and packets between tunnels and
 * the home link
 *
 * Times are ns of a clock that never steps. Packets begin with their IPv6
 * header.
 */
#ifndef NET_MIP6_HA_AGENT_H
#define NET_MIP6_HA_AGENT_H

#include <glib.h>

#include "net/mip6/ha/base/addr.h"
#include "net/mip6/ha/base/expiry.h"
#include "net/mip6/ha/parts/groups.h"
#include "net/mip6/ha/parts/keyring.h"
#include "net/mip6/ha/parts/left.h"
#include "net/mip6/ha/parts/link.h"
#include "net/mip6/core/mh.h"
#include "net/packet/fragment.h"

/* Duplicate address detection for a home address (section 10.3.1) */
typedef enum Mip6AgentDad {
    MIP6_AGENT_DAD_OFF,
    MIP6_AGENT_DAD_OPTIMISTIC,  /* bound at once, taken back if it is in use */
    MIP6_AGENT_DAD_STRICT,      /* bound when nobody has answered */
} Mip6AgentDad;

typedef struct Mip6AgentConfig {
    struct in6_addr address;    /* of the agent, on the home link */
    struct in6_addr prefix;     /* the home prefix */
    uint8_t prefix_len;
    uint16_t lifetime_max;      /* of a binding; MIP6_LIFETIME_UNIT */
    unsigned bindings_max;
    uint16_t refresh;           /* advised; MIP6_REFRESH_UNIT; 0: not */
    uint32_t mtu;               /* of the links that tunnels go over */
    Mip6AgentDad dad;
    int16_t preference;         /* among the home agents of the link */
    unsigned prefixes;          /* that are advertised as they are here */
    PacketNdPrefix prefix_info[PACKET_ND_PREFIX_MAX];
    GHashTable *allowed;        /* home addresses, struct in6_addr; NULL: all */
    bool multicast;             /* mobile nodes listen to groups, and send */
    Mip6Keyring *keys;          /* of home addresses in ESP; NULL: none */
} Mip6AgentConfig;

typedef struct Mip6AgentBinding {
    struct in6_addr home, care_of;
    uint16_t sequence;
    uint16_t lifetime;          /* granted; MIP6_LIFETIME_UNIT */
    int64_t expires;
    uint64_t sent, received;    /* packets of the node, by way of the agent */
    struct in6_addr previous;   /* care-of address, before it moved */
    int64_t previous_until;     /* its stragglers are taken until then */
    uint64_t stragglers;        /* of @sent: by way of @previous */
    uint32_t path_mtu;          /* to the care-of address, as it was told */
    int64_t path_until;
    bool passes;                /* let_pass() was called */
    bool tentative;             /* it does not hold before DAD is over */
    bool wants_ack;
    int64_t probed_until;       /* who claims the address by then, has it */
    struct in6_addr source;     /* of the Binding Update */
    Mip6GroupsNode *node;       /* at its care-of address; NULL: tentative */
    Mip6Due due;
    Mip6Due advert;             /* the next prefix advertisement */
    uint8_t advert_tries;       /* of one that was not answered yet */
    uint16_t advert_id;         /* of the last one */
    uint32_t prefixes_told;     /* Mip6HaLink.version */
} Mip6AgentBinding;

/* A binding as the host needs it to forward the packets by itself. */
typedef struct Mip6AgentPass {
    struct in6_addr home, care_of;
    int64_t expires;            /* no packet passes from then on */
    uint32_t room;              /* longest packet that goes into the tunnel */
    uint32_t path_room;         /* the same until @path_until */
    int64_t path_until;
} Mip6AgentPass;

/* Packets that have not come to the agent. */
typedef struct Mip6AgentPassed {
    uint64_t sent, received;    /* to and from mobile nodes */
} Mip6AgentPassed;

typedef struct Mip6AgentOps {
    /* Give a packet to the host, which forwards it. */
    void (*forward)(void *opaque, const void *packet, size_t len);
    /*
     * The same for a packet that goes behind another header. NULL: forward()
     * gets both in one.
     */
    void (*forward_behind)(void *opaque, const void *head, size_t head_len,
                           const void *packet, size_t len);
    /*
     * From now on, or no longer, speak for @home on the home link and take the
     * packets to it. Returns false if the host cannot.
     */
    bool (*proxy)(void *opaque, const struct in6_addr *home, bool on);
    /*
     * Ask the home link for @home (RFC 4862 section 5.4.2); the answer is for
     * mip6_agent_claimed(). Not needed without DAD.
     */
    void (*probe)(void *opaque, const struct in6_addr *home);
    /*
     * Send a packet to its group on the home link. Not needed, as the next
     * one, without multicast.
     */
    void (*to_group)(void *opaque, const void *packet, size_t len);
    /*
     * Take the packets of @group from the home link, or no longer. Returns
     * false if the host cannot.
     */
    bool (*join)(void *opaque, const struct in6_addr *group, bool on);
    /*
     * @b is made or changed, and its acknowledgement comes next; or it has
     * ended: then its lifetime is 0. NULL: nobody wants to know.
     */
    void (*changed)(void *opaque, const Mip6AgentBinding *b);
    /*
     * A message in ESP comes next whose number, mip6_keys_seen(), is higher
     * than all before. NULL: nobody wants to know.
     */
    void (*seen)(void *opaque, const Mip6Keys *keys);
    /*
     * From now on the host may put packets into the tunnel of @pass->home, and
     * take them out, by itself. @pass replaces an earlier one. NULL, as the
     * next two are then: all packets come to the agent.
     */
    void (*let_pass)(void *opaque, const Mip6AgentPass *pass);
    /* It may no longer. */
    void (*stop_pass)(void *opaque, const struct in6_addr *home);
    /*
     * The host's counts of such packets: of @home since it may; NULL: of all.
     * Returns false if it does nothing of that kind.
     */
    bool (*passed)(void *opaque, const struct in6_addr *home,
                   Mip6AgentPassed *passed);
    /* NULL: always 0 */
    uint32_t (*random)(void *opaque);
} Mip6AgentOps;

/* The reasons for which packets end. */
typedef enum Mip6AgentDrop {
    MIP6_AGENT_MALFORMED,
    MIP6_AGENT_CHECKSUM,
    MIP6_AGENT_NO_BINDING,      /* tunnelled by nobody we know */
    MIP6_AGENT_WRONG_SOURCE,    /* the inner source is not its home address */
    MIP6_AGENT_TOO_BIG,         /* the sender was told */
    MIP6_AGENT_HOP_LIMIT,
    MIP6_AGENT_NOT_FOR_US,
    MIP6_AGENT_UNKNOWN_MH,      /* a message of mobility that is not known */
    MIP6_AGENT_UNPROTECTED,     /* ESP is required for the home address */
    MIP6_AGENT_ESP,             /* unknown SPI, wrong key, replayed, cut */
    MIP6_AGENT_RATE,            /* more messages than a node may send */
    MIP6_AGENT_ECN,             /* congestion, which it could not be told */
    MIP6_AGENT_DROPS
} Mip6AgentDrop;

/** mip6_agent_drop_name: a word for it */
const char *mip6_agent_drop_name(Mip6AgentDrop why);

typedef struct Mip6Agent {
    Mip6AgentConfig config;
    struct in6_addr anycast;    /* of all home agents of the prefix */
    const Mip6AgentOps *ops;
    void *opaque;
    const Mip6Keys *opened;     /* whose ESP the packet came in; NULL: none */
    GHashTable *bindings;       /* &Mip6AgentBinding.home -> Mip6AgentBinding */
    Mip6Expiry expiry;          /* Mip6AgentBinding.due */
    Mip6Left left;              /* by nodes that are at home again */
    Mip6Groups groups;
    Mip6Expiry adverts;         /* Mip6AgentBinding.advert */
    Mip6HaLink link;            /* the home link */
    uint64_t registered, refused, ended, expired, restored;
    uint64_t revoked;           /* not allowed any more */
    uint64_t answered[256];     /* acknowledgements, by their status */
    uint64_t errors;            /* that were sent, and answers by ICMPv6 */
    uint64_t muted;             /* that were not, there are too many */
    int64_t errors_paid;        /* the time up to which they are used up */
    uint64_t sent, received;    /* of all mobile nodes, by way of the agent */
    uint64_t stragglers;        /* that came from previous care-of addresses */
    uint64_t solicited;         /* prefix advertisements that were asked for */
    uint64_t advertised;        /* ... and those that were not */
    uint64_t unheard;           /* nobody has answered those */
    uint64_t dropped[MIP6_AGENT_DROPS];
    uint32_t fragment_id;
    PacketReassembly fragments; /* of what mobile nodes send */
} Mip6Agent;

/** mip6_agent_init: @config->allowed stays the caller's */
void mip6_agent_init(Mip6Agent *a, const Mip6AgentConfig *config,
                     const Mip6AgentOps *ops, void *opaque);

/** mip6_agent_destroy: forget all bindings; nothing is sent */
void mip6_agent_destroy(Mip6Agent *a);

/**
 * mip6_agent_packet: a packet for the agent, or for a home address that it has
 * the binding of
 * @buf: @len octets; may be changed
 */
void mip6_agent_packet(Mip6Agent *a, int64_t now, void *buf, size_t len);

/**
 * mip6_agent_group_packet: a packet of the home link to a group
 * @buf: @len octets; may be changed
 */
void mip6_agent_group_packet(Mip6Agent *a, int64_t now, void *buf, size_t len);

/** mip6_agent_claimed: a node of the home link has, or wants, @home */
void mip6_agent_claimed(Mip6Agent *a, int64_t now, const struct in6_addr *home);

/** mip6_agent_heard: a router of the home link has advertised */
void mip6_agent_heard(Mip6Agent *a, int64_t now, const PacketNd *ra);

/** mip6_agent_deadline: when to call mip6_agent_tick(); INT64_MAX: never */
int64_t mip6_agent_deadline(const Mip6Agent *a);

/**
 * mip6_agent_tick: end bindings whose time is over, and DAD
 *
 * At most MIP6_AGENT_TURN of them: if the deadline is still over, call again.
 */
#define MIP6_AGENT_TURN 256u
void mip6_agent_tick(Mip6Agent *a, int64_t now);

/**
 * mip6_agent_configure: go on with another configuration
 * @config: with the same address and prefix; the earlier one's @allowed and
 *          @keys are not looked at any more from then on
 *
 * Bindings that are not allowed any more end. A lifetime that was granted
 * stays, and so do the replay windows of associations.
 */
void mip6_agent_configure(Mip6Agent *a, int64_t now,
                          const Mip6AgentConfig *config);

/**
 * mip6_agent_restore: have a binding that an earlier agent had
 * @saved: home, care_of, sequence, lifetime and expires are taken
 *
 * Returns: MIP6_BA_ACCEPTED, or why it may not be registered any more
 */
uint8_t mip6_agent_restore(Mip6Agent *a, int64_t now,
                           const Mip6AgentBinding *saved);

/** mip6_agent_binding: that of @home, if it holds; NULL: none */
const Mip6AgentBinding *mip6_agent_binding(const Mip6Agent *a,
                                           const struct in6_addr *home);

#endif /* NET_MIP6_HA_AGENT_H */

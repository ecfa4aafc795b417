/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A home agent (RFC 6275 section 10): bindings, and packets between tunnels and
 * the home link
 *
 * Times are in ns of a monotonic clock. Packets start with their IPv6 header.
 */
#ifndef HA_AGENT_H
#define HA_AGENT_H

#include <glib.h>

#include "ha/base/addr.h"
#include "ha/base/expiry.h"
#include "ha/parts/contest.h"
#include "ha/parts/groups.h"
#include "ha/parts/keyring.h"
#include "ha/parts/left.h"
#include "ha/parts/link.h"
#include "net/mip6/core/mh.h"
#include "net/packet/fragment.h"

/* Duplicate address detection for a home address (section 10.3.1) */
typedef enum Mip6AgentDad {
    MIP6_AGENT_DAD_OFF,
    MIP6_AGENT_DAD_OPTIMISTIC,  /* bind at once, revoke if in use */
    MIP6_AGENT_DAD_STRICT,      /* bind when DAD is complete */
} Mip6AgentDad;

typedef struct Mip6AgentConfig {
    struct in6_addr address;    /* of the agent, on the home link */
    struct in6_addr prefix;     /* the home prefix */
    uint8_t prefix_len;
    uint16_t lifetime_max;      /* of a binding; MIP6_LIFETIME_UNIT */
    unsigned bindings_max;
    uint16_t refresh;           /* advised; MIP6_REFRESH_UNIT; 0: none */
    uint32_t mtu;               /* of the links below the tunnels */
    Mip6AgentDad dad;
    int16_t preference;         /* among the home agents of the link */
    unsigned prefixes;          /* number of configured prefixes */
    PacketNdPrefix prefix_info[PACKET_ND_PREFIX_MAX];
    GHashTable *allowed;        /* home addresses; NULL: all */
    bool multicast;             /* multicast for mobile nodes */
    Mip6Keyring *keys;          /* for home addresses with ESP; or NULL */
} Mip6AgentConfig;

typedef struct Mip6AgentBinding {
    struct in6_addr home, care_of;
    uint16_t sequence;
    uint16_t lifetime;          /* granted; MIP6_LIFETIME_UNIT */
    int64_t expires;
    uint64_t sent, received;    /* packets of the node, forwarded here */
    struct in6_addr previous;   /* care-of address before the last move */
    int64_t previous_until;     /* until then it may send late packets */
    uint64_t stragglers;        /* of @sent: from @previous */
    Mip6Contest contest;        /* with another node */
    uint32_t path_mtu;          /* to the care-of address, from errors */
    int64_t path_until;
    bool passes;                /* let_pass() was called */
    bool tentative;             /* DAD is not complete */
    bool listens;               /* listen() was called */
    bool wants_ack;
    int64_t probed_until;       /* until then, a claim revokes it */
    struct in6_addr source;     /* of the Binding Update */
    Mip6GroupsNode *node;       /* at its care-of address; NULL: tentative */
    Mip6Due due;
    Mip6Due advert;             /* time of the next prefix advertisement */
    uint8_t advert_tries;       /* repetitions without an answer */
    uint16_t advert_id;         /* of the last one */
    uint32_t prefixes_version;  /* version that the node knows */
} Mip6AgentBinding;

/* What the host needs to forward a binding's packets by itself. */
typedef struct Mip6AgentPass {
    struct in6_addr home, care_of;
    int64_t expires;            /* no packet passes after this */
    uint32_t room;              /* maximum packet for the tunnel */
    uint32_t path_room;         /* the same, until @path_until */
    int64_t path_until;
} Mip6AgentPass;

/* Packets that the host has forwarded by itself. */
typedef struct Mip6AgentPassed {
    uint64_t sent, received;    /* to and from mobile nodes */
} Mip6AgentPassed;

/* What happens to bindings and prefixes. */
typedef enum Mip6AgentNewsKind {
    MIP6_AGENT_BOUND,           /* for the first time */
    MIP6_AGENT_MOVED,           /* to another care-of address */
    MIP6_AGENT_CONTESTED,       /* to and fro: two nodes have the address */
    MIP6_AGENT_SETTLED,         /* it does not go to and fro any more */
    MIP6_AGENT_ENDED,           /* by its node */
    MIP6_AGENT_EXPIRED,         /* its lifetime is over */
    MIP6_AGENT_REVOKED,         /* not allowed after a reload */
    MIP6_AGENT_REFUSED,         /* a Binding Update */
    MIP6_AGENT_IGNORED,         /* one without the ESP that its home needs */
    MIP6_AGENT_PREFIXES,        /* those of the home link are others */
} Mip6AgentNewsKind;

typedef struct Mip6AgentNews {
    Mip6AgentNewsKind kind;
    struct in6_addr home;
    struct in6_addr care_of;    /* of a refused update: its source */
    struct in6_addr previous;   /* care-of address, if moved or contested */
    unsigned moves;             /* if contested: not told before */
    uint8_t status;             /* why it is refused */
} Mip6AgentNews;

typedef struct Mip6AgentOps {
    /* Give a packet to the host, which forwards it. */
    void (*forward)(void *opaque, const void *packet, size_t len);
    /*
     * The same, for a packet with an outer header in separate memory. NULL:
     * forward() gets both in one buffer.
     */
    void (*forward_behind)(void *opaque, const void *head, size_t head_len,
                           const void *packet, size_t len);
    /*
     * Start or stop to be @home's proxy on the home link and to receive its
     * packets. Returns: false if the host cannot.
     */
    bool (*proxy)(void *opaque, const struct in6_addr *home, bool on);
    /*
     * Send a DAD probe for @home to the home link (RFC 4862 section 5.4.2);
     * answers are passed to mip6_agent_claimed(). Unused without DAD.
     */
    void (*probe)(void *opaque, const struct in6_addr *home);
    /*
     * Start or stop to receive what is sent to the solicited-node group of
     * @home, without proxy(). Only for MIP6_AGENT_DAD_STRICT. May be NULL.
     */
    void (*listen)(void *opaque, const struct in6_addr *home, bool on);
    /*
     * Send a packet to its multicast group on the home link. This and the next
     * one are unused without multicast.
     */
    void (*to_group)(void *opaque, const void *packet, size_t len);
    /*
     * Start or stop to receive packets of @group on the home link. Returns:
     * false if the host cannot.
     */
    bool (*join)(void *opaque, const struct in6_addr *group, bool on);
    /*
     * @b was created or changed, and its acknowledgement is sent after this
     * call; or it has ended: then its lifetime is 0. May be NULL.
     */
    void (*changed)(void *opaque, const Mip6AgentBinding *b);
    /*
     * A message in ESP with the highest number so far, mip6_keys_seen(), is
     * processed after this call. May be NULL.
     */
    void (*seen)(void *opaque, const Mip6Keys *keys);
    /*
     * A message in ESP whose number is not above @number is sent after this
     * call. May be NULL.
     */
    void (*sent)(void *opaque, uint64_t number);
    /*
     * From now on the host may encapsulate and decapsulate packets of
     * @pass->home by itself. @pass replaces an earlier one. NULL: all packets
     * must come to the agent, and the next two are NULL as well.
     */
    void (*let_pass)(void *opaque, const Mip6AgentPass *pass);
    /* The host must stop that. */
    void (*stop_pass)(void *opaque, const struct in6_addr *home);
    /*
     * Counters of such packets: of @home since let_pass(); NULL: of all.
     * Returns: false if the host has no such function.
     */
    bool (*passed)(void *opaque, const struct in6_addr *home,
                   Mip6AgentPassed *passed);
    /*
     * For the log; not for what is restored. Whoever sends updates determines
     * how often. May be NULL.
     */
    void (*tell)(void *opaque, const Mip6AgentNews *news);
    /* NULL: always 0 */
    uint32_t (*random)(void *opaque);
} Mip6AgentOps;

/* Reasons to drop a packet. */
typedef enum Mip6AgentDrop {
    MIP6_AGENT_MALFORMED,
    MIP6_AGENT_CHECKSUM,
    MIP6_AGENT_NO_BINDING,      /* tunnelled, but by no bound node */
    MIP6_AGENT_WRONG_SOURCE,    /* inner source is another address */
    MIP6_AGENT_TOO_BIG,         /* the sender got an error */
    MIP6_AGENT_HOP_LIMIT,
    MIP6_AGENT_NOT_FOR_US,
    MIP6_AGENT_UNKNOWN_MH,      /* a mobility message of unknown type */
    MIP6_AGENT_UNPROTECTED,     /* the home address requires ESP */
    MIP6_AGENT_ESP,             /* unknown SPI, wrong key, replayed, ... */
    MIP6_AGENT_RATE,            /* above the rate limit of a node */
    MIP6_AGENT_ECN,             /* CE mark, but inner packet is Not-ECT */
    MIP6_AGENT_EXTENSION,       /* unknown option or routing header */
    MIP6_AGENT_OTHER_VLAN,      /* by the host: not of the home link */
    MIP6_AGENT_DROPS
} Mip6AgentDrop;

/** mip6_agent_drop_name: name for messages */
const char *mip6_agent_drop_name(Mip6AgentDrop why);

typedef struct Mip6Agent {
    Mip6AgentConfig config;
    struct in6_addr anycast;    /* of all home agents of the prefix */
    const Mip6AgentOps *ops;
    void *opaque;
    const Mip6Keys *opened;     /* of the current packet's ESP; or NULL */
    GHashTable *bindings;       /* &Mip6AgentBinding.home -> Mip6AgentBinding */
    Mip6Expiry expiry;          /* Mip6AgentBinding.due */
    Mip6Left left;              /* of nodes that are at home again */
    Mip6Groups groups;
    Mip6Expiry adverts;         /* Mip6AgentBinding.advert */
    Mip6HaLink link;            /* the home link */
    uint64_t registered, refused, ended, expired, restored;
    uint64_t revoked;           /* not allowed after a reload */
    uint64_t answered[256];     /* acknowledgements, by status */
    uint64_t errors;            /* Binding Errors and ICMPv6 answers sent */
    uint64_t muted;             /* not sent because of the rate limit */
    int64_t errors_until;       /* state of the rate limit */
    uint64_t sent, received;    /* of all mobile nodes, by way of the agent */
    uint64_t stragglers;        /* packets from previous care-of addresses */
    uint64_t solicited;         /* prefix solicitations of bound nodes */
    uint64_t advertised;        /* unsolicited ones */
    uint64_t unheard;           /* of those, without an answer */
    uint64_t dropped[MIP6_AGENT_DROPS];
    uint32_t fragment_id;
    PacketReassembly fragments; /* from mobile nodes */
} Mip6Agent;

/** mip6_agent_init: the caller keeps ownership of @config->allowed */
void mip6_agent_init(Mip6Agent *a, const Mip6AgentConfig *config,
                     const Mip6AgentOps *ops, void *opaque);

/** mip6_agent_destroy: free all bindings; nothing is sent */
void mip6_agent_destroy(Mip6Agent *a);

/**
 * mip6_agent_packet: process a packet for the agent, or for a bound home
 * address
 * @buf: @len octets; may be modified
 */
void mip6_agent_packet(Mip6Agent *a, int64_t now, void *buf, size_t len);

/**
 * mip6_agent_group_packet: process a multicast packet of the home link
 * @buf: @len octets; may be modified
 */
void mip6_agent_group_packet(Mip6Agent *a, int64_t now, void *buf, size_t len);

/** mip6_agent_claimed: a node of the home link has, or probes, @home */
void mip6_agent_claimed(Mip6Agent *a, int64_t now, const struct in6_addr *home);

/** mip6_agent_heard: a router of the home link has sent an advertisement */
void mip6_agent_heard(Mip6Agent *a, int64_t now, const PacketNd *ra);

/** mip6_agent_deadline: when to call mip6_agent_tick(); INT64_MAX: never */
int64_t mip6_agent_deadline(const Mip6Agent *a);

/**
 * mip6_agent_tick: end bindings whose lifetime is over, and DAD
 *
 * It handles at most MIP6_AGENT_TURN; if the deadline is still over, call
 * again.
 */
#define MIP6_AGENT_TURN 256u
void mip6_agent_tick(Mip6Agent *a, int64_t now);

/**
 * mip6_agent_configure: use a new configuration
 * @config: with the same address and prefix; @allowed and @keys of the previous
 *          one are not used any more
 *
 * Bindings that are not allowed any more are ended. Granted lifetimes and the
 * replay windows of associations stay.
 */
void mip6_agent_configure(Mip6Agent *a, int64_t now,
                          const Mip6AgentConfig *config);

/**
 * mip6_agent_restore: restore a binding of an earlier agent
 * @saved: home, care_of, sequence, lifetime and expires are used
 *
 * Returns: MIP6_BA_ACCEPTED, or the status why it cannot be bound any more
 */
uint8_t mip6_agent_restore(Mip6Agent *a, int64_t now,
                           const Mip6AgentBinding *saved);

/** mip6_agent_binding: the binding of @home; NULL: none, or tentative */
const Mip6AgentBinding *mip6_agent_binding(const Mip6Agent *a,
                                           const struct in6_addr *home);

#endif /* HA_AGENT_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The home registration of a mobile node (RFC 6275 sections 11.7 and 11.8)
 *
 * Times are in ns of a monotonic clock.
 */
#ifndef NET_MIP6_BINDING_H
#define NET_MIP6_BINDING_H

#include "net/mip6/core/mh.h"

typedef enum Mip6State {
    MIP6_HOME,                  /* at home, without a binding */
    MIP6_ACQUIRING,             /* away, without a care-of address */
    MIP6_DISCOVERING,           /* has care-of address, but no home agent */
    MIP6_REGISTERING,           /* Binding Update sent, not bound yet */
    MIP6_BOUND,                 /* the home agent has the binding */
    MIP6_RETURNING,             /* at home, the binding is being ended */
} Mip6State;

/* The reason for the state, for users. */
typedef enum Mip6Why {
    MIP6_WHY_NONE,
    MIP6_WHY_MOVED,             /* new link or care-of address */
    MIP6_WHY_NO_CARE_OF,        /* no address on the foreign link */
    MIP6_WHY_NO_ANSWER,         /* no answer to Binding Updates */
    MIP6_WHY_REFUSED,           /* see @status */
    MIP6_WHY_EXPIRED,           /* the binding's lifetime has ended */
    MIP6_WHY_OTHER_NODE,        /* another registers the home address, too */
    MIP6_WHY_UNSUPPORTED,       /* ICMPv6: agent without mobility support */
    MIP6_WHY_ERROR,             /* the agent has sent a Binding Error */
    MIP6_WHY_NEXT_AGENT,        /* trying another home agent */
    /* No answer to Binding Updates, but to other packets: port/probes.c */
    MIP6_WHY_OPTIONS_DROPPED,   /* not to those with destination options */
    MIP6_WHY_UPDATE_UNANSWERED, /* to all others */
    /* Bound, and nothing comes out of the tunnel: see mip6_binding_trouble() */
    MIP6_WHY_TUNNEL_REFUSED,    /* ICMPv6: the agent refuses the packets */
    MIP6_WHY_UNREACHABLE,       /* ICMPv6: they do not reach the agent */
    MIP6_WHY_NO_NEXT_HOP,       /* the foreign link's router does not answer */
    MIP6_WHY_UNPROTECTED,       /* the agent's packets are not in ESP */
    MIP6_WHY_ESP,               /* they are, with another key */
    MIP6_WHY_TUNNEL_SILENT,     /* a probe through the tunnel is lost */
} Mip6Why;

typedef struct Mip6Binding Mip6Binding;

typedef struct Mip6BindingConfig {
    struct in6_addr home;       /* home address */
    uint16_t lifetime;          /* to request; MIP6_LIFETIME_UNIT, not 0 */
} Mip6BindingConfig;

typedef struct Mip6BindingOps {
    /*
     * Send a Binding Update. If @care_of is the home address, it is sent as
     * from home, without a Home Address option. Returns: false if the next hop
     * is not known.
     */
    bool (*send)(void *opaque, const Mip6Binding *b, const Mip6Mh *bu,
                 const struct in6_addr *care_of);
    /*
     * May be NULL. Returns: the earliest time for a Binding Update, because
     * other bindings have sent updates to the same agent.
     */
    int64_t (*not_before)(void *opaque);
    /* May be NULL. The state or its reason has changed. */
    void (*changed)(void *opaque);
} Mip6BindingOps;

struct Mip6Binding {
    Mip6BindingConfig config;
    const Mip6BindingOps *ops;
    void *opaque;
    /* Readable by all: */
    Mip6State state;
    Mip6Why why;
    uint8_t status;             /* of the last Binding Acknowledgement */
    bool is_away;
    bool has_care_of;
    struct in6_addr care_of;    /* in use, or being registered */
    int64_t valid;              /* end of @care_of; INT64_MAX: infinite */
    uint16_t sequence;          /* of the last Binding Update */
    int64_t expires;            /* end of the binding; INT64_MAX: none */
    unsigned tries;             /* Binding Updates without an answer */
    int64_t trip;               /* round-trip time, ns; 0: unknown */
    /* Private. */
    int64_t sent;               /* last Binding Update; INT64_MIN: none */
    int64_t wait;               /* interval until retransmission */
    int64_t next;               /* time of the next one; INT64_MAX: none */
    uint16_t asked;             /* lifetime in the last Binding Update */
    bool was_accepted;          /* the agent in use knows our numbers */
    bool is_other;              /* since then it had a number of another */
    bool is_lost;               /* since then it had no binding of ours */
    unsigned others;            /* registrations in a row with @is_other */
    int64_t passed;             /* last packet from the tunnel; or INT64_MIN */
    int64_t doubted;            /* last mip6_binding_tunnel_refused() heeded */
    int64_t doubt_wait;         /* time to the next one */
};

/**
 * mip6_binding_init: initialize, at home
 * @sequence: random, or that of the last Binding Update ever sent
 */
void mip6_binding_init(Mip6Binding *b, const Mip6BindingConfig *config,
                       const Mip6BindingOps *ops, void *opaque,
                       uint16_t sequence);

/**
 * mip6_binding_away: the node is on a foreign link
 * @care_of: a valid address there; NULL: none yet, or not any more
 *
 * The address is registered, unless it is already. Call again when it changes.
 */
void mip6_binding_away(Mip6Binding *b, int64_t now,
                       const struct in6_addr *care_of);

/**
 * mip6_binding_discover: the node is on a foreign link and searches a home
 * agent
 * @care_of: a valid address there
 * @unanswered: there is no answer yet
 *
 * Call mip6_binding_away() when an agent is known.
 */
void mip6_binding_discover(Mip6Binding *b, const struct in6_addr *care_of,
                           bool unanswered);

/**
 * mip6_binding_next_agent: use another home agent from now on
 *
 * The new agent has no binding. The call has an effect only while a binding is
 * requested. The next tick sends the Binding Update.
 */
void mip6_binding_next_agent(Mip6Binding *b, int64_t now);

/** mip6_binding_limit: request no lifetime beyond the time @valid */
void mip6_binding_limit(Mip6Binding *b, int64_t valid);

/**
 * mip6_binding_home: the node is at home
 *
 * The binding is ended if there may be one.
 */
void mip6_binding_home(Mip6Binding *b, int64_t now);

/**
 * mip6_binding_ack: process a Binding Acknowledgement of the home agent
 *
 * The caller has checked source, destination, and protection if required.
 *
 * Returns: false if it does not answer the last Binding Update
 */
bool mip6_binding_ack(Mip6Binding *b, int64_t now, const Mip6Mh *ba);

/** mip6_binding_error: process a Binding Error of the home agent. */
void mip6_binding_error(Mip6Binding *b, int64_t now, const Mip6Mh *be);

/**
 * mip6_binding_refused_by_icmp: the agent's ICMPv6 error says that it does not
 * support the mobility header or the Home Address option (section 11.3.5,
 * 11.7.3)
 *
 * An agent that has the binding does: its daemon does not run, so it is asked
 * again as if there were no answer.
 *
 * Returns: false if no Binding Update is unanswered
 */
bool mip6_binding_refused_by_icmp(Mip6Binding *b, int64_t now);

/**
 * mip6_binding_unanswered: probes have told why updates have no answer
 * @why: MIP6_WHY_NO_ANSWER, ..._OPTIONS_DROPPED or ..._UPDATE_UNANSWERED
 *
 * Has no effect if one of these is not the reason already.
 */
void mip6_binding_unanswered(Mip6Binding *b, Mip6Why why);

/**
 * mip6_binding_passed: a packet for the home address has come out of the tunnel
 *
 * Ends the trouble that mip6_binding_trouble() tells of.
 */
void mip6_binding_passed(Mip6Binding *b, int64_t now);

/**
 * mip6_binding_trouble: bound, but a packet did not pass the tunnel
 * @why: MIP6_WHY_TUNNEL_REFUSED or a later one; users see it
 *
 * Has no effect unless bound, while an update has no answer or a refusal, or if
 * a packet has passed within the last second.
 *
 * Returns: true if @why is the reason
 */
bool mip6_binding_trouble(Mip6Binding *b, int64_t now, Mip6Why why);

/** mip6_binding_has_trouble: is it bound, and does nothing pass? */
bool mip6_binding_has_trouble(const Mip6Binding *b);

/** mip6_binding_trouble_over: @why does not apply any more */
void mip6_binding_trouble_over(Mip6Binding *b, Mip6Why why);

/**
 * mip6_binding_tunnel_refused: an ICMPv6 error of the home agent says that it
 * does not take a packet out of the tunnel
 *
 * An agent without the binding sends it, for example after a restart. The node
 * registers again, at intervals of 1 s, 2 s, ... 32 s, because anyone who has
 * seen a packet can forge the error. It stays bound: only the agent's answer
 * tells if it was.
 *
 * Returns: as mip6_binding_trouble()
 */
bool mip6_binding_tunnel_refused(Mip6Binding *b, int64_t now);

/** mip6_binding_refresh: register again now (Binding Refresh Request). */
void mip6_binding_refresh(Mip6Binding *b, int64_t now);

/**
 * mip6_binding_retry: packets can be sent now
 *
 * The last Binding Update could not be sent; another is sent at once.
 */
void mip6_binding_retry(Mip6Binding *b, int64_t now);

/**
 * mip6_binding_is_refused: has the agent refused the binding?
 *
 * It will be asked again after an interval.
 */
bool mip6_binding_is_refused(const Mip6Binding *b);

/**
 * mip6_binding_resume: after a time without mip6_binding_tick(), in which the
 * agent's answers were lost, or others have registered: register again at once
 */
void mip6_binding_resume(Mip6Binding *b, int64_t now);

/**
 * mip6_binding_look: instead of mip6_binding_tick() where nothing may be sent:
 * a binding whose lifetime is over is not bound any more
 */
void mip6_binding_look(Mip6Binding *b, int64_t now);

/** mip6_binding_deadline: when to call mip6_binding_tick(); INT64_MAX: never */
int64_t mip6_binding_deadline(const Mip6Binding *b);

/** mip6_binding_tick: do what is due */
void mip6_binding_tick(Mip6Binding *b, int64_t now);

/* The state for migration; times are relative to @now. */
typedef struct Mip6BindingSaved {
    uint8_t bound;              /* there may be a binding */
    uint16_t sequence;
    struct in6_addr care_of;    /* if @bound */
    int64_t remaining;          /* remaining lifetime in ns, if @bound */
} Mip6BindingSaved;

void mip6_binding_save(const Mip6Binding *b, int64_t now,
                       Mip6BindingSaved *saved);

/**
 * mip6_binding_load: continue from another host's state
 *
 * The binding counts as an old one: mip6_binding_away() replaces it, and
 * mip6_binding_home() ends it.
 *
 * Returns: false if @saved is invalid
 */
bool mip6_binding_load(Mip6Binding *b, int64_t now,
                       const Mip6BindingSaved *saved);

/** mip6_why_name: name for messages and QMP */
const char *mip6_why_name(Mip6Why why);

#endif /* NET_MIP6_BINDING_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The home registration of a mobile node (RFC 6275 sections 11.7 and 11.8)
 *
 * Times are ns of a clock that never steps.
 */
#ifndef NET_MIP6_BINDING_H
#define NET_MIP6_BINDING_H

#include "net/mip6/core/mh.h"

typedef enum Mip6State {
    MIP6_HOME,                  /* no binding, none is needed */
    MIP6_ACQUIRING,             /* away, without a care-of address */
    MIP6_DISCOVERING,           /* with one, and no home agent is known */
    MIP6_REGISTERING,           /* a Binding Update is out, nothing is bound */
    MIP6_BOUND,                 /* the home agent has our binding */
    MIP6_RETURNING,             /* at home, the binding is being ended */
} Mip6State;

/* Why the state is what it is: for people. */
typedef enum Mip6Why {
    MIP6_WHY_NONE,
    MIP6_WHY_MOVED,             /* another link, another care-of address */
    MIP6_WHY_NO_CARE_OF,        /* the foreign link gives no address */
    MIP6_WHY_NO_ANSWER,         /* Binding Updates are not answered */
    MIP6_WHY_REFUSED,           /* @status says why */
    MIP6_WHY_EXPIRED,           /* the binding's lifetime is over */
    MIP6_WHY_UNSUPPORTED,       /* ICMPv6: the agent knows no mobility header */
    MIP6_WHY_ERROR,             /* a Binding Error has come */
    MIP6_WHY_NEXT_AGENT,        /* another home agent is asked */
} Mip6Why;

typedef struct Mip6Binding Mip6Binding;

typedef struct Mip6BindingConfig {
    struct in6_addr home;       /* home address */
    uint16_t lifetime;          /* to ask for; MIP6_LIFETIME_UNIT, not 0 */
} Mip6BindingConfig;

typedef struct Mip6BindingOps {
    /*
     * Send a Binding Update. With @care_of equal to the home address it goes
     * out as from home: without a Home Address option.
     */
    void (*send)(void *opaque, const Mip6Binding *b, const Mip6Mh *bu,
                 const struct in6_addr *care_of);
    /*
     * May be NULL. Returns the time from which on a Binding Update may be sent,
     * as other bindings have sent theirs to the same agent.
     */
    int64_t (*not_before)(void *opaque);
    /* May be NULL: the state, or its reason, is another. */
    void (*changed)(void *opaque);
} Mip6BindingOps;

struct Mip6Binding {
    Mip6BindingConfig config;
    const Mip6BindingOps *ops;
    void *opaque;
    /* For all to read: */
    Mip6State state;
    Mip6Why why;
    uint8_t status;             /* of the last Binding Acknowledgement */
    bool is_away;
    bool has_care_of;
    struct in6_addr care_of;    /* in use, or being registered */
    int64_t valid;              /* until when; INT64_MAX: without an end */
    uint16_t sequence;          /* of the last Binding Update */
    int64_t expires;            /* end of the binding; INT64_MAX: none */
    unsigned tries;             /* Binding Updates since the last answer */
    int64_t trip;               /* ns that the last answer took; 0: unknown */
    /* Private. */
    int64_t sent;               /* the last Binding Update; INT64_MIN: never */
    int64_t wait;               /* until the next one, if there is no answer */
    int64_t next;               /* when to send; INT64_MAX: nothing to send */
    uint16_t asked;             /* lifetime in the last Binding Update */
};

/**
 * mip6_binding_init: begin, at home
 * @sequence: random, or that of the last Binding Update ever sent
 */
void mip6_binding_init(Mip6Binding *b, const Mip6BindingConfig *config,
                       const Mip6BindingOps *ops, void *opaque,
                       uint16_t sequence);

/**
 * mip6_binding_away: the node is on a foreign link
 * @care_of: an address there that may be used; NULL: none yet, or none any more
 *
 * Registers it, unless it is registered. To be called again when it changes.
 */
void mip6_binding_away(Mip6Binding *b, int64_t now,
                       const struct in6_addr *care_of);

/**
 * mip6_binding_discover: the node is on a foreign link, and its home agent is
 * being looked for
 * @care_of: an address there that may be used
 * @unanswered: nobody has answered yet
 *
 * mip6_binding_away() follows when an agent is known.
 */
void mip6_binding_discover(Mip6Binding *b, const struct in6_addr *care_of,
                           bool unanswered);

/**
 * mip6_binding_next_agent: another home agent is to be asked from now on
 *
 * It has no binding. Does nothing unless one is being asked for. The next tick
 * sends the Binding Update.
 */
void mip6_binding_next_agent(Mip6Binding *b, int64_t now);

/** mip6_binding_limit: no binding is asked for beyond the time @valid */
void mip6_binding_limit(Mip6Binding *b, int64_t valid);

/**
 * mip6_binding_home: the node is at home
 *
 * Ends the binding if there may be one.
 */
void mip6_binding_home(Mip6Binding *b, int64_t now);

/**
 * mip6_binding_ack: a Binding Acknowledgement has come from the home agent
 *
 * The caller has checked from whom, for whom, and that it was protected if it
 * had to be.
 *
 * Returns: false if it is not the answer to the last Binding Update
 */
bool mip6_binding_ack(Mip6Binding *b, int64_t now, const Mip6Mh *ba);

/** mip6_binding_error: a Binding Error has come from the home agent. */
void mip6_binding_error(Mip6Binding *b, int64_t now, const Mip6Mh *be);

/**
 * mip6_binding_refused_by_icmp: the agent's ICMPv6 says that it does not know
 * the mobility header or the Home Address option (section 11.3.5, 11.7.3)
 *
 * Returns: false if no Binding Update is out that it could be about
 */
bool mip6_binding_refused_by_icmp(Mip6Binding *b, int64_t now);

/** mip6_binding_refresh: register again now, as a refresh request asks. */
void mip6_binding_refresh(Mip6Binding *b, int64_t now);

/**
 * mip6_binding_retry: what could not be sent before can be sent now
 *
 * The last Binding Update did not leave the node; another goes out at once.
 */
void mip6_binding_retry(Mip6Binding *b, int64_t now);

/**
 * mip6_binding_is_refused: does the agent not want this binding?
 *
 * It is asked again all the same, after a while.
 */
bool mip6_binding_is_refused(const Mip6Binding *b);

/** mip6_binding_deadline: when to call mip6_binding_tick(); INT64_MAX: never */
int64_t mip6_binding_deadline(const Mip6Binding *b);

/** mip6_binding_tick: do what is due */
void mip6_binding_tick(Mip6Binding *b, int64_t now);

/* The part that a migration carries; times relative to @now. */
typedef struct Mip6BindingSaved {
    uint8_t bound;              /* there may be a binding */
    uint16_t sequence;
    struct in6_addr care_of;    /* if @bound */
    int64_t remaining;          /* ns of the binding's lifetime, if @bound */
} Mip6BindingSaved;

void mip6_binding_save(const Mip6Binding *b, int64_t now,
                       Mip6BindingSaved *saved);

/**
 * mip6_binding_load: go on where another node was
 *
 * The binding counts as one of before: it is replaced by mip6_binding_away(),
 * or ended by mip6_binding_home().
 *
 * Returns: false if @saved cannot be
 */
bool mip6_binding_load(Mip6Binding *b, int64_t now,
                       const Mip6BindingSaved *saved);

/** mip6_why_name: for people, and for QMP */
const char *mip6_why_name(Mip6Why why);

#endif /* NET_MIP6_BINDING_H */

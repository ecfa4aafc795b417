/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The home registration of a mobile node (RFC 6275 sections 11.7 and 11.8)
 *
 * Theory of operation
 * ===================
 *
 *            away                     care-of address
 *   HOME ------------> ACQUIRING -----------( + )--------> REGISTERING
 *    ^                     ^   care-of address is gone        |   ^
 *    |                     +----------------------------------+   |
 *    |                     +------------------+   accepted    |   | expired,
 *    | acknowledged,       |                  |               v   | refused
 *    | or expired          +--------------- BOUND <-----------+---+
 *    |                                        |
 *    +------------- RETURNING <---------------+
 *                                home
 *
 * At ( + ), a node that does not know its home agent yet is in DISCOVERING.
 *
 * Only one Binding Update is unanswered at a time. Each has a new sequence
 * number, also a retransmission (section 11.8), and only the answer to the last
 * one is accepted. Without an answer it is retransmitted after 1.5 s if there
 * is no binding, otherwise after 1 s; the interval doubles each time up to 32 s
 * and stays there, because a VM cannot give up. A refusal that is not about the
 * sequence number is handled like a missing answer, but with the longest
 * interval at once, because the agent is not likely to change its mind.
 *
 * While a new care-of address is being registered, the old binding exists until
 * its lifetime ends. The state is BOUND only if the binding is for the current
 * care-of address. If the agent still has another address, the state is
 * REGISTERING, because nothing can be received at that address.
 *
 * If the agent finds a sequence number too old (status 135), the number is
 * corrected from its answer, and the update is repeated at once. To forge this
 * answer, an attacker must be on the path or have the keys; the rate limit
 * below bounds the effect.
 *
 * An agent that has accepted this node's numbers, and then has one that it did
 * not send, has it from another node with the same home address. A VM that ran
 * elsewhere meanwhile, or was loaded from a snapshot, has this once. So two such
 * registrations in a row are told, until one goes as it should.
 *
 * An agent that has restarted may have lost the binding. Its ICMPv6 errors
 * about tunnelled packets tell of this, but are not authenticated. So they are
 * only a reason to register again, less and less often, and only while nothing
 * else comes out of the tunnel.
 *
 * At most MAX_UPDATE_RATE updates a second are sent; earlier ones are delayed.
 * The limit applies to all bindings with the same agent together, so
 * ops->not_before() can delay an update as well.
 */
#include <string.h>

#include "net/mip6/core/binding.h"
#include "base/units.h"

/* Section 12. */
#define INITIAL_FIRST           (SECOND * 3 / 2)
#define INITIAL                 SECOND
#define LONGEST                 (32 * SECOND)
#define RATE_GAP                (SECOND / 3)    /* of MAX_UPDATE_RATE */

/*
 * Time before the end of a binding for the refresh; at most half its lifetime.
 */
#define REFRESH_BEFORE          (10 * SECOND)
#define OTHERS_MIN              2u      /* registrations in a row */
/* The tunnel works if a packet came out of it so lately. */
#define PASSED_LATELY           SECOND

static int64_t lifetime_ns(uint16_t lifetime)
{
    return (int64_t)lifetime * MIP6_LIFETIME_UNIT * SECOND;
}

static bool may_be_bound(const Mip6Binding *b)
{
    return b->expires != INT64_MAX;
}

/*
 * The end of the agent's binding; INT64_MAX: it has none. The agent may have
 * received an update that was not answered.
 */
static int64_t may_end(const Mip6Binding *b)
{
    return may_be_bound(b) || b->tries == 0
           ? b->expires : b->sent + lifetime_ns(b->config.lifetime);
}

static void become(Mip6Binding *b, Mip6State state, Mip6Why why)
{
    bool differs = b->state != state || b->why != why;

    b->state = state;
    b->why = why;
    if (differs && b->ops->changed) {
        b->ops->changed(b->opaque);
    }
}

/* Starts over with the shortest interval. */
static void restart(Mip6Binding *b, int64_t now)
{
    b->tries = 0;
    b->wait = may_be_bound(b) ? INITIAL : INITIAL_FIRST;
    b->next = now;
    if (b->sent != INT64_MIN && b->next < b->sent + RATE_GAP) {
        b->next = b->sent + RATE_GAP;
    }
}

/* There is no binding any more. */
static void forget(Mip6Binding *b)
{
    b->expires = INT64_MAX;
}

void mip6_binding_init(Mip6Binding *b, const Mip6BindingConfig *config,
                       const Mip6BindingOps *ops, void *opaque,
                       uint16_t sequence)
{
    memset(b, 0, sizeof(*b));
    b->config = *config;
    b->ops = ops;
    b->opaque = opaque;
    b->state = MIP6_HOME;
    b->sequence = sequence;
    b->expires = b->next = b->valid = INT64_MAX;
    b->sent = b->passed = b->doubted = INT64_MIN;
}

/* --- movements ------------------------------------------------------------ */

static bool is_registered(const Mip6Binding *b,
                          const struct in6_addr *care_of)
{
    return b->is_away && b->has_care_of &&
           (b->state == MIP6_BOUND || b->state == MIP6_REGISTERING) &&
           IN6_ARE_ADDR_EQUAL(&b->care_of, care_of);
}

void mip6_binding_away(Mip6Binding *b, int64_t now,
                       const struct in6_addr *care_of)
{
    if (!care_of) {
        b->is_away = true;
        b->has_care_of = false;
        b->next = INT64_MAX;
        become(b, MIP6_ACQUIRING, MIP6_WHY_NO_CARE_OF);
        return;
    }
    if (is_registered(b, care_of)) {
        return;
    }
    b->is_away = true;
    b->has_care_of = true;
    b->care_of = *care_of;
    restart(b, now);
    become(b, MIP6_REGISTERING, MIP6_WHY_MOVED);
    mip6_binding_tick(b, now);
}

void mip6_binding_discover(Mip6Binding *b, const struct in6_addr *care_of,
                           bool unanswered)
{
    b->is_away = true;
    b->has_care_of = true;
    b->care_of = *care_of;
    b->next = INT64_MAX;
    become(b, MIP6_DISCOVERING, unanswered ? MIP6_WHY_NO_ANSWER
                                           : MIP6_WHY_NONE);
}

void mip6_binding_next_agent(Mip6Binding *b, int64_t now)
{
    if (b->state != MIP6_REGISTERING) {
        return;
    }
    forget(b);
    b->was_accepted = b->is_other = false;
    restart(b, now);
    become(b, MIP6_REGISTERING, MIP6_WHY_NEXT_AGENT);
}

void mip6_binding_limit(Mip6Binding *b, int64_t valid)
{
    b->valid = valid;
}

void mip6_binding_home(Mip6Binding *b, int64_t now)
{
    if (b->state == MIP6_RETURNING) {
        return;
    }
    b->is_away = false;
    b->has_care_of = false;
    if (may_end(b) == INT64_MAX) {
        b->next = INT64_MAX;
        become(b, MIP6_HOME, MIP6_WHY_NONE);
        return;
    }
    b->expires = may_end(b);
    restart(b, now);
    become(b, MIP6_RETURNING, MIP6_WHY_MOVED);
    mip6_binding_tick(b, now);
}

/* --- messages of the home agent ------------------------------------------- */

/* Reasons that end with the next packet out of the tunnel. */
static bool is_trouble(Mip6Why why)
{
    return why >= MIP6_WHY_TUNNEL_REFUSED;
}

/*
 * Section 11.7.3: the granted lifetime. It starts when the update was sent, so
 * the binding never ends earlier at the agent than here.
 */
static void granted(Mip6Binding *b, const Mip6Mh *ba)
{
    int64_t lifetime = lifetime_ns(ba->lifetime < b->asked ? ba->lifetime
                                                          : b->asked);
    int64_t refresh = lifetime - REFRESH_BEFORE;

    if (refresh < lifetime / 2) {
        refresh = lifetime / 2;
    }
    if (ba->has_refresh && ba->refresh) {
        int64_t advice = (int64_t)ba->refresh * MIP6_REFRESH_UNIT * SECOND;

        refresh = advice < refresh ? advice : refresh;
    }
    b->expires = b->sent + lifetime;
    b->next = b->sent + refresh;
    b->wait = INITIAL;
    b->tries = 0;
}

/* Returns: the reason of a state that is as it should be, but for others */
static Mip6Why note_others(Mip6Binding *b)
{
    if (b->is_other) {
        b->others++;
    } else if (!b->is_lost) {
        b->others = 0;
    }
    b->was_accepted = true;
    b->is_other = b->is_lost = false;
    return b->others < OTHERS_MIN ? MIP6_WHY_NONE : MIP6_WHY_OTHER_NODE;
}

static void accepted(Mip6Binding *b, const Mip6Mh *ba)
{
    Mip6Why why;

    if (b->state == MIP6_RETURNING) {
        forget(b);
        b->next = INT64_MAX;
        b->tries = 0;
        become(b, MIP6_HOME, MIP6_WHY_NONE);
        return;
    }
    if (ba->lifetime == 0) {
        /* The agent has deleted the binding, as asked. */
        forget(b);
        b->wait = LONGEST;
        b->next = b->sent + LONGEST;
        become(b, MIP6_REGISTERING, MIP6_WHY_REFUSED);
        return;
    }
    granted(b, ba);
    why = note_others(b);
    /* The answer is no packet of the tunnel. */
    become(b, MIP6_BOUND, why == MIP6_WHY_NONE && b->state == MIP6_BOUND &&
                          is_trouble(b->why) &&
                          b->why != MIP6_WHY_TUNNEL_REFUSED ? b->why : why);
}

static void refused(Mip6Binding *b, int64_t now, Mip6Why why)
{
    b->wait = LONGEST;
    b->next = now + LONGEST;
    if (b->state == MIP6_BOUND && b->expires > now) {
        /*
         * The binding still holds until its lifetime ends; users see the
         * reason.
         */
        become(b, MIP6_BOUND, why);
    } else {
        become(b, b->state == MIP6_RETURNING ? MIP6_RETURNING
                                             : MIP6_REGISTERING, why);
    }
}

/*
 * An agent may bind before duplicate address detection is complete, and revoke
 * the binding with a second answer to the same update. RFC 6275 allows one
 * answer only. Ignoring the second one would mean to send into a tunnel that
 * does not exist.
 */
static bool taken_back(Mip6Binding *b, int64_t now, const Mip6Mh *ba)
{
    if (b->state != MIP6_BOUND || ba->status != MIP6_BA_DAD_FAILED ||
        ba->sequence != b->sequence) {
        return false;
    }
    b->status = ba->status;
    b->tries = 1;
    forget(b);
    b->wait = LONGEST;
    b->next = now + LONGEST;
    become(b, MIP6_REGISTERING, MIP6_WHY_REFUSED);
    return true;
}

bool mip6_binding_ack(Mip6Binding *b, int64_t now, const Mip6Mh *ba)
{
    if (b->tries == 0 || b->next == INT64_MAX) {
        return taken_back(b, now, ba);  /* no update is unanswered */
    }
    if (ba->status == MIP6_BA_SEQUENCE) {
        /*
         * The answer has the last number that the agent accepted (section
         * 9.5.1).
         */
        if (!mip6_sequence_is_newer(ba->sequence, b->sequence) &&
            ba->sequence != b->sequence) {
            return false;
        }
        b->status = ba->status;
        b->sequence = ba->sequence;
        b->is_other |= b->was_accepted;
        restart(b, now);
        mip6_binding_tick(b, now);
        return true;
    }
    if (ba->sequence != b->sequence) {
        return false;
    }
    b->status = ba->status;
    if (b->tries == 1) {
        b->trip = now - b->sent;
    }
    if (mip6_ba_accepted(ba->status)) {
        accepted(b, ba);
    } else if (b->state == MIP6_RETURNING &&
               ba->status == MIP6_BA_NOT_HOME_AGENT) {
        /* The agent has no binding, so there is nothing to end. */
        forget(b);
        b->next = INT64_MAX;
        become(b, MIP6_HOME, MIP6_WHY_NONE);
    } else {
        refused(b, now, MIP6_WHY_REFUSED);
    }
    return true;
}

void mip6_binding_error(Mip6Binding *b, int64_t now, const Mip6Mh *be)
{
    if (b->state != MIP6_BOUND && b->state != MIP6_REGISTERING) {
        return;
    }
    if (be->status == MIP6_BE_UNKNOWN_BINDING && b->state == MIP6_BOUND) {
        /* The agent has lost the binding, for example in a restart. */
        forget(b);
        b->is_lost = true;
        restart(b, now);
        become(b, MIP6_REGISTERING, MIP6_WHY_ERROR);
        mip6_binding_tick(b, now);
    } else {
        refused(b, now, MIP6_WHY_ERROR);
    }
}

bool mip6_binding_refused_by_icmp(Mip6Binding *b, int64_t now)
{
    if (!b->tries || b->next == INT64_MAX) {
        return false;
    }
    if (b->state == MIP6_BOUND) {
        become(b, MIP6_BOUND, MIP6_WHY_UNSUPPORTED);
    } else {
        refused(b, now, MIP6_WHY_UNSUPPORTED);
    }
    return true;
}

/* --- the tunnel ----------------------------------------------------------- */

static bool is_unanswered(Mip6Why why)
{
    return why == MIP6_WHY_NO_ANSWER || why == MIP6_WHY_OPTIONS_DROPPED ||
           why == MIP6_WHY_UPDATE_UNANSWERED;
}

void mip6_binding_unanswered(Mip6Binding *b, Mip6Why why)
{
    if (is_unanswered(b->why)) {
        become(b, b->state, why);
    }
}

bool mip6_binding_has_trouble(const Mip6Binding *b)
{
    return b->state == MIP6_BOUND && is_trouble(b->why);
}

void mip6_binding_passed(Mip6Binding *b, int64_t now)
{
    b->passed = now;
    if (is_trouble(b->why)) {
        become(b, b->state, MIP6_WHY_NONE);
    }
}

bool mip6_binding_trouble(Mip6Binding *b, int64_t now, Mip6Why why)
{
    if (b->state != MIP6_BOUND ||
        (b->why != MIP6_WHY_NONE && !is_trouble(b->why)) ||
        (b->passed != INT64_MIN && now - b->passed < PASSED_LATELY)) {
        return false;
    }
    become(b, MIP6_BOUND, why);
    return true;
}

void mip6_binding_trouble_over(Mip6Binding *b, Mip6Why why)
{
    if (b->why == why) {
        become(b, b->state, MIP6_WHY_NONE);
    }
}

bool mip6_binding_tunnel_refused(Mip6Binding *b, int64_t now)
{
    if (!mip6_binding_trouble(b, now, MIP6_WHY_TUNNEL_REFUSED)) {
        return false;
    }
    if (b->doubted == INT64_MIN || now - b->doubted >= 2 * LONGEST) {
        b->doubt_wait = INITIAL;
    } else if (now - b->doubted >= b->doubt_wait) {
        b->doubt_wait = b->doubt_wait * 2 < LONGEST ? b->doubt_wait * 2
                                                    : LONGEST;
    } else {
        return true;
    }
    b->doubted = now;
    mip6_binding_refresh(b, now);
    return true;
}

void mip6_binding_refresh(Mip6Binding *b, int64_t now)
{
    if (b->state == MIP6_BOUND && b->tries == 0) {
        restart(b, now);
        mip6_binding_tick(b, now);
    }
}

void mip6_binding_retry(Mip6Binding *b, int64_t now)
{
    if (b->tries && b->next != INT64_MAX) {
        b->sent = INT64_MIN;
        restart(b, now);
        mip6_binding_tick(b, now);
    }
}

/* --- time ----------------------------------------------------------------- */

/* Section 11.7.1: at most the remaining lifetime of the care-of address. */
static uint16_t lifetime_to_ask(const Mip6Binding *b, int64_t now)
{
    int64_t left = b->valid - now;

    if (b->valid == INT64_MAX || left >= lifetime_ns(b->config.lifetime)) {
        return b->config.lifetime;
    }
    return left < lifetime_ns(1) ? 1 : left / lifetime_ns(1);
}

static void transmit(Mip6Binding *b, int64_t now)
{
    bool home = b->state == MIP6_RETURNING;
    Mip6Mh bu = {
        .type = MIP6_MH_BU,
        .sequence = ++b->sequence,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME,
        .lifetime = home ? 0 : lifetime_to_ask(b, now),
        .has_alternate = true,
        .alternate = home ? b->config.home : b->care_of,
    };

    if (b->tries) {
        b->wait = b->wait * 2 < LONGEST ? b->wait * 2 : LONGEST;
    }
    b->tries++;
    b->sent = now;
    b->next = now + b->wait;
    b->asked = bu.lifetime;
    if (b->ops->send(b->opaque, b, &bu, &bu.alternate)) {
        mip6_binding_trouble_over(b, MIP6_WHY_NO_NEXT_HOP);
    } else if (b->tries > 1) {
        become(b, b->state, MIP6_WHY_NO_NEXT_HOP);
    }
}

static void expire(Mip6Binding *b, int64_t now)
{
    forget(b);
    if (b->state == MIP6_RETURNING) {
        b->next = INT64_MAX;
        b->tries = 0;
        become(b, MIP6_HOME, MIP6_WHY_NONE);
    } else if (b->state == MIP6_BOUND) {
        become(b, MIP6_REGISTERING, MIP6_WHY_EXPIRED);
    }
}

bool mip6_binding_is_refused(const Mip6Binding *b)
{
    return b->why == MIP6_WHY_REFUSED || b->why == MIP6_WHY_UNSUPPORTED ||
           b->why == MIP6_WHY_ERROR;
}

int64_t mip6_binding_deadline(const Mip6Binding *b)
{
    return b->next < b->expires ? b->next : b->expires;
}

void mip6_binding_tick(Mip6Binding *b, int64_t now)
{
    if (b->expires <= now) {
        expire(b, now);
    }
    if (b->next > now) {
        return;
    }
    if (b->ops->not_before) {
        int64_t at = b->ops->not_before(b->opaque);

        if (at > now) {
            b->next = at;
            return;
        }
    }
    if (b->tries && !mip6_binding_is_refused(b) && !is_unanswered(b->why)) {
        become(b, b->state, MIP6_WHY_NO_ANSWER);
    }
    transmit(b, now);
}

void mip6_binding_resume(Mip6Binding *b, int64_t now)
{
    if (b->state == MIP6_BOUND || b->state == MIP6_REGISTERING) {
        restart(b, now);
        mip6_binding_tick(b, now);
    }
}

void mip6_binding_look(Mip6Binding *b, int64_t now)
{
    if (b->state == MIP6_BOUND && b->expires <= now) {
        expire(b, now);
    }
}

/* --- migration ------------------------------------------------------------ */

void mip6_binding_save(const Mip6Binding *b, int64_t now,
                       Mip6BindingSaved *saved)
{
    int64_t expires = may_end(b);

    memset(saved, 0, sizeof(*saved));
    saved->sequence = b->sequence;
    if (expires != INT64_MAX && expires > now) {
        saved->bound = true;
        saved->care_of = b->care_of;
        saved->remaining = expires - now;
    }
}

bool mip6_binding_load(Mip6Binding *b, int64_t now,
                       const Mip6BindingSaved *saved)
{
    if (saved->bound > 1 ||
        (saved->bound && (saved->remaining <= 0 ||
                          saved->remaining > lifetime_ns(UINT16_MAX)))) {
        return false;
    }
    b->sequence = saved->sequence;
    b->expires = saved->bound ? now + saved->remaining : INT64_MAX;
    b->care_of = saved->care_of;
    return true;
}

/* --- names ---------------------------------------------------------------- */

const char *mip6_why_name(Mip6Why why)
{
    static const char *const names[] = {
        [MIP6_WHY_NONE] = "none",
        [MIP6_WHY_MOVED] = "moved",
        [MIP6_WHY_NO_CARE_OF] = "no-care-of-address",
        [MIP6_WHY_NO_ANSWER] = "no-answer",
        [MIP6_WHY_REFUSED] = "refused",
        [MIP6_WHY_EXPIRED] = "expired",
        [MIP6_WHY_OTHER_NODE] = "other-node",
        [MIP6_WHY_UNSUPPORTED] = "unsupported",
        [MIP6_WHY_ERROR] = "binding-error",
        [MIP6_WHY_NEXT_AGENT] = "next-agent",
        [MIP6_WHY_OPTIONS_DROPPED] = "options-dropped",
        [MIP6_WHY_UPDATE_UNANSWERED] = "update-unanswered",
        [MIP6_WHY_TUNNEL_REFUSED] = "tunnel-refused",
        [MIP6_WHY_UNREACHABLE] = "unreachable",
        [MIP6_WHY_NO_NEXT_HOP] = "no-next-hop",
        [MIP6_WHY_UNPROTECTED] = "unprotected",
        [MIP6_WHY_ESP] = "esp",
        [MIP6_WHY_TUNNEL_SILENT] = "tunnel-silent",
    };

    return names[why];
}

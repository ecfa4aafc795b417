/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Creates, changes and ends bindings (RFC 6275 section 10.3) */
#include <stddef.h>

#include "ha/agent/adverts.h"
#include "ha/agent/internal.h"

#define DAD_WAIT        SECOND  /* RETRANS_TIMER (RFC 4861 section 10) */
#define QUERY_GAP       (SECOND / 1000)         /* between queries at start */
#define STRAGGLE        (10 * SECOND)   /* after a node has moved */

/* Section 10.3.1: may @home be bound? Returns: MIP6_BA_ACCEPTED, or a status */
static uint8_t check_home(const Mip6Agent *a, int64_t now,
                          const struct in6_addr *home,
                          const struct in6_addr *care_of)
{
    uint32_t valid, preferred;

    if (!packet_ip6_in_prefix(home, &a->config.prefix, a->config.prefix_len) ||
        packet_ip6_equal(home, &a->config.address) ||
        packet_ip6_equal(home, &a->anycast)) {
        return MIP6_BA_NOT_HOME_SUBNET;
    }
    if (mip6_ha_link_left(&a->link, now, &valid, &preferred) && !valid) {
        return MIP6_BA_NOT_HOME_SUBNET;         /* prefix not valid */
    }
    if (a->config.allowed && !g_hash_table_contains(a->config.allowed, home)) {
        return MIP6_BA_PROHIBITED;
    }
    if (!packet_ip6_is_routable(care_of) ||
        packet_ip6_equal(care_of, &a->config.address) ||
        packet_ip6_equal(care_of, &a->anycast)) {
        return MIP6_BA_INVALID_COA;
    }
    return MIP6_BA_ACCEPTED;
}

static Mip6AgentBinding *container(Mip6Due *due)
{
    return (void *)((char *)due - offsetof(Mip6AgentBinding, due));
}

static void tell_change(Mip6Agent *a, const Mip6AgentBinding *b)
{
    if (a->ops->changed) {
        a->ops->changed(a->opaque, b);
    }
}

static void listen_to(Mip6Agent *a, Mip6AgentBinding *b, bool on)
{
    if (b->listens != on && a->ops->listen) {
        b->listens = on;
        a->ops->listen(a->opaque, &b->home, on);
    }
}

static void end_binding(Mip6Agent *a, Mip6AgentBinding *b)
{
    listen_to(a, b, false);
    mip6_agent_stop_pass(a, b);
    mip6_expiry_remove(&a->expiry, &b->due);
    if (b->node) {
        mip6_groups_unbind(&a->groups, b->node, b);
    }
    mip6_adverts_end(a, b);
    g_hash_table_steal(a->bindings, &b->home);
    if (!b->tentative) {
        a->ops->proxy(a->opaque, &b->home, false);
        b->lifetime = 0;
        tell_change(a, b);
    }
    g_free(b);
}

/* Creates a tentative binding of @home. Returns: NULL if there is no space */
static Mip6AgentBinding *new_binding(Mip6Agent *a, const struct in6_addr *home)
{
    Mip6AgentBinding *b;

    if (g_hash_table_size(a->bindings) >= a->config.bindings_max) {
        return NULL;
    }
    b = g_new0(Mip6AgentBinding, 1);
    b->home = *home;
    b->tentative = true;
    g_hash_table_insert(a->bindings, &b->home, b);
    return b;
}

/* Groups belong to care-of addresses, so they follow the binding. */
static void set_node(Mip6Agent *a, Mip6AgentBinding *b)
{
    Mip6GroupsNode *was = b->node;

    if (was && packet_ip6_equal(&was->care_of, &b->care_of)) {
        return;
    }
    b->node = mip6_groups_bind(&a->groups, &b->care_of, b);
    if (was) {
        mip6_groups_unbind(&a->groups, was, b);
    }
}

/* The node leaves home again: forgets the address that it had left before. */
static void recall_left(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    const Mip6LeftHome *left = mip6_left_find(&a->left, now, &b->home);

    if (left) {
        b->previous = left->care_of;
        b->previous_until = left->due.at;
    }
    mip6_left_remove(&a->left, &b->home);
}

/*
 * Makes the binding valid. Returns: false, with the binding freed, if the host
 * cannot receive the home address's packets.
 */
static bool make_valid(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    if (b->tentative && !a->ops->proxy(a->opaque, &b->home, true)) {
        end_binding(a, b);
        return false;
    }
    if (b->tentative) {
        mip6_adverts_begin(a, now, b);
        recall_left(a, now, b);
    }
    b->tentative = false;
    listen_to(a, b, false);     /* the proxy does */
    set_node(a, b);
    mip6_expiry_set(&a->expiry, &b->due, b->expires);
    mip6_agent_let_pass(a, b);
    return true;
}

/* At most the valid lifetime of the home prefix (section 10.3.1). */
static uint16_t grant(const Mip6Agent *a, int64_t now, uint16_t asked)
{
    uint16_t lifetime = MIN(asked, a->config.lifetime_max);
    uint32_t valid, preferred;

    if (mip6_ha_link_left(&a->link, now, &valid, &preferred)) {
        lifetime = MIN(lifetime, MAX(valid / MIP6_LIFETIME_UNIT, 1));
    }
    return lifetime;
}

/* Applies a Binding Update to a binding. */
static void update_binding(Mip6Agent *a, int64_t now, Mip6AgentBinding *b,
                           const Mip6Mh *bu, const struct in6_addr *care_of,
                           const struct in6_addr *source)
{
    if (!b->tentative && !packet_ip6_equal(&b->care_of, care_of)) {
        b->previous = b->care_of;
        b->previous_until = now + STRAGGLE;
    }
    if (!packet_ip6_equal(&b->care_of, care_of)) {
        b->path_until = 0;      /* another path */
    }
    b->care_of = *care_of;
    b->source = *source;
    b->sequence = bu->sequence;
    b->wants_ack = bu->flags & MIP6_BU_ACK;
    b->lifetime = grant(a, now, bu->lifetime);
    b->expires = now + b->lifetime * (MIP6_LIFETIME_UNIT * SECOND);
}

/*
 * Starts DAD. Another node that probes at the same time is heard, too, so the
 * group comes first (RFC 4862 section 5.4.2). Returns: true if the binding must
 * wait for it
 */
static bool probe(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    bool waits = b->tentative;

    listen_to(a, b, waits);
    b->probed_until = now + DAD_WAIT;
    a->ops->probe(a->opaque, &b->home);
    if (waits) {
        mip6_expiry_set(&a->expiry, &b->due, b->probed_until);
        return true;
    }
    return false;
}

/* The binding is valid: acknowledges it. */
static void confirm(Mip6Agent *a, Mip6AgentBinding *b)
{
    a->registered++;
    tell_change(a, b);
    if (b->wants_ack) {
        mip6_agent_acknowledge(a, &b->source, &b->home,
                               mip6_adverts_status(a, b), b->sequence,
                               b->lifetime);
    }
}

/*
 * A binding that goes to and fro between nodes would fill the log: then one
 * line a minute stands for all.
 */
static void tell_move(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    int64_t window = b->lifetime * (MIP6_LIFETIME_UNIT * SECOND);

    if (mip6_contest_moved(&b->contest, now, window, &b->previous,
                           &b->care_of)) {
        mip6_agent_tell_move(a, MIP6_AGENT_CONTESTED, b);
    } else if (b->contest.state == MIP6_CONTEST_NONE) {
        mip6_agent_tell_move(a, MIP6_AGENT_MOVED, b);
    }
}

/* Creates or changes a binding. */
static void bind_home(Mip6Agent *a, int64_t now, const Mip6Mh *bu,
                      const struct in6_addr *home,
                      const struct in6_addr *care_of,
                      const struct in6_addr *source)
{
    Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);
    bool first = !b, waits = b && b->tentative;
    bool moves = b && !waits && !packet_ip6_equal(&b->care_of, care_of);

    if (first) {
        b = new_binding(a, home);
    }
    if (b) {
        update_binding(a, now, b, bu, care_of, source);
    }
    if (b && !waits && !(first && a->config.dad == MIP6_AGENT_DAD_STRICT)) {
        b = make_valid(a, now, b) ? b : NULL;
    }
    if (!b) {
        mip6_agent_refuse(a, source, home, MIP6_BA_RESOURCES, bu->sequence);
        return;
    }
    if (first && a->config.dad != MIP6_AGENT_DAD_OFF) {
        waits = probe(a, now, b);
    }
    if (moves) {
        tell_move(a, now, b);
    } else if (first && !waits) {
        mip6_agent_tell(a, MIP6_AGENT_BOUND, &b->home, &b->care_of);
    } else if (mip6_contest_stayed(&b->contest, now)) {
        mip6_agent_tell(a, MIP6_AGENT_SETTLED, &b->home, &b->care_of);
    }
    if (!waits) {
        confirm(a, b);
    }
}

/* DAD is complete, and no node has claimed the home address. */
static void end_probe(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    struct in6_addr home = b->home, source = b->source;
    uint16_t sequence = b->sequence;

    b->expires = now + b->lifetime * (MIP6_LIFETIME_UNIT * SECOND);
    if (make_valid(a, now, b)) {
        mip6_agent_tell(a, MIP6_AGENT_BOUND, &b->home, &b->care_of);
        confirm(a, b);
    } else {
        mip6_agent_refuse(a, &source, &home, MIP6_BA_RESOURCES, sequence);
    }
}

void mip6_agent_claimed(Mip6Agent *a, int64_t now, const struct in6_addr *home)
{
    Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);

    if (b && now < b->probed_until) {
        mip6_agent_refuse(a, &b->source, &b->home, MIP6_BA_DAD_FAILED,
                          b->sequence);
        end_binding(a, b);
    }
}

uint8_t mip6_agent_restore(Mip6Agent *a, int64_t now,
                           const Mip6AgentBinding *saved)
{
    uint8_t status = check_home(a, now, &saved->home, &saved->care_of);
    Mip6AgentBinding *b;

    if (status != MIP6_BA_ACCEPTED) {
        return status;
    }
    b = new_binding(a, &saved->home);
    if (!b) {
        return MIP6_BA_RESOURCES;
    }
    b->care_of = saved->care_of;
    b->sequence = saved->sequence;
    b->lifetime = saved->lifetime;
    b->expires = saved->expires;
    if (!make_valid(a, now, b)) {
        return MIP6_BA_RESOURCES;
    }
    a->restored++;
    if (a->config.multicast) {
        mip6_groups_ask(&a->groups, b->node, now + a->restored * QUERY_GAP);
    }
    return MIP6_BA_ACCEPTED;
}

/* Have they changed since @version? Then mobile nodes and the log learn it. */
static void prefixes_changed(Mip6Agent *a, int64_t now, uint32_t version)
{
    if (a->link.version != version) {
        mip6_agent_tell(a, MIP6_AGENT_PREFIXES, &a->config.prefix,
                        &in6addr_any);
        mip6_adverts_changed(a, now);
    }
}

void mip6_agent_heard(Mip6Agent *a, int64_t now, const PacketNd *ra)
{
    uint32_t version = a->link.version;
    bool knew = a->link.prefixes;

    mip6_ha_link_heard(&a->link, now, ra);
    prefixes_changed(a, now, version);
    if (!knew && a->link.prefixes) {
        mip6_agent_tell(a, MIP6_AGENT_PREFIXES, &a->config.prefix,
                        &in6addr_any);
    }
}

void mip6_agent_configure(Mip6Agent *a, int64_t now,
                          const Mip6AgentConfig *config)
{
    uint32_t version = a->link.version;
    g_autoptr(GPtrArray) gone = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;

    mip6_keyring_inherit(config->keys, a->config.keys);
    a->config = *config;
    mip6_ha_link_configure(&a->link, now, config->prefix_info,
                           config->prefixes);
    g_hash_table_iter_init(&iter, a->bindings);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Mip6AgentBinding *b = value;

        if (check_home(a, now, &b->home, &b->care_of) == MIP6_BA_PROHIBITED) {
            g_ptr_array_add(gone, b);
        } else if (!b->tentative) {
            mip6_agent_let_pass(a, b);  /* keys or MTU may be new */
        }
    }
    for (guint i = 0; i < gone->len; i++) {
        Mip6AgentBinding *b = g_ptr_array_index(gone, i);

        mip6_agent_tell(a, MIP6_AGENT_REVOKED, &b->home, &b->care_of);
        end_binding(a, b);
        a->revoked++;
    }
    prefixes_changed(a, now, version);
}

/*
 * Section 10.3.2, primary care-of address de-registration. A node that sends it
 * from its home address has returned.
 */
static void end_home(Mip6Agent *a, int64_t now, const Mip6Mh *bu,
                     const struct in6_addr *home, const struct in6_addr *source)
{
    Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);

    if (!b) {
        mip6_agent_refuse(a, source, home, MIP6_BA_NOT_HOME_AGENT,
                          bu->sequence);
        return;
    }
    if (!b->tentative && packet_ip6_equal(source, home)) {
        mip6_left_add(&a->left, home, &b->care_of, now + STRAGGLE,
                      a->config.bindings_max);
    }
    if (!b->tentative) {
        mip6_agent_tell(a, MIP6_AGENT_ENDED, &b->home, &b->care_of);
    }
    end_binding(a, b);
    a->ended++;
    if (bu->flags & MIP6_BU_ACK) {
        mip6_agent_acknowledge(a, source, home, MIP6_BA_ACCEPTED,
                               bu->sequence, 0);
    }
}

void mip6_agent_update(Mip6Agent *a, int64_t now, const Mip6Mh *bu,
                       const struct in6_addr *home,
                       const struct in6_addr *source)
{
    const Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);
    const struct in6_addr *care_of = bu->has_alternate ? &bu->alternate
                                                       : source;
    uint8_t status;

    if (!(bu->flags & MIP6_BU_HOME)) {
        mip6_agent_refuse(a, source, home, MIP6_BA_NO_HOME_REGISTRATION,
                          bu->sequence);
        return;
    }
    if (b && !mip6_sequence_is_newer(bu->sequence, b->sequence)) {
        /*
         * Section 9.5.1: the answer has the number that the node must follow.
         */
        mip6_agent_refuse(a, source, home, MIP6_BA_SEQUENCE, b->sequence);
        return;
    }
    if (bu->lifetime == 0 || packet_ip6_equal(care_of, home)) {
        end_home(a, now, bu, home, source);
        return;
    }
    status = check_home(a, now, home, care_of);
    if (status == MIP6_BA_ACCEPTED) {
        bind_home(a, now, bu, home, care_of, source);
    } else {
        mip6_agent_refuse(a, source, home, status, bu->sequence);
    }
}

void mip6_agent_end_due(Mip6Agent *a, int64_t now)
{
    for (unsigned i = 0; i < MIP6_AGENT_TURN; i++) {
        Mip6Due *next = mip6_expiry_next(&a->expiry);
        Mip6AgentBinding *b;

        if (!next || next->at > now) {
            break;
        }
        b = container(next);
        if (b->tentative) {
            end_probe(a, now, b);
        } else {
            mip6_agent_tell(a, MIP6_AGENT_EXPIRED, &b->home, &b->care_of);
            end_binding(a, b);
            a->expired++;
        }
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A home agent (RFC 6275 section 10)
 *
 * Theory of operation
 * ===================
 *
 * The host forwards to the agent what comes for the agent's address and for
 * each home address that is bound; what the agent sends, the host forwards. So
 * all packets come in by one function and go out by one, and are of four kinds:
 *
 *   for the agent    Binding Update          answered by an acknowledgement
 *                    IPv6 in IPv6            its inner packet goes on
 *   for a home       anything                goes into the tunnel
 *   for nobody       -                       dropped, counted
 *
 * A binding is in one table, found by its home address, and in a heap by when
 * it ends, so that no turn looks at all. A mobile node may send for its own
 * home address only, from the care-of address that it registered: both are
 * compared for each packet (section 10.4.5).
 *
 * A host that a mobile node has left may still get packets for it. For a while
 * the agent takes them from the previous care-of address and sends them on to
 * the new one.
 *
 * A new binding is tentative until the home link has been asked for its
 * address, unless the configuration has it hold at once; then it is taken back
 * if a node answers. Packets know no tentative bindings.
 *
 * A packet that does not fit into the tunnel is answered by "packet too big".
 * Senders do not believe in less than 1280 octets, so packets of up to that go
 * in two fragments behind the outer header if the path has no room for it (RFC
 * 2473 section 7.1 (b)), and the ones of mobile nodes are put together.
 *
 * Sequence numbers are compared as section 9.5.1 says. A binding that has ended
 * leaves no memory of its number: a node that lost its own begins anew.
 */
#include <stddef.h>
#include <string.h>

#include "net/mip6/ha/adverts.h"
#include "net/mip6/ha/agent.h"
#include "net/mip6/ha/discovery.h"
#include "net/mip6/ha/path.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/octets.h"

#define SECOND          1000000000ll
#define HOPS            64
#define ERROR_TIME      (SECOND / 1000)         /* between two errors */
#define ERRORS_BURST    1000
#define DAD_WAIT        SECOND  /* RETRANS_TIMER (RFC 4861 section 10) */
#define TUNNELLED_MAX   2048u
#define HOPS_AT         7u      /* the hop limit in an IPv6 header */
#define QUERY_GAP       (SECOND / 1000)         /* between two at a start */
#define QUERY_RESPONSE  10000   /* ms (RFC 3810 section 9.3) */
#define STRAGGLE        (10 * SECOND)   /* after a node has moved */
#define PATH_MTU_LIVES  (600 * SECOND)          /* RFC 8201 section 4 */
#define OPENED_MAX      4096u   /* longest packet that comes in ESP */

static bool join(void *opaque, const struct in6_addr *group, bool on)
{
    Mip6Agent *a = opaque;

    return a->ops->join(a->opaque, group, on);
}

static void query(void *opaque, int64_t now, const Mip6GroupsNode *node);

static const Mip6GroupsOps groups_ops = {
    .join = join,
    .query = query,
};

void mip6_agent_init(Mip6Agent *a, const Mip6AgentConfig *config,
                     const Mip6AgentOps *ops, void *opaque)
{
    memset(a, 0, sizeof(*a));
    a->config = *config;
    a->ops = ops;
    a->opaque = opaque;
    a->bindings = g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal,
                                        NULL, g_free);
    mip6_expiry_init(&a->expiry);
    mip6_groups_init(&a->groups, &groups_ops, a);
    mip6_expiry_init(&a->adverts);
    mip6_ha_link_init(&a->link, &config->prefix, config->prefix_len);
    mip6_ha_link_configure(&a->link, 0, config->prefix_info,
                           config->prefixes);
    a->anycast = mip6_discovery_anycast(&config->prefix, config->prefix_len);
}

void mip6_agent_destroy(Mip6Agent *a)
{
    mip6_expiry_destroy(&a->expiry);
    mip6_groups_destroy(&a->groups);
    mip6_expiry_destroy(&a->adverts);
    g_hash_table_destroy(a->bindings);
}

static Mip6AgentBinding *bound(const Mip6Agent *a, const struct in6_addr *home)
{
    Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);

    return b && !b->tentative ? b : NULL;
}

const Mip6AgentBinding *mip6_agent_binding(const Mip6Agent *a,
                                           const struct in6_addr *home)
{
    return bound(a, home);
}

const char *mip6_agent_drop_name(Mip6AgentDrop why)
{
    static const char *const names[] = {
        [MIP6_AGENT_MALFORMED] = "malformed",
        [MIP6_AGENT_CHECKSUM] = "checksum",
        [MIP6_AGENT_NO_BINDING] = "no-binding",
        [MIP6_AGENT_WRONG_SOURCE] = "wrong-source",
        [MIP6_AGENT_TOO_BIG] = "too-big",
        [MIP6_AGENT_HOP_LIMIT] = "hop-limit",
        [MIP6_AGENT_NOT_FOR_US] = "not-for-us",
        [MIP6_AGENT_UNKNOWN_MH] = "unknown-mh",
        [MIP6_AGENT_UNPROTECTED] = "unprotected",
        [MIP6_AGENT_ESP] = "esp",
    };

    return names[why];
}

static void drop(Mip6Agent *a, Mip6AgentDrop why)
{
    a->dropped[why]++;
}

/* --- ESP ------------------------------------------------------------------ */

/* Does the packet that is read now come from the node of @home? */
static bool is_believed(const Mip6Agent *a, const struct in6_addr *home)
{
    return mip6_keyring_of(a->config.keys, home) == a->opened;
}

/*
 * From here on, a node's own packets, or those that it sends after it. Reports
 * about groups have no home address.
 */
static bool is_tunnel_believed(const Mip6Agent *a, const uint8_t *inner,
                               size_t len)
{
    struct in6_addr src, dst;

    if (len < PACKET_IP6_LEN) {
        return true;            /* it is malformed, and counted as that */
    }
    memcpy(&src, inner + 8, sizeof(src));
    memcpy(&dst, inner + 24, sizeof(dst));
    return is_believed(a, &src) ||
           (a->opened && (packet_ip6_equal(&a->opened->home, &dst) ||
                          IN6_IS_ADDR_LINKLOCAL(&src) ||
                          IN6_IS_ADDR_UNSPECIFIED(&src)));
}

/*
 * Send a message to the node of @home; in ESP, if it has keys. There are
 * MIP6_PROTECT_MORE octets of room behind it.
 */
static void forward_signal(Mip6Agent *a, const struct in6_addr *home,
                           uint8_t *packet, size_t len)
{
    len = mip6_keyring_protect(a->config.keys, home, packet, len);
    if (len) {
        a->ops->forward(a->opaque, packet, len);
    } else {
        drop(a, MIP6_AGENT_ESP);
    }
}

/* --- errors --------------------------------------------------------------- */

/* May an error be sent (RFC 4443 section 2.4 (f))? ERRORS_BURST at once may. */
static bool may_tell(Mip6Agent *a, int64_t now)
{
    int64_t paid = MAX(a->errors_paid, now - ERRORS_BURST * ERROR_TIME);

    if (paid + ERROR_TIME > now) {
        a->muted++;
        return false;
    }
    a->errors_paid = paid + ERROR_TIME;
    a->errors++;
    return true;
}

static void tell_icmp6(Mip6Agent *a, int64_t now, uint8_t type, uint32_t arg,
                       const uint8_t *p, size_t len)
{
    uint8_t error[PACKET_IP6_MTU_MIN];

    if (a->opened && type == PACKET_ICMP6_PARAMETER) {
        return;                 /* it would quote what was encrypted */
    }
    len = packet_icmp6_error(error, sizeof(error), &a->config.address, HOPS,
                             type, 0, arg, p, len);
    if (len && may_tell(a, now)) {
        a->ops->forward(a->opaque, error, len);
    }
}

/*
 * A Binding Error (RFC 6275 section 9.3.3) to @to about @home. In ESP it has a
 * routing header, since the home address is the selector.
 */
static void tell_binding(Mip6Agent *a, int64_t now, uint8_t status,
                         const struct in6_addr *to,
                         const struct in6_addr *home)
{
    uint8_t packet[PACKET_IP6_LEN + MIP6_RH2_LEN + 64 + MIP6_PROTECT_MORE];
    uint8_t *at = packet + PACKET_IP6_LEN;
    Mip6Mh be = { .type = MIP6_MH_BE, .status = status, .home = *home };
    PacketIp6 ip = {
        .src = a->config.address,
        .dst = *to,
        .next = a->opened ? PACKET_PROTO_ROUTING : PACKET_PROTO_MH,
        .hops = HOPS,
    };

    if (IN6_IS_ADDR_MULTICAST(to) || IN6_IS_ADDR_UNSPECIFIED(to) ||
        !may_tell(a, now)) {
        return;
    }
    if (a->opened) {
        at += mip6_rh2_build(at, PACKET_PROTO_MH, &a->opened->home);
    }
    at += mip6_mh_build(at, 64, &a->config.address,
                        a->opened ? &a->opened->home : to, &be);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    forward_signal(a, a->opened ? &a->opened->home : to, packet, at - packet);
}

/* --- registration --------------------------------------------------------- */

/* To the care-of address by way of a routing header, or straight home. */
static void acknowledge(Mip6Agent *a, const struct in6_addr *to,
                        const struct in6_addr *home, uint8_t status,
                        uint16_t sequence, uint16_t lifetime)
{
    bool at_home = packet_ip6_equal(to, home);
    uint8_t packet[PACKET_IP6_LEN + MIP6_RH2_LEN + 64 + MIP6_PROTECT_MORE];
    uint8_t *at = packet + PACKET_IP6_LEN;
    Mip6Mh ba = {
        .type = MIP6_MH_BA,
        .status = status,
        .sequence = sequence,
        .lifetime = lifetime,
        .refresh = a->config.refresh,
        /* Sooner than the end, or it is no advice (section 6.2.4). */
        .has_refresh = a->config.refresh && lifetime > a->config.refresh,
    };
    PacketIp6 ip = {
        .src = a->config.address,
        .dst = *to,
        .next = at_home ? PACKET_PROTO_MH : PACKET_PROTO_ROUTING,
        .hops = HOPS,
    };

    a->answered[status]++;
    if (!at_home) {
        at += mip6_rh2_build(at, PACKET_PROTO_MH, home);
    }
    at += mip6_mh_build(at, 64, &a->config.address, home, &ba);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    forward_signal(a, home, packet, at - packet);
}

/* Section 10.3.1: may @home be registered? MIP6_BA_ACCEPTED, or why not. */
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
        return MIP6_BA_NOT_HOME_SUBNET;         /* it is no more */
    }
    if (a->config.allowed && !g_hash_table_contains(a->config.allowed, home)) {
        return MIP6_BA_PROHIBITED;
    }
    if (IN6_IS_ADDR_MULTICAST(care_of) || IN6_IS_ADDR_LINKLOCAL(care_of) ||
        IN6_IS_ADDR_LOOPBACK(care_of) || IN6_IS_ADDR_UNSPECIFIED(care_of) ||
        packet_ip6_equal(care_of, &a->config.address)) {
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

static void end_binding(Mip6Agent *a, Mip6AgentBinding *b)
{
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

/* Have a tentative binding of @home. Returns NULL if there is no room. */
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

/* Tunnels end where bindings say, and groups with them. */
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

/*
 * From now on the binding holds. Returns false, and it is gone, if the host
 * cannot take the home address.
 */
static bool settle(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    if (b->tentative && !a->ops->proxy(a->opaque, &b->home, true)) {
        end_binding(a, b);
        return false;
    }
    if (b->tentative) {
        mip6_adverts_begin(a, now, b);
    }
    b->tentative = false;
    set_node(a, b);
    mip6_expiry_set(&a->expiry, &b->due, b->expires);
    return true;
}

/* Not longer than the home prefix is valid (section 10.3.1). */
static uint16_t grant(const Mip6Agent *a, int64_t now, uint16_t asked)
{
    uint16_t lifetime = MIN(asked, a->config.lifetime_max);
    uint32_t valid, preferred;

    if (mip6_ha_link_left(&a->link, now, &valid, &preferred)) {
        lifetime = MIN(lifetime, MAX(valid / MIP6_LIFETIME_UNIT, 1));
    }
    return lifetime;
}

/* Take over what a Binding Update says. */
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

/* Ask the home link. Returns whether the binding has to wait for its answer. */
static bool probe(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    b->probed_until = now + DAD_WAIT;
    a->ops->probe(a->opaque, &b->home);
    if (a->config.dad == MIP6_AGENT_DAD_STRICT) {
        mip6_expiry_set(&a->expiry, &b->due, b->probed_until);
        return true;
    }
    return false;
}

/* The binding of @b holds, which the mobile node is told. */
static void hold(Mip6Agent *a, Mip6AgentBinding *b)
{
    a->registered++;
    tell_change(a, b);
    if (b->wants_ack) {
        acknowledge(a, &b->source, &b->home, mip6_adverts_status(a, b),
                    b->sequence, b->lifetime);
    }
}

static void refuse(Mip6Agent *a, const struct in6_addr *source,
                   const struct in6_addr *home, uint8_t status,
                   uint16_t sequence)
{
    a->refused++;
    acknowledge(a, source, home, status, sequence, 0);
}

/* Make or change a binding. */
static void bind_home(Mip6Agent *a, int64_t now, const Mip6Mh *bu,
                      const struct in6_addr *home,
                      const struct in6_addr *care_of,
                      const struct in6_addr *source)
{
    Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);
    bool first = !b, waits = b && b->tentative;

    if (first) {
        b = new_binding(a, home);
    }
    if (b) {
        update_binding(a, now, b, bu, care_of, source);
    }
    if (b && !waits && !(first && a->config.dad == MIP6_AGENT_DAD_STRICT)) {
        b = settle(a, now, b) ? b : NULL;
    }
    if (!b) {
        refuse(a, source, home, MIP6_BA_RESOURCES, bu->sequence);
        return;
    }
    if (first && a->config.dad != MIP6_AGENT_DAD_OFF) {
        waits = probe(a, now, b);
    }
    if (!waits) {
        hold(a, b);
    }
}

/* DAD is over, and nobody has claimed the home address. */
static void end_probe(Mip6Agent *a, int64_t now, Mip6AgentBinding *b)
{
    struct in6_addr home = b->home, source = b->source;
    uint16_t sequence = b->sequence;

    b->expires = now + b->lifetime * (MIP6_LIFETIME_UNIT * SECOND);
    if (settle(a, now, b)) {
        hold(a, b);
    } else {
        refuse(a, &source, &home, MIP6_BA_RESOURCES, sequence);
    }
}

void mip6_agent_claimed(Mip6Agent *a, int64_t now, const struct in6_addr *home)
{
    Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);

    if (b && now < b->probed_until) {
        refuse(a, &b->source, &b->home, MIP6_BA_DAD_FAILED, b->sequence);
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
    if (!settle(a, now, b)) {
        return MIP6_BA_RESOURCES;
    }
    a->restored++;
    if (a->config.multicast) {
        mip6_groups_ask(&a->groups, b->node, now + a->restored * QUERY_GAP);
    }
    return MIP6_BA_ACCEPTED;
}

void mip6_agent_heard(Mip6Agent *a, int64_t now, const PacketNd *ra)
{
    uint32_t version = a->link.version;

    mip6_ha_link_heard(&a->link, now, ra);
    if (a->link.version != version) {
        mip6_adverts_changed(a, now);
    }
}

void mip6_agent_configure(Mip6Agent *a, int64_t now,
                          const Mip6AgentConfig *config)
{
    uint32_t version = a->link.version;
    g_autoptr(GPtrArray) gone = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;

    a->config = *config;
    mip6_ha_link_configure(&a->link, now, config->prefix_info,
                           config->prefixes);
    g_hash_table_iter_init(&iter, a->bindings);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Mip6AgentBinding *b = value;

        if (check_home(a, now, &b->home, &b->care_of) == MIP6_BA_PROHIBITED) {
            g_ptr_array_add(gone, value);
        }
    }
    for (guint i = 0; i < gone->len; i++) {
        end_binding(a, g_ptr_array_index(gone, i));
        a->revoked++;
    }
    if (a->link.version != version) {
        mip6_adverts_changed(a, now);
    }
}

/* Section 10.3.2, the primary care-of address de-registration. */
static void end_home(Mip6Agent *a, const Mip6Mh *bu,
                     const struct in6_addr *home, const struct in6_addr *source)
{
    Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);

    if (!b) {
        refuse(a, source, home, MIP6_BA_NOT_HOME_AGENT, bu->sequence);
        return;
    }
    end_binding(a, b);
    a->ended++;
    if (bu->flags & MIP6_BU_ACK) {
        acknowledge(a, source, home, MIP6_BA_ACCEPTED, bu->sequence, 0);
    }
}

static void take_update(Mip6Agent *a, int64_t now, const Mip6Mh *bu,
                        const struct in6_addr *home,
                        const struct in6_addr *source)
{
    const Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);
    const struct in6_addr *care_of = bu->has_alternate ? &bu->alternate
                                                       : source;
    uint8_t status;

    if (!(bu->flags & MIP6_BU_HOME)) {
        refuse(a, source, home, MIP6_BA_NO_HOME_REGISTRATION, bu->sequence);
        return;
    }
    if (b && !mip6_sequence_is_newer(bu->sequence, b->sequence)) {
        /* Section 9.5.1: the number that the node has to go on from. */
        refuse(a, source, home, MIP6_BA_SEQUENCE, b->sequence);
        return;
    }
    if (bu->lifetime == 0 || packet_ip6_equal(care_of, home)) {
        end_home(a, bu, home, source);
        return;
    }
    status = check_home(a, now, home, care_of);
    if (status == MIP6_BA_ACCEPTED) {
        bind_home(a, now, bu, home, care_of, source);
    } else {
        refuse(a, source, home, status, bu->sequence);
    }
}

/*
 * A message is too short for its type: the field "Header Len" is wrong. If the
 * message is cut, there is no checksum to believe it by, and no answer.
 */
static void tell_short(Mip6Agent *a, int64_t now, const PacketIp6Ext *ext,
                       const uint8_t *p, size_t len)
{
    size_t there = len - ext->offset;

    if (there >= 8 && (p[ext->offset + 1] + 1u) * 8 <= there) {
        tell_icmp6(a, now, PACKET_ICMP6_PARAMETER, ext->offset + 1, p, len);
    }
}

static void take_mh(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                    const PacketIp6Ext *ext, const uint8_t *p, size_t len)
{
    struct in6_addr home = ip->src;
    size_t options = ext->dst2 ? ext->dst2 : ext->dst1;
    Mip6Mh mh;

    if (options &&
        !mip6_hao_parse(&home, p + options,
                        packet_ip6_ext_len(PACKET_PROTO_DSTOPTS,
                                           p + options))) {
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (!is_believed(a, &home)) {
        drop(a, MIP6_AGENT_UNPROTECTED);
        return;
    }
    switch (mip6_mh_parse(&mh, &home, &ip->dst, p + ext->offset,
                          len - ext->offset)) {
    case MIP6_MH_GOOD:
        break;
    case MIP6_MH_CHECKSUM:
        drop(a, MIP6_AGENT_CHECKSUM);
        return;
    case MIP6_MH_UNKNOWN:
        /* Section 9.2: with the home address, if the packet has said one. */
        tell_binding(a, now, MIP6_BE_UNKNOWN_MH, &ip->src,
                     options ? &home : &in6addr_any);
        drop(a, MIP6_AGENT_UNKNOWN_MH);
        return;
    case MIP6_MH_PAYLOAD_PROTO:
        tell_icmp6(a, now, PACKET_ICMP6_PARAMETER, ext->offset, p, len);
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    case MIP6_MH_SHORT:
        tell_short(a, now, ext, p, len);
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    default:
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (mh.type == MIP6_MH_BU) {
        take_update(a, now, &mh, &home, &ip->src);
    } else {
        drop(a, MIP6_AGENT_NOT_FOR_US);
    }
}

/* --- packets -------------------------------------------------------------- */

static void forward_behind(Mip6Agent *a, const void *head, size_t head_len,
                           const void *packet, size_t len)
{
    uint8_t joined[TUNNELLED_MAX];

    if (a->ops->forward_behind) {
        a->ops->forward_behind(a->opaque, head, head_len, packet, len);
        return;
    }
    memcpy(joined, head, head_len);
    memcpy(joined + head_len, packet, len);
    a->ops->forward(a->opaque, joined, head_len + len);
}

/* Room behind the tunnel's header, without fragments. */
static size_t tunnel_room(const Mip6Agent *a, int64_t now,
                          const Mip6AgentBinding *b)
{
    uint32_t mtu = MIN(a->config.mtu, TUNNELLED_MAX);

    return (now < b->path_until ? MIN(mtu, b->path_mtu) : mtu) -
           PACKET_IP6_LEN;
}

static void send_fragments(Mip6Agent *a, const PacketIp6 *outer, size_t room,
                           const uint8_t *p, size_t len)
{
    size_t most = (room - PACKET_IP6_FRAGMENT_LEN) & ~(size_t)7;
    uint8_t head[MIP6_PATH_HEAD_LEN];

    a->fragment_id++;
    for (size_t done = 0, size; done < len; done += size) {
        size = MIN(len - done, most);
        mip6_path_fragment(head, outer, a->fragment_id, done, size,
                           done + size < len);
        forward_behind(a, head, sizeof(head), p + done, size);
    }
}

/* Returns false if the packet is too large, which its sender is told. */
static bool into_tunnel(Mip6Agent *a, int64_t now,
                        Mip6AgentBinding *b, const PacketIp6 *ip,
                        const uint8_t *p, size_t len)
{
    const Mip6Keys *keys = mip6_keyring_of(a->config.keys, &b->home);
    size_t room = tunnel_room(a, now, b), most = room;
    uint8_t head[PACKET_IP6_LEN], sealed[TUNNELLED_MAX];
    struct iovec iov = { (void *)p, len };
    PacketIp6 outer = {
        .src = a->config.address,
        .dst = b->care_of,
        .tclass = ip->tclass,
        .flow = ip->flow,
        .next = keys ? PACKET_PROTO_ESP : PACKET_PROTO_IP6,
        .hops = HOPS,
    };

    if (keys) {
        most = mip6_protect_tunnel_room(keys->protect, room);
    }
    most = MAX(most, PACKET_IP6_MTU_MIN);
    if (len > most) {
        tell_icmp6(a, now, PACKET_ICMP6_TOO_BIG, most, p, len);
        drop(a, MIP6_AGENT_TOO_BIG);
        return false;
    }
    if (keys) {
        p = sealed;
        len = mip6_protect_tunnel(keys->protect, &iov, 1, sealed,
                                  sizeof(sealed));
        if (!len) {
            drop(a, MIP6_AGENT_ESP);
            return false;
        }
    }
    b->sent++;
    a->sent++;
    if (len > room) {
        send_fragments(a, &outer, room, p, len);
        return true;
    }
    outer.payload = len;
    packet_ip6_build(head, &outer);
    forward_behind(a, head, sizeof(head), p, len);
    return true;
}

static void to_listeners(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                         const uint8_t *p, size_t len,
                         const struct in6_addr *but)
{
    const GPtrArray *nodes = mip6_groups_nodes(&a->groups, &ip->dst);

    for (guint i = 0; nodes && i < nodes->len; i++) {
        const Mip6GroupsNode *node = g_ptr_array_index(nodes, i);

        if (!but || !packet_ip6_equal(&node->care_of, but)) {
            into_tunnel(a, now, mip6_groups_owner(node), ip, p, len);
        }
    }
}

/* Section 10.4.3: a mobile node says which groups it listens to. */
static void take_report(Mip6Agent *a, int64_t now, const PacketIp6 *outer,
                        const PacketMld *mld)
{
    const Mip6GroupsNode *node = mip6_groups_node(&a->groups, &outer->src);
    const Mip6AgentBinding *b = node ? mip6_groups_owner(node) : NULL;

    if (!a->config.multicast || mld->type == PACKET_MLD_QUERY) {
        drop(a, MIP6_AGENT_NOT_FOR_US);
    } else if (b && !is_believed(a, &b->home)) {
        drop(a, MIP6_AGENT_UNPROTECTED);
    } else if (!mip6_groups_report(&a->groups, now, &outer->src, mld)) {
        drop(a, MIP6_AGENT_NO_BINDING);
    }
}

/* One hop further. Returns false if the packet must not go on. */
static bool spend_hop(Mip6Agent *a, PacketIp6 *ip, uint8_t *p)
{
    if (ip->hops <= 1) {
        drop(a, MIP6_AGENT_HOP_LIMIT);
        return false;
    }
    p[HOPS_AT] = --ip->hops;
    return true;
}

/* A mobile node sends to a group: the home link and other nodes hear it. */
static void send_group(Mip6Agent *a, int64_t now, PacketIp6 *ip, uint8_t *p,
                       size_t len, const struct in6_addr *from)
{
    if (!a->config.multicast || !packet_mld_forwards(&ip->dst)) {
        drop(a, MIP6_AGENT_NOT_FOR_US);
    } else if (spend_hop(a, ip, p)) {
        a->ops->to_group(a->opaque, p, len);
        to_listeners(a, now, ip, p, len, from);
    }
}

void mip6_agent_group_packet(Mip6Agent *a, int64_t now, void *buf, size_t len)
{
    PacketIp6 ip;

    if (!packet_ip6_parse(&ip, buf, len)) {
        drop(a, MIP6_AGENT_MALFORMED);
    } else if (mip6_groups_nodes(&a->groups, &ip.dst) &&
               spend_hop(a, &ip, buf)) {
        to_listeners(a, now, &ip, buf, PACKET_IP6_LEN + ip.payload, NULL);
    }
}

/* The agent is the tunnel's router: it asks from a link-local address. */
static void query(void *opaque, int64_t now, const Mip6GroupsNode *node)
{
    static const struct in6_addr router = { { { 0xfe, 0x80, [15] = 1 } } };
    Mip6Agent *a = opaque;
    uint8_t packet[PACKET_MLD_QUERY_LEN];
    size_t len = packet_mld_build_query(packet, &router, QUERY_RESPONSE);
    PacketIp6 ip;

    packet_ip6_parse(&ip, packet, len);
    into_tunnel(a, now, mip6_groups_owner(node), &ip, packet, len);
}

/* A packet that has come to where the mobile node was, and is sent after it. */
static Mip6AgentBinding *straggles(const Mip6Agent *a, int64_t now,
                                   const PacketIp6 *outer,
                                   const PacketIp6 *inner)
{
    Mip6AgentBinding *b = bound(a, &inner->dst);

    return b && now < b->previous_until &&
           packet_ip6_equal(&b->previous, &outer->src) &&
           !packet_ip6_equal(&b->care_of, &outer->src) ? b : NULL;
}

/* No host forwards it in between, so the agent counts the hop. */
static void send_after(Mip6Agent *a, int64_t now, Mip6AgentBinding *b,
                       const PacketIp6 *ip, uint8_t *p)
{
    size_t len = PACKET_IP6_LEN + ip->payload;

    if (ip->hops <= 1) {
        tell_icmp6(a, now, PACKET_ICMP6_TIME_EXCEEDED, 0, p, len);
        drop(a, MIP6_AGENT_HOP_LIMIT);
        return;
    }
    p[HOPS_AT] = ip->hops - 1;
    if (into_tunnel(a, now, b, ip, p, len)) {
        b->stragglers++;
        a->stragglers++;
    }
}

/* From a mobile node: to a group, or for the host to forward. */
static void take_inner(Mip6Agent *a, int64_t now, PacketIp6 *ip,
                       uint8_t *inner, const struct in6_addr *from)
{
    size_t len = PACKET_IP6_LEN + ip->payload;

    a->received++;
    if (IN6_IS_ADDR_MULTICAST(&ip->dst)) {
        send_group(a, now, ip, inner, len, from);
    } else {
        a->ops->forward(a->opaque, inner, len);
    }
}

static void out_of_tunnel(Mip6Agent *a, int64_t now, const PacketIp6 *outer,
                          uint8_t *inner, size_t len)
{
    Mip6AgentBinding *b, *late;
    PacketMld mld;
    PacketIp6 ip;

    if (!packet_ip6_parse(&ip, inner, len)) {
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (packet_mld_parse(&mld, inner, len)) {
        take_report(a, now, outer, &mld);
        return;
    }
    b = bound(a, &ip.src);
    if (b && packet_ip6_equal(&b->care_of, &outer->src)) {
        b->received++;
        take_inner(a, now, &ip, inner, &outer->src);
        return;
    }
    late = straggles(a, now, outer, &ip);
    if (late) {
        send_after(a, now, late, &ip, inner);
    } else if (b) {
        drop(a, MIP6_AGENT_WRONG_SOURCE);
    } else {
        /* The node that sent it finds that it has to register. */
        tell_binding(a, now, MIP6_BE_UNKNOWN_BINDING, &outer->src, &ip.src);
        drop(a, MIP6_AGENT_NO_BINDING);
    }
}

/* A router on the way to a care-of address: @told->mtu is what it takes. */
static void narrow(Mip6Agent *a, int64_t now, const Mip6PathTold *told)
{
    Mip6AgentBinding *b = bound(a, &told->home);

    if (!b || !packet_ip6_equal(&b->care_of, &told->care_of)) {
        drop(a, MIP6_AGENT_NOT_FOR_US);
    } else if (told->mtu < tunnel_room(a, now, b) + PACKET_IP6_LEN) {
        b->path_mtu = told->mtu;
        b->path_until = now + PATH_MTU_LIVES;
    }
}

/* Answers have the rate of errors, so that nobody is flooded by way of us. */
static void take_icmp6(Mip6Agent *a, int64_t now, const PacketIp6Ext *ext,
                       const uint8_t *p, size_t len)
{
    uint8_t answer[MIP6_DISCOVERY_MAX];
    Mip6Icmp agents = { .type = MIP6_ICMP_AGENT_REPLY };
    Mip6PathTold told;

    if (mip6_path_too_big(&told, &a->config.address, p, ext->offset, len)) {
        narrow(a, now, &told);
        return;
    }
    mip6_ha_link_agents(&a->link, now, &a->config.address,
                        a->config.preference, &agents);
    len = mip6_discovery_answer(answer, &a->config.address, &agents, p,
                                ext->offset, len);
    if (!len) {
        drop(a, MIP6_AGENT_NOT_FOR_US);
    } else if (may_tell(a, now)) {
        a->ops->forward(a->opaque, answer, len);
    }
}

/* Section 10.6.1: only of a mobile node that is bound, from where it is. */
static void take_solicitation(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                              const PacketIp6Ext *ext, const uint8_t *p,
                              size_t len)
{
    size_t options = ext->dst2 ? ext->dst2 : ext->dst1;
    struct in6_addr home;
    Mip6AgentBinding *b;
    Mip6Icmp m;

    if (!options ||
        !mip6_hao_parse(&home, p + options,
                        packet_ip6_ext_len(PACKET_PROTO_DSTOPTS,
                                           p + options)) ||
        !mip6_icmp_parse(&m, &home, &ip->dst, p + ext->offset,
                         len - ext->offset)) {
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (!is_believed(a, &home)) {
        drop(a, MIP6_AGENT_UNPROTECTED);
        return;
    }
    b = bound(a, &home);
    if (!b || !packet_ip6_equal(&b->care_of, &ip->src)) {
        tell_binding(a, now, MIP6_BE_UNKNOWN_BINDING, &ip->src, &home);
        drop(a, MIP6_AGENT_NO_BINDING);
    } else if (may_tell(a, now)) {
        mip6_adverts_solicited(a, now, b, m.id);
    }
}

/* To all home agents of the link: who looks for one (section 10.5). */
static void for_anycast(Mip6Agent *a, int64_t now, const uint8_t *p, size_t len)
{
    PacketIp6Ext ext;

    if (packet_ip6_walk(&ext, p, len) && ext.next == PACKET_PROTO_ICMP6 &&
        !ext.fragment) {
        take_icmp6(a, now, &ext, p, len);
    } else {
        drop(a, MIP6_AGENT_NOT_FOR_US);
    }
}

/* A part of a packet. Returns NULL unless it makes the packet whole. */
static uint8_t *put_together(Mip6Agent *a, int64_t now, const uint8_t *p,
                             size_t *len, PacketIp6Ext *ext)
{
    uint8_t *whole = packet_reassemble(&a->fragments, now, p, *len, ext, len);

    a->dropped[MIP6_AGENT_MALFORMED] += a->fragments.lost;
    a->fragments.lost = 0;
    if (whole && (!packet_ip6_walk(ext, whole, *len) || ext->fragment)) {
        drop(a, MIP6_AGENT_MALFORMED);
        return NULL;
    }
    return whole;
}

static void for_agent(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                      uint8_t *p, size_t len);

/* RFC 4303 section 3.4: what is in it is read as if it had come without. */
static void take_esp(Mip6Agent *a, int64_t now, const PacketIp6Ext *ext,
                     const uint8_t *p, size_t len)
{
    const struct iovec iov = { (void *)(p + ext->offset), len - ext->offset };
    uint8_t opened[OPENED_MAX];
    Mip6Keys *keys = NULL;
    Mip6ProtectSa which;
    PacketIp6 whole;
    uint32_t spi;

    if (esp_spi(&iov, 1, &spi)) {
        keys = mip6_keyring_by_spi(a->config.keys, spi);
    }
    if (!keys || !mip6_protect_open(keys->protect, p, ext, &iov, 1, opened,
                                    sizeof(opened), &len, &which)) {
        drop(a, MIP6_AGENT_ESP);
    } else if (!packet_ip6_parse(&whole, opened, len)) {
        drop(a, MIP6_AGENT_MALFORMED);
    } else {
        a->opened = keys;
        for_agent(a, now, &whole, opened, len);
        a->opened = NULL;
    }
}

static void for_agent(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                      uint8_t *p, size_t len)
{
    PacketIp6Ext ext;

    if (!packet_ip6_walk(&ext, p, len) || ext.offset > len) {
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (ext.fragment) {
        p = put_together(a, now, p, &len, &ext);
        if (!p) {
            return;
        }
    }
    switch (ext.next) {
    case PACKET_PROTO_MH:
        take_mh(a, now, ip, &ext, p, len);
        break;
    case PACKET_PROTO_ICMP6:
        if (ext.offset < len && p[ext.offset] == MIP6_ICMP_PREFIX_SOLICIT) {
            take_solicitation(a, now, ip, &ext, p, len);
        } else {
            take_icmp6(a, now, &ext, p, len);
        }
        break;
    case PACKET_PROTO_IP6:
        if (is_tunnel_believed(a, p + ext.offset, len - ext.offset)) {
            out_of_tunnel(a, now, ip, p + ext.offset, len - ext.offset);
        } else {
            drop(a, MIP6_AGENT_UNPROTECTED);
        }
        break;
    case PACKET_PROTO_ESP:
        if (!a->opened) {
            take_esp(a, now, &ext, p, len);
            break;
        }
        /* fall through */
    default:
        drop(a, MIP6_AGENT_NOT_FOR_US);
        break;
    }
}

void mip6_agent_packet(Mip6Agent *a, int64_t now, void *buf, size_t len)
{
    Mip6AgentBinding *b;
    PacketIp6 ip;

    if (!packet_ip6_parse(&ip, buf, len)) {
        drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    len = PACKET_IP6_LEN + ip.payload;
    if (packet_ip6_equal(&ip.dst, &a->config.address)) {
        for_agent(a, now, &ip, buf, len);
        return;
    }
    if (packet_ip6_equal(&ip.dst, &a->anycast)) {
        for_anycast(a, now, buf, len);
        return;
    }
    b = bound(a, &ip.dst);
    if (b) {
        into_tunnel(a, now, b, &ip, buf, len);
    } else {
        drop(a, MIP6_AGENT_NOT_FOR_US);
    }
}

int64_t mip6_agent_deadline(const Mip6Agent *a)
{
    const Mip6Due *next = mip6_expiry_next(&a->expiry);
    const Mip6Due *advert = mip6_expiry_next(&a->adverts);
    int64_t at = next ? next->at : INT64_MAX;

    at = advert ? MIN(at, advert->at) : at;
    return MIN(at, mip6_groups_deadline(&a->groups));
}

void mip6_agent_tick(Mip6Agent *a, int64_t now)
{
    mip6_groups_tick(&a->groups, now);
    mip6_adverts_tick(a, now);
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
            end_binding(a, b);
            a->expired++;
        }
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A home agent (RFC 6275 section 10)
 *
 * Theory of operation
 * ===================
 *
 * The host forwards to the agent all packets for the agent's address and for
 * each home address that is bound, and forwards all packets that the agent
 * sends. So all packets arrive through one function and leave through one. They
 * are of these kinds:
 *
 *   for the agent    Binding Update          answered by an acknowledgement
 *                    IPv6 in IPv6            the inner packet is forwarded
 *   for a bound      any packet              goes into the tunnel
 *   home address
 *   for one that     packets that were       back to the host, which has a
 *   has returned     queued meanwhile        route to the home link again
 *   for others       -                       dropped, counted
 *
 * A binding is in a hash table, by its home address, and in a heap, by its end,
 * so no operation looks at all bindings. A mobile node may only send packets
 * from its own home address, through the tunnel from the care-of address that
 * it has registered: both are checked for each packet (section 10.4.5).
 *
 * A host that a mobile node has left may still get packets for it. For a short
 * time the agent accepts these packets in a tunnel from the previous care-of
 * address and sends them on to the new one, or to the home link if the node has
 * returned. After a return, it also accepts packets that the node itself has
 * sent before.
 *
 * A new binding is tentative until duplicate address detection on the home link
 * is complete. In optimistic mode it is used at once, and revoked if a node
 * answers. Tentative bindings are not used for packets.
 *
 * A packet that does not fit into the tunnel is answered with "packet too big".
 * Senders assume at least 1280 octets, so packets of up to 1280 octets are
 * fragmented outside the tunnel if the path MTU is too small (RFC 2473 section
 * 7.1 (b)); fragments from mobile nodes are reassembled.
 *
 * The host may forward simple packets by itself; the agent never sees these.
 * The agent tells the host about each binding without ESP when it is bound,
 * changed or ended. The result must be the same as here.
 *
 * Sequence numbers are compared as in section 9.5.1. After a binding has ended,
 * its number is forgotten: a node that has lost its number can start anew.
 */
#include <string.h>

#include "ha/agent/adverts.h"
#include "ha/agent/internal.h"
#include "ha/parts/discovery.h"
#include "net/packet/nd.h"

#define OPENED_MAX      4096u   /* maximum length of a decrypted packet */

static bool join(void *opaque, const struct in6_addr *group, bool on)
{
    Mip6Agent *a = opaque;

    return a->ops->join(a->opaque, group, on);
}

static const Mip6GroupsOps groups_ops = {
    .join = join,
    .query = mip6_agent_query,
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
    mip6_left_init(&a->left);
    mip6_groups_init(&a->groups, &groups_ops, a);
    mip6_expiry_init(&a->adverts);
    mip6_ha_link_init(&a->link, &config->prefix, config->prefix_len);
    mip6_ha_link_configure(&a->link, 0, config->prefix_info,
                           config->prefixes);
    a->anycast = mip6_icmp_anycast(&config->prefix, config->prefix_len);
}

void mip6_agent_destroy(Mip6Agent *a)
{
    mip6_expiry_destroy(&a->expiry);
    mip6_left_destroy(&a->left);
    mip6_groups_destroy(&a->groups);
    mip6_expiry_destroy(&a->adverts);
    g_hash_table_destroy(a->bindings);
}

/*
 * May the packet be processed? If not, it is counted, and its sender gets the
 * error that its extension headers want (RFC 8200 section 4).
 */
static bool may_process(Mip6Agent *a, int64_t now, const PacketIp6Ext *ext,
                        const uint8_t *p, size_t len)
{
    static const PacketIp6Known known = { .option = MIP6_OPTION_HAO };
    PacketIp6Fault fault;

    if (packet_ip6_accept(&fault, &known, ext, p)) {
        return true;
    }
    if (fault.is_told) {
        mip6_agent_send_icmp6_error(a, now, PACKET_ICMP6_PARAMETER, fault.code,
                                    fault.pointer, p, len);
    }
    mip6_agent_drop(a, MIP6_AGENT_EXTENSION);
    return false;
}

/* To the home agents' anycast address: agent discovery (section 10.5). */
static void for_anycast(Mip6Agent *a, int64_t now, const uint8_t *p, size_t len)
{
    PacketIp6Ext ext;

    if (!packet_ip6_walk(&ext, p, len) || ext.next != PACKET_PROTO_ICMP6 ||
        ext.fragment) {
        mip6_agent_drop(a, MIP6_AGENT_NOT_FOR_US);
    } else if (may_process(a, now, &ext, p, len)) {
        mip6_agent_icmp6(a, now, &ext, p, len);
    }
}

/* Processes a fragment. Returns: the complete packet, or NULL */
static uint8_t *put_together(Mip6Agent *a, int64_t now, const uint8_t *p,
                             size_t *len, PacketIp6Ext *ext)
{
    uint8_t *whole = packet_reassemble(&a->fragments, now, p, *len, ext, len);

    a->dropped[MIP6_AGENT_MALFORMED] += a->fragments.lost;
    a->fragments.lost = 0;
    if (whole && (!packet_ip6_walk(ext, whole, *len) || ext->fragment)) {
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
        return NULL;
    }
    return whole;
}

static void for_agent(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                      uint8_t *p, size_t len);

/*
 * May a message with a new sequence number be processed? It must be refused as
 * a replay after a restart, so its number is saved before it has an effect. The
 * rate limit bounds the number of writes.
 */
static bool keep_number(Mip6Agent *a, int64_t now, Mip6Keys *keys)
{
    uint64_t number = mip6_keys_seen(keys);

    if (!mip6_keys_may_signal(keys, now)) {
        mip6_agent_drop(a, MIP6_AGENT_RATE);
        return false;
    }
    if (a->ops->seen && number > keys->kept) {
        keys->kept = number;
        a->ops->seen(a->opaque, keys);
    }
    return true;
}

/* RFC 4303 section 3.4: the content is parsed as if it came without ESP. */
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
        mip6_agent_drop(a, MIP6_AGENT_ESP);
    } else if (!packet_ip6_parse(&whole, opened, len)) {
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
    } else if (which != MIP6_SIGNAL_IN || keep_number(a, now, keys)) {
        a->opened = keys;
        for_agent(a, now, &whole, opened, len);
        a->opened = NULL;
    }
}

static void for_agent(Mip6Agent *a, int64_t now, const PacketIp6 *ip,
                      uint8_t *p, size_t len)
{
    PacketIp6Ext ext;
    PacketIp6 whole;

    if (!packet_ip6_walk(&ext, p, len) || ext.offset > len) {
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
        return;
    }
    if (ext.fragment) {
        p = put_together(a, now, p, &len, &ext);
        if (!p) {
            return;
        }
        packet_ip6_parse(&whole, p, len);
        ip = &whole;
    }
    if (!may_process(a, now, &ext, p, len)) {
        return;
    }
    switch (ext.next) {
    case PACKET_PROTO_MH:
        mip6_agent_mh(a, now, ip, &ext, p, len);
        break;
    case PACKET_PROTO_ICMP6:
        if (ext.offset < len && p[ext.offset] == MIP6_ICMP_PREFIX_SOLICIT) {
            mip6_agent_solicitation(a, now, ip, &ext, p, len);
        } else {
            mip6_agent_icmp6(a, now, &ext, p, len);
        }
        break;
    case PACKET_PROTO_IP6:
        mip6_agent_out_of_tunnel(a, now, ip, p + ext.offset, len - ext.offset);
        break;
    case PACKET_PROTO_ESP:
        if (!a->opened) {
            take_esp(a, now, &ext, p, len);
            break;
        }
        /* fall through */
    default:
        mip6_agent_drop(a, MIP6_AGENT_NOT_FOR_US);
        break;
    }
}

void mip6_agent_packet(Mip6Agent *a, int64_t now, void *buf, size_t len)
{
    Mip6AgentBinding *b;
    PacketIp6 ip;

    if (!packet_ip6_parse(&ip, buf, len)) {
        mip6_agent_drop(a, MIP6_AGENT_MALFORMED);
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
    b = mip6_agent_bound(a, &ip.dst);
    if (b) {
        mip6_agent_into_tunnel(a, now, b, &ip, buf, len);
    } else if (mip6_left_find(&a->left, now, &ip.dst)) {
        /* It was queued here when the node returned: the host delivers it. */
        a->stragglers++;
        a->ops->forward(a->opaque, buf, len);
    } else {
        mip6_agent_drop(a, MIP6_AGENT_NOT_FOR_US);
    }
}

int64_t mip6_agent_deadline(const Mip6Agent *a)
{
    const Mip6Due *next = mip6_expiry_next(&a->expiry);
    const Mip6Due *advert = mip6_expiry_next(&a->adverts);
    int64_t at = next ? next->at : INT64_MAX;

    at = advert ? MIN(at, advert->at) : at;
    at = MIN(at, mip6_left_deadline(&a->left));
    return MIN(at, mip6_groups_deadline(&a->groups));
}

void mip6_agent_tick(Mip6Agent *a, int64_t now)
{
    mip6_groups_tick(&a->groups, now);
    mip6_adverts_tick(a, now);
    mip6_left_tick(&a->left, now, MIP6_AGENT_TURN);
    mip6_agent_end_due(a, now);
}

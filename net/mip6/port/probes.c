/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What does the path to the home agent let through?
 *
 * Firewalls drop what they do not know: destination options, which a Binding
 * Update has, type 2 routing headers, which its answer has, or protocol 41, the
 * tunnel. To a user all of it looks like an absent home agent. So when updates
 * have no answer, or when nothing comes out of the tunnel, a round of probes
 * (core/probe.h) is sent, and the reason for the state says what came back:
 *
 *   echo      options   tunnel
 *   silent    -         -         as before: perhaps it answers no pings
 *   answered  silent              destination options are lost
 *   answered  answered            updates are lost, or their answers, or no
 *                                 daemon runs; with ESP: or the keys differ
 *   answered            silent    bound: the tunnel's packets are lost
 *
 * The probe in the tunnel goes from the home address to the home address, so
 * the agent sends it back as any packet for the node. The guest does not get
 * it.
 */
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/mip6/port/internal.h"
#include "net/packet/sum.h"

/* After a registration, if nothing has come out of the tunnel until then. */
#define AFTER_BINDING   (3 * SECOND)
/* While there is trouble. */
#define AGAIN           (30 * SECOND)
/* Updates without an answer. */
#define TRIES           3u
/* Of an echo message: type, code, checksum, identifier, number, token. */
#define ECHO_LEN        12u
#define TOKEN_AT        8u
#define RETURN_LEN      8u      /* token, and its complement */

/* Returns: a binding whose tunnel is in use; NULL: none */
static Mip6Binding *bound(Mip6Port *p)
{
    for (unsigned i = 0; i < p->bindings; i++) {
        if (p->binding[i].state == MIP6_BOUND) {
            return &p->binding[i];
        }
    }
    return NULL;
}

static bool send_echo(Mip6Port *p, const uint8_t *mac, bool options,
                      uint32_t token)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_LEN + 8 + ECHO_LEN] = { 0 };
    uint8_t *packet = frame + PACKET_ETH_LEN, *at = packet + PACKET_IP6_LEN;
    PacketIp6 ip = {
        .src = p->tunnel.local,
        .dst = *mip6_port_agent(p),
        .next = options ? PACKET_PROTO_DSTOPTS : PACKET_PROTO_ICMP6,
        .hops = p->careof.hop_limit,
        .payload = (options ? 8 : 0) + ECHO_LEN,
    };

    if (options) {
        memcpy(at, (uint8_t[8]) { PACKET_PROTO_ICMP6, 0, 1, 4 }, 8);
        at += 8;
    }
    at[0] = PACKET_ICMP6_ECHO;
    put_be16(at + 4, token);
    put_be16(at + 6, options ? MIP6_PROBE_OPTIONS : MIP6_PROBE_ECHO);
    put_be32(at + TOKEN_AT, token);
    put_be16(at + 2, packet_sum_fold(packet_sum_add(
        packet_sum_pseudo6(&ip.src, &ip.dst, PACKET_PROTO_ICMP6, ECHO_LEN),
        at, ECHO_LEN)));
    packet_eth_build(frame, mac, p->careof.mac, PACKET_ETH_IP6);
    packet_ip6_build(packet, &ip);
    mip6_port_transmit(p, frame, at + ECHO_LEN - frame);
    return true;
}

static bool send_through(Mip6Port *p, const uint8_t *mac, uint32_t token)
{
    const Mip6Binding *b = bound(p);
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_LEN + RETURN_LEN];
    uint8_t *inner = frame + PACKET_ETH_LEN;
    struct iovec iov = { frame, sizeof(frame) };
    PacketIp6 ip = {
        .next = PACKET_PROTO_NONE,
        .hops = p->careof.hop_limit,
        .payload = RETURN_LEN,
    };

    if (!b || !packet_ip6_equal(&b->care_of, &p->tunnel.local)) {
        return false;
    }
    ip.src = ip.dst = b->config.home;
    packet_eth_build(frame, mac, p->careof.mac, PACKET_ETH_IP6);
    packet_ip6_build(inner, &ip);
    put_be32(inner + PACKET_IP6_LEN, token);
    put_be32(inner + PACKET_IP6_LEN + 4, ~token);
    mip6_port_choose(p, b);
    return mip6_tunnel_send(&p->tunnel, p->now, mac, p->careof.mac, &iov, 1,
                            PACKET_ETH_LEN, &mip6_port_no_offload,
                            mip6_port_router(p)) == MIP6_DROP_NONE;
}

static bool probe_send(void *opaque, Mip6ProbeKind kind, uint32_t token)
{
    Mip6Port *p = opaque;
    uint8_t mac[PACKET_ETH_ADDR_LEN];

    if (!p->dhaad.agents ||
        !packet_ip6_equal(&p->binding[0].care_of, &p->tunnel.local) ||
        !mip6_careof_owns(&p->careof, &p->tunnel.local) ||
        !mip6_careof_next_hop(&p->careof, p->now, mip6_port_agent(p), mac)) {
        return false;
    }
    return kind == MIP6_PROBE_TUNNEL
           ? send_through(p, mac, token)
           : send_echo(p, mac, kind == MIP6_PROBE_OPTIONS, token);
}

static uint32_t probe_random(void *opaque)
{
    Mip6Port *p = opaque;

    return p->ops->random(p->opaque);
}

/* Of updates that have no answer. */
static Mip6Why why_unanswered(const Mip6ProbeResult *result)
{
    if (result[MIP6_PROBE_ECHO] != MIP6_PROBE_ANSWERED) {
        return MIP6_WHY_NO_ANSWER;
    }
    return result[MIP6_PROBE_OPTIONS] == MIP6_PROBE_SILENT
           ? MIP6_WHY_OPTIONS_DROPPED : MIP6_WHY_UPDATE_UNANSWERED;
}

static void probe_done(void *opaque)
{
    Mip6Port *p = opaque;
    const Mip6ProbeResult *result = p->probe.result;
    Mip6Binding *b = bound(p);

    for (unsigned i = 0; i < p->bindings &&
                         result[MIP6_PROBE_OPTIONS] != MIP6_PROBE_UNTRIED;
         i++) {
        mip6_binding_unanswered(&p->binding[i], why_unanswered(result));
    }
    if (b && b->why == MIP6_WHY_NONE &&
        result[MIP6_PROBE_ECHO] == MIP6_PROBE_ANSWERED &&
        result[MIP6_PROBE_TUNNEL] == MIP6_PROBE_SILENT) {
        mip6_binding_trouble(b, p->now, MIP6_WHY_TUNNEL_SILENT);
    }
}

static const Mip6ProbeOps probe_ops = {
    .send = probe_send,
    .random = probe_random,
    .done = probe_done,
};

void mip6_port_probe_init(Mip6Port *p)
{
    mip6_probe_init(&p->probe, &probe_ops, p);
    p->probe_at = INT64_MAX;
}

static bool is_unanswered(const Mip6Port *p)
{
    for (unsigned i = 0; i < p->bindings; i++) {
        const Mip6Binding *b = &p->binding[i];

        if (b->has_care_of && b->tries >= TRIES &&
            !mip6_binding_is_refused(b)) {
            return true;
        }
    }
    return false;
}

void mip6_port_probe(Mip6Port *p, int64_t now)
{
    mip6_probe_begin(&p->probe, now, 1u << MIP6_PROBE_ECHO |
                     (unsigned)is_unanswered(p) << MIP6_PROBE_OPTIONS |
                     (unsigned)(bound(p) != NULL) << MIP6_PROBE_TUNNEL);
}

void mip6_port_probe_bound(Mip6Port *p, int64_t now)
{
    p->bound_at = now;
    p->probe_at = now + AFTER_BINDING;
}

/* Is it bound, and nothing passes, or has passed since that began? */
static bool is_doubtful(const Mip6Port *p)
{
    bool none = true, trouble = false, is_bound = false;

    for (unsigned i = 0; i < p->bindings; i++) {
        const Mip6Binding *b = &p->binding[i];

        is_bound |= b->state == MIP6_BOUND;
        none &= b->passed == INT64_MIN || b->passed < p->bound_at;
        trouble |= mip6_binding_has_trouble(b);
    }
    return is_bound && (none || trouble);
}

void mip6_port_probe_trouble(Mip6Port *p, int64_t now)
{
    for (unsigned i = 0; i < p->bindings && p->probe_at == INT64_MAX; i++) {
        if (mip6_binding_has_trouble(&p->binding[i])) {
            p->probe_at = now + AGAIN;
        }
    }
}

int64_t mip6_port_probe_deadline(const Mip6Port *p)
{
    int64_t at = mip6_probe_deadline(&p->probe);

    return at < p->probe_at ? at : p->probe_at;
}

void mip6_port_probe_tick(Mip6Port *p, int64_t now)
{
    if (!mip6_port_is_away(p)) {
        mip6_probe_stop(&p->probe);
        p->probe_at = INT64_MAX;
        return;
    }
    if (p->probe_at <= now) {
        p->probe_at = INT64_MAX;
        if (is_doubtful(p)) {
            mip6_port_probe(p, now);
            mip6_port_probe_trouble(p, now);
        }
    }
    if (is_unanswered(p)) {
        mip6_port_probe(p, now);
    }
    mip6_probe_tick(&p->probe, now);
}

bool mip6_port_probe_echoed(Mip6Port *p, const PacketIp6 *ip,
                            const uint8_t *icmp, size_t len)
{
    uint16_t kind;

    if (len != ECHO_LEN || !mip6_port_is_agent(p, &ip->src)) {
        return false;
    }
    kind = get_be16(icmp + 6);
    return (kind == MIP6_PROBE_ECHO || kind == MIP6_PROBE_OPTIONS) &&
           mip6_probe_answer(&p->probe, kind, get_be32(icmp + TOKEN_AT));
}

bool mip6_port_probe_returned(Mip6Port *p, const uint8_t *inner, size_t len)
{
    const uint8_t *token = inner + PACKET_IP6_LEN;

    return len >= PACKET_IP6_LEN + RETURN_LEN &&
           inner[6] == PACKET_PROTO_NONE &&
           get_be32(token) == (uint32_t)~get_be32(token + 4) &&
           mip6_probe_answer(&p->probe, MIP6_PROBE_TUNNEL,
                             get_be32(token));
}

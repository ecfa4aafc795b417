/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages that the agent sends: acknowledgements and errors */
#include <string.h>

#include "ha/agent/internal.h"
#include "net/packet/nd.h"

#define ERROR_TIME      (SECOND / 1000)         /* average interval of errors */
#define ERRORS_BURST    1000

Mip6AgentBinding *mip6_agent_bound(const Mip6Agent *a,
                                   const struct in6_addr *home)
{
    Mip6AgentBinding *b = g_hash_table_lookup(a->bindings, home);

    return b && !b->tentative ? b : NULL;
}

const Mip6AgentBinding *mip6_agent_binding(const Mip6Agent *a,
                                           const struct in6_addr *home)
{
    return mip6_agent_bound(a, home);
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
        [MIP6_AGENT_RATE] = "rate",
        [MIP6_AGENT_ECN] = "ecn",
        [MIP6_AGENT_EXTENSION] = "extension",
        [MIP6_AGENT_OTHER_VLAN] = "other-vlan",
    };

    return names[why];
}

void mip6_agent_drop(Mip6Agent *a, Mip6AgentDrop why)
{
    a->dropped[why]++;
}

static void tell(const Mip6Agent *a, const Mip6AgentNews *news)
{
    if (a->ops->tell) {
        a->ops->tell(a->opaque, news);
    }
}

void mip6_agent_tell(const Mip6Agent *a, Mip6AgentNewsKind kind,
                     const struct in6_addr *home,
                     const struct in6_addr *care_of)
{
    tell(a, &(Mip6AgentNews) {
        .kind = kind, .home = *home, .care_of = *care_of,
    });
}

void mip6_agent_tell_move(const Mip6Agent *a, Mip6AgentNewsKind kind,
                          Mip6AgentBinding *b)
{
    tell(a, &(Mip6AgentNews) {
        .kind = kind, .home = b->home, .care_of = b->care_of,
        .previous = b->previous, .moves = b->contest.moves,
    });
    if (kind == MIP6_AGENT_CONTESTED) {
        b->contest.moves = 0;
    }
}

bool mip6_agent_believes(const Mip6Agent *a, const struct in6_addr *home)
{
    return mip6_keyring_of(a->config.keys, home) == a->opened;
}

void mip6_agent_signal(Mip6Agent *a, const struct in6_addr *home,
                       uint8_t *packet, size_t len)
{
    uint64_t sent;

    len = mip6_keyring_protect(a->config.keys, home, packet, len, &sent);
    if (sent && a->ops->sent) {
        a->ops->sent(a->opaque, sent);
    }
    if (len) {
        a->ops->forward(a->opaque, packet, len);
    } else {
        mip6_agent_drop(a, MIP6_AGENT_ESP);
    }
}

/* A token bucket of ERRORS_BURST. */
bool mip6_agent_may_send_error(Mip6Agent *a, int64_t now)
{
    int64_t rate_until = MAX(a->errors_until, now - ERRORS_BURST * ERROR_TIME);

    if (rate_until + ERROR_TIME > now) {
        a->muted++;
        return false;
    }
    a->errors_until = rate_until + ERROR_TIME;
    a->errors++;
    return true;
}

void mip6_agent_send_icmp6_error(Mip6Agent *a, int64_t now, uint8_t type,
                                 uint8_t code, uint32_t arg, const uint8_t *p,
                                 size_t len)
{
    uint8_t error[PACKET_IP6_MTU_MIN];

    if (a->opened && type == PACKET_ICMP6_PARAMETER) {
        return;                 /* it would quote decrypted data */
    }
    len = packet_icmp6_error(error, sizeof(error), &a->config.address, HOPS,
                             type, code, arg, p, len);
    if (len && mip6_agent_may_send_error(a, now)) {
        a->ops->forward(a->opaque, error, len);
    }
}

/*
 * With ESP it has a routing header, because the home address is the selector.
 */
void mip6_agent_send_binding_error(Mip6Agent *a, int64_t now, uint8_t status,
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
        !mip6_agent_may_send_error(a, now)) {
        return;
    }
    if (a->opened) {
        at += mip6_rh2_build(at, PACKET_PROTO_MH, &a->opened->home);
    }
    at += mip6_mh_build(at, 64, &a->config.address,
                        a->opened ? &a->opened->home : to, &be);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    mip6_agent_signal(a, a->opened ? &a->opened->home : to, packet,
                      at - packet);
}

void mip6_agent_acknowledge(Mip6Agent *a, const struct in6_addr *to,
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
        /* Advice must be shorter than the lifetime (section 6.2.4). */
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
    mip6_agent_signal(a, home, packet, at - packet);
}

void mip6_agent_refuse(Mip6Agent *a, const struct in6_addr *source,
                       const struct in6_addr *home, uint8_t status,
                       uint16_t sequence)
{
    const Mip6AgentBinding *b = mip6_agent_bound(a, home);

    a->refused++;
    /* Nodes that compete do not know each other's numbers. */
    if (status != MIP6_BA_SEQUENCE || !b ||
        b->contest.state == MIP6_CONTEST_NONE) {
        tell(a, &(Mip6AgentNews) {
            .kind = MIP6_AGENT_REFUSED, .home = *home, .care_of = *source,
            .status = status,
        });
    }
    mip6_agent_acknowledge(a, source, home, status, sequence, 0);
}

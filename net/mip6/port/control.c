/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control messages: neighbour discovery, mobility headers, ICMPv6
 */
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/mip6/port/internal.h"
#include "net/packet/mld.h"
#include "net/packet/sum.h"

#define ICMP6_LEN       8u
#define ERROR_BURST     10
#define ERROR_GAP       (SECOND / 10)

static bool read_nd(const struct iovec *iov, int iovcnt, PacketEth *eth,
                    PacketNd *nd)
{
    uint8_t buf[MIP6_CONTROL_MAX];
    size_t len = packet_iov_copy(iov, iovcnt, 0, buf, PACKET_ETH_LEN +
                                 PACKET_IP6_LEN + 8);

    if (!packet_eth_parse(eth, buf, len) || eth->tags ||
        eth->type != PACKET_ETH_IP6 ||
        !mip6_port_like_nd(buf + eth->len, len - eth->len)) {
        return false;
    }
    len = packet_iov_copy(iov, iovcnt, 0, buf, sizeof(buf));
    return packet_nd_parse(nd, buf + eth->len, len - eth->len);
}

bool mip6_port_suppresses(Mip6Port *p, bool from_guest,
                          const struct iovec *iov, int iovcnt)
{
    PacketEth eth;
    PacketNd nd;

    return read_nd(iov, iovcnt, &eth, &nd) &&
           mip6_port_early_suppresses(p, from_guest, &eth, &nd);
}

Mip6Verdict mip6_port_take_query(Mip6Port *p, int64_t now,
                                 const uint8_t *packet, size_t len)
{
    PacketMld mld;

    if (!packet_mld_parse(&mld, packet, len) ||
        !IN6_IS_ADDR_LINKLOCAL(&mld.src)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    mip6_careof_mld(&p->careof, now, &mld);
    return MIP6_DONE;
}

/* At home, the guest hears the query too: a wrong one is not dropped. */
static void overhear_query(Mip6Port *p, int64_t now, const struct iovec *iov,
                           int iovcnt)
{
    uint8_t buf[MIP6_CONTROL_MAX];
    size_t len = packet_iov_copy(iov, iovcnt, 0, buf, sizeof(buf));
    PacketMld mld;
    PacketEth eth;

    if (packet_eth_parse(&eth, buf, len) && !eth.tags &&
        eth.type == PACKET_ETH_IP6 &&
        packet_mld_is_query(buf + eth.len, len - eth.len) &&
        packet_mld_parse(&mld, buf + eth.len, len - eth.len) &&
        IN6_IS_ADDR_LINKLOCAL(&mld.src)) {
        mip6_careof_mld(&p->careof, now, &mld);
        mip6_port_settle(p, now);
    }
}

/* At home: everything passes, and neighbour discovery is read. */
void mip6_port_overhear(Mip6Port *p, int64_t now, bool from_guest,
                        const struct iovec *iov, int iovcnt)
{
    PacketEth eth;
    PacketNd nd;

    if (!from_guest) {
        overhear_query(p, now, iov, iovcnt);
    }
    if (!read_nd(iov, iovcnt, &eth, &nd)) {
        return;
    }
    mip6_home_heard(&p->home, &nd, from_guest, eth.src);
    if (!from_guest) {
        mip6_home_is_alive(&p->home, eth.src);
        mip6_careof_nd(&p->careof, now, &nd, eth.src);
        if (mip6_port_has_left(p)) {
            mip6_port_late_heard(p, &nd);
        }
        if (nd.type == PACKET_ND_RA) {
            mip6_port_judge_location(p, now, &nd.ra);
        }
    }
    mip6_port_settle(p, now);
}

/* Sends a packet of the care-of host to the sender of the current packet. */
static void reply(Mip6Port *p, const Mip6Arrived *to, uint8_t *frame,
                  size_t packet_len)
{
    if (packet_len && packet_eth_is_station(to->eth->src)) {
        packet_eth_build(frame, to->eth->src, p->careof.mac, PACKET_ETH_IP6);
        mip6_port_transmit(p, frame, PACKET_ETH_LEN + packet_len);
    }
}

/*
 * RFC 4443 section 2.4 (f): a burst of ERROR_BURST, then one every ERROR_GAP.
 */
static bool may_answer_error(Mip6Port *p, const PacketIp6 *ip)
{
    if (p->error_credit < p->now - ERROR_BURST * ERROR_GAP) {
        p->error_credit = p->now - ERROR_BURST * ERROR_GAP;
    }
    if (p->error_credit > p->now - ERROR_GAP ||
        !mip6_careof_owns(&p->careof, &ip->dst) ||
        IN6_IS_ADDR_MULTICAST(&ip->src) || IN6_IS_ADDR_UNSPECIFIED(&ip->src)) {
        return false;
    }
    p->error_credit += ERROR_GAP;
    return true;
}

/* Section 9.3.3: answers an unknown type with a Binding Error. */
static void answer_unknown_mh(Mip6Port *p, const Mip6Arrived *from,
                              const PacketIp6 *ip)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_LEN + 64];
    uint8_t *packet = frame + PACKET_ETH_LEN;
    Mip6Mh be = { .type = MIP6_MH_BE, .status = MIP6_BE_UNKNOWN_MH };
    PacketIp6 answer = {
        .src = ip->dst,
        .dst = ip->src,
        .next = PACKET_PROTO_MH,
        .hops = p->careof.hop_limit,
    };

    answer.payload = mip6_mh_build(packet + PACKET_IP6_LEN,
                                   frame + sizeof(frame) - packet -
                                   PACKET_IP6_LEN, &ip->dst, &ip->src, &be);
    packet_ip6_build(packet, &answer);
    reply(p, from, frame, PACKET_IP6_LEN + answer.payload);
}

/* Section 9.2: reports an invalid field, at offset @pointer of the packet. */
static void answer_problem(Mip6Port *p, const Mip6Arrived *from,
                           const PacketIp6 *ip, const uint8_t *packet,
                           size_t len, uint8_t code, uint32_t pointer)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_IP6_MTU_MIN];

    reply(p, from, frame,
          packet_icmp6_error(frame + PACKET_ETH_LEN, PACKET_IP6_MTU_MIN,
                             &ip->dst, p->careof.hop_limit,
                             PACKET_ICMP6_PARAMETER, code, pointer, packet,
                             len));
}

bool mip6_port_accepts(Mip6Port *p, const Mip6Arrived *from,
                       const PacketIp6 *ip, const PacketIp6Ext *ext,
                       const uint8_t *packet, size_t len)
{
    static const PacketIp6Known known = { .routing = MIP6_RH_TYPE };
    PacketIp6Fault fault;

    if (packet_ip6_accept(&fault, &known, ext, packet)) {
        return true;
    }
    /* An error would quote decrypted data. */
    if (fault.is_told && !from->opened && may_answer_error(p, ip)) {
        answer_problem(p, from, ip, packet, len, fault.code, fault.pointer);
    }
    return false;
}

/* Handles an invalid mobility header. */
static Mip6Verdict refuse_mh(Mip6Port *p, const Mip6Arrived *from,
                             const PacketIp6 *ip, const PacketIp6Ext *ext,
                             const uint8_t *packet, size_t len,
                             Mip6MhVerdict verdict)
{
    const uint8_t *mh = packet + ext->offset;
    size_t left = len - ext->offset;

    if (verdict == MIP6_MH_CHECKSUM) {
        return mip6_port_drop(p, MIP6_DROP_MH_CHECKSUM);  /* no answer */
    }
    if (verdict == MIP6_MH_UNKNOWN && may_answer_error(p, ip)) {
        answer_unknown_mh(p, from, ip);
    } else if (verdict == MIP6_MH_PAYLOAD_PROTO && may_answer_error(p, ip)) {
        answer_problem(p, from, ip, packet, len, PACKET_IP6_WRONG_FIELD,
                       ext->offset);
    } else if (verdict == MIP6_MH_SHORT && left >= 8 &&
               (mh[1] + 1u) * 8 <= left && may_answer_error(p, ip)) {
        answer_problem(p, from, ip, packet, len, PACKET_IP6_WRONG_FIELD,
                       ext->offset + 1);
    }
    return mip6_port_drop(p, MIP6_DROP_MH_MALFORMED);
}

/* Section 9.3.3: about one home address, or about all if it names none. */
static bool take_error(Mip6Port *p, int64_t now, const Mip6Mh *be)
{
    bool heeded = false;

    for (unsigned i = 0; i < p->bindings; i++) {
        Mip6Binding *b = &p->binding[i];

        if (packet_ip6_equal(&be->home, &b->config.home) ||
            (IN6_IS_ADDR_UNSPECIFIED(&be->home) &&
             be->status != MIP6_BE_UNKNOWN_BINDING)) {
            mip6_binding_error(b, now, be);
            heeded = true;
        }
    }
    return heeded;
}

/* @b: binding of the home address in the message; NULL: it has none. */
static Mip6Verdict take_good_mh(Mip6Port *p, int64_t now, const Mip6Mh *mh,
                                Mip6Binding *b)
{
    switch (mh->type) {
    case MIP6_MH_BA:
        if (!b || !mip6_binding_ack(b, now, mh)) {
            break;
        }
        if (mh->status == MIP6_BA_PREFIX_DISCOVERY && mip6_port_is_away(p)) {
            mip6_prefixes_ask(&p->prefixes, now);
        }
        mip6_careof_confirm(&p->careof, now, mip6_port_agent(p));
        mip6_careof_trust(&p->careof, &b->care_of);
        return MIP6_DONE;
    case MIP6_MH_BE:
        if (!take_error(p, now, mh)) {
            break;
        }
        return MIP6_DONE;
    case MIP6_MH_BRR:
        if (b) {
            mip6_binding_refresh(b, now);
        } else {
            mip6_port_refresh(p, now);
        }
        return MIP6_DONE;
    }
    return mip6_port_drop(p, MIP6_DROP_MH_UNEXPECTED);
}

Mip6Verdict mip6_port_take_mh(Mip6Port *p, int64_t now,
                              const Mip6Arrived *from, const PacketIp6 *ip,
                              const PacketIp6Ext *ext, const uint8_t *packet,
                              size_t len)
{
    struct in6_addr to = ip->dst;
    Mip6MhVerdict verdict;
    Mip6Mh mh;

    if (!mip6_port_is_protected(p, from, MIP6_SIGNAL_IN)) {
        return mip6_port_drop(p, MIP6_DROP_UNPROTECTED);
    }
    if (ext->routing) {
        const uint8_t *rh = packet + ext->routing;

        if (!mip6_rh2_parse(&to, rh, packet_ip6_ext_len(PACKET_PROTO_ROUTING,
                                                        rh)) ||
            !mip6_port_binding(p, &to)) {
            return mip6_port_drop(p, MIP6_DROP_NOT_HOME_ADDRESS);
        }
    }
    if (!mip6_port_is_selected(from, &to)) {
        return mip6_port_drop(p, MIP6_DROP_NOT_HOME_ADDRESS);
    }
    verdict = mip6_mh_parse(&mh, &ip->src, &to, packet + ext->offset,
                            len - ext->offset);
    if (verdict != MIP6_MH_GOOD) {
        return refuse_mh(p, from, ip, ext, packet, len, verdict);
    }
    if (!mip6_port_is_agent(p, &ip->src)) {
        return mip6_port_drop(p, MIP6_DROP_STRANGER);
    }
    if (mip6_port_has_left(p) && mh.type == MIP6_MH_BE &&
        mip6_port_late_refused(p, &mh.home)) {
        return MIP6_DONE;
    }
    if (!mip6_port_is_running(p)) {
        /* The agent may answer what the VM's other host has sent. */
        return mip6_port_drop(p, MIP6_DROP_MH_UNEXPECTED);
    }
    mip6_port_has_heard(p);
    return take_good_mh(p, now, &mh, mip6_port_binding(p, &to));
}

/* Section 11.4.3: accepted only from the home agent, to the home address. */
Mip6Verdict mip6_port_take_advert(Mip6Port *p, int64_t now,
                                  const Mip6Arrived *from,
                                  const PacketIp6 *ip,
                                  const PacketIp6Ext *ext,
                                  const uint8_t *packet, size_t len)
{
    const uint8_t *rh = packet + ext->routing;
    const Mip6Binding *b = NULL;
    struct in6_addr home;
    Mip6Icmp m;

    if (!mip6_port_is_protected(p, from, MIP6_SIGNAL_IN)) {
        return mip6_port_drop(p, MIP6_DROP_UNPROTECTED);
    }
    if (!mip6_port_is_agent(p, &ip->src)) {
        return mip6_port_drop(p, MIP6_DROP_STRANGER);
    }
    if (ext->routing &&
        mip6_rh2_parse(&home, rh,
                       packet_ip6_ext_len(PACKET_PROTO_ROUTING, rh))) {
        b = mip6_port_binding(p, &home);
    }
    if (!b || !mip6_port_is_selected(from, &home)) {
        return mip6_port_drop(p, MIP6_DROP_NOT_HOME_ADDRESS);
    }
    if (!mip6_icmp_parse(&m, &ip->src, &home, packet + ext->offset,
                         len - ext->offset)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    if (!mip6_port_is_running(p) || !mip6_port_is_away(p) ||
        b->state != MIP6_BOUND) {
        return mip6_port_drop(p, MIP6_DROP_ICMP6);
    }
    if (!m.prefixes) {
        /*
         * Section 6.8 wants one or more: an agent that has not heard its router
         * yet says nothing about the prefix. The request is repeated.
         */
        return mip6_port_drop(p, MIP6_DROP_ICMP6);
    }
    mip6_port_has_heard(p);
    mip6_prefixes_advert(&p->prefixes, now, &m,
                         mip6_home_renew(&p->home, now, &m));
    return MIP6_DONE;
}

/* RFC 4443 section 4.2: users ping the address. */
static Mip6Verdict answer_echo(Mip6Port *p, const Mip6Arrived *from,
                               const PacketIp6 *ip, const uint8_t *icmp,
                               size_t len)
{
    uint8_t frame[MIP6_CONTROL_MAX], *packet = frame + PACKET_ETH_LEN;
    PacketIp6 answer = {
        .src = ip->dst,
        .dst = ip->src,
        .next = PACKET_PROTO_ICMP6,
        .hops = p->careof.hop_limit,
        .payload = len,
    };

    if (!mip6_careof_owns(&p->careof, &ip->dst) ||
        IN6_IS_ADDR_MULTICAST(&ip->src) || IN6_IS_ADDR_UNSPECIFIED(&ip->src) ||
        len > sizeof(frame) - PACKET_ETH_LEN - PACKET_IP6_LEN) {
        return mip6_port_drop(p, MIP6_DROP_ICMP6);
    }
    packet_ip6_build(packet, &answer);
    memcpy(packet + PACKET_IP6_LEN, icmp, len);
    packet[PACKET_IP6_LEN] = PACKET_ICMP6_ECHO_REPLY;
    packet_icmp6_seal(packet, PACKET_IP6_LEN + len);
    reply(p, from, frame, PACKET_IP6_LEN + len);
    return MIP6_DONE;
}

/* Returns: the binding whose update is quoted; NULL: not an update */
static Mip6Binding *binding_of_update(Mip6Port *p, const uint8_t *packet,
                                      size_t len)
{
    struct in6_addr home;
    PacketIp6 ip = { 0 };
    PacketIp6Ext ext;
    Mip6Binding *b;
    size_t options;

    packet_ip6_parse(&ip, packet, len);         /* may be truncated */
    if (!mip6_port_is_agent(p, &ip.dst) ||
        !packet_ip6_walk(&ext, packet, len)) {
        return NULL;
    }
    options = ext.dst2 ? ext.dst2 : ext.dst1;
    if (!options ||
        !mip6_hao_parse(&home, packet + options,
                        packet_ip6_ext_len(PACKET_PROTO_DSTOPTS,
                                           packet + options))) {
        return NULL;
    }
    b = mip6_port_binding(p, &home);
    return b && packet_ip6_equal(&ip.src, &b->care_of) ? b : NULL;
}

/* Returns: the binding whose tunnelled packet is quoted; NULL: none */
static Mip6Binding *binding_of_tunnelled(Mip6Port *p, int64_t now,
                                         const uint8_t *outer, size_t len)
{
    const uint8_t *inner;
    struct in6_addr src;
    size_t inner_len;

    if (!mip6_tunnel_was_sent(&p->tunnel, now, outer, len)) {
        return NULL;
    }
    for (unsigned i = 0; i < p->tunnel.protected; i++) {
        if (mip6_protect_is_ours(p->config.protect[i], outer, len)) {
            return &p->binding[i];
        }
    }
    inner = mip6_tunnel_inner(&p->tunnel, outer, len, &inner_len);
    if (!inner) {
        return NULL;
    }
    memcpy(&src, inner + 8, sizeof(src));
    return mip6_port_binding(p, &src);
}

/* An error about a tunnelled packet. Returns: false if it says nothing */
static bool tunnel_failed(Mip6Binding *b, int64_t now, const uint8_t *icmp,
                          bool from_agent)
{
    switch (icmp[0]) {
    case PACKET_ICMP6_PARAMETER:
        return from_agent && mip6_binding_tunnel_refused(b, now);
    case PACKET_ICMP6_UNREACHABLE:
        return from_agent ? mip6_binding_tunnel_refused(b, now)
                          : mip6_binding_trouble(b, now, MIP6_WHY_UNREACHABLE);
    case PACKET_ICMP6_TIME_EXCEEDED:
        return icmp[1] == 0 &&
               mip6_binding_trouble(b, now, MIP6_WHY_UNREACHABLE);
    default:
        return false;
    }
}

/*
 * Handles an error about a packet that we sent: tunnelled, or a Binding Update.
 */
static Mip6Verdict take_icmp6_error(Mip6Port *p, int64_t now,
                                    const PacketIp6 *ip, const uint8_t *icmp,
                                    size_t len)
{
    const uint8_t *outer = icmp + ICMP6_LEN, *inner;
    size_t inner_len;
    struct in6_addr src;
    Mip6Binding *b;
    bool heeded = false;

    len -= ICMP6_LEN;
    if (len < PACKET_IP6_LEN) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    if (icmp[0] == PACKET_ICMP6_TOO_BIG) {
        heeded = mip6_tunnel_too_big(&p->tunnel, now, get_be32(icmp + 4),
                                     outer, len);
        if (!heeded) {
            return mip6_port_drop(p, MIP6_DROP_ICMP6);
        }
    }
    inner = mip6_tunnel_inner(&p->tunnel, outer, len, &inner_len);
    if (inner) {
        memcpy(&src, inner + 8, sizeof(src));
        if (mip6_home_is_guests(&p->home, &src) &&
            mip6_tunnel_report(&p->tunnel, now, icmp[0], icmp[1], inner,
                               inner_len, mip6_port_router(p))) {
            p->reported++;
            heeded = true;
        }
    }
    b = binding_of_tunnelled(p, now, outer, len);
    if (b && mip6_port_is_running(p)) {
        heeded |= tunnel_failed(b, now, icmp,
                                mip6_port_is_agent(p, &ip->src));
    }
    b = binding_of_update(p, outer, len);
    /* With ESP the agent has our keys, so it supports mobility. */
    if (icmp[0] == PACKET_ICMP6_PARAMETER && icmp[1] != 0 && b &&
        !mip6_port_has_esp(p)) {
        heeded |= mip6_binding_refused_by_icmp(b, now);
    }
    return heeded ? MIP6_DONE : mip6_port_drop(p, MIP6_DROP_ICMP6);
}

static bool icmp6_sum_is_right(const PacketIp6 *ip, const uint8_t *icmp,
                               size_t len)
{
    uint32_t sum = packet_sum_pseudo6(&ip->src, &ip->dst, PACKET_PROTO_ICMP6,
                                      len);

    return packet_sum_fold(packet_sum_add(sum, icmp, len)) == 0;
}

Mip6Verdict mip6_port_take_icmp6(Mip6Port *p, int64_t now,
                                 const Mip6Arrived *from, const PacketIp6 *ip,
                                 const uint8_t *icmp, size_t len)
{
    if (len < ICMP6_LEN || (!from->offload->needs_csum &&
                            !icmp6_sum_is_right(ip, icmp, len))) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    if (icmp[0] < PACKET_ICMP6_ECHO) {
        return take_icmp6_error(p, now, ip, icmp, len);
    }
    switch (icmp[0]) {
    case PACKET_ICMP6_ECHO:
        return answer_echo(p, from, ip, icmp, len);
    case PACKET_ICMP6_ECHO_REPLY:
        return mip6_port_probe_echoed(p, ip, icmp, len)
               ? MIP6_DONE : mip6_port_drop(p, MIP6_DROP_ICMP6);
    case MIP6_ICMP_AGENT_REPLY:
        return mip6_port_take_agents(p, now, ip, icmp, len);
    default:
        return mip6_port_drop(p, MIP6_DROP_ICMP6);
    }
}

Mip6Verdict mip6_port_take_nd(Mip6Port *p, int64_t now, const PacketEth *eth,
                              const uint8_t *packet, size_t len)
{
    PacketNd nd;

    if (!packet_nd_parse(&nd, packet, len)) {
        return mip6_port_drop(p, MIP6_DROP_MALFORMED);
    }
    mip6_careof_nd(&p->careof, now, &nd, eth->src);
    if (nd.type == PACKET_ND_RA) {
        mip6_port_judge_location(p, now, &nd.ra);
        if (mip6_port_is_home(p)) {
            /* The next one may take half an hour (RFC 4861 section 6.2.1). */
            mip6_home_heard(&p->home, &nd, false, eth->src);
            if (mip6_port_is_running(p) &&
                mip6_home_is_home_prefix(&p->home, &nd.ra)) {
                mip6_home_repeat(&p->home);
            }
        }
    }
    return MIP6_DONE;
}

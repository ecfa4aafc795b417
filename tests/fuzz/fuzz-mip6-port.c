/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One VM's mobile node between a hostile guest and a hostile link
 *
 * Input: how the port begins, then steps. A step is one octet that says what
 * happens, and what it needs. Frames are of the input's octets, or of its
 * octets behind headers that lead further; checksums are made right.
 *
 * A port may have its home address in ESP. What the agent's side says then
 * comes in the right association, in the other one, damaged, or without any.
 * A port without ESP may have to find its agent, by a reply that names some.
 *
 * On the foreign link there must be nothing of the guest but in the tunnel to
 * the agent, and nothing longer than the link takes; with ESP, no mobility and
 * no tunnel but in it, and nobody without the keys speaks to the guest.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "mip6-sides.h"
#include "net/mip6/port/port.h"
#include "net/packet/mld.h"
#include "net/packet/sum.h"

#define MTU             1500u
#define FRAME_MAX       70000u
#define STEPS_MAX       64
#define PARTS_MAX       128
#define OUTER           MIP6_TUNNEL_HEAD_LEN
#define LOCATION_ESP    3               /* the location is detected, in ESP */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t guest_mac[] = { 0x52, 0x54, 0, 0, 0, 1 };
static const uint8_t own_mac[] = { 0x02, 0xaa, 0, 0, 0, 1 };
static const uint8_t router_mac[] = { 0x02, 0xbb, 0, 0, 0, 1 };
static const uint8_t all_nodes_mac[] = { 0x33, 0x33, 0, 0, 0, 1 };

static const struct in6_addr home = {
    .s6_addr = { 0x20, 1, 0xd, 0xb8, 0x20, [15] = 0x10 },
};
static const struct in6_addr second = {
    .s6_addr = { 0x20, 1, 0xd, 0xb8, 0x20, [15] = 0x11 },
};
static const struct in6_addr agent = {
    .s6_addr = { 0x20, 1, 0xd, 0xb8, 0x20, [15] = 1 },
};
static const struct in6_addr foreign = {
    .s6_addr = { 0x20, 1, 0xd, 0xb8, 0x30 },
};
static const struct in6_addr far = {
    .s6_addr = { 0x20, 1, 0xd, 0xb8, 0x90, [15] = 9 },
};

typedef struct Input {
    const uint8_t *p;
    size_t left;
} Input;

typedef struct World {
    Mip6Port port;
    int64_t now;
    uint32_t random;
    Mip6Protect *peer;          /* the agent's side; NULL: without ESP */
    uint32_t epoch;
    bool is_strangers;          /* the packet is made without keys */
    bool is_guests;             /* the current frame is the guest's */
    uint8_t buf[FRAME_MAX + 2048];
} World;

static unsigned take(Input *in)
{
    if (!in->left) {
        return 0;
    }
    in->left--;
    return *in->p++;
}

static unsigned take16(Input *in)
{
    unsigned high = take(in);

    return high << 8 | take(in);
}

/* A length, at most that of the remaining input. */
static size_t take_len(Input *in, size_t max)
{
    size_t len = take16(in);

    return len < max ? len : max;
}

/* --- what must be --------------------------------------------------------- */

static void check_offload(const PacketOffload *offload, size_t first,
                          size_t len)
{
    if (offload->needs_csum) {
        g_assert(offload->csum_start >= first);
        g_assert(offload->csum_start + offload->csum_offset + 2u <= len);
    }
}

static bool is_ours(const World *w, const struct in6_addr *addr)
{
    return IN6_IS_ADDR_UNSPECIFIED(addr) ||
           mip6_careof_owns(&w->port.careof, addr);
}

/* Is it the configured agent, or a valid discovered one? */
static bool is_agent(const World *w, const struct in6_addr *addr)
{
    const Mip6Dhaad *d = &w->port.dhaad;

    return d->agents && packet_ip6_equal(addr, &d->agent[d->current]) &&
           (w->port.config.discover ? mip6_dhaad_is_agents(d, addr)
                                    : packet_ip6_equal(addr, &agent));
}

/*
 * Neighbour discovery of our own, requests for home agents, and the care-of
 * host's answers.
 */
static void check_icmp6(const World *w, const PacketIp6 *ip, uint8_t type)
{
    if (type == MIP6_ICMP_AGENT_REQUEST) {
        g_assert(w->port.config.discover);
        g_assert(mip6_port_is_away(&w->port) || w->port.early.is_on);
        g_assert(!mip6_port_has_left(&w->port));
        g_assert(packet_ip6_equal(&ip->dst, &w->port.dhaad.anycast));
        g_assert(mip6_careof_owns(&w->port.careof, &ip->src));
        return;
    }
    g_assert(is_ours(w, &ip->src));
    if (type >= PACKET_ND_RS && type <= PACKET_ND_NA) {
        g_assert(ip->hops == 255);
    } else if (type == PACKET_ICMP6_ECHO) {
        g_assert(mip6_port_is_running(&w->port) && mip6_port_is_away(&w->port));
        g_assert(is_agent(w, &ip->dst));        /* a probe of the path */
    } else {
        g_assert(type == PACKET_ICMP6_ECHO_REPLY ||
                 type == PACKET_ICMP6_PARAMETER);
    }
}

/* Back at home, the guest's addresses are announced with its MAC address. */
static void check_announcement(const World *w, const uint8_t *p, size_t len)
{
    PacketNd nd;

    g_assert(mip6_port_is_running(&w->port) && !mip6_port_is_away(&w->port));
    g_assert(packet_nd_parse(&nd, p, len) && nd.type == PACKET_ND_NA);
    g_assert(mip6_home_is_guests(&w->port.home, &nd.target));
}

static const Mip6Binding *binding_of(const World *w,
                                     const struct in6_addr *addr)
{
    for (unsigned i = 0; i < w->port.bindings; i++) {
        if (packet_ip6_equal(&w->port.binding[i].config.home, addr)) {
            return &w->port.binding[i];
        }
    }
    return NULL;
}

/*
 * A packet of a bound address, from @src; a report about groups; or a packet
 * for a VM that has left.
 */
static void check_tunnelled(const World *w, const struct in6_addr *src,
                            const uint8_t *packet, size_t len)
{
    const Mip6Binding *b;
    struct in6_addr inner;

    g_assert(packet[0] >> 4 == 6);
    if (mip6_port_has_left(&w->port)) {
        memcpy(&inner, packet + 24, sizeof(inner));
        g_assert(mip6_home_is_guests(&w->port.home, &inner));
        return;
    }
    memcpy(&inner, packet + 8, sizeof(inner));
    if (packet_mld_is_beyond_link(packet, len) &&
        (IN6_IS_ADDR_LINKLOCAL(&inner) || IN6_IS_ADDR_UNSPECIFIED(&inner))) {
        g_assert(w->port.binding[0].state == MIP6_BOUND);
        return;
    }
    g_assert(mip6_home_is_guests(&w->port.home, &inner));
    b = binding_of(w, &inner);
    g_assert(b && b->state == MIP6_BOUND);
    g_assert(packet_ip6_equal(src, &b->care_of));
}

/* The groups of the care-of host's own addresses, for its link. */
static void check_report(const World *w, const uint8_t *p, size_t len)
{
    PacketMld mld;

    g_assert(packet_mld_parse(&mld, p, len));
    g_assert(mld.type == PACKET_MLD_REPORT || mld.type == PACKET_MLD2_REPORT);
    g_assert(is_ours(w, &mld.src));
    g_assert(mld.records && !packet_mld_is_beyond_link(p, len));
}

/* ICMPv6 of our own, mobility, or the tunnel. */
static void check_packet(const World *w, const uint8_t *p, size_t len)
{
    PacketIp6 ip;

    g_assert(packet_ip6_parse(&ip, p, len));
    g_assert(PACKET_IP6_LEN + ip.payload == len);
    switch (ip.next) {
    case PACKET_PROTO_HOPOPTS:
        check_report(w, p, len);
        break;
    case PACKET_PROTO_ICMP6:
        check_icmp6(w, &ip, p[PACKET_IP6_LEN]);
        break;
    case PACKET_PROTO_IP6:
    case PACKET_PROTO_FRAGMENT:
        g_assert(is_agent(w, &ip.dst));
        g_assert(mip6_port_is_away(&w->port));
        if (ip.next == PACKET_PROTO_FRAGMENT) {
            break;              /* about a packet that fits into every path */
        }
        g_assert(len >= PACKET_IP6_LEN * 2);
        check_tunnelled(w, &ip.src, p + PACKET_IP6_LEN, len - PACKET_IP6_LEN);
        break;
    case PACKET_PROTO_DSTOPTS:
        g_assert(mip6_port_is_running(&w->port));
        g_assert(packet_ip6_equal(&ip.src, &w->port.binding[0].care_of));
        g_assert(is_agent(w, &ip.dst));
        break;
    default:
        /* From home, to end a binding; or a Binding Error of the host. */
        g_assert(ip.next == PACKET_PROTO_MH);
        if (p[PACKET_IP6_LEN + 2] == MIP6_MH_BE) {
            g_assert(is_ours(w, &ip.src));
            break;
        }
        g_assert(mip6_port_is_running(&w->port) && !mip6_port_is_away(&w->port));
        g_assert(binding_of(w, &ip.src));
        g_assert(is_agent(w, &ip.dst));
        break;
    }
}

/* Decrypts as the agent; the result must be as without ESP. */
static void check_protected(World *w, const uint8_t *p, size_t len)
{
    uint8_t opened[MTU];
    Mip6ProtectSa which;
    PacketIp6Ext ext;
    struct iovec iov;

    g_assert(packet_ip6_walk(&ext, p, len));
    if (ext.next == PACKET_PROTO_ICMP6) {
        check_packet(w, p, len);
        return;
    }
    g_assert(ext.next == ESP_PROTOCOL);
    if (!ext.fragment) {
        iov = (struct iovec) { (void *)(p + ext.offset), len - ext.offset };
        g_assert(mip6_protect_open(w->peer, p, &ext, &iov, 1, opened,
                                   sizeof(opened), &len, &which));
        check_packet(w, opened, len);
    }
}

/* At home, a packet for a VM that has left is forwarded unchanged. */
static bool is_forwarded(const World *w, const struct iovec *iov, int iovcnt)
{
    uint8_t head[PACKET_ETH_LEN + PACKET_IP6_LEN];
    struct in6_addr dst;

    if (!mip6_port_has_left(&w->port) || mip6_port_is_away(&w->port) ||
        packet_iov_copy(iov, iovcnt, 0, head, sizeof(head)) < sizeof(head)) {
        return false;
    }
    memcpy(&dst, head + PACKET_ETH_LEN + 24, sizeof(dst));
    return mip6_home_is_guests(&w->port.home, &dst);
}

/* At home, to a simulated router: unchanged except for the address. */
static bool is_redirected(const World *w, const struct iovec *iov, int iovcnt)
{
    uint8_t dst[PACKET_ETH_ADDR_LEN];

    return w->is_guests && !mip6_port_is_away(&w->port) &&
           packet_iov_copy(iov, iovcnt, 0, dst, sizeof(dst)) == sizeof(dst) &&
           !memcmp(dst, w->port.home.learned.router_mac, sizeof(dst));
}

static void to_link(void *opaque, const struct iovec *iov, int iovcnt,
                    const PacketOffload *offload)
{
    World *w = opaque;
    uint8_t frame[PACKET_ETH_LEN + MTU];
    size_t len = packet_iov_len(iov, iovcnt);

    if (is_forwarded(w, iov, iovcnt) || is_redirected(w, iov, iovcnt)) {
        return;
    }
    g_assert(len <= sizeof(frame) && offload->gso == PACKET_GSO_NONE);
    g_assert(packet_iov_copy(iov, iovcnt, 0, frame, len) == len);
    g_assert(get_be16(frame + 12) == PACKET_ETH_IP6);
    if (memcmp(frame + 6, own_mac, 6)) {
        check_announcement(w, frame + PACKET_ETH_LEN, len - PACKET_ETH_LEN);
        return;
    }
    check_offload(offload, OUTER + PACKET_IP6_LEN, len);
    if (w->peer) {
        g_assert(!offload->needs_csum);
        check_protected(w, frame + PACKET_ETH_LEN, len - PACKET_ETH_LEN);
        return;
    }
    check_packet(w, frame + PACKET_ETH_LEN, len - PACKET_ETH_LEN);
}

static void to_guest(void *opaque, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload)
{
    World *w = opaque;
    const uint8_t *mac = mip6_home_guest_mac(&w->port.home);
    size_t len = packet_iov_copy(iov, iovcnt, 0, w->buf, sizeof(w->buf));

    g_assert(len == packet_iov_len(iov, iovcnt));
    g_assert(len >= PACKET_ETH_LEN + PACKET_IP6_LEN);
    g_assert(get_be16(w->buf + 12) == PACKET_ETH_IP6);
    g_assert(w->buf[14] >> 4 == 6);
    g_assert(!memcmp(w->buf, "\x33\x33", 2) ||
             (mac && !memcmp(w->buf, mac, 6)));
    check_offload(offload, PACKET_ETH_LEN + PACKET_IP6_LEN, len);
    /*
     * Messages of the port itself: about neighbours, groups, sizes and errors.
     */
    g_assert(!w->is_strangers || w->buf[14 + 6] == PACKET_PROTO_ICMP6 ||
             packet_mld_is_query(w->buf + PACKET_ETH_LEN,
                                 len - PACKET_ETH_LEN));
}

static uint32_t next_random(void *opaque)
{
    World *w = opaque;

    w->random = w->random * 1664525 + 1013904223;
    return w->random;
}

static void changed(void *opaque)
{
}

static const Mip6PortOps ops = {
    .to_guest = to_guest,
    .to_link = to_link,
    .random = next_random,
    .changed = changed,
};

/* --- what happens --------------------------------------------------------- */

static uint64_t drops(const World *w)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < MIP6_DROP_REASONS; i++) {
        sum += w->port.dropped[i];
    }
    return sum;
}

static PacketOffload read_offload(Input *in, unsigned how)
{
    PacketOffload offload = { 0 };

    if (how & 1) {
        offload.needs_csum = true;
        offload.csum_start = take16(in);
        offload.csum_offset = take(in);
    }
    if (how & 2) {
        offload.gso = take(in) % 4;
        offload.gso_size = take16(in);
    }
    return offload;
}

/* In parts, each in a copy of its exact length. */
static int cut(struct iovec *iov, const uint8_t *frame, size_t len,
               unsigned step)
{
    int num = 0;

    step = step ? step * 8 : FRAME_MAX;
    for (size_t at = 0; at < len && num < PARTS_MAX; num++) {
        size_t part = num == PARTS_MAX - 1 ? len - at : MIN(step, len - at);

        iov[num].iov_base = g_memdup2(frame + at, part);
        iov[num].iov_len = part;
        at += part;
    }
    return num;
}

static void offer(World *w, bool guest, const uint8_t *frame, size_t len,
                  const PacketOffload *offload, unsigned step)
{
    struct iovec iov[PARTS_MAX];
    int num = cut(iov, frame, len, step);
    uint64_t before = drops(w), sent = w->port.sent;
    Mip6Verdict verdict;

    w->is_guests = guest;
    if (guest) {
        verdict = mip6_port_from_guest(&w->port, w->now, iov, num, offload);
        before = drops(w) - before;
        sent = w->port.sent - sent;
        g_assert(verdict == MIP6_DONE ? before + sent <= 1 : sent == 0);
        g_assert(verdict != MIP6_PASS || !mip6_port_is_away(&w->port));
    } else {
        verdict = mip6_port_from_link(&w->port, w->now, iov, num, offload);
        g_assert(verdict != MIP6_HELD || !mip6_port_is_running(&w->port));
    }
    w->is_guests = false;
    for (int i = 0; i < num; i++) {
        g_free(iov[i].iov_base);
    }
}

/* Corrects checksums, which random octets would rarely have. */
static void seal(uint8_t *frame, size_t len)
{
    PacketIp6Ext ext;
    PacketIp6 ip;
    struct in6_addr dst;
    size_t size;
    uint8_t *p;

    if (len < PACKET_ETH_LEN + PACKET_IP6_LEN + 8) {
        return;
    }
    p = frame + PACKET_ETH_LEN;
    if (!packet_ip6_parse(&ip, p, len - PACKET_ETH_LEN) || ip.payload < 8) {
        return;
    }
    if (ip.next == PACKET_PROTO_ICMP6) {
        packet_icmp6_seal(p, PACKET_IP6_LEN + ip.payload);
        return;
    }
    len = PACKET_IP6_LEN + ip.payload;
    if (!packet_ip6_walk(&ext, p, len) || ext.next != PACKET_PROTO_MH ||
        len - ext.offset < 8) {
        return;
    }
    size = (p[ext.offset + 1] + 1u) * 8;
    if (size <= len - ext.offset) {
        dst = ext.routing ? home : ip.dst;
        put_be16(p + ext.offset + 4, 0);
        put_be16(p + ext.offset + 4, packet_sum_fold(packet_sum_add(
            packet_sum_pseudo6(&ip.src, &dst, PACKET_PROTO_MH, size),
            p + ext.offset, size)));
    }
}

/*
 * Put a packet of the agent's into ESP, as the bits of @how say: signalling's
 * or the tunnel's, and damaged. Returns the frame's length; 0: there is none.
 */
static size_t protect(World *w, uint8_t *frame, size_t len, size_t room,
                      unsigned how)
{
    uint8_t *p = frame + PACKET_ETH_LEN, sealed[4096];
    size_t size = len - PACKET_ETH_LEN;
    struct iovec iov = { p + PACKET_IP6_LEN, size - PACKET_IP6_LEN };

    w->is_strangers = mip6_port_is_away(&w->port) && (how & 7) != 2;
    if (how & 1) {
        size = mip6_protect_signal(w->peer, p, size, room - PACKET_ETH_LEN);
    } else if (how & 2) {
        size = mip6_protect_tunnel(w->peer, &iov, 1, sealed, sizeof(sealed));
        if (OUTER + size > room) {
            return 0;
        }
        memcpy(frame + OUTER, sealed, size);
        p[6] = ESP_PROTOCOL;
        put_be16(p + 4, size);
        size += size ? PACKET_IP6_LEN : 0;
    }
    if (!size) {
        return 0;
    }
    if (how & 4) {
        p[size - 1] ^= 1;
    }
    return PACKET_ETH_LEN + size;
}

static const struct in6_addr *care_of(const World *w)
{
    const struct in6_addr *addr = mip6_careof_address(&w->port.careof,
                                                      w->now);

    return addr ? addr : &far;
}

/*
 * A frame with the header that leads furthest, then the input's octets. If it
 * comes from the link to a port in ESP, @how says to protect() what to do, too.
 */
static void likely_frame(World *w, Input *in, bool guest, unsigned how)
{
    uint8_t frame[2048 + MIP6_PROTECT_MORE] = { 0 };
    size_t len = take_len(in, 2048 - OUTER);
    bool esp = w->peer && !guest;
    PacketIp6 ip = {
        .src = guest ? home : agent,
        .dst = guest ? far : *care_of(w),
        .next = take(in),
        .hops = how & 4 ? 255 : 64,
        .payload = len,
    };
    PacketOffload offload = read_offload(in, esp ? 0 : how);
    unsigned step = take(in);

    if (!guest && w->port.dhaad.agents) {
        ip.src = w->port.dhaad.agent[w->port.dhaad.current];
    }
    if (how & 8) {
        ip.src = packet_ip6_link_local(guest ? guest_mac : router_mac);
        ip.dst = packet_ip6_all_nodes;
    }
    packet_eth_build(frame, guest ? router_mac
                            : how & 8 ? all_nodes_mac : own_mac,
                     guest ? guest_mac : router_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    for (size_t i = 0; i < len && in->left; i++) {
        frame[OUTER + i] = take(in);
    }
    seal(frame, OUTER + len);
    len = esp ? protect(w, frame, OUTER + len, sizeof(frame), how)
              : OUTER + len;
    if (len) {
        offer(w, guest, frame, len, &offload, step);
    }
}

static void raw_frame(World *w, Input *in, bool guest, unsigned how)
{
    PacketOffload offload = read_offload(in, how);
    unsigned step = take(in);
    size_t len = take_len(in, in->left < 2 ? 0 : in->left - 2);
    g_autofree uint8_t *frame = g_memdup2(in->p, len);

    in->p += len;
    in->left -= len;
    if (how & 4) {
        seal(frame, len);
    }
    w->is_strangers = w->peer && !guest && mip6_port_is_away(&w->port);
    offer(w, guest, frame, len, &offload, step);
}

/* A super-frame of TCP, or a long one of UDP. */
static void long_frame(World *w, Input *in, unsigned how)
{
    size_t len = take16(in), head = PACKET_ETH_LEN + PACKET_IP6_LEN;
    g_autofree uint8_t *frame = g_malloc0(head + len);
    PacketIp6 ip = {
        .src = how & 4 ? second : home,
        .dst = far, .hops = 64, .payload = len,
        .next = how & 1 ? PACKET_PROTO_TCP : PACKET_PROTO_UDP,
    };
    PacketOffload offload = {
        .gso = how & 1 ? PACKET_GSO_TCP6 : PACKET_GSO_UDP,
        .gso_size = take16(in),
    };

    packet_eth_build(frame, router_mac, guest_mac, PACKET_ETH_IP6);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    if (len > 20) {
        frame[head + 12] = how & 2 ? take(in) : 0x50;
    }
    offer(w, true, frame, head + len, &offload, take(in));
}

static void advertise(World *w, Input *in, unsigned how)
{
    struct in6_addr src = packet_ip6_link_local(router_mac);
    uint8_t frame[600];
    PacketNdRa ra = {
        .lifetime = how & 1 ? 0 : take16(in),
        .mtu = how & 2 ? take16(in) : 0,
        .retrans = how & 4 ? take(in) : 0,
        .prefixes = 1,
        .prefix[0] = {
            how & 8 ? home : foreign, 64, true, true, false,
            take16(in), take16(in),
        },
    };
    static const PacketOffload nothing;
    size_t len;

    packet_eth_build(frame, all_nodes_mac, router_mac, PACKET_ETH_IP6);
    len = packet_nd_build_ra(frame + PACKET_ETH_LEN,
                             sizeof(frame) - PACKET_ETH_LEN, &src,
                             &packet_ip6_all_nodes, &ra, router_mac);
    offer(w, false, frame, PACKET_ETH_LEN + len, &nothing, 0);
}

/*
 * The answer to the last Binding Update of a home address; with ESP, an octet
 * of the input says how it is protected, and 0 that it is as it should be.
 */
static void acknowledge(World *w, Input *in, unsigned how)
{
    static const PacketOffload nothing;
    uint8_t frame[512], *at = frame + OUTER;
    const Mip6Binding *b =
        &w->port.binding[how & 8 ? take(in) % w->port.bindings : 0];
    Mip6Mh ba = {
        .type = MIP6_MH_BA,
        .status = how & 1 ? take(in) : 0,
        .sequence = b->sequence,
        .lifetime = how & 2 ? take16(in) : 15,
        .has_refresh = how & 4,
        .refresh = how & 4 ? take16(in) : 0,
    };
    const Mip6Dhaad *d = &w->port.dhaad;
    PacketIp6 ip = { .src = agent, .hops = 64 };
    bool away = mip6_port_is_away(&w->port) ||
                (w->port.early.is_on && b->has_care_of);
    size_t len;

    if (d->agents) {
        ip.src = d->agent[d->current];
    }

    packet_eth_build(frame, away ? own_mac : guest_mac, router_mac,
                     PACKET_ETH_IP6);
    ip.dst = mip6_port_is_away(&w->port) ? *care_of(w)
             : away ? b->care_of : b->config.home;
    ip.next = away ? PACKET_PROTO_ROUTING : PACKET_PROTO_MH;
    if (away) {
        at += mip6_rh2_build(at, PACKET_PROTO_MH, &b->config.home);
    }
    at += mip6_mh_build(at, 256, &ip.src, &b->config.home, &ba);
    ip.payload = at - frame - OUTER;
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    len = at - frame;
    if (w->peer) {
        len = protect(w, frame, len, sizeof(frame), take(in) ^ 1);
    }
    offer(w, false, frame, len, &nothing, 0);
}

/* The guest wants another address of the home link. */
static void probe(World *w, Input *in)
{
    static const PacketOffload nothing;
    struct in6_addr addr = home, group;
    uint8_t frame[256], mac[PACKET_ETH_ADDR_LEN];
    size_t len;

    addr.s6_addr[15] = take(in);
    group = packet_ip6_solicited(&addr);
    packet_eth_group6(mac, &group);
    packet_eth_build(frame, mac, guest_mac, PACKET_ETH_IP6);
    len = packet_nd_build_ns(frame + PACKET_ETH_LEN, &in6addr_any, &group,
                             &addr, NULL);
    offer(w, true, frame, PACKET_ETH_LEN + len, &nothing, 0);
}

/* The answer to the last request for home agents. */
static void tell_agents(World *w, Input *in, unsigned how)
{
    static const PacketOffload nothing;
    uint8_t frame[OUTER + MIP6_ICMP_MAX];
    Mip6Icmp m = {
        .type = MIP6_ICMP_AGENT_REPLY,
        .id = how & 2 ? take16(in) : w->port.dhaad.id,
        .agents = take(in) % (MIP6_ICMP_AGENTS_MAX + 1),
    };
    PacketIp6 ip = {
        .src = agent, .dst = *care_of(w), .hops = 64,
        .next = PACKET_PROTO_ICMP6,
    };

    for (unsigned i = 0; i < m.agents; i++) {
        m.agent[i] = how & 4 && i & 1 ? far : home;
        m.agent[i].s6_addr[15] = take(in);
    }
    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    ip.payload = mip6_icmp_build(frame + OUTER, &ip.src, &ip.dst, &m);
    packet_ip6_build(frame + PACKET_ETH_LEN, &ip);
    offer(w, false, frame, OUTER + ip.payload, &nothing, 0);
}

static void pass(World *w, int64_t ns)
{
    int64_t end = w->now + ns, at;
    unsigned ticks = 0;

    while ((at = mip6_port_deadline(&w->port)) <= end && ticks < 200) {
        /* A few calls must do everything that is due. */
        ticks = at > w->now ? 0 : ticks + 1;
        g_assert(ticks < 64);
        w->now = MAX(at, w->now);
        mip6_port_tick(&w->port, w->now);
        if (w->now - (end - ns) > 3600 * SECOND) {
            return;
        }
    }
    w->now = MAX(w->now, end);
}

/* Another host, to which the VM comes. */
static bool arrive(World *w, const uint8_t *saved, size_t len)
{
    Mip6PortConfig config = w->port.config;
    bool good;

    mip6_port_destroy(&w->port);
    if (w->peer) {
        mip6_protect_free(config.protect[0]);
        config.protect[0] = sides_new(false, MIP6_PROTECT_WINDOW, ++w->epoch);
    }
    mip6_port_init(&w->port, &config, &ops, w, true);
    good = mip6_port_load(&w->port, w->now, saved, len);
    mip6_port_start(&w->port, w->now);
    return good;
}

/* A saved state can be loaded, and is unchanged. */
static void migrate(World *w)
{
    uint8_t saved[MIP6_PORT_SAVED_MAX], again[MIP6_PORT_SAVED_MAX];
    size_t len = mip6_port_save(&w->port, w->now, saved);

    g_assert(len > 0 && len <= sizeof(saved));
    g_assert(arrive(w, saved, len));
    g_assert(mip6_port_save(&w->port, w->now, again) == len);
    /* Do not hand over numbers of ESP twice. */
    g_assert(w->peer || !memcmp(saved, again, len));
}

static void load(World *w, Input *in)
{
    size_t len = take_len(in, in->left < 2 ? 0 : in->left - 2);
    g_autofree uint8_t *saved = g_memdup2(in->p, len);

    in->p += len;
    in->left -= len;
    if (arrive(w, saved, len)) {
        migrate(w);
    }
}

/* The VM starts again, and has to discover its home agent. */
static void discover(World *w, unsigned how)
{
    Mip6PortConfig config = w->port.config;

    if (config.protect[0]) {
        return;                 /* keys are those of one agent */
    }
    config.discover = true;
    mip6_port_destroy(&w->port);
    mip6_port_init(&w->port, &config, &ops, w, how & 2);
    mip6_port_start(&w->port, w->now);
    if (how & 4) {
        mip6_port_run(&w->port, w->now);
    }
}

static void step(World *w, Input *in)
{
    unsigned what = take(in), how = what >> 4;

    w->is_strangers = false;
    switch (what & 15) {
    case 0:
        pass(w, take(in) * (SECOND / 16));
        break;
    case 1:
        pass(w, take(in) * SECOND * 4);
        break;
    case 2:
    case 3:
        raw_frame(w, in, what & 1, how);
        break;
    case 4:
    case 5:
        likely_frame(w, in, what & 1, how);
        break;
    case 6:
        long_frame(w, in, how);
        break;
    case 7:
        advertise(w, in, how);
        break;
    case 8:
        acknowledge(w, in, how);
        break;
    case 9:
        mip6_port_run(&w->port, w->now);
        break;
    case 10:
        mip6_port_pause(&w->port);
        break;
    case 11:
        migrate(w);
        break;
    case 12:
        load(w, in);
        break;
    case 13:
        if (how & 1) {
            discover(w, how);
            mip6_port_prepare(&w->port, w->now);
        } else if (how & 2) {
            mip6_port_stay(&w->port, w->now);
        } else {
            mip6_port_start(&w->port, w->now);
        }
        break;
    case 14:
        mip6_port_leave(&w->port, w->now);
        break;
    case 15:
        if (how & 1) {
            tell_agents(w, in, how);
        } else {
            probe(w, in);
        }
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static World world;
    World *w = &world;
    Input in = { data, size };
    unsigned how = take(&in), location = how >> 2 & 3;
    Mip6PortConfig config = {
        .home = {
            .address = home, .prefix_len = 64, .has_guest_mac = how & 1,
            .more = how & 64 ? 1 : 0, .more_address[0] = second,
        },
        .heard_addresses = how & 128,
        .early_registration = true,     /* which a step asks for */
        .agent = agent,
        .has_care_of = how & 2,
        .care_of = foreign,
        .location = location % LOCATION_ESP,
        .lifetime = 15,
        .mtu = MTU,
    };

    memcpy(config.home.guest_mac, guest_mac, 6);
    memcpy(config.mac, own_mac, 6);
    config.care_of.s6_addr[15] = 0x55;
    w->now = 1000 * SECOND;
    w->random = how;
    w->peer = NULL;
    if (location == LOCATION_ESP) {
        config.home.more = 0;           /* one address, which has keys */
        config.heard_addresses = false;
        w->epoch = 1;
        /* Its numbers may go back, as a loaded state may have any contents. */
        w->peer = sides_new(true, 0, w->epoch);
        config.protect[0] = sides_new(false, MIP6_PROTECT_WINDOW, w->epoch);
    }
    mip6_port_init(&w->port, &config, &ops, w, how & 16);
    mip6_port_start(&w->port, w->now);
    if (how & 32) {
        mip6_port_run(&w->port, w->now);
    }
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++) {
        step(w, &in);
    }
    config.protect[0] = w->port.config.protect[0];
    mip6_port_destroy(&w->port);
    mip6_protect_free(config.protect[0]);
    mip6_protect_free(w->peer);
    return 0;
}

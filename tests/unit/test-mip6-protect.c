/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mobile node and its home agent in ESP: accepted messages, and the packets
 * on the link
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "ha/agent/agent.h"
#include "net/mip6/port/port.h"
#include "net/packet/nd.h"
#include "net/packet/sum.h"

#define EPOCH   1700000000u
#define HOME    "2001:db8:2000::10"
#define AGENT   "2001:db8:2000::1"
#define FAR     "2001:db8:9000::c"
#define OUTER   (PACKET_ETH_LEN + PACKET_IP6_LEN)
#define ROOM    4096u

static const uint8_t guest_mac[] = { 0x52, 0x54, 0, 0, 0, 1 };
static const uint8_t own_mac[] = { 0x02, 0xaa, 0, 0, 0, 1 };
static const uint8_t router_mac[] = { 0x02, 0xbb, 0, 0, 0, 1 };

typedef struct Packet {
    uint8_t buf[ROOM];
    size_t len;
} Packet;

typedef struct World {
    Mip6Port port;
    Mip6Agent agent;
    Mip6Protect *protect;
    int64_t now;
    bool deaf;                  /* the agent receives nothing */
    unsigned on_link, to_guest, forwarded;
    Packet link;                /* the last frame of the port */
    Packet guest;               /* the last frame for the guest */
    Packet out;                 /* the last packet of the agent's */
    Packet queue[8];
    unsigned queued;
} World;

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

/* --- keys ----------------------------------------------------------------- */

static uint8_t keys[MIP6_PROTECT_SAS][ESP_KEY_MAX];

/* The associations of one side; the other one has in and out exchanged. */
static Mip6ProtectConfig side(const char *name, bool agent, uint32_t epoch)
{
    static const Mip6ProtectSa other[] = {
        MIP6_SIGNAL_IN, MIP6_SIGNAL_OUT, MIP6_TUNNEL_IN, MIP6_TUNNEL_OUT,
    };
    const EspAlgorithm *algorithm = esp_algorithm_by_name(name);
    Mip6ProtectConfig config = { .window = 64, .epoch = epoch };

    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        unsigned pair = agent ? other[i] : i;

        memset(keys[pair], 0x10 * (pair + 1), ESP_KEY_MAX);
        config.sa[i] = (Mip6ProtectSaConfig) {
            algorithm, 0x1001 + pair, keys[pair],
            esp_algorithm_key_len(algorithm),
        };
    }
    return config;
}

static Mip6Protect *make_as(const Mip6ProtectConfig *config)
{
    Mip6ProtectFault fault;
    Mip6Protect *p = mip6_protect_new(config, &fault);

    g_assert_nonnull(p);
    return p;
}

static Mip6Protect *make(const char *name, bool agent, uint32_t epoch)
{
    Mip6ProtectConfig config = side(name, agent, epoch);

    return make_as(&config);
}

static void test_faults(void)
{
    Mip6ProtectConfig config = side("aes-gcm-128", false, EPOCH);
    const EspAlgorithm *cbc = esp_algorithm_by_name("aes-cbc-128-hmac-sha256");
    Mip6ProtectFault fault;

    config.sa[MIP6_TUNNEL_IN].key = keys[MIP6_SIGNAL_OUT];
    g_assert_null(mip6_protect_new(&config, &fault));
    g_assert_cmpint(fault.sa, ==, MIP6_TUNNEL_IN);
    g_assert_true(fault.is_key);
    g_assert_cmpstr(fault.text, ==, "is the key of signal-out, too: each needs "
                                    "its own");
    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        config.sa[i].algorithm = cbc;   /* with CBC that is no danger */
        config.sa[i].key_len = esp_algorithm_key_len(cbc);
    }
    mip6_protect_free(mip6_protect_new(&config, &fault));

    config = side("aes-gcm-128", false, EPOCH);
    config.sa[MIP6_TUNNEL_OUT].key_len = 16;
    g_assert_null(mip6_protect_new(&config, &fault));
    g_assert_cmpint(fault.sa, ==, MIP6_TUNNEL_OUT);
    g_assert_cmpstr(fault.text, ==, "has 16 octets, and aes-gcm-128 needs 20: "
                    "16 of cipher, 4 of salt, 0 of HMAC");

    config = side("aes-gcm-128", false, EPOCH);
    config.sa[MIP6_SIGNAL_IN].spi = 255;
    g_assert_null(mip6_protect_new(&config, &fault));
    g_assert_cmpint(fault.sa, ==, MIP6_SIGNAL_IN);
    g_assert_false(fault.is_key);
    g_assert_cmpstr(fault.text, ==, "is below 256, which is reserved");

    config = side("aes-gcm-128", false, EPOCH);
    config.sa[MIP6_TUNNEL_OUT].spi = config.sa[MIP6_SIGNAL_OUT].spi;
    g_assert_null(mip6_protect_new(&config, &fault));
    g_assert_cmpint(fault.sa, ==, MIP6_TUNNEL_OUT);
    g_assert_cmpstr(fault.text, ==, "is the SPI of signal-out, too: each needs "
                                    "its own");
    config = side("aes-gcm-128", false, EPOCH);
    config.sa[MIP6_TUNNEL_IN].spi = config.sa[MIP6_SIGNAL_OUT].spi;
    mip6_protect_free(mip6_protect_new(&config, &fault));
}

/* Packets that are signalling, and packets that are not. */
static const uint8_t protocols[] = {
    PACKET_PROTO_MH, PACKET_PROTO_ICMP6, PACKET_PROTO_TCP, PACKET_PROTO_IP6,
};

static bool open_packet(Mip6Protect *p, const uint8_t *packet, size_t len,
                        uint8_t *out, size_t *out_len, Mip6ProtectSa *which)
{
    PacketIp6Ext ext;
    struct iovec iov;

    g_assert_true(packet_ip6_walk(&ext, packet, len));
    g_assert_cmpint(ext.next, ==, ESP_PROTOCOL);
    iov.iov_base = (void *)(packet + ext.offset);
    iov.iov_len = len - ext.offset;
    return mip6_protect_open(p, packet, &ext, &iov, 1, out, ROOM, out_len,
                             which);
}

/* A message with and without a Home Address option. */
static void check_signal(Mip6Protect *node, Mip6Protect *agent, bool hao,
                         uint8_t next)
{
    uint8_t packet[ROOM], before[ROOM], out[ROOM];
    struct in6_addr home = address(HOME);
    size_t len = PACKET_IP6_LEN + 40 + (hao ? MIP6_HAO_LEN : 0);
    bool may = next == PACKET_PROTO_MH || next == PACKET_PROTO_ICMP6;
    PacketIp6 ip = {
        .src = address(FAR), .dst = address(AGENT), .hops = 64,
        .next = hao ? PACKET_PROTO_DSTOPTS : next,
        .payload = len - PACKET_IP6_LEN,
    };
    size_t sealed, opened;
    Mip6ProtectSa which;

    memset(packet, 0x5a, sizeof(packet));
    packet_ip6_build(packet, &ip);
    if (hao) {
        mip6_hao_build(packet + PACKET_IP6_LEN, next, &home);
    }
    memcpy(before, packet, len);
    sealed = mip6_protect_signal(node, packet, len, len + MIP6_PROTECT_MORE);
    g_assert_cmpint(sealed, >, len);
    g_assert_cmpmem(packet + 8, 32, before + 8, 32);
    g_assert_true(open_packet(agent, packet, sealed, out, &opened, &which) ==
                  may);
    if (may) {
        g_assert_cmpint(which, ==, MIP6_SIGNAL_IN);
        g_assert_cmpmem(out, opened, before, len);
    }
    /* Not twice. */
    g_assert_false(open_packet(agent, packet, sealed, out, &opened, &which));
}

/* Each side decrypts the other's packets, with the same octets as before. */
static void test_both_sides(void)
{
    const EspAlgorithm *a;

    for (unsigned i = 0; (a = esp_algorithm_at(i)); i++) {
        Mip6Protect *node = make(a->name, false, EPOCH);
        Mip6Protect *agent = make(a->name, true, EPOCH);

        for (unsigned j = 0; j < G_N_ELEMENTS(protocols); j++) {
            check_signal(node, agent, false, protocols[j]);
            check_signal(agent, node, true, protocols[j]);
        }
        mip6_protect_free(node);
        mip6_protect_free(agent);
    }
}

/* A restarted side is accepted and uses new nonces. */
static void test_restart(void)
{
    Mip6Protect *agent = make("aes-gcm-128", true, EPOCH), *node;
    uint64_t last = 0;

    for (unsigned start = 0; start < 3; start++) {
        node = make("aes-gcm-128", false, EPOCH + 100 * start);
        for (unsigned i = 0; i < 50; i++) {
            uint8_t packet[ROOM] = { 0 }, out[ROOM];
            PacketIp6 ip = { .next = PACKET_PROTO_MH, .payload = 24 };
            Mip6ProtectSa which;
            uint64_t nonce;
            size_t len;

            packet_ip6_build(packet, &ip);
            len = mip6_protect_signal(node, packet, PACKET_IP6_LEN + 24, ROOM);
            nonce = (uint64_t)get_be32(packet + 48) << 32 |
                    get_be32(packet + 52);
            g_assert_cmpuint(nonce, >, last);
            last = nonce;
            g_assert_true(open_packet(agent, packet, len, out, &len, &which));
        }
        mip6_protect_free(node);
    }
    mip6_protect_free(agent);
}

/* --- a node and its agent ------------------------------------------------- */

static void keep(Packet *p, const struct iovec *iov, int iovcnt)
{
    p->len = packet_iov_copy(iov, iovcnt, 0, p->buf, sizeof(p->buf));
    g_assert_cmpint(p->len, ==, packet_iov_len(iov, iovcnt));
}

static void to_guest(void *opaque, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload)
{
    World *w = opaque;

    w->to_guest++;
    keep(&w->guest, iov, iovcnt);
}

/* On the foreign link there is neighbour discovery, and ESP. */
static void to_link(void *opaque, const struct iovec *iov, int iovcnt,
                    const PacketOffload *offload)
{
    World *w = opaque;
    struct in6_addr agent = address(AGENT);
    PacketIp6Ext ext;
    uint8_t *packet = w->link.buf + PACKET_ETH_LEN;
    size_t len;

    w->on_link++;
    keep(&w->link, iov, iovcnt);
    len = w->link.len - PACKET_ETH_LEN;
    g_assert_cmpint(len, <=, 1500);
    g_assert_false(offload->needs_csum);
    g_assert_true(packet_ip6_walk(&ext, packet, len));
    if (ext.next == PACKET_PROTO_ICMP6 ||
        (mip6_port_has_left(&w->port) && !mip6_port_is_away(&w->port))) {
        return;                 /* on the home link others' packets are bare */
    }
    if (ext.next == PACKET_PROTO_IP6) {
        g_assert_null(mip6_protect_sa(w->protect, MIP6_TUNNEL_OUT));
        return;
    }
    g_assert_cmpint(ext.next, ==, PACKET_PROTO_ESP);
    g_assert_false(ext.fragment);
    g_assert_cmpmem(packet + 24, 16, &agent, 16);
    if (!w->deaf) {
        Packet copy = w->link;

        mip6_agent_packet(&w->agent, w->now, copy.buf + PACKET_ETH_LEN, len);
    }
}

static uint32_t fixed_random(void *opaque)
{
    return 1000;
}

static void changed(void *opaque)
{
}

static const Mip6PortOps port_ops = {
    .to_guest = to_guest,
    .to_link = to_link,
    .random = fixed_random,
    .changed = changed,
};

/* The packet for the node waits; it is in ESP. */
static void agent_forward(void *opaque, const void *packet, size_t len)
{
    World *w = opaque;
    Packet *p = &w->out;
    PacketIp6Ext ext;

    w->forwarded++;
    memcpy(p->buf, packet, len);
    p->len = len;
    if (p->buf[28] == 0x30 || w->port.early.is_on) {
        g_assert_cmpint(w->queued, <, G_N_ELEMENTS(w->queue));
        g_assert_true(packet_ip6_walk(&ext, packet, len));
        g_assert_cmpint(ext.next, ==, PACKET_PROTO_ESP);
        w->queue[w->queued++] = *p;
    }
}

static bool agent_proxy(void *opaque, const struct in6_addr *home, bool on)
{
    return true;
}

static const Mip6AgentOps agent_ops = {
    .forward = agent_forward,
    .proxy = agent_proxy,
};

static World *world_new(const char *cipher, const char *agents)
{
    World *w = g_new0(World, 1);
    Mip6PortConfig config = {
        .home = { .address = address(HOME), .prefix_len = 64 },
        .agent = address(AGENT), .lifetime = 15, .mtu = 1500,
    };
    Mip6AgentConfig agent = {
        .address = address(AGENT), .prefix = address(AGENT), .prefix_len = 64,
        .lifetime_max = 150, .bindings_max = 10, .mtu = 1500,
        .keys = mip6_keyring_new(),
    };
    Mip6ProtectConfig ring = side(agents, true, EPOCH);
    Mip6ProtectFault fault;

    g_assert_true(mip6_keyring_add(agent.keys, &config.home.address, &ring,
                                   &fault));
    w->protect = config.protect[0] = make(cipher, false, EPOCH);
    memcpy(config.mac, own_mac, 6);
    w->now = 1000 * SECOND;
    mip6_agent_init(&w->agent, &agent, &agent_ops, w);
    mip6_port_init(&w->port, &config, &port_ops, w, true);
    return w;
}

static void world_free(World *w)
{
    mip6_protect_free(w->protect);
    mip6_agent_destroy(&w->agent);
    mip6_keyring_free(w->agent.config.keys);
    g_free(w);
}

static Mip6Verdict from_link(World *w, const uint8_t *packet, size_t len)
{
    static const PacketOffload nothing;
    uint8_t frame[ROOM + PACKET_ETH_LEN];
    struct iovec iov = { frame, PACKET_ETH_LEN + len };

    packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
    memcpy(frame + PACKET_ETH_LEN, packet, len);
    return mip6_port_from_link(&w->port, w->now, &iov, 1, &nothing);
}

static void deliver(World *w)
{
    for (unsigned i = 0; i < w->queued; i++) {
        from_link(w, w->queue[i].buf, w->queue[i].len);
    }
    w->queued = 0;
}

static void pass(World *w, int64_t ns)
{
    int64_t end = w->now + ns, at;

    while ((at = mip6_port_deadline(&w->port)) <= end) {
        w->now = MAX(at, w->now);
        mip6_port_tick(&w->port, w->now);
        deliver(w);
    }
    w->now = end;
}

static void advertise(World *w, const char *prefix)
{
    static const PacketOffload nothing;
    struct in6_addr src = packet_ip6_link_local(router_mac);
    uint8_t frame[512];
    struct iovec iov = { frame, 0 };
    PacketNdRa ra = {
        .hop_limit = 64, .lifetime = 1800, .prefixes = 1,
        .prefix[0] = { address(prefix), 64, true, true, false, 7200, 3600 },
    };

    packet_eth_build(frame, (uint8_t[]) { 0x33, 0x33, 0, 0, 0, 1 }, router_mac,
                     PACKET_ETH_IP6);
    iov.iov_len = PACKET_ETH_LEN +
                  packet_nd_build_ra(frame + PACKET_ETH_LEN,
                                     sizeof(frame) - PACKET_ETH_LEN, &src,
                                     &packet_ip6_all_nodes, &ra, router_mac);
    mip6_port_from_link(&w->port, w->now, &iov, 1, &nothing);
}

/* On a foreign link, and running. */
static void go_away(World *w)
{
    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:3000::");
    pass(w, 2 * SECOND);
    mip6_port_run(&w->port, w->now);
    deliver(w);
}

static World *away(const char *cipher)
{
    World *w = world_new(cipher, cipher);

    go_away(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    return w;
}

static size_t build(uint8_t *packet, const struct in6_addr *src,
                    const struct in6_addr *dst, uint8_t next, size_t payload)
{
    PacketIp6 ip = {
        .src = *src, .dst = *dst, .next = next, .hops = 64, .payload = payload,
    };

    packet_ip6_build(packet, &ip);
    return PACKET_IP6_LEN + payload;
}

/* A UDP frame of the guest; its checksum is left to the NIC. */
static Mip6Verdict from_guest(World *w, size_t payload)
{
    struct in6_addr home = address(HOME), far = address(FAR);
    PacketOffload offload = {
        .needs_csum = payload >= 8, .csum_start = OUTER, .csum_offset = 6,
    };
    uint8_t frame[ROOM];
    struct iovec iov = { frame, OUTER + payload };

    packet_eth_build(frame, router_mac, guest_mac, PACKET_ETH_IP6);
    memset(frame + OUTER, 0x5a, payload);
    build(frame + PACKET_ETH_LEN, &home, &far, PACKET_PROTO_UDP, payload);
    if (payload >= 8) {
        put_be16(frame + OUTER + 6, ~packet_sum_fold(
            packet_sum_pseudo6(&home, &far, PACKET_PROTO_UDP, payload)));
    }
    return mip6_port_from_guest(&w->port, w->now, &iov, 1, &offload);
}

/* Registered, and both ways through the tunnel, whatever the cipher. */
static void test_through(void)
{
    const EspAlgorithm *a;

    for (unsigned i = 0; (a = esp_algorithm_at(i)); i++) {
        World *w = away(a->name);
        struct in6_addr home = address(HOME), far = address(FAR);
        uint32_t mtu = mip6_tunnel_mtu(&w->port.tunnel, w->now);
        uint8_t packet[ROOM] = { 0 };

        if (!strcmp(a->name, "aes-gcm-128")) {
            g_assert_cmpint(mtu, ==, 1426);
        } else if (!strcmp(a->name, "aes-cbc-128-hmac-sha256")) {
            g_assert_cmpint(mtu, ==, 1406);
        }
        for (size_t len = PACKET_IP6_LEN; len <= mtu; len++) {
            PacketIp6 ip;

            w->forwarded = 0;
            g_assert_cmpint(from_guest(w, len - PACKET_IP6_LEN), ==, MIP6_DONE);
            g_assert_cmpint(w->forwarded, ==, 1);
            g_assert_true(packet_ip6_parse(&ip, w->out.buf, w->out.len));
            g_assert_true(packet_ip6_equal(&ip.src, &home));
            g_assert_cmpint(w->out.len, ==, len);
            if (len >= PACKET_IP6_LEN + 8) {
                /* The checksum is made before encryption. */
                g_assert_cmpint(packet_sum_fold(packet_sum_add(
                    packet_sum_pseudo6(&ip.src, &ip.dst, ip.next, ip.payload),
                    w->out.buf + PACKET_IP6_LEN, ip.payload)), ==, 0);
            }
        }
        g_assert_cmpint(from_guest(w, mtu - PACKET_IP6_LEN + 1), ==, MIP6_DONE);
        g_assert_cmpint(w->port.dropped[MIP6_DROP_TOO_BIG], ==, 1);
        g_assert_cmpint(w->guest.buf[OUTER], ==, PACKET_ICMP6_TOO_BIG);
        g_assert_cmpint(get_be32(w->guest.buf + OUTER + 4), ==, mtu);

        w->to_guest = 0;
        build(packet, &far, &home, PACKET_PROTO_UDP, 100);
        mip6_agent_packet(&w->agent, w->now, packet, PACKET_IP6_LEN + 100);
        deliver(w);
        g_assert_cmpint(w->to_guest, ==, 1);
        g_assert_cmpmem(w->guest.buf + PACKET_ETH_LEN, PACKET_IP6_LEN + 100,
                        packet, PACKET_IP6_LEN + 100);
        g_assert_cmpint(w->agent.dropped[MIP6_AGENT_ESP], ==, 0);
        g_assert_cmpint(w->port.dropped[MIP6_DROP_ESP], ==, 0);
        world_free(w);
    }
}

/* Messages without ESP change nothing, and are counted. */
static void test_unprotected(void)
{
    static const uint8_t types[] = { MIP6_MH_BA, MIP6_MH_BE, MIP6_MH_BRR };
    World *w = away("aes-gcm-128");
    struct in6_addr home = address(HOME), agent = address(AGENT);
    struct in6_addr care_of = w->port.binding[0].care_of, far = address(FAR);
    int64_t expires = w->port.binding[0].expires;
    uint8_t packet[ROOM];
    size_t len;

    w->port.prefixes.next = INT64_MAX;  /* the port sends nothing itself */
    w->on_link = w->to_guest = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        Mip6Mh mh = {
            .type = types[i], .status = i == 1 ? MIP6_BE_UNKNOWN_BINDING : 128,
            .sequence = w->port.binding[0].sequence, .home = home,
        };

        len = mip6_rh2_build(packet + PACKET_IP6_LEN, PACKET_PROTO_MH, &home);
        len += mip6_mh_build(packet + PACKET_IP6_LEN + len, 128, &agent, &home,
                             &mh);
        build(packet, &agent, &care_of, PACKET_PROTO_ROUTING, len);
        from_link(w, packet, PACKET_IP6_LEN + len);
        g_assert_cmpint(w->port.dropped[MIP6_DROP_UNPROTECTED], ==, i + 1);
    }
    build(packet + PACKET_IP6_LEN, &far, &home, PACKET_PROTO_UDP, 8);
    build(packet, &agent, &care_of, PACKET_PROTO_IP6, PACKET_IP6_LEN + 8);
    from_link(w, packet, 2 * PACKET_IP6_LEN + 8);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_UNPROTECTED], ==, 4);
    /* ESP of an SPI that is not ours, and of ours with another's key. */
    for (unsigned i = 0; i < 2; i++) {
        memset(packet, 0, sizeof(packet));
        build(packet, &agent, &care_of, PACKET_PROTO_ESP, 64);
        put_be32(packet + PACKET_IP6_LEN, i ? 0x1002 : 0x2000);
        put_be32(packet + PACKET_IP6_LEN + 4, EPOCH + 1000);
        from_link(w, packet, PACKET_IP6_LEN + 64);
        g_assert_cmpint(w->port.dropped[MIP6_DROP_ESP], ==, i + 1);
    }
    pass(w, SECOND);
    g_assert_cmpint(w->on_link, ==, 0);
    g_assert_cmpint(w->to_guest, ==, 0);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(w->port.binding[0].expires, ==, expires);
    world_free(w);
}

/* The agent tunnels a packet to the guest, without ESP. */
static void tunnel_plain(World *w)
{
    struct in6_addr home = address(HOME), far = address(FAR);
    struct in6_addr agent = address(AGENT);
    uint8_t packet[ROOM] = { 0 };

    build(packet + PACKET_IP6_LEN, &far, &home, PACKET_PROTO_UDP, 8);
    build(packet, &agent, &w->port.binding[0].care_of, PACKET_PROTO_IP6,
          PACKET_IP6_LEN + 8);
    from_link(w, packet, 2 * PACKET_IP6_LEN + 8);
}

/* Bound, and nothing passes: the reason, until something does. */
static void test_reasons(void)
{
    World *w = away("aes-gcm-128");
    const Mip6Binding *b = &w->port.binding[0];
    struct in6_addr agent = address(AGENT), far = address(FAR);
    struct in6_addr home = address(HOME);
    uint8_t packet[ROOM] = { 0 };

    tunnel_plain(w);
    g_assert_cmpint(b->state, ==, MIP6_BOUND);
    g_assert_cmpint(b->why, ==, MIP6_WHY_UNPROTECTED);
    /* In ESP with another key: a tunnel packet, not signalling. */
    build(packet, &agent, &b->care_of, PACKET_PROTO_ESP, 64);
    put_be32(packet + PACKET_IP6_LEN, 0x1002);
    from_link(w, packet, PACKET_IP6_LEN + 64);
    g_assert_cmpint(b->why, ==, MIP6_WHY_UNPROTECTED);
    put_be32(packet + PACKET_IP6_LEN, 0x1004);
    from_link(w, packet, PACKET_IP6_LEN + 64);
    g_assert_cmpint(b->why, ==, MIP6_WHY_ESP);
    build(packet, &far, &home, PACKET_PROTO_UDP, 100);
    mip6_agent_packet(&w->agent, w->now, packet, PACKET_IP6_LEN + 100);
    deliver(w);
    g_assert_cmpint(b->why, ==, MIP6_WHY_NONE);
    /* While it works, what others forge does not show. */
    tunnel_plain(w);
    g_assert_cmpint(b->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

/* Only signalling is protected, as RFC 3776 demands: payload passes in clear */
static void test_signal_only(void)
{
    Mip6ProtectConfig config = side("aes-gcm-128", false, EPOCH);
    World *w = world_new("aes-gcm-128", "aes-gcm-128"), *v;
    uint8_t saved[MIP6_PORT_SAVED_MAX];
    Mip6PortConfig node;
    size_t len;

    config.signal_only = true;
    mip6_protect_free(w->protect);
    w->protect = w->port.config.protect[0] = make_as(&config);
    node = w->port.config;
    mip6_port_init(&w->port, &node, &port_ops, w, true);
    g_assert_null(mip6_protect_sa(w->protect, MIP6_TUNNEL_OUT));
    go_away(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    g_assert_cmpint(w->agent.dropped[MIP6_AGENT_UNPROTECTED], ==, 0);
    from_guest(w, 4);
    g_assert_cmpint(w->link.buf[PACKET_ETH_LEN + 6], ==, PACKET_PROTO_IP6);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, 1460);
    w->to_guest = 0;
    tunnel_plain(w);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_UNPROTECTED], ==, 0);

    /* It moves to its like; one with payload in ESP does not come here. */
    mip6_port_pause(&w->port);
    len = mip6_port_save(&w->port, w->now, saved);
    v = world_new("aes-gcm-128", "aes-gcm-128");
    mip6_protect_free(v->protect);
    v->protect = v->port.config.protect[0] = make_as(&config);
    g_assert_true(mip6_port_load(&v->port, v->now, saved, len));
    world_free(v);
    v = away("aes-gcm-128");
    from_guest(v, 10);
    mip6_port_pause(&v->port);
    len = mip6_port_save(&v->port, v->now, saved);
    g_assert_false(mip6_port_load(&w->port, w->now, saved, len));
    world_free(v);
    world_free(w);
}

/* ... and so at the agent. */
static void test_agent_unprotected(void)
{
    World *w = away("aes-gcm-128");
    struct in6_addr home = address(HOME), agent = address(AGENT);
    struct in6_addr thief = address("2001:db8:4000::bad"), far = address(FAR);
    struct in6_addr care_of = w->port.binding[0].care_of;
    const Mip6AgentBinding *b = mip6_agent_binding(&w->agent, &home);
    uint8_t packet[ROOM];
    size_t len;
    Mip6Mh bu = {
        .type = MIP6_MH_BU, .sequence = b->sequence + 1, .lifetime = 15,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME,
    };

    w->forwarded = 0;
    len = mip6_hao_build(packet + PACKET_IP6_LEN, PACKET_PROTO_MH, &home);
    len += mip6_mh_build(packet + PACKET_IP6_LEN + len, 128, &home, &agent,
                         &bu);
    build(packet, &thief, &agent, PACKET_PROTO_DSTOPTS, len);
    mip6_agent_packet(&w->agent, w->now, packet, PACKET_IP6_LEN + len);
    g_assert_cmpint(w->agent.dropped[MIP6_AGENT_UNPROTECTED], ==, 1);
    g_assert_true(packet_ip6_equal(&b->care_of, &care_of));
    build(packet + PACKET_IP6_LEN, &home, &far, PACKET_PROTO_UDP, 8);
    build(packet, &care_of, &agent, PACKET_PROTO_IP6, PACKET_IP6_LEN + 8);
    mip6_agent_packet(&w->agent, w->now, packet, 2 * PACKET_IP6_LEN + 8);
    g_assert_cmpint(w->agent.dropped[MIP6_AGENT_UNPROTECTED], ==, 2);
    g_assert_cmpint(w->forwarded, ==, 0);
    world_free(w);
}

/* A node cannot use its own keys for another node's home address. */
static void test_another_home(void)
{
    World *w = away("aes-gcm-128");
    struct in6_addr agent = address(AGENT);
    struct in6_addr other = address("2001:db8:2000::11");
    struct in6_addr care_of = w->port.binding[0].care_of;
    uint8_t packet[ROOM];
    size_t len;
    Mip6Mh bu = {
        .type = MIP6_MH_BU, .sequence = 1, .lifetime = 15,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME,
    };

    w->forwarded = 0;
    len = mip6_hao_build(packet + PACKET_IP6_LEN, PACKET_PROTO_MH, &other);
    len += mip6_mh_build(packet + PACKET_IP6_LEN + len, 128, &other, &agent,
                         &bu);
    len = build(packet, &care_of, &agent, PACKET_PROTO_DSTOPTS, len);
    len = mip6_protect_signal(w->protect, packet, len, sizeof(packet));
    mip6_agent_packet(&w->agent, w->now, packet, len);
    g_assert_cmpint(w->agent.dropped[MIP6_AGENT_UNPROTECTED], ==, 1);
    g_assert_null(mip6_agent_binding(&w->agent, &other));
    g_assert_cmpint(w->forwarded, ==, 0);
    world_free(w);
}

/* Another key: no binding, and both sides report the reason. */
static void test_wrong_key(void)
{
    World *w = world_new("aes-gcm-128", "aes-gcm-256");

    go_away(w);
    pass(w, 5 * SECOND);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_REGISTERING);
    g_assert_cmpint(w->port.binding[0].why, ==, MIP6_WHY_NO_ANSWER);
    g_assert_cmpint(w->agent.dropped[MIP6_AGENT_ESP], >, 1);
    g_assert_cmpint(w->forwarded, ==, 0);
    world_free(w);
}

/* The agent has lost the binding, and reports it in ESP: it is made again. */
static void test_binding_error(void)
{
    World *w = away("aes-gcm-128");
    Mip6AgentConfig config = w->agent.config;
    struct in6_addr home = address(HOME);

    mip6_agent_destroy(&w->agent);
    mip6_agent_init(&w->agent, &config, &agent_ops, w);
    g_assert_null(mip6_agent_binding(&w->agent, &home));
    from_guest(w, 100);
    g_assert_cmpint(w->agent.dropped[MIP6_AGENT_NO_BINDING], ==, 1);
    deliver(w);
    pass(w, 2 * SECOND);
    g_assert_nonnull(mip6_agent_binding(&w->agent, &home));
    g_assert_cmpint(w->port.dropped[MIP6_DROP_UNPROTECTED], ==, 0);
    world_free(w);
}

static void send_error_from(World *w, const char *src, uint8_t type,
                            uint8_t code, uint32_t arg, const uint8_t *cause,
                            size_t len)
{
    struct in6_addr from = address(src);
    uint8_t error[PACKET_IP6_MTU_MIN];

    len = packet_icmp6_error(error, sizeof(error), &from, 64, type, code, arg,
                             cause, len);
    from_link(w, error, len);
}

static void send_error(World *w, uint8_t type, uint8_t code, uint32_t arg,
                       const uint8_t *cause, size_t len)
{
    send_error_from(w, "2001:db8:7000::1", type, code, arg, cause, len);
}

/* An agent without the keys: its error has to quote one of our numbers. */
static void test_tunnel_refused(void)
{
    World *w = away("aes-gcm-128");
    const Mip6Binding *b = &w->port.binding[0];
    uint16_t sequence = b->sequence;
    uint8_t sent[ROOM];
    size_t len;

    from_guest(w, 100);
    len = w->link.len - PACKET_ETH_LEN;
    memcpy(sent, w->link.buf + PACKET_ETH_LEN, len);
    pass(w, SECOND);
    put_be32(sent + PACKET_IP6_LEN + 4, 2);
    send_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, sent, len);
    g_assert_cmpint(b->why, ==, MIP6_WHY_NONE);
    put_be32(sent + PACKET_IP6_LEN + 4, 1);
    send_error(w, PACKET_ICMP6_UNREACHABLE, 0, 0, sent, len);
    g_assert_cmpint(b->why, ==, MIP6_WHY_UNREACHABLE);
    g_assert_cmpint(b->sequence, ==, sequence);
    send_error_from(w, AGENT, PACKET_ICMP6_UNREACHABLE, 4, 0, sent, len);
    g_assert_cmpint(b->why, ==, MIP6_WHY_TUNNEL_REFUSED);
    g_assert_cmpint(b->sequence, ==, sequence + 1);
    deliver(w);
    g_assert_cmpint(b->why, ==, MIP6_WHY_NONE);
    world_free(w);
}

/* "Packet too big" counts if it quotes a real packet. */
static void test_icmp6(void)
{
    World *w = away("aes-gcm-128");
    struct in6_addr care_of = w->port.binding[0].care_of;
    struct in6_addr agent = address(AGENT);
    uint32_t mtu = mip6_tunnel_mtu(&w->port.tunnel, w->now);
    uint8_t sent[ROOM] = { 0 };
    size_t len;

    len = build(sent, &care_of, &agent, PACKET_PROTO_IP6, 100);
    send_error(w, PACKET_ICMP6_TOO_BIG, 0, 1400, sent, len);
    len = build(sent, &care_of, &agent, PACKET_PROTO_ESP, 100);
    send_error(w, PACKET_ICMP6_TOO_BIG, 0, 1400, sent, len);
    len = build(sent, &care_of, &agent, PACKET_PROTO_DSTOPTS, 100);
    mip6_hao_build(sent + PACKET_IP6_LEN, PACKET_PROTO_MH, &care_of);
    send_error(w, PACKET_ICMP6_PARAMETER, 1, 0, sent, len);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, mtu);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ICMP6], ==, 3);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);

    from_guest(w, mtu - PACKET_IP6_LEN);
    len = w->link.len - PACKET_ETH_LEN;
    memcpy(sent, w->link.buf + PACKET_ETH_LEN, len);
    /* An attacker who knows the SPI guesses the number: future, or old. */
    put_be32(sent + PACKET_IP6_LEN + 4, 2);
    send_error(w, PACKET_ICMP6_TOO_BIG, 0, 1400, sent, len);
    put_be32(sent + PACKET_IP6_LEN + 4, 1u << 31);
    send_error(w, PACKET_ICMP6_TOO_BIG, 0, 1400, sent, len);
    put_be32(sent + PACKET_IP6_LEN + 4, 1);
    send_error(w, PACKET_ICMP6_TOO_BIG, 0, 68, sent, len);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ICMP6], ==, 6);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, mtu);
    send_error(w, PACKET_ICMP6_TOO_BIG, 0, 1400, sent, len);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ICMP6], ==, 6);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, mtu - 100);
    send_error(w, PACKET_ICMP6_TOO_BIG, 0, 1280, sent, len);
    g_assert_cmpint(w->port.tunnel.path_mtu, ==, 1280);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    world_free(w);
}

/* --- migration ------------------------------------------------------------ */

static void test_migration(void)
{
    World *w = away("aes-gcm-128"), *v = world_new("aes-gcm-128",
                                                   "aes-gcm-128");
    uint8_t saved[MIP6_PORT_SAVED_MAX], out[ROOM];
    Mip6PortConfig bare;
    Mip6ProtectSa which;
    Packet ack = w->out;
    size_t saved_len, len;
    uint64_t next = esp_sa_next(mip6_protect_sa(w->protect, MIP6_TUNNEL_OUT));

    from_guest(w, 10);
    mip6_port_pause(&w->port);
    saved_len = mip6_port_save(&w->port, w->now, saved);
    g_assert_cmpint(saved_len, >, 0);
    for (size_t cut = 0; cut < saved_len; cut++) {
        g_assert_false(mip6_port_load(&v->port, v->now, saved, cut));
    }
    g_assert_true(mip6_port_load(&v->port, v->now, saved, saved_len));
    g_assert_cmpint(esp_sa_next(mip6_protect_sa(v->protect, MIP6_TUNNEL_OUT)),
                    >, next + 1);
    /* The destination does not take again a packet that the source got. */
    mip6_port_run(&v->port, v->now);
    g_assert_false(open_packet(v->protect, ack.buf, ack.len, out, &len,
                               &which));
    g_assert_cmpint(which, ==, MIP6_SIGNAL_IN);
    g_assert_cmpint(esp_sa_counters(mip6_protect_sa(v->protect, which))
                    ->packets[ESP_REPLAYED], ==, 1);
    /* The source has some numbers left, and all if it continues. */
    w->deaf = true;
    w->port.presence = MIP6_PRESENCE_RUNNING;
    for (unsigned i = 0; i < (1u << 16) + 8; i++) {
        from_guest(w, 10);
    }
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ESP], ==, 8);
    mip6_port_run(&w->port, w->now);
    g_assert_cmpint(from_guest(w, 10), ==, MIP6_DONE);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ESP], ==, 8);

    /* A host without keys does not take the VM. */
    bare = v->port.config;
    bare.protect[0] = NULL;
    mip6_port_init(&v->port, &bare, &port_ops, v, true);
    g_assert_false(mip6_port_load(&v->port, v->now, saved, saved_len));
    world_free(v);
    world_free(w);
}

/* The VM's new host, which has taken over @protect, registers it. */
static void register_at(World *w, Mip6Protect *protect, const char *care_of)
{
    struct in6_addr home = address(HOME), agent = address(AGENT);
    struct in6_addr there = address(care_of);
    const Mip6AgentBinding *b = mip6_agent_binding(&w->agent, &home);
    uint8_t packet[ROOM];
    Mip6Mh bu = {
        .type = MIP6_MH_BU, .sequence = b->sequence + 1, .lifetime = 15,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME,
    };
    size_t len = mip6_hao_build(packet + PACKET_IP6_LEN, PACKET_PROTO_MH,
                                &home);

    len += mip6_mh_build(packet + PACKET_IP6_LEN + len, 128, &home, &agent,
                         &bu);
    len = build(packet, &there, &agent, PACKET_PROTO_DSTOPTS, len);
    len = mip6_protect_signal(protect, packet, len, sizeof(packet));
    mip6_agent_packet(&w->agent, w->now, packet, len);
    g_assert_true(packet_ip6_equal(&b->care_of, &there));
}

/* The correspondent sends @number to the guest, by way of the agent. */
static size_t send_number(World *w, uint8_t *packet, uint32_t number)
{
    struct in6_addr home = address(HOME), far = address(FAR);
    size_t len = build(packet, &far, &home, PACKET_PROTO_UDP, 100);
    uint8_t copy[ROOM];

    memset(packet + PACKET_IP6_LEN, 0x5a, 100);
    put_be32(packet + PACKET_IP6_LEN, number);
    memcpy(copy, packet, len);
    mip6_agent_packet(&w->agent, w->now, copy, len);
    deliver(w);
    return len;
}

/* Packets in ESP that reach the VM's old place are forwarded in ESP. */
static void test_late(void)
{
    World *w = away("aes-gcm-128"), *v = world_new("aes-gcm-128",
                                                   "aes-gcm-128");
    uint8_t saved[MIP6_PORT_SAVED_MAX], packet[ROOM], out[ROOM];
    Mip6ProtectSa which;
    size_t len = 0, out_len;

    mip6_port_pause(&w->port);
    len = mip6_port_save(&w->port, w->now, saved);
    g_assert_true(mip6_port_load(&v->port, v->now, saved, len));
    mip6_port_leave(&w->port, w->now);
    w->on_link = w->to_guest = 0;
    for (unsigned i = 0; i < 4; i++) {
        len = send_number(w, packet, i);
    }
    g_assert_cmpint(w->on_link, ==, 0);
    /* The agent refuses the first one, in ESP, while the binding is here. */
    pass(w, SECOND / 4);
    g_assert_cmpint(w->agent.dropped[MIP6_AGENT_NO_BINDING], >, 0);
    g_assert_cmpint(w->port.forwarded, ==, 0);
    register_at(w, v->protect, "2001:db8:4000::bb");
    pass(w, SECOND);
    g_assert_cmpint(w->port.forwarded, ==, 4);
    g_assert_cmpint(w->agent.stragglers, ==, 4);
    g_assert_true(open_packet(v->protect, w->out.buf, w->out.len, out,
                              &out_len, &which));
    g_assert_cmpint(which, ==, MIP6_TUNNEL_IN);
    packet[7] -= 2;             /* the hop limit: here, and at the agent */
    g_assert_cmpmem(out + PACKET_IP6_LEN, out_len - PACKET_IP6_LEN, packet,
                    len);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_LATE], ==, 0);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_ESP], ==, 0);
    g_assert_cmpint(w->agent.dropped[MIP6_AGENT_UNPROTECTED], ==, 0);
    g_assert_cmpint(w->to_guest, ==, 0);
    mip6_port_destroy(&w->port);
    world_free(v);
    world_free(w);
}

/* --- a VM that is registered early ---------------------------------------- */

static void agent_is_there(World *w)
{
    const struct in6_addr *own = &w->port.careof.link_local.addr;
    struct in6_addr agent = address(AGENT);
    uint8_t packet[ROOM];

    from_link(w, packet,
              packet_nd_build_na(packet, &agent, own, &agent,
                                 PACKET_NA_SOLICITED | PACKET_NA_OVERRIDE,
                                 router_mac));
}

static void send_home(World *w)
{
    struct in6_addr home = address(HOME), far = address(FAR);
    uint8_t packet[ROOM] = { 0 };

    mip6_agent_packet(&w->agent, w->now, packet,
                      build(packet, &far, &home, PACKET_PROTO_UDP, 20));
    deliver(w);
}

/* Packets in ESP after its departure from the home link are decrypted. */
static void test_early(void)
{
    World *w = world_new("aes-gcm-128", "aes-gcm-128");
    struct in6_addr home = address(HOME);

    w->port.config.early_registration = true;
    mip6_home_set_nic_mac(&w->port.home, guest_mac);
    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:2000::");
    mip6_port_run(&w->port, w->now);
    pass(w, 2 * SECOND);
    mip6_port_prepare(&w->port, w->now);
    agent_is_there(w);
    deliver(w);
    g_assert_cmpint(w->port.binding[0].state, ==, MIP6_BOUND);
    send_home(w);
    g_assert_cmpint(w->to_guest, ==, 1);
    mip6_port_pause(&w->port);
    mip6_port_leave(&w->port, w->now);
    send_home(w);
    g_assert_cmpint(w->port.forwarded, ==, 0);
    pass(w, SECOND / 5);
    g_assert_cmpint(w->port.forwarded, ==, 1);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_LATE], ==, 0);
    g_assert_cmpmem(w->link.buf, 6, router_mac, 6);
    g_assert_cmpint(w->link.buf[20], ==, PACKET_PROTO_UDP);
    g_assert_cmpmem(w->link.buf + PACKET_ETH_LEN + 24, 16, &home, 16);
    g_assert_cmpint(w->to_guest, ==, 1);
    mip6_port_destroy(&w->port);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6-protect/faults", test_faults);
    g_test_add_func("/mip6-protect/both-sides", test_both_sides);
    g_test_add_func("/mip6-protect/restart", test_restart);
    g_test_add_func("/mip6-protect/through", test_through);
    g_test_add_func("/mip6-protect/unprotected", test_unprotected);
    g_test_add_func("/mip6-protect/reasons", test_reasons);
    g_test_add_func("/mip6-protect/signal-only", test_signal_only);
    g_test_add_func("/mip6-protect/agent-unprotected", test_agent_unprotected);
    g_test_add_func("/mip6-protect/another-home", test_another_home);
    g_test_add_func("/mip6-protect/wrong-key", test_wrong_key);
    g_test_add_func("/mip6-protect/binding-error", test_binding_error);
    g_test_add_func("/mip6-protect/tunnel-refused", test_tunnel_refused);
    g_test_add_func("/mip6-protect/icmpv6", test_icmp6);
    g_test_add_func("/mip6-protect/migration", test_migration);
    g_test_add_func("/mip6-protect/late", test_late);
    g_test_add_func("/mip6-protect/early", test_early);
    return g_test_run();
}

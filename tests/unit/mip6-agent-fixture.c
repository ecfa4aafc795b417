/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A home agent with simulated host and mobile nodes */
#include <arpa/inet.h>
#include <string.h>

#include "mip6-agent-fixture.h"
#include "net/packet/ip6.h"

struct in6_addr agent_address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void forward(void *opaque, const void *packet, size_t len)
{
    AgentFixture *f = opaque;

    g_assert_cmpint(len, <=, sizeof(f->packet));
    memcpy(f->packet, packet, len);
    f->len = len;
    f->packets++;
}

static bool proxy(void *opaque, const struct in6_addr *home, bool on)
{
    AgentFixture *f = opaque;

    f->home = *home;
    f->proxied += on && !f->refuses;
    f->unproxied += !on;
    return !f->refuses;
}

static void seen(void *opaque, const Mip6Keys *keys)
{
    AgentFixture *f = opaque;

    f->kept++;
    f->seen = mip6_keys_seen(keys);
}

static void probe(void *opaque, const struct in6_addr *home)
{
    AgentFixture *f = opaque;

    f->probes++;
    f->heard = f->listening;
}

static void listen_to(void *opaque, const struct in6_addr *home, bool on)
{
    AgentFixture *f = opaque;

    f->listening += on ? 1 : -1;
}

static void changed(void *opaque, const Mip6AgentBinding *b)
{
    AgentFixture *f = opaque;

    g_assert_false(b->tentative);
    f->changes++;
}

static void to_group(void *opaque, const void *packet, size_t len)
{
    AgentFixture *f = opaque;

    f->to_link++;
}

static bool join(void *opaque, const struct in6_addr *group, bool on)
{
    AgentFixture *f = opaque;

    f->joined += on;
    f->left += !on;
    return group->s6_addr[15] != 0xff;
}

static void let_pass(void *opaque, const Mip6AgentPass *pass)
{
    AgentFixture *f = opaque;

    f->pass = *pass;
    f->let++;
}

static void stop_pass(void *opaque, const struct in6_addr *home)
{
    AgentFixture *f = opaque;

    f->stopped_home = *home;
    f->stopped++;
}

/* Each node has sent 3 packets, and received 2. */
static bool passed(void *opaque, const struct in6_addr *home,
                   Mip6AgentPassed *packets)
{
    *packets = (Mip6AgentPassed) { .sent = 2, .received = 3 };
    return true;
}

static const Mip6AgentOps ops = {
    .forward = forward,
    .proxy = proxy,
    .probe = probe,
    .listen = listen_to,
    .changed = changed,
    .to_group = to_group,
    .join = join,
    .seen = seen,
    .let_pass = let_pass,
    .stop_pass = stop_pass,
    .passed = passed,
};

Mip6AgentConfig agent_usual_config(void)
{
    return (Mip6AgentConfig) {
        .address = agent_address(AGENT), .prefix = agent_address(AGENT),
        .prefix_len = 64,
        .lifetime_max = 150, .bindings_max = 2, .mtu = 1500,
    };
}

AgentFixture *agent_begin_as(const Mip6AgentConfig *config)
{
    AgentFixture *f = g_new0(AgentFixture, 1);

    f->now = 1000 * SECOND;
    f->sequence = 65500;        /* soon around */
    mip6_agent_init(&f->a, config, &ops, f);
    return f;
}

AgentFixture *agent_begin(GHashTable *allowed)
{
    Mip6AgentConfig config = agent_usual_config();

    config.allowed = allowed;
    return agent_begin_as(&config);
}

Mip6ProtectConfig agent_protect(bool is_node, uint8_t shift)
{
    static const Mip6ProtectSa other[] = {
        MIP6_SIGNAL_IN, MIP6_SIGNAL_OUT, MIP6_TUNNEL_IN, MIP6_TUNNEL_OUT,
    };
    static uint8_t keys[MIP6_PROTECT_SAS][ESP_KEY_MAX];
    const EspAlgorithm *gcm = esp_algorithm_by_name("aes-gcm-128");
    Mip6ProtectConfig config = { .window = 64, .epoch = 1700000000 };

    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        unsigned pair = is_node ? other[i] : i;

        memset(keys[pair], 0x10 * (pair + 1) + shift, ESP_KEY_MAX);
        config.sa[i] = (Mip6ProtectSaConfig) {
            gcm, AGENT_SPI + pair + 16 * shift, keys[pair],
            esp_algorithm_key_len(gcm),
        };
    }
    return config;
}

void agent_set_keys(AgentFixture *f, const Mip6ProtectConfig *config)
{
    Mip6AgentConfig next = f->a.config;
    Mip6Keyring *before = next.keys;
    struct in6_addr home = agent_address(HOME);
    Mip6ProtectFault fault;

    next.keys = mip6_keyring_new();
    g_assert_true(mip6_keyring_add(next.keys, &home, config, &fault));
    mip6_agent_configure(&f->a, f->now, &next);
    mip6_keyring_free(before);
}

void agent_end(AgentFixture *f)
{
    mip6_agent_destroy(&f->a);
    mip6_keyring_free(f->a.config.keys);
    g_free(f);
}

const Mip6AgentBinding *agent_binding(const AgentFixture *f, const char *home)
{
    struct in6_addr addr = agent_address(home);

    return mip6_agent_binding(&f->a, &addr);
}

/* A Binding Update from @src; with a Home Address option unless from home. */
size_t agent_build_update(uint8_t *packet, const char *home, const char *src,
                          const Mip6Mh *bu)
{
    struct in6_addr from = agent_address(home), agent = agent_address(AGENT);
    bool at_home = !strcmp(home, src);
    uint8_t *at = packet + PACKET_IP6_LEN;
    PacketIp6 ip = {
        .src = agent_address(src), .dst = agent, .hops = 64,
        .next = at_home ? PACKET_PROTO_MH : PACKET_PROTO_DSTOPTS,
    };

    if (!at_home) {
        at += mip6_hao_build(at, PACKET_PROTO_MH, &from);
    }
    at += mip6_mh_build(at, 128, &from, &agent, bu);
    ip.payload = at - packet - PACKET_IP6_LEN;
    packet_ip6_build(packet, &ip);
    return at - packet;
}

void agent_update(AgentFixture *f, const char *home, const char *src,
                  const Mip6Mh *bu)
{
    uint8_t packet[512];
    size_t len = agent_build_update(packet, home, src, bu);

    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, len);
}

/* With A, H, the next sequence number and an alternate care-of address. */
Mip6Mh agent_usual_update(AgentFixture *f, const char *care_of,
                          uint16_t lifetime)
{
    return (Mip6Mh) {
        .type = MIP6_MH_BU, .sequence = ++f->sequence,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME, .lifetime = lifetime,
        .has_alternate = true, .alternate = agent_address(care_of),
    };
}

/* One acknowledgement went to @dst: with a routing header unless to home. */
void agent_expect(const AgentFixture *f, const char *home, const char *dst,
                  uint8_t status, uint16_t sequence, uint16_t lifetime)
{
    struct in6_addr to = agent_address(dst), agent = agent_address(AGENT);
    struct in6_addr want = agent_address(home), found = to;
    size_t at = PACKET_IP6_LEN;
    PacketIp6 ip;
    Mip6Mh ba;

    g_assert_cmpint(f->packets, ==, 1);
    g_assert_true(packet_ip6_parse(&ip, f->packet, f->len));
    g_assert_cmpmem(&ip.src, 16, &agent, 16);
    g_assert_cmpmem(&ip.dst, 16, &to, 16);
    if (strcmp(home, dst)) {
        g_assert_cmpint(ip.next, ==, PACKET_PROTO_ROUTING);
        g_assert_true(mip6_rh2_parse(&found, f->packet + at, MIP6_RH2_LEN));
        at += MIP6_RH2_LEN;
    } else {
        g_assert_cmpint(ip.next, ==, PACKET_PROTO_MH);
    }
    g_assert_cmpmem(&found, 16, &want, 16);
    g_assert_cmpint(mip6_mh_parse(&ba, &agent, &want, f->packet + at,
                                  f->len - at), ==, MIP6_MH_GOOD);
    g_assert_cmpint(ba.type, ==, MIP6_MH_BA);
    g_assert_cmpint(ba.status, ==, status);
    g_assert_cmpint(ba.sequence, ==, sequence);
    /* A refusal's lifetime is undefined (section 6.1.8). */
    g_assert_cmpint(mip6_ba_accepted(status) ? ba.lifetime : 0, ==, lifetime);
}

void agent_bind(AgentFixture *f, const char *home, const char *care_of)
{
    Mip6Mh bu = agent_usual_update(f, care_of, 15);

    agent_update(f, home, care_of, &bu);
    agent_expect(f, home, care_of, MIP6_BA_ACCEPTED, f->sequence, 15);
    g_assert_nonnull(agent_binding(f, home));
}

size_t agent_build_packet(uint8_t *packet, const char *src, const char *dst,
                          size_t payload)
{
    PacketIp6 ip = {
        .src = agent_address(src), .dst = agent_address(dst),
        .next = PACKET_PROTO_UDP,
        .hops = 64, .payload = payload, .tclass = 0x42, .flow = 0x12345,
    };

    packet_ip6_build(packet, &ip);
    memset(packet + PACKET_IP6_LEN, 0x5a, payload);
    return PACKET_IP6_LEN + payload;
}

/*
 * Sends a packet of @src in a tunnel from @outer_src.  Returns: was it
 * forwarded?
 */
bool agent_send_tunnelled(AgentFixture *f, const char *outer_src,
                          const char *src, const char *dst, uint8_t hops)
{
    uint8_t packet[512];
    PacketIp6 ip = {
        .src = agent_address(outer_src), .dst = agent_address(AGENT),
        .next = PACKET_PROTO_IP6, .hops = 64,
    };

    ip.payload = agent_build_packet(packet + PACKET_IP6_LEN, src, dst, 50);
    packet[PACKET_IP6_LEN + 7] = hops;
    packet_ip6_build(packet, &ip);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, PACKET_IP6_LEN + ip.payload);
    return f->packets && f->packet[6] == PACKET_PROTO_UDP;
}

bool agent_from_tunnel(AgentFixture *f, const char *outer_src, const char *src)
{
    return agent_send_tunnelled(f, outer_src, src, FAR, 64);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home agent: each answer to a Binding Update, and what tunnels let by */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "net/mip6/ha/agent.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"
#include "net/packet/octets.h"

#define SECOND  1000000000ll

#define AGENT   "2001:db8:2000::1"
#define HOME    "2001:db8:2000::10"
#define OTHER   "2001:db8:2000::11"
#define CARE_OF "2001:db8:3000::aa"
#define NEXT    "2001:db8:4000::aa"
#define FAR     "2001:db8:9000::c"

typedef struct Fixture {
    Mip6Agent a;
    int64_t now;
    bool refuses;               /* the host does */
    unsigned packets, proxied, unproxied;
    uint8_t packet[4096];       /* the last one that was forwarded */
    size_t len;
    struct in6_addr home;       /* of the last call of proxy() */
    uint16_t sequence;
} Fixture;

static struct in6_addr address(const char *text)
{
    struct in6_addr addr;

    g_assert_cmpint(inet_pton(AF_INET6, text, &addr), ==, 1);
    return addr;
}

static void forward(void *opaque, const void *packet, size_t len)
{
    Fixture *f = opaque;

    g_assert_cmpint(len, <=, sizeof(f->packet));
    memcpy(f->packet, packet, len);
    f->len = len;
    f->packets++;
}

static bool proxy(void *opaque, const struct in6_addr *home, bool on)
{
    Fixture *f = opaque;

    f->home = *home;
    f->proxied += on && !f->refuses;
    f->unproxied += !on;
    return !f->refuses;
}

static const Mip6AgentOps ops = { .forward = forward, .proxy = proxy };

static Fixture *begin(GHashTable *allowed)
{
    Fixture *f = g_new0(Fixture, 1);
    Mip6AgentConfig config = {
        .address = address(AGENT), .prefix = address(AGENT), .prefix_len = 64,
        .lifetime_max = 150, .bindings_max = 2, .mtu = 1500,
        .allowed = allowed,
    };

    f->now = 1000 * SECOND;
    f->sequence = 65500;        /* soon around */
    mip6_agent_init(&f->a, &config, &ops, f);
    return f;
}

static void end(Fixture *f)
{
    mip6_agent_destroy(&f->a);
    g_free(f);
}

static const Mip6AgentBinding *binding(const Fixture *f, const char *home)
{
    struct in6_addr addr = address(home);

    return mip6_agent_binding(&f->a, &addr);
}

/* A Binding Update from @src; with a Home Address option unless from home. */
static size_t build_update(uint8_t *packet, const char *home, const char *src,
                           const Mip6Mh *bu)
{
    struct in6_addr from = address(home), agent = address(AGENT);
    bool at_home = !strcmp(home, src);
    uint8_t *at = packet + PACKET_IP6_LEN;
    PacketIp6 ip = {
        .src = address(src), .dst = agent, .hops = 64,
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

static void update(Fixture *f, const char *home, const char *src,
                   const Mip6Mh *bu)
{
    uint8_t packet[512];
    size_t len = build_update(packet, home, src, bu);

    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, len);
}

/* With A, H, the next sequence number and an alternate care-of address. */
static Mip6Mh usual(Fixture *f, const char *care_of, uint16_t lifetime)
{
    return (Mip6Mh) {
        .type = MIP6_MH_BU, .sequence = ++f->sequence,
        .flags = MIP6_BU_ACK | MIP6_BU_HOME, .lifetime = lifetime,
        .has_alternate = true, .alternate = address(care_of),
    };
}

/* One acknowledgement went to @dst: by a routing header unless to home. */
static void expect(const Fixture *f, const char *home, const char *dst,
                   uint8_t status, uint16_t sequence, uint16_t lifetime)
{
    struct in6_addr to = address(dst), agent = address(AGENT);
    struct in6_addr want = address(home), found = to;
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

static void bind_to(Fixture *f, const char *home, const char *care_of)
{
    Mip6Mh bu = usual(f, care_of, 15);

    update(f, home, care_of, &bu);
    expect(f, home, care_of, MIP6_BA_ACCEPTED, f->sequence, 15);
    g_assert_nonnull(binding(f, home));
}

/* --- registration (RFC 6275 section 10.3) --------------------------------- */

static void test_register(void)
{
    Fixture *f = begin(NULL);
    struct in6_addr home = address(HOME), next = address(NEXT);
    Mip6Mh bu;

    bind_to(f, HOME, CARE_OF);
    g_assert_cmpint(f->proxied, ==, 1);
    g_assert_cmpmem(&f->home, 16, &home, 16);
    g_assert_cmpint(binding(f, HOME)->expires, ==, f->now + 60 * SECOND);
    /* It moves; the host speaks for it already. */
    bu = usual(f, NEXT, 65535);
    update(f, HOME, NEXT, &bu);
    expect(f, HOME, NEXT, MIP6_BA_ACCEPTED, f->sequence, 150);
    g_assert_cmpint(f->proxied, ==, 1);
    g_assert_cmpmem(&binding(f, HOME)->care_of, 16, &next, 16);
    /* Without an option, the source is the care-of address. */
    bu = usual(f, NEXT, 15);
    bu.has_alternate = false;
    update(f, HOME, CARE_OF, &bu);
    expect(f, HOME, CARE_OF, MIP6_BA_ACCEPTED, f->sequence, 15);
    g_assert_cmpint(binding(f, HOME)->care_of.s6_addr[4], ==, 0x30);
    /* The option goes before the source, and the answer to the source. */
    bu = usual(f, NEXT, 15);
    update(f, HOME, CARE_OF, &bu);
    expect(f, HOME, CARE_OF, MIP6_BA_ACCEPTED, f->sequence, 15);
    g_assert_cmpint(binding(f, HOME)->care_of.s6_addr[4], ==, 0x40);
    /* Without A there is no answer. */
    bu = usual(f, CARE_OF, 15);
    bu.flags = MIP6_BU_HOME;
    update(f, HOME, CARE_OF, &bu);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_cmpint(binding(f, HOME)->sequence, ==, f->sequence);
    end(f);
}

/* Section 9.5.1, around 2^16. */
static void test_sequence(void)
{
    static const struct { uint16_t step; bool newer; } steps[] = {
        { 0, false }, { 1, true }, { 2, true }, { 32767, true },
        { 32768, false }, { 32769, false }, { 65535, false },
    };
    Fixture *f = begin(NULL);
    Mip6Mh bu;

    bind_to(f, HOME, CARE_OF);
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
            uint16_t last = binding(f, HOME)->sequence;

            f->sequence = last + steps[i].step - 1;
            bu = usual(f, CARE_OF, 15);
            update(f, HOME, CARE_OF, &bu);
            expect(f, HOME, CARE_OF, steps[i].newer ? MIP6_BA_ACCEPTED
                                                    : MIP6_BA_SEQUENCE,
                   steps[i].newer ? bu.sequence : last,
                   steps[i].newer ? 15 : 0);
        }
    }
    /* An old update ends nothing. */
    f->sequence = binding(f, HOME)->sequence - 1;
    bu = usual(f, CARE_OF, 0);
    update(f, HOME, CARE_OF, &bu);
    g_assert_nonnull(binding(f, HOME));
    end(f);
}

static void test_end(void)
{
    Fixture *f = begin(NULL);
    struct in6_addr home = address(HOME);
    Mip6Mh bu;

    /* From home: the care-of address is the home address. */
    bind_to(f, HOME, CARE_OF);
    bu = usual(f, HOME, 0);
    update(f, HOME, HOME, &bu);
    expect(f, HOME, HOME, MIP6_BA_ACCEPTED, f->sequence, 0);
    g_assert_null(binding(f, HOME));
    g_assert_cmpint(f->unproxied, ==, 1);
    g_assert_cmpmem(&f->home, 16, &home, 16);
    /* From away: a lifetime of 0. */
    bind_to(f, HOME, CARE_OF);
    bu = usual(f, CARE_OF, 0);
    update(f, HOME, CARE_OF, &bu);
    expect(f, HOME, CARE_OF, MIP6_BA_ACCEPTED, f->sequence, 0);
    g_assert_null(binding(f, HOME));
    /* Home as care-of address ends it, whatever lifetime it asks for. */
    bind_to(f, HOME, CARE_OF);
    bu = usual(f, HOME, 15);
    update(f, HOME, HOME, &bu);
    expect(f, HOME, HOME, MIP6_BA_ACCEPTED, f->sequence, 0);
    g_assert_null(binding(f, HOME));
    g_assert_cmpint(f->a.ended, ==, 3);
    /* There is none. */
    bu = usual(f, HOME, 0);
    update(f, HOME, HOME, &bu);
    expect(f, HOME, HOME, MIP6_BA_NOT_HOME_AGENT, f->sequence, 0);
    g_assert_cmpint(f->unproxied, ==, 3);
    end(f);
}

static void test_expiry(void)
{
    Fixture *f = begin(NULL);

    bind_to(f, HOME, CARE_OF);
    f->now += SECOND;
    bind_to(f, OTHER, NEXT);
    f->now += 59 * SECOND - 1;
    mip6_agent_tick(&f->a, f->now);
    g_assert_nonnull(binding(f, HOME));
    f->now++;
    mip6_agent_tick(&f->a, f->now);
    g_assert_null(binding(f, HOME));
    g_assert_nonnull(binding(f, OTHER));
    g_assert_cmpint(f->a.expired, ==, 1);
    g_assert_cmpint(f->unproxied, ==, 1);
    f->now += SECOND;
    mip6_agent_tick(&f->a, f->now);
    g_assert_null(binding(f, OTHER));
    end(f);
}

static void refused(Fixture *f, const char *home, const char *care_of,
                    uint8_t status)
{
    Mip6Mh bu = usual(f, care_of, 15);
    uint64_t before = f->a.refused;
    bool bound = binding(f, home);

    update(f, home, CARE_OF, &bu);
    expect(f, home, CARE_OF, status, bu.sequence, 0);
    g_assert_cmpint(f->a.refused, ==, before + 1);
    g_assert_cmpint(binding(f, home) != NULL, ==, bound);
}

static void test_refusals(void)
{
    Fixture *f = begin(NULL);
    Mip6Mh bu = usual(f, CARE_OF, 15);

    /* Without A, too: a refusal is told (section 9.5.4). */
    bu.flags = 0;
    update(f, HOME, CARE_OF, &bu);
    expect(f, HOME, CARE_OF, MIP6_BA_NO_HOME_REGISTRATION, f->sequence, 0);
    refused(f, FAR, CARE_OF, MIP6_BA_NOT_HOME_SUBNET);
    refused(f, AGENT, CARE_OF, MIP6_BA_NOT_HOME_SUBNET);
    refused(f, HOME, "ff02::1", MIP6_BA_INVALID_COA);
    refused(f, HOME, "fe80::1", MIP6_BA_INVALID_COA);
    refused(f, HOME, "::1", MIP6_BA_INVALID_COA);
    refused(f, HOME, "::", MIP6_BA_INVALID_COA);
    refused(f, HOME, AGENT, MIP6_BA_INVALID_COA);
    f->refuses = true;
    refused(f, HOME, CARE_OF, MIP6_BA_RESOURCES);
    f->refuses = false;
    /* No more than there may be; who is in stays. */
    bind_to(f, HOME, CARE_OF);
    bind_to(f, OTHER, CARE_OF);
    refused(f, "2001:db8:2000::12", CARE_OF, MIP6_BA_RESOURCES);
    bind_to(f, HOME, CARE_OF);
    end(f);
}

static void test_access_list(void)
{
    struct in6_addr home = address(HOME);
    GHashTable *allowed = g_hash_table_new(mip6_addr_hash, mip6_addr_equal);
    Fixture *f;

    g_hash_table_add(allowed, &home);
    f = begin(allowed);
    bind_to(f, HOME, CARE_OF);
    refused(f, OTHER, CARE_OF, MIP6_BA_PROHIBITED);
    end(f);
    g_hash_table_destroy(allowed);
}

/* A message that is cut or changed on its way is not believed or answered. */
static void test_damage(void)
{
    Fixture *f = begin(NULL);
    Mip6Mh bu = usual(f, CARE_OF, 15);
    uint8_t packet[512], copy[512];
    size_t len = build_update(packet, HOME, CARE_OF, &bu);

    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *exact = g_memdup2(packet, cut);

        mip6_agent_packet(&f->a, f->now, exact, cut);
        g_free(exact);
    }
    for (size_t i = PACKET_IP6_LEN + MIP6_HAO_LEN; i < len; i++) {
        if (i == PACKET_IP6_LEN + MIP6_HAO_LEN + 1) {
            continue;           /* the length: what has the checksum? */
        }
        memcpy(copy, packet, len);
        copy[i] ^= 0x40;
        mip6_agent_packet(&f->a, f->now, copy, len);
    }
    /* Another home address is another checksum. */
    memcpy(copy, packet, len);
    copy[PACKET_IP6_LEN + MIP6_HAO_LEN - 1] ^= 1;
    mip6_agent_packet(&f->a, f->now, copy, len);
    g_assert_cmpint(f->packets, ==, 0);
    g_assert_null(binding(f, HOME));
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_CHECKSUM], >, 0);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_nonnull(binding(f, HOME));
    end(f);
}

/* --- packets (section 10.4) ----------------------------------------------- */

static size_t build_packet(uint8_t *packet, const char *src, const char *dst,
                           size_t payload)
{
    PacketIp6 ip = {
        .src = address(src), .dst = address(dst), .next = PACKET_PROTO_UDP,
        .hops = 64, .payload = payload, .tclass = 0x42, .flow = 0x12345,
    };

    packet_ip6_build(packet, &ip);
    memset(packet + PACKET_IP6_LEN, 0x5a, payload);
    return PACKET_IP6_LEN + payload;
}

static void test_to_node(void)
{
    Fixture *f = begin(NULL);
    struct in6_addr care_of = address(CARE_OF), far = address(FAR);
    uint8_t packet[2048];
    PacketIp6 outer;
    size_t len;

    len = build_packet(packet, FAR, HOME, 100);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NOT_FOR_US], ==, 1);
    bind_to(f, HOME, CARE_OF);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->packets, ==, 1);
    g_assert_true(packet_ip6_parse(&outer, f->packet, f->len));
    g_assert_cmpint(outer.next, ==, PACKET_PROTO_IP6);
    g_assert_cmpint(outer.tclass, ==, 0x42);
    g_assert_cmpint(outer.flow, ==, 0x12345);
    g_assert_cmpmem(&outer.dst, 16, &care_of, 16);
    g_assert_cmpmem(f->packet + PACKET_IP6_LEN, f->len - PACKET_IP6_LEN,
                    packet, len);
    g_assert_cmpint(binding(f, HOME)->sent, ==, 1);
    /* A packet as long as the path, and one octet more. */
    len = build_packet(packet, FAR, HOME, 1420);
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->len, ==, 1500);
    len = build_packet(packet, FAR, HOME, 1421);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, len);
    g_assert_cmpint(f->packets, ==, 1);
    g_assert_cmpmem(f->packet + 24, 16, &far, 16);
    g_assert_cmpint(f->packet[40], ==, PACKET_ICMP6_TOO_BIG);
    g_assert_cmpint(packet_get32(f->packet + 44), ==, 1460);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_TOO_BIG], ==, 1);
    end(f);
}

/* A packet of @src in the tunnel from @outer_src. Has it come out? */
static bool from_tunnel(Fixture *f, const char *outer_src, const char *src)
{
    uint8_t packet[512];
    PacketIp6 ip = {
        .src = address(outer_src), .dst = address(AGENT),
        .next = PACKET_PROTO_IP6, .hops = 64,
    };

    ip.payload = build_packet(packet + PACKET_IP6_LEN, src, FAR, 50);
    packet_ip6_build(packet, &ip);
    f->packets = 0;
    mip6_agent_packet(&f->a, f->now, packet, PACKET_IP6_LEN + ip.payload);
    return f->packets && f->packet[6] == PACKET_PROTO_UDP;
}

static void test_from_node(void)
{
    Fixture *f = begin(NULL);
    Mip6Mh bu;
    uint8_t inner[512];
    size_t len = build_packet(inner, HOME, FAR, 50);

    g_assert_cmpint(from_tunnel(f, CARE_OF, HOME), ==, 0);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NO_BINDING], ==, 1);
    bind_to(f, HOME, CARE_OF);
    bind_to(f, OTHER, NEXT);
    g_assert_cmpint(from_tunnel(f, CARE_OF, HOME), ==, 1);
    g_assert_cmpmem(f->packet, f->len, inner, len);
    g_assert_cmpint(binding(f, HOME)->received, ==, 1);
    /* Not from its care-of address, not its home address, nobody's. */
    g_assert_cmpint(from_tunnel(f, NEXT, HOME), ==, 0);
    g_assert_cmpint(from_tunnel(f, CARE_OF, OTHER), ==, 0);
    g_assert_cmpint(from_tunnel(f, HOME, HOME), ==, 0);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_WRONG_SOURCE], ==, 3);
    g_assert_cmpint(from_tunnel(f, CARE_OF, FAR), ==, 0);
    g_assert_cmpint(f->a.dropped[MIP6_AGENT_NO_BINDING], ==, 2);
    /* Nor when the binding has ended. */
    bu = usual(f, CARE_OF, 0);
    update(f, HOME, CARE_OF, &bu);
    g_assert_cmpint(from_tunnel(f, CARE_OF, HOME), ==, 0);
    end(f);
}

/* A node with two home addresses and one care-of address (section 11.7.1). */
static void test_two_homes(void)
{
    Fixture *f = begin(NULL);
    struct in6_addr care_of = address(CARE_OF), other = address(OTHER);
    Mip6Mh bu;

    bind_to(f, HOME, CARE_OF);
    f->sequence = 7;            /* each has a sequence of its own */
    bind_to(f, OTHER, CARE_OF);
    g_assert_cmpint(f->proxied, ==, 2);
    g_assert_cmpint(from_tunnel(f, CARE_OF, HOME), ==, 1);
    g_assert_cmpint(from_tunnel(f, CARE_OF, OTHER), ==, 1);
    g_assert_cmpint(binding(f, OTHER)->received, ==, 1);
    /* One moves, and the other is where it was. */
    bind_to(f, OTHER, NEXT);
    g_assert_cmpmem(&binding(f, HOME)->care_of, 16, &care_of, 16);
    g_assert_cmpint(from_tunnel(f, CARE_OF, OTHER), ==, 0);
    bind_to(f, OTHER, CARE_OF);
    /* One ends: only for that the host does not speak any more. */
    bu = usual(f, OTHER, 0);
    update(f, OTHER, OTHER, &bu);
    expect(f, OTHER, OTHER, MIP6_BA_ACCEPTED, f->sequence, 0);
    g_assert_cmpint(f->unproxied, ==, 1);
    g_assert_cmpmem(&f->home, 16, &other, 16);
    g_assert_null(binding(f, OTHER));
    g_assert_cmpint(from_tunnel(f, CARE_OF, HOME), ==, 1);
    g_assert_cmpint(from_tunnel(f, CARE_OF, OTHER), ==, 0);
    end(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/agent/register", test_register);
    g_test_add_func("/mip6/agent/sequence", test_sequence);
    g_test_add_func("/mip6/agent/end", test_end);
    g_test_add_func("/mip6/agent/expiry", test_expiry);
    g_test_add_func("/mip6/agent/refusals", test_refusals);
    g_test_add_func("/mip6/agent/access-list", test_access_list);
    g_test_add_func("/mip6/agent/damage", test_damage);
    g_test_add_func("/mip6/agent/to-node", test_to_node);
    g_test_add_func("/mip6/agent/from-node", test_from_node);
    g_test_add_func("/mip6/agent/two-homes", test_two_homes);
    return g_test_run();
}

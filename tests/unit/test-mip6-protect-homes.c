/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several home addresses in ESP (RFC 3776): each has associations, selectors
 * and numbers of its own
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-world.h"

#define EPOCH           1700000000u
#define HOMES           2u
#define SPI             0x1001u         /* the first one */
#define SPIS            16u             /* between two home addresses */
#define INNER           (PACKET_ETH_LEN + PACKET_IP6_LEN)

static const char *const homes[HOMES] = { HOME, "2001:db8:2000::11" };
static uint8_t keys[HOMES][MIP6_PROTECT_SAS][ESP_KEY_MAX];

/* The associations of home address @home: of the node, or of its agent. */
static Mip6ProtectConfig side(unsigned home, bool agent)
{
    static const Mip6ProtectSa other[] = {
        MIP6_SIGNAL_IN, MIP6_SIGNAL_OUT, MIP6_TUNNEL_IN, MIP6_TUNNEL_OUT,
    };
    const EspAlgorithm *gcm = esp_algorithm_by_name("aes-gcm-128");
    Mip6ProtectConfig config = { .window = 64, .epoch = EPOCH };

    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        unsigned pair = agent ? other[i] : i;

        memset(keys[home][pair], 0x10 * (pair + 1) + home, ESP_KEY_MAX);
        config.sa[i] = (Mip6ProtectSaConfig) {
            gcm, SPI + pair + SPIS * home, keys[home][pair],
            esp_algorithm_key_len(gcm),
        };
    }
    return config;
}

static Mip6Protect *make(unsigned home, bool agent)
{
    Mip6ProtectConfig config = side(home, agent);
    Mip6ProtectFault fault;
    Mip6Protect *p = mip6_protect_new(&config, &fault);

    g_assert_nonnull(p);
    return p;
}

/* A port with both addresses, @first before the other. */
static World *begin(unsigned first)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);
    Mip6PortConfig config = w->port.config;
    Mip6AgentConfig agent = w->agent.config;
    Mip6ProtectFault fault;

    config.home.address = address(homes[first]);
    config.home.more = 1;
    config.home.more_address[0] = address(homes[!first]);
    config.protect[0] = make(first, false);
    config.protect[1] = make(!first, false);
    agent.keys = mip6_keyring_new();
    for (unsigned i = 0; i < HOMES; i++) {
        struct in6_addr home = address(homes[i]);
        Mip6ProtectConfig ring = side(i, true);

        g_assert_true(mip6_keyring_add(agent.keys, &home, &ring, &fault));
    }
    mip6_agent_configure(&w->agent, w->now, &agent);
    mip6_port_init(&w->port, &config, w->port.ops, w, true);
    return w;
}

static void end(World *w)
{
    mip6_protect_free(w->port.config.protect[0]);
    mip6_protect_free(w->port.config.protect[1]);
    mip6_keyring_free(w->agent.config.keys);
    world_free(w);
}

static World *bound(void)
{
    World *w = begin(0);

    mip6_home_set_nic_mac(&w->port.home, guest_mac);
    mip6_port_start(&w->port, w->now);
    advertise(w, "2001:db8:3000::", router_mac);
    pass(w, 2 * SECOND);
    mip6_port_run(&w->port, w->now);
    deliver(w);
    pass(w, SECOND);
    for (unsigned i = 0; i < HOMES; i++) {
        g_assert_cmpint(w->port.binding[i].state, ==, MIP6_BOUND);
    }
    return w;
}

static uint32_t spi_of(const uint8_t *packet, size_t len)
{
    PacketIp6Ext ext;

    g_assert_true(packet_ip6_walk(&ext, packet, len));
    g_assert_cmpint(ext.next, ==, PACKET_PROTO_ESP);
    return get_be32(packet + ext.offset);
}

/* Both ways, each in the associations of its address; updates, too. */
static void test_through(void)
{
    World *w = bound();
    uint8_t frame[512];
    bool updated[HOMES] = { false };

    for (unsigned i = 0; i < w->logged; i++) {
        const uint8_t *packet = w->log[i].buf + PACKET_ETH_LEN;

        if (packet[6] == PACKET_PROTO_DSTOPTS) {
            uint32_t spi = spi_of(packet, w->log[i].len - PACKET_ETH_LEN);

            g_assert_cmphex((spi - SPI) % SPIS, ==, MIP6_SIGNAL_OUT);
            updated[(spi - SPI) / SPIS] = true;
        }
    }
    for (unsigned i = 0; i < HOMES; i++) {
        size_t len = packet(frame, homes[i], FAR, 64);

        g_assert_true(updated[i]);
        w->queued = 0;
        from_guest(w, frame, len);
        g_assert_cmphex(spi_of(w->link.buf + PACKET_ETH_LEN,
                               w->link.len - PACKET_ETH_LEN), ==,
                        SPI + MIP6_TUNNEL_OUT + SPIS * i);
        g_assert_cmpint(w->queued, ==, 1);
        g_assert_cmpmem(w->from_agent[0], w->from_agent_len[0],
                        frame + PACKET_ETH_LEN, len - PACKET_ETH_LEN);
        w->queued = w->to_guest = 0;
        packet(frame, FAR, homes[i], 64);
        mip6_agent_packet(&w->agent, w->now, frame + PACKET_ETH_LEN,
                          len - PACKET_ETH_LEN);
        g_assert_cmphex(spi_of(w->from_agent[0], w->from_agent_len[0]), ==,
                        SPI + MIP6_TUNNEL_IN + SPIS * i);
        deliver(w);
        g_assert_cmpint(w->to_guest, ==, 1);
    }
    g_assert_cmpuint(w->agent.dropped[MIP6_AGENT_UNPROTECTED], ==, 0);
    g_assert_cmpuint(w->agent.dropped[MIP6_AGENT_ESP], ==, 0);
    end(w);
}

/* An association carries nothing of the other address. */
static void test_selectors(void)
{
    World *w = bound();
    Mip6Protect *agent = make(0, true);
    struct in6_addr other = address(homes[1]), from = address(AGENT);
    int64_t expires = w->port.binding[1].expires;
    Mip6Mh ba = {
        .type = MIP6_MH_BA, .sequence = w->port.binding[1].sequence,
        .status = MIP6_BA_ACCEPTED, .lifetime = 1,
    };
    /* Behind what the agent has sent already. */
    EspSaState state = { .next = EPOCH + 100 };
    uint8_t frame[1024], inner[512], *at = frame + INNER;
    size_t len;
    struct iovec iov;

    g_assert_true(mip6_protect_load(agent, MIP6_SIGNAL_OUT, &state));
    len = packet(inner, FAR, homes[1], 64) - PACKET_ETH_LEN;
    iov = (struct iovec) { inner + PACKET_ETH_LEN, len };
    len = mip6_protect_tunnel(agent, &iov, 1, at, 512);
    w->to_guest = 0;
    from_link(w, frame, to_care_of(w, frame, AGENT, PACKET_PROTO_ESP, len));
    g_assert_cmpuint(w->port.dropped[MIP6_DROP_NOT_HOME_ADDRESS], ==, 1);
    g_assert_cmpint(w->to_guest, ==, 0);

    len = mip6_rh2_build(at, PACKET_PROTO_MH, &other);
    len += mip6_mh_build(at + len, 128, &from, &other, &ba);
    to_care_of(w, frame, AGENT, PACKET_PROTO_ROUTING, len);
    len = mip6_protect_signal(agent, frame + PACKET_ETH_LEN,
                              PACKET_IP6_LEN + len, 512);
    from_link(w, frame, PACKET_ETH_LEN + len);
    g_assert_cmpuint(w->port.dropped[MIP6_DROP_NOT_HOME_ADDRESS], ==, 2);
    g_assert_cmpint(w->port.binding[1].expires, ==, expires);
    g_assert_cmpuint(w->port.dropped[MIP6_DROP_ESP], ==, 0);
    mip6_protect_free(agent);
    end(w);
}

static uint64_t next_number(const World *w, const char *home, Mip6ProtectSa sa)
{
    struct in6_addr addr = address(home);
    unsigned i = 0;

    while (!packet_ip6_equal(&w->port.binding[i].config.home, &addr)) {
        i++;
    }
    return esp_sa_next(mip6_protect_sa(w->port.config.protect[i], sa));
}

/* The numbers of each go along, by its address, in whatever order. */
static void test_migration(void)
{
    World *w = bound(), *v = begin(1);
    uint8_t saved[MIP6_PORT_SAVED_MAX], frame[512];
    uint64_t before[HOMES];
    size_t len;

    w->deaf = true;
    for (unsigned i = 0; i < 1000; i++) {
        from_guest(w, frame, packet(frame, homes[1], FAR, 64));
    }
    for (unsigned i = 0; i < HOMES; i++) {
        before[i] = next_number(w, homes[i], MIP6_TUNNEL_OUT);
    }
    g_assert_cmpuint(before[1], ==, before[0] + 1000);
    mip6_port_pause(&w->port);
    len = mip6_port_save(&w->port, w->now, saved);
    g_assert_cmpuint(len, >, 0);
    g_assert_true(mip6_port_load(&v->port, v->now, saved, len));
    for (unsigned i = 0; i < HOMES; i++) {
        g_assert_cmpuint(next_number(v, homes[i], MIP6_TUNNEL_OUT), ==,
                         before[i] + (1u << 16));
        g_assert_cmpuint(next_number(v, homes[i], MIP6_SIGNAL_OUT), >, EPOCH);
    }
    /*
     * For both, the source has the reserved numbers, and all if the VM
     * continues there.
     */
    mip6_port_run(&w->port, w->now);
    for (unsigned i = 0; i < HOMES; i++) {
        g_assert_cmpuint(next_number(w, homes[i], MIP6_TUNNEL_OUT), ==,
                         before[i] + (2u << 16));
    }
    end(v);
    end(w);
}

/* The maximum of addresses, with all their numbers, fits. */
static void test_most(void)
{
    World *w = world_new(MIP6_LOCATION_AUTO, true);
    Mip6PortConfig config = w->port.config;
    uint8_t saved[MIP6_PORT_SAVED_MAX];

    config.home.more = MIP6_HOME_ADDRESSES - 1;
    for (unsigned i = 0; i < MIP6_HOME_ADDRESSES; i++) {
        config.protect[i] = make(0, false);
        if (i > 0) {
            config.home.more_address[i - 1] = address(HOME);
            config.home.more_address[i - 1].s6_addr[14] = i;
        }
    }
    mip6_port_init(&w->port, &config, w->port.ops, w, true);
    w->port.home.learned.ra.prefixes = PACKET_ND_PREFIX_MAX;
    g_assert_cmpuint(mip6_port_save(&w->port, w->now, saved), >, 0);
    for (unsigned i = 0; i < MIP6_HOME_ADDRESSES; i++) {
        mip6_protect_free(config.protect[i]);
    }
    world_free(w);
}

/* "Packet too big" about the second address's; its stragglers. */
static void test_second(void)
{
    World *w = bound();
    uint8_t frame[2048], outer[2048];
    uint32_t mtu = mip6_tunnel_mtu(&w->port.tunnel, w->now);
    size_t len = packet(frame, homes[1], FAR, mtu - PACKET_IP6_LEN);

    w->deaf = true;
    from_guest(w, frame, len);
    len = w->link.len - PACKET_ETH_LEN;
    memcpy(outer, w->link.buf + PACKET_ETH_LEN, len);
    give_error(w, PACKET_ICMP6_TOO_BIG, 0, 1400, outer, len);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, mtu - 100);

    mip6_port_pause(&w->port);
    mip6_port_leave(&w->port, w->now);
    w->queued = 0;
    len = packet(frame, FAR, homes[1], 64);
    mip6_agent_packet(&w->agent, w->now, frame + PACKET_ETH_LEN,
                      len - PACKET_ETH_LEN);
    deliver(w);
    pass(w, SECOND / 4);
    g_assert_cmphex(spi_of(w->link.buf + PACKET_ETH_LEN,
                           w->link.len - PACKET_ETH_LEN), ==,
                    SPI + MIP6_TUNNEL_OUT + SPIS);
    pass(w, SECOND / 4);
    g_assert_cmpuint(w->port.forwarded, ==, 1);
    end(w);
}

/* Two addresses share nothing. */
static void test_fits(void)
{
    Mip6ProtectConfig first = side(0, false), second = side(1, false), config;
    Mip6ProtectFault fault;

    g_assert_true(mip6_protect_fits(&second, &first, &fault));
    config = second;
    config.sa[MIP6_TUNNEL_IN].spi = first.sa[MIP6_SIGNAL_IN].spi;
    g_assert_false(mip6_protect_fits(&config, &first, &fault));
    g_assert_cmpint(fault.sa, ==, MIP6_TUNNEL_IN);
    g_assert_false(fault.is_key);
    g_assert_cmpstr(fault.text, ==, "is the SPI of signal-in of another home "
                    "address, too: each needs its own");
    config = second;
    config.sa[MIP6_SIGNAL_OUT].key = first.sa[MIP6_TUNNEL_OUT].key;
    g_assert_false(mip6_protect_fits(&config, &first, &fault));
    g_assert_cmpint(fault.sa, ==, MIP6_SIGNAL_OUT);
    g_assert_true(fault.is_key);
    g_assert_cmpstr(fault.text, ==, "is the key of tunnel-out of another home "
                    "address, too: each needs its own");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6-protect/homes/through", test_through);
    g_test_add_func("/mip6-protect/homes/selectors", test_selectors);
    g_test_add_func("/mip6-protect/homes/migration", test_migration);
    g_test_add_func("/mip6-protect/homes/most", test_most);
    g_test_add_func("/mip6-protect/homes/second", test_second);
    g_test_add_func("/mip6-protect/homes/fits", test_fits);
    return g_test_run();
}

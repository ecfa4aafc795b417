/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mobile node in ESP: packets of a peer that has the keys, and of strangers
 *
 * Input: steps. A step is one octet that says how the packet comes, its next
 * header, its length, and its octets. In ESP it is sealed by the home agent's
 * side, with the association that the step names; else it comes as it is, or
 * with an SPI of ours before its octets.
 *
 * The guest must get nothing but what was in the tunnel's association and what
 * its router, which the port makes up, advertises. On the link there must be no
 * mobility and no tunnel but in ESP.
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "mip6-sides.h"
#include "net/mip6/port/port.h"

#define STEPS_MAX       32
#define PACKET_MAX      3000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t guest_mac[] = { 0x52, 0x54, 0, 0, 0, 1 };
static const uint8_t own_mac[] = { 0x02, 0xaa, 0, 0, 0, 1 };
static const uint8_t router_mac[] = { 0x02, 0xbb, 0, 0, 0, 1 };

static const struct in6_addr home = {
    .s6_addr = { 0x20, 1, 0xd, 0xb8, 0x20, [15] = 0x10 },
};
static const struct in6_addr agent = {
    .s6_addr = { 0x20, 1, 0xd, 0xb8, 0x20, [15] = 1 },
};
static const struct in6_addr care_of = {
    .s6_addr = { 0x20, 1, 0xd, 0xb8, 0x30, [15] = 0x55 },
};

typedef struct World {
    Mip6Port port;
    bool in_tunnel;             /* the packet is of the association */
} World;

/* An advertisement of the router that the port makes up for the guest? */
static bool is_of_router(const World *w, const struct iovec *iov, int iovcnt)
{
    uint8_t p[PACKET_IP6_LEN + 1];

    return packet_iov_copy(iov, iovcnt, PACKET_ETH_LEN, p, sizeof(p)) ==
           sizeof(p) && p[6] == PACKET_PROTO_ICMP6 &&
           (p[PACKET_IP6_LEN] == PACKET_ND_RA ||
            p[PACKET_IP6_LEN] == PACKET_ND_NA) &&
           !memcmp(p + 8, &w->port.home.learned.router, 16);
}

static void to_guest(void *opaque, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload)
{
    World *w = opaque;

    g_assert(w->in_tunnel || is_of_router(w, iov, iovcnt));
    g_assert(packet_iov_len(iov, iovcnt) >= PACKET_ETH_LEN + PACKET_IP6_LEN);
}

static void to_link(void *opaque, const struct iovec *iov, int iovcnt,
                    const PacketOffload *offload)
{
    uint8_t frame[PACKET_ETH_LEN + 1500];
    size_t len = packet_iov_copy(iov, iovcnt, 0, frame, sizeof(frame));
    PacketIp6Ext ext;

    g_assert(len == packet_iov_len(iov, iovcnt));
    g_assert(packet_ip6_walk(&ext, frame + PACKET_ETH_LEN,
                             len - PACKET_ETH_LEN));
    g_assert(ext.next == PACKET_PROTO_ESP || ext.next == PACKET_PROTO_ICMP6);
}

static uint32_t fixed_random(void *opaque)
{
    return 1000;
}

static void changed(void *opaque)
{
}

static const Mip6PortOps ops = {
    .to_guest = to_guest,
    .to_link = to_link,
    .random = fixed_random,
    .changed = changed,
};

static size_t build(uint8_t *packet, uint8_t next, const uint8_t *data,
                    size_t len)
{
    PacketIp6 ip = {
        .src = agent, .dst = care_of, .next = next, .hops = 64, .payload = len,
    };

    packet_ip6_build(packet, &ip);
    memcpy(packet + PACKET_IP6_LEN, data, len);
    return PACKET_IP6_LEN + len;
}

/* Returns the packet's octets; 0: it cannot be sealed. */
static size_t packet_of(World *w, Mip6Protect *peer, unsigned how,
                        uint8_t next, uint8_t *packet, const uint8_t *data,
                        size_t len)
{
    struct iovec iov = { (void *)data, len };
    uint8_t spi[4], sealed[PACKET_MAX];
    size_t sealed_len;

    switch (how & 3) {
    case 0:
        return build(packet, next, data, len);
    case 1:
        len = build(packet, PACKET_PROTO_ESP, data, len);
        put_be32(spi, how & 4 ? SIDES_SPI_SIGNAL : SIDES_SPI_TUNNEL);
        memcpy(packet + PACKET_IP6_LEN, spi, MIN(len - PACKET_IP6_LEN, 4));
        return len;
    case 2:
        len = build(packet, next, data, len);
        return mip6_protect_signal(peer, packet, len, PACKET_MAX + 256);
    default:
        sealed_len = mip6_protect_tunnel(peer, &iov, 1, sealed, sizeof(sealed));
        w->in_tunnel = true;
        return build(packet, PACKET_PROTO_ESP, sealed, sealed_len);
    }
}

static void step(World *w, Mip6Protect *peer, unsigned how, uint8_t next,
                 const uint8_t *data, size_t len)
{
    static const PacketOffload nothing;
    uint8_t packet[PACKET_IP6_LEN + PACKET_MAX + 512];
    g_autofree uint8_t *frame = NULL;
    struct iovec iov;

    w->in_tunnel = false;
    len = packet_of(w, peer, how, next, packet, data, len);
    if (len) {
        frame = g_malloc(PACKET_ETH_LEN + len);
        packet_eth_build(frame, own_mac, router_mac, PACKET_ETH_IP6);
        memcpy(frame + PACKET_ETH_LEN, packet, len);
        iov = (struct iovec) { frame, PACKET_ETH_LEN + len };
        mip6_port_from_link(&w->port, w->port.now + 1, &iov, 1, &nothing);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static World world;
    Mip6Protect *own = sides_new(false, MIP6_PROTECT_WINDOW, 1);
    Mip6Protect *peer = sides_new(true, MIP6_PROTECT_WINDOW, 1);
    Mip6PortConfig config = {
        .home = { .address = home, .prefix_len = 64, .has_guest_mac = true },
        .agent = agent, .has_care_of = true, .care_of = care_of,
        .location = MIP6_LOCATION_AWAY, .lifetime = 15, .mtu = 1500,
        .protect[0] = own,
    };
    World *w = &world;

    memcpy(config.home.guest_mac, guest_mac, 6);
    memcpy(config.mac, own_mac, 6);
    mip6_port_init(&w->port, &config, &ops, w, false);
    mip6_port_start(&w->port, 1000 * SECOND);
    mip6_port_run(&w->port, 1000 * SECOND);
    mip6_port_tick(&w->port, 1010 * SECOND);
    for (unsigned i = 0; i < STEPS_MAX && size >= 4; i++) {
        size_t len = MIN(get_be16(data + 2) % 2000u, size - 4);

        step(w, peer, data[0], data[1], data + 4, len);
        data += 4 + len;
        size -= 4 + len;
    }
    mip6_protect_free(own);
    mip6_protect_free(peer);
    return 0;
}

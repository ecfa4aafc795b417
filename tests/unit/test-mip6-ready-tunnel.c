/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv6 Ready, mobile node: payload packets through the tunnel, and groups */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/mip6-ready.h"

/* Out: from the care-of address; the guest's packet as it is (RFC 2473). */
static void test_out(void)
{
    World *w = ready_bound();
    uint8_t frame[256];
    size_t len = packet(frame, HOME, FAR, 64);
    PacketIp6 outer;

    put_be32(frame + PACKET_ETH_LEN, 0x6b912345);   /* class b9 */
    frame[PACKET_ETH_LEN + 7] = 1;                      /* hop limit */
    g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
    g_assert_true(packet_ip6_parse(&outer, w->link.buf + PACKET_ETH_LEN,
                                   w->link.len - PACKET_ETH_LEN));
    g_assert_cmpmem(&outer.src, 16, &w->port.binding[0].care_of, 16);
    g_assert_cmpmem(&outer.dst, 16, &w->port.config.agent, 16);
    g_assert_cmpint(outer.next, ==, PACKET_PROTO_IP6);
    g_assert_cmpint(outer.hops, ==, 64);
    g_assert_cmphex(outer.tclass, ==, 0xb9);
    g_assert_cmpmem(w->link.buf + 54, w->link.len - 54,
                    frame + PACKET_ETH_LEN, len - PACKET_ETH_LEN);
    world_free(w);
}

/* A packet of @src for the guest, in a tunnel from @outer. */
static void give_tunnelled(World *w, const char *outer, const char *src,
                           const char *dst)
{
    uint8_t frame[256], inner[256];
    size_t len = packet(inner, src, dst, 64) - PACKET_ETH_LEN;

    inner[PACKET_ETH_LEN + 7] = 1;
    to_care_of(w, frame, outer, PACKET_PROTO_IP6, len);
    memcpy(frame + 54, inner + PACKET_ETH_LEN, len);
    from_link(w, frame, 54 + len);
}

/* In: unchanged, also with the last hop; not by strangers, not for others. */
static void test_in(void)
{
    World *w = ready_bound();
    uint8_t frame[256];

    from_guest(w, frame, packet(frame, HOME, FAR, 8));  /* its MAC address */
    w->to_guest = 0;
    give_tunnelled(w, AGENT, FAR, HOME);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpmem(w->guest.buf, 6, guest_mac, 6);
    g_assert_cmpint(w->guest.buf[PACKET_ETH_LEN + 7], ==, 1);
    give_tunnelled(w, FAR, FAR, HOME);
    g_assert_cmpint(w->port.dropped[MIP6_DROP_STRANGER], ==, 1);
    give_tunnelled(w, AGENT, FAR, "2001:db8:2000::99");
    give_tunnelled(w, AGENT, FAR, "ff02::1");
    g_assert_cmpint(w->port.dropped[MIP6_DROP_NOT_HOME_ADDRESS], ==, 2);
    g_assert_cmpint(w->to_guest, ==, 1);
    world_free(w);
}

/* A guest that has not spoken has the MAC address of its NIC. */
static void test_silent_guest(void)
{
    World *w = ready_bound();
    const uint8_t nic[] = { 0x52, 0x54, 0, 0, 0, 9 };
    uint8_t frame[256];

    mip6_home_set_nic_mac(&w->port.home, nic);
    w->to_guest = 0;
    give_tunnelled(w, AGENT, FAR, HOME);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpmem(w->guest.buf, 6, nic, 6);
    /* When it sends, it has the source address of its last frame. */
    from_guest(w, frame, packet(frame, HOME, FAR, 8));
    give_tunnelled(w, AGENT, FAR, HOME);
    g_assert_cmpmem(w->guest.buf, 6, guest_mac, 6);
    frame[11] = 7;
    from_guest(w, frame, 14 + 40 + 8);
    give_tunnelled(w, AGENT, FAR, HOME);
    g_assert_cmpmem(w->guest.buf, 6, frame + 6, 6);
    world_free(w);
}

/* From another address than the home address: nothing leaves. */
static void test_forged(void)
{
    static const struct {
        const char *src, *dst;
        Mip6Drop why;
    } cases[] = {
        { FAR, FAR, MIP6_DROP_FOREIGN_SOURCE },
        { AGENT, FAR, MIP6_DROP_FOREIGN_SOURCE },
        { "::", FAR, MIP6_DROP_LINK_LOCAL },
        { "::1", FAR, MIP6_DROP_LINK_LOCAL },
        { "fe80::1", FAR, MIP6_DROP_LINK_LOCAL },
        { HOME, "fe80::2", MIP6_DROP_LINK_LOCAL },
    };
    World *w = ready_bound();
    uint8_t frame[256];

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint64_t before = w->port.dropped[cases[i].why];
        size_t len = packet(frame, cases[i].src, cases[i].dst, 8);

        g_assert_cmpint(from_guest(w, frame, len), ==, MIP6_DONE);
        g_assert_cmpint(w->port.dropped[cases[i].why], ==, before + 1);
    }
    g_assert_cmpint(w->to_link, ==, 0);
    world_free(w);
}

/* Groups (section 11.3.4): only those beyond the link use the tunnel. */
static void test_groups(void)
{
    static const char *const groups[] = { "ff02::1", "ff02::16" };
    static const char *const beyond[] = { "ff05::2", "ff0e::101" };
    World *w = ready_bound();
    uint8_t frame[256];

    for (unsigned i = 0; i < G_N_ELEMENTS(groups); i++) {
        size_t len = packet(frame, HOME, groups[i], 8);

        from_guest(w, frame, len);
        g_assert_cmpint(w->port.dropped[MIP6_DROP_MULTICAST], ==, i + 1);
    }
    g_assert_cmpint(w->to_link, ==, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(beyond); i++) {
        size_t len = packet(frame, HOME, beyond[i], 8);

        from_guest(w, frame, len);
        g_assert_cmpint(w->to_link, ==, i + 1);
        g_assert_cmpint(w->link.buf[PACKET_ETH_LEN + 6], ==, PACKET_PROTO_IP6);
    }
    /* The guest gets the agent's packets of a group beyond the link. */
    w->to_guest = 0;
    mip6_home_set_nic_mac(&w->port.home, guest_mac);
    give_tunnelled(w, AGENT, FAR, "ff0e::101");
    g_assert_cmpint(w->to_guest, ==, 1);
    world_free(w);
}

/* Errors about tunnelled packets go to the guest; an MTU is stored. */
static void test_errors(void)
{
    World *w = ready_bound();
    uint8_t frame[2048], outer[2048];
    size_t len = packet(frame, HOME, FAR, 1300), outer_len;

    from_guest(w, frame, len);
    outer_len = w->link.len - PACKET_ETH_LEN;
    memcpy(outer, w->link.buf + PACKET_ETH_LEN, outer_len);
    w->to_guest = 0;
    give_error(w, PACKET_ICMP6_TOO_BIG, 0, 1360, outer, outer_len);
    g_assert_cmpint(w->to_guest, ==, 1);
    g_assert_cmpint(w->guest.buf[54], ==, PACKET_ICMP6_TOO_BIG);
    g_assert_cmpint(get_be32(w->guest.buf + 58), ==, 1320);
    g_assert_cmpint(mip6_tunnel_mtu(&w->port.tunnel, w->now), ==, 1320);
    give_error(w, PACKET_ICMP6_UNREACHABLE, 0, 0, outer, outer_len);
    g_assert_cmpint(w->to_guest, ==, 2);
    g_assert_cmpint(w->guest.buf[54], ==, PACKET_ICMP6_UNREACHABLE);
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mip6/ready/tunnel/out", test_out);
    g_test_add_func("/mip6/ready/tunnel/in", test_in);
    g_test_add_func("/mip6/ready/tunnel/silent-guest", test_silent_guest);
    g_test_add_func("/mip6/ready/tunnel/forged", test_forged);
    g_test_add_func("/mip6/ready/tunnel/groups", test_groups);
    g_test_add_func("/mip6/ready/tunnel/errors", test_errors);
    return g_test_run();
}

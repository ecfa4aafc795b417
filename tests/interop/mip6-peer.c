/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read IPv6 packets, one a line in hexadecimal digits; write two lines for
 * each: what we found in it, and the packet that we build of what we found.
 *
 * Neighbour discovery, and mobility headers behind a Home Address option or a
 * type 2 routing header.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "net/mip6/core/mh.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

#define PACKET_MAX      4096u

static void show_address(const char *name, const struct in6_addr *addr)
{
    char text[INET6_ADDRSTRLEN];

    printf(" %s=%s", name, inet_ntop(AF_INET6, addr, text, sizeof(text)));
}

static void show_mac(const char *name, const uint8_t *mac)
{
    printf(" %s=%02x:%02x:%02x:%02x:%02x:%02x", name, mac[0], mac[1], mac[2],
           mac[3], mac[4], mac[5]);
}

static void show_number(const char *name, uint64_t number)
{
    printf(" %s=%" G_GUINT64_FORMAT, name, number);
}

/* --- neighbour discovery -------------------------------------------------- */

static void show_ra(const PacketNdRa *ra)
{
    show_number("hop_limit", ra->hop_limit);
    printf(" flags=%s%s%s", ra->managed ? "M" : "", ra->other ? "O" : "",
           ra->home_agent ? "H" : "");
    printf(" preference=%d", ra->preference);
    show_number("lifetime", ra->lifetime);
    show_number("reachable", ra->reachable);
    show_number("retrans", ra->retrans);
    show_number("mtu", ra->mtu);
    show_number("interval", ra->interval);
    if (ra->has_ha_info) {
        printf(" ha_preference=%d", ra->ha_preference);
        show_number("ha_lifetime", ra->ha_lifetime);
    }
    for (unsigned i = 0; i < ra->prefixes; i++) {
        const PacketNdPrefix *p = &ra->prefix[i];

        show_address("prefix", &p->prefix);
        printf("/%u:%s%s%s:%u:%u", p->len, p->on_link ? "L" : "",
               p->autonomous ? "A" : "", p->router_address ? "R" : "",
               p->valid, p->preferred);
    }
}

static size_t nd(uint8_t *out, const PacketNd *nd)
{
    const uint8_t *slla = nd->has_slla ? nd->slla : NULL;
    const uint8_t *tlla = nd->has_tlla ? nd->tlla : NULL;

    printf("type=%u", nd->type);
    if (slla) {
        show_mac("slla", slla);
    }
    if (tlla) {
        show_mac("tlla", tlla);
    }
    switch (nd->type) {
    case PACKET_ND_RS:
        return packet_nd_build_rs(out, &nd->src, slla);
    case PACKET_ND_RA:
        show_ra(&nd->ra);
        return packet_nd_build_ra(out, PACKET_MAX, &nd->src, &nd->dst,
                                  &nd->ra, slla);
    case PACKET_ND_NS:
        show_address("target", &nd->target);
        return packet_nd_build_ns(out, &nd->src, &nd->dst, &nd->target, slla);
    case PACKET_ND_NA:
        show_address("target", &nd->target);
        printf(" flags=%s%s%s", nd->flags & PACKET_NA_ROUTER ? "R" : "",
               nd->flags & PACKET_NA_SOLICITED ? "S" : "",
               nd->flags & PACKET_NA_OVERRIDE ? "O" : "");
        return packet_nd_build_na(out, &nd->src, &nd->dst, &nd->target,
                                  nd->flags, tlla);
    default:
        show_address("target", &nd->target);
        show_address("redirected", &nd->redirected);
        return 0;
    }
}

/* --- mobility ------------------------------------------------------------- */

static void show_options(const Mip6Mh *mh)
{
    if (mh->has_refresh) {
        show_number("refresh", mh->refresh);
    }
    if (mh->has_alternate) {
        show_address("alternate", &mh->alternate);
    }
    if (mh->has_nonces) {
        show_number("home_nonce", mh->home_nonce);
        show_number("care_of_nonce", mh->care_of_nonce);
    }
    if (mh->has_authenticator) {
        printf(" authenticator=");
        for (unsigned i = 0; i < mh->authenticator_len; i++) {
            printf("%02x", mh->authenticator[i]);
        }
    }
}

static void show_mh(const Mip6Mh *mh)
{
    printf("mh=%u", mh->type);
    switch (mh->type) {
    case MIP6_MH_BU:
        printf(" flags=%04x", mh->flags);
        show_number("sequence", mh->sequence);
        show_number("lifetime", mh->lifetime);
        break;
    case MIP6_MH_BA:
        printf(" flags=%02x", mh->flags);
        show_number("status", mh->status);
        show_number("sequence", mh->sequence);
        show_number("lifetime", mh->lifetime);
        break;
    case MIP6_MH_BE:
        show_number("status", mh->status);
        show_address("home", &mh->home);
        break;
    case MIP6_MH_HOT:
    case MIP6_MH_COT:
        show_number("nonce_index", mh->nonce_index);
        show_number("token", mh->token);
        /* fall through */
    case MIP6_MH_HOTI:
    case MIP6_MH_COTI:
        show_number("cookie", mh->cookie);
        break;
    }
    show_options(mh);
}

static size_t mobility(uint8_t *out, const uint8_t *packet, PacketIp6 *ip,
                       const PacketIp6Ext *ext)
{
    struct in6_addr src = ip->src, dst = ip->dst, home;
    uint8_t *at = out + PACKET_IP6_LEN;
    Mip6Mh mh;
    bool hao = ext->dst2 &&
               mip6_hao_parse(&home, packet + ext->dst2, MIP6_HAO_LEN);
    bool rh2 = ext->routing &&
               mip6_rh2_parse(&home, packet + ext->routing, MIP6_RH2_LEN);

    if (hao) {
        src = home;
        at += mip6_hao_build(at, PACKET_PROTO_MH, &home);
    } else if (rh2) {
        dst = home;
        at += mip6_rh2_build(at, PACKET_PROTO_MH, &home);
    }
    if (mip6_mh_parse(&mh, &src, &dst, packet + ext->offset,
                      PACKET_IP6_LEN + ip->payload - ext->offset) !=
        MIP6_MH_GOOD) {
        return 0;
    }
    show_mh(&mh);
    if (hao || rh2) {
        show_address(hao ? "hao" : "rh2", &home);
    }
    at += mip6_mh_build(at, out + PACKET_MAX - at, &src, &dst, &mh);
    ip->payload = at - out - PACKET_IP6_LEN;
    packet_ip6_build(out, ip);
    return at - out;
}

/* --- lines ---------------------------------------------------------------- */

static size_t answer(uint8_t *out, const uint8_t *packet, size_t len)
{
    PacketIp6Ext ext;
    PacketIp6 ip;
    PacketNd message;

    if (packet_nd_parse(&message, packet, len)) {
        return nd(out, &message);
    }
    if (packet_ip6_parse(&ip, packet, len) &&
        packet_ip6_walk(&ext, packet, len) && ext.next == PACKET_PROTO_MH) {
        return mobility(out, packet, &ip, &ext);
    }
    return 0;
}

int main(void)
{
    static uint8_t packet[PACKET_MAX], out[PACKET_MAX];
    static char line[PACKET_MAX * 2 + 2];

    while (fgets(line, sizeof(line), stdin)) {
        size_t len = strcspn(line, "\n") / 2, size;

        for (size_t i = 0; i < len; i++) {
            packet[i] = g_ascii_xdigit_value(line[i * 2]) << 4 |
                        g_ascii_xdigit_value(line[i * 2 + 1]);
        }
        size = answer(out, packet, len);
        printf("\n");
        for (size_t i = 0; i < size; i++) {
            printf("%02x", out[i]);
        }
        printf("\n");
    }
    return 0;
}

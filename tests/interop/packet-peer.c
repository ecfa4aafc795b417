/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read frames, one a line in hexadecimal digits
 *
 *   packet-peer flow       writes a line for each: what we found in it
 *   packet-peer rebuild    writes each, its headers built of what we found
 *   packet-peer coalesce   writes what is there when all have come: for each
 *                          frame its segment size, 0 if it is none, and itself
 *
 * Frames are of Ethernet, without tags where they are rebuilt.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "net/packet/arp.h"
#include "net/packet/coalesce.h"
#include "net/packet/flow.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

#define FRAME_MAX       4096u

static void show_mac(const char *name, const uint8_t *mac)
{
    printf(" %s=%02x:%02x:%02x:%02x:%02x:%02x", name, mac[0], mac[1], mac[2],
           mac[3], mac[4], mac[5]);
}

static void show_address(const char *name, int family, const void *addr)
{
    char text[INET6_ADDRSTRLEN];

    printf(" %s=%s", name, inet_ntop(family, addr, text, sizeof(text)));
}

static void show_frame(const uint8_t *frame, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        printf("%02x", frame[i]);
    }
    printf("\n");
}

/* --- flow ----------------------------------------------------------------- */

static void show_l3(const PacketFlow *f)
{
    if (f->has & PACKET_FLOW_ARP) {
        printf(" op=%u", f->arp_operation);
        show_address("spa", AF_INET, &f->arp_spa);
        show_address("tpa", AF_INET, &f->arp_tpa);
        show_mac("sha", f->arp_sha);
        show_mac("tha", f->arp_tha);
    }
    if (f->has & PACKET_FLOW_IP4) {
        show_address("src", AF_INET, &f->ip4_src);
        show_address("dst", AF_INET, &f->ip4_dst);
    }
    if (f->has & PACKET_FLOW_IP6) {
        show_address("src", AF_INET6, &f->ip6_src);
        show_address("dst", AF_INET6, &f->ip6_dst);
        printf(" label=%u ext=%03x", f->ip6_label, f->ip6_has);
    }
    if (f->has & (PACKET_FLOW_IP4 | PACKET_FLOW_IP6)) {
        printf(" proto=%u tos=%u ttl=%u", f->protocol, f->tos, f->ttl);
    }
    if (f->has & PACKET_FLOW_FRAGMENT) {
        printf(" fragment=%s", f->has & PACKET_FLOW_LATER ? "later" : "first");
    }
}

static void show_l4(const PacketFlow *f)
{
    if (f->has & (PACKET_FLOW_TCP | PACKET_FLOW_UDP | PACKET_FLOW_SCTP)) {
        printf(" sport=%u dport=%u", f->src_port, f->dst_port);
    }
    if (f->has & PACKET_FLOW_TCP) {
        printf(" flags=%03x", f->tcp_flags);
    }
    if (f->has & (PACKET_FLOW_ICMP4 | PACKET_FLOW_ICMP6)) {
        printf(" icmp=%u/%u", f->icmp_type, f->icmp_code);
    }
    if (f->has & PACKET_FLOW_ND) {
        show_address("target", AF_INET6, &f->nd_target);
        show_mac("sll", f->nd_sll);
        show_mac("tll", f->nd_tll);
    }
}

static void show_flow(const uint8_t *frame, size_t len)
{
    PacketFlow f;

    if (!packet_flow_parse(&f, frame, len, len)) {
        printf("bad\n");
        return;
    }
    printf("type=%04x", f.eth.type);
    for (unsigned i = 0; i < f.eth.tags; i++) {
        printf(" tci=%04x", f.eth.tci[i]);
    }
    show_l3(&f);
    show_l4(&f);
    printf("\n");
}

/* --- headers -------------------------------------------------------------- */

static void rebuild(uint8_t *frame, size_t len)
{
    uint8_t *ip = frame + PACKET_ETH_LEN, *l4;
    PacketEth eth;
    PacketArp arp;
    PacketUdp udp;
    PacketIp4 ip4;
    PacketIp6 ip6;

    packet_eth_parse(&eth, frame, len);
    memset(frame, 0xee, PACKET_ETH_LEN);
    packet_eth_build(frame, eth.dst, eth.src, eth.type);
    if (eth.type == PACKET_ETH_ARP &&
        packet_arp_parse(&arp, ip, len - PACKET_ETH_LEN)) {
        memset(ip, 0xee, PACKET_ARP_LEN);
        packet_arp_build(ip, &arp);
    } else if (packet_ip4_parse(&ip4, ip, len - PACKET_ETH_LEN)) {
        memset(ip, 0xee, PACKET_IP4_LEN);
        l4 = ip + packet_ip4_build(ip, &ip4);
        if (ip4.protocol == PACKET_PROTO_UDP &&
            packet_udp_parse(&udp, l4, ip4.total - ip4.len)) {
            udp.checksum = 0xeeee;
            packet_udp_build(l4, &udp);
            packet_udp_seal(l4, udp.len,
                            packet_sum_pseudo4(ip4.src, ip4.dst,
                                               PACKET_PROTO_UDP, udp.len));
        }
    } else if (packet_ip6_parse(&ip6, ip, len - PACKET_ETH_LEN)) {
        l4 = ip + packet_ip6_build(ip, &ip6);
        if (packet_udp_parse(&udp, l4, ip6.payload)) {
            udp.checksum = 0xeeee;
            packet_udp_build(l4, &udp);
            packet_udp_seal(l4, udp.len,
                            packet_sum_pseudo6(&ip6.src, &ip6.dst,
                                               PACKET_PROTO_UDP, udp.len));
        }
    }
    show_frame(frame, len);
}

/* --- coalescing ----------------------------------------------------------- */

static void emit(void *opaque, uint8_t *frame, size_t len,
                 const PacketOffload *offload)
{
    printf("%u ", offload->gso == PACKET_GSO_NONE ? 0 : offload->gso_size);
    show_frame(frame, len);
}

static void coalesce(PacketCoalesce *c, uint8_t *frame, size_t len)
{
    const unsigned all = PACKET_COALESCE_TCP4 | PACKET_COALESCE_TCP6 |
                         PACKET_COALESCE_ECN | PACKET_COALESCE_UDP4 |
                         PACKET_COALESCE_UDP6;
    static const PacketOffload nothing;
    struct iovec iov = { frame, len };

    if (!packet_coalesce_take(c, all, &iov, 1, &nothing)) {
        emit(NULL, frame, len, &nothing);
    }
}

int main(int argc, char **argv)
{
    static uint8_t frame[FRAME_MAX];
    static char line[FRAME_MAX * 2 + 2];
    static PacketCoalesce c;
    const char *what = argc > 1 ? argv[1] : "";

    packet_coalesce_init(&c, emit, NULL);
    while (fgets(line, sizeof(line), stdin)) {
        size_t len = strcspn(line, "\n") / 2;

        for (size_t i = 0; i < len; i++) {
            frame[i] = g_ascii_xdigit_value(line[i * 2]) << 4 |
                       g_ascii_xdigit_value(line[i * 2 + 1]);
        }
        if (!strcmp(what, "flow")) {
            show_flow(frame, len);
        } else if (!strcmp(what, "rebuild")) {
            rebuild(frame, len);
        } else {
            coalesce(&c, frame, len);
        }
    }
    packet_coalesce_flush(&c);
    return 0;
}

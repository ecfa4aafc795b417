/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packet sizes that fit, and ICMP errors for packets that do not */
#include <string.h>

#include "hw/net/cvsw/run/fit.h"
#include "hw/net/cvsw/tunnel/vxlan.h"
#include "net/packet/ip4.h"
#include "net/packet/ip6.h"
#include "net/packet/mtu.h"

#define ETH_MAX         (PACKET_ETH_LEN + \
                         PACKET_ETH_TAGS_MAX * PACKET_ETH_TAG_LEN)

/*
 * Space for a tunneled frame on the wire, without the frame's Ethernet header.
 */
static size_t room_in_tunnel(size_t link_mtu, const CvswTunnel *tunnel,
                             const EspSa *sa, const CvswFrame *frame)
{
    size_t ip = tunnel->is_ip6 ? PACKET_IP6_LEN : PACKET_IP4_LEN;
    size_t head = CVSW_VXLAN_HEAD_LEN + frame->flow.l3;
    size_t room = link_mtu > ip ? link_mtu - ip : 0;

    room = sa ? esp_payload_max(sa, room) : room;
    return room > head ? room - head : 0;
}

size_t cvsw_room(const CvswRun *run, const CvswTunnel *tunnel, const EspSa *sa,
                 const CvswFrame *frame)
{
    size_t set = run->mtu ? run->mtu : SIZE_MAX, link;

    if (!run->link_mtu) {
        return set;
    }
    link = tunnel ? room_in_tunnel(run->link_mtu, tunnel, sa, frame)
                  : run->link_mtu;
    return link < set ? link : set;
}

void cvsw_clamp(CvswFrame *frame, size_t room)
{
    size_t l3 = frame->flow.l3;

    if (room != SIZE_MAX && cvsw_is_syn(frame)) {
        packet_mtu_clamp(frame->head + l3, frame->head_len - l3, room,
                         frame->offload.needs_csum);
    }
}

/*
 * --- ICMP errors -----------------------------------------------------------
 */

/* RFC 4443 section 2.4 (f): a token bucket limits ICMP errors. */
static bool may_send_icmp(CvswRun *run, uint64_t now_ms)
{
    uint64_t more = (now_ms - run->icmp_ms) / CVSW_ICMP_EVERY_MS;

    if (more >= run->icmp_recent) {
        run->icmp_recent = 0;
        run->icmp_ms = now_ms;
    } else {
        run->icmp_recent -= more;
        run->icmp_ms += more * CVSW_ICMP_EVERY_MS;
    }
    return run->icmp_recent < CVSW_ICMP_BURST;
}

void cvsw_too_big(CvswRun *run, const struct iovec *iov, int iovcnt,
                  size_t room, uint64_t now_ms)
{
    uint8_t cause[ETH_MAX + PACKET_MTU_ERROR_MAX];
    uint8_t error[ETH_MAX + PACKET_MTU_ERROR_MAX];
    PacketOffload none = { 0 };
    struct iovec part = { error, 0 };
    size_t have, len;
    PacketEth eth;

    if (!may_send_icmp(run, now_ms)) {
        return;
    }
    have = packet_iov_copy(iov, iovcnt, 0, cause, sizeof(cause));
    if (!packet_eth_parse(&eth, cause, have) ||
        (eth.type != PACKET_ETH_IP4 && eth.type != PACKET_ETH_IP6) ||
        !packet_eth_is_station(eth.src) || !packet_eth_is_station(eth.dst)) {
        return;
    }
    len = packet_mtu_error(error + eth.len, room, cause + eth.len,
                           have - eth.len);
    if (!len) {
        return;
    }
    memcpy(error, cause, eth.len);
    memcpy(error, eth.src, PACKET_ETH_ADDR_LEN);
    memcpy(error + PACKET_ETH_ADDR_LEN, eth.dst, PACKET_ETH_ADDR_LEN);
    part.iov_len = eth.len + len;
    run->icmp_errors++;
    run->icmp_recent++;
    run->out_of_tunnel = false;
    run->emit(run->opaque, CVSW_PORT_GUEST, &part, 1, &none);
}

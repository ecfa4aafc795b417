/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fragments IPv4 packets (RFC 791 section 3.2) */
#include <string.h>

#include "base/octets.h"
#include "net/packet/eth.h"
#include "net/packet/fragment4.h"
#include "net/packet/ip4.h"

#define UNIT                    8u
#define MORE_FRAGMENTS          0x2000
#define PACKET_MAX              65535u
#define OPTION_COPIED           0x80
#define OPTION_NOP              1

bool packet_cut4_begin(PacketCut4 *c, const struct iovec *iov, int iovcnt,
                       size_t mtu)
{
    size_t have = packet_iov_copy(iov, iovcnt, 0, c->head, sizeof(c->head));
    size_t left;
    PacketEth eth;
    PacketIp4 ip;

    if (!packet_eth_parse(&eth, c->head, have) || eth.type != PACKET_ETH_IP4 ||
        have - eth.len < PACKET_IP4_LEN || c->head[eth.len] >> 4 != 4) {
        return false;
    }
    /* Only the start of the packet is here, so "truncated" is no error. */
    packet_ip4_parse(&ip, c->head + eth.len, have - eth.len);
    left = packet_iov_len(iov, iovcnt) - eth.len;
    if (ip.dont_fragment || ip.len < PACKET_IP4_LEN ||
        ip.len > have - eth.len || ip.total < ip.len || ip.total > left ||
        ip.fragment_offset + ip.total > PACKET_MAX ||
        !packet_ip4_sum_is_good(c->head + eth.len, ip.len) ||
        mtu < ip.len + UNIT) {
        return false;
    }
    c->iov = iov;
    c->iovcnt = iovcnt;
    c->l3 = eth.len;
    c->head_len = eth.len + ip.len;
    c->payload = ip.total - ip.len;
    c->done = 0;
    c->size = (mtu - ip.len) & ~(size_t)(UNIT - 1);
    c->offset = ip.fragment_offset;
    c->more = ip.more;
    return true;
}

/* Removes the options that only the first fragment has. */
static void forget_options(PacketCut4 *c)
{
    uint8_t *ip = c->head + c->l3;
    PacketIp4Option option;
    size_t pos = 0;

    while (packet_ip4_option_next(ip, c->head_len - c->l3, &pos, &option)) {
        if (!(option.type & OPTION_COPIED)) {
            memset(ip + (option.data - ip) - 2, OPTION_NOP, option.len + 2);
        }
    }
}

int packet_cut4_next(PacketCut4 *c, uint8_t *head, size_t *head_len,
                     struct iovec *payload, int max)
{
    size_t left = c->payload - c->done;
    size_t len = left < c->size ? left : c->size;
    bool more = c->more || len < left;
    uint8_t *ip = head + c->l3;
    int parts;

    if (left == 0) {
        return -1;
    }
    parts = packet_iov_slice(c->iov, c->iovcnt, c->head_len + c->done, len,
                             payload, max);
    if (parts < 0) {
        return -1;
    }
    memcpy(head, c->head, c->head_len);
    *head_len = c->head_len;
    put_be16(ip + 2, c->head_len - c->l3 + len);
    put_be16(ip + 6, (c->offset + c->done) / UNIT |
                     (more ? MORE_FRAGMENTS : 0));
    packet_ip4_seal(ip, c->head_len - c->l3);
    if (c->done == 0) {
        forget_options(c);
    }
    c->done += len;
    return parts;
}

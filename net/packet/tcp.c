/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP headers (RFC 9293) */
#include "base/octets.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"

enum {
    OPTION_END = 0,
    OPTION_NOP = 1,
    OPTION_MSS = 2,
};
#define OPTION_MSS_LEN  4u

bool packet_tcp_parse(PacketTcp *tcp, const void *buf, size_t len)
{
    const uint8_t *p = buf;

    if (len < PACKET_TCP_LEN) {
        return false;
    }
    *tcp = (PacketTcp) {
        .src = get_be16(p),
        .dst = get_be16(p + 2),
        .sequence = get_be32(p + 4),
        .ack = get_be32(p + 8),
        .flags = get_be16(p + 12) & 0xfff,
        .window = get_be16(p + 14),
        .checksum = get_be16(p + PACKET_TCP_CHECKSUM),
        .urgent = get_be16(p + 18),
        .len = (p[12] >> 4) * 4u,
    };
    return tcp->len >= PACKET_TCP_LEN && tcp->len <= len;
}

static uint16_t swap(uint16_t value)
{
    return value << 8 | value >> 8;
}

/*
 * RFC 1624, equation 3. Words count from the start of the header: a value at an
 * odd offset spans two words, with its octets swapped.
 */
static void update_sum(uint8_t *tcp, size_t at, uint16_t old, uint16_t new)
{
    uint32_t sum = (uint16_t)~get_be16(tcp + PACKET_TCP_CHECKSUM);

    sum += (uint16_t)~(at % 2 ? swap(old) : old);
    sum += at % 2 ? swap(new) : new;
    put_be16(tcp + PACKET_TCP_CHECKSUM, packet_sum_fold(sum));
}

static bool clamp(uint8_t *tcp, size_t at, uint16_t mss, bool partial)
{
    uint16_t old = get_be16(tcp + at);

    if (old <= mss) {
        return false;
    }
    put_be16(tcp + at, mss);
    if (!partial) {
        update_sum(tcp, at, old, mss);
    }
    return true;
}

bool packet_tcp_clamp_mss(void *tcp, size_t len, uint16_t mss, bool partial)
{
    uint8_t *p = tcp;
    size_t at = PACKET_TCP_LEN, end;
    bool changed = false;

    if (len < PACKET_TCP_LEN || !(p[PACKET_TCP_FLAGS] & PACKET_TCP_SYN)) {
        return false;
    }
    end = (p[12] >> 4) * 4u;
    if (end > len) {
        return false;
    }
    while (at < end && p[at] != OPTION_END) {
        if (p[at] == OPTION_NOP) {
            at++;
            continue;
        }
        if (end - at < 2 || p[at + 1] < 2 || p[at + 1] > end - at) {
            break;
        }
        if (p[at] == OPTION_MSS && p[at + 1] == OPTION_MSS_LEN) {
            changed |= clamp(p, at + 2, mss, partial);
        }
        at += p[at + 1];
    }
    return changed;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames to the controller */
#include <glib.h>
#include <string.h>

#include "hw/net/cvsw/event/packet-in.h"
#include "base/octets.h"
#include "base/units.h"
#include "hw/net/cvsw/openflow/wire.h"
#include "net/packet/sum.h"
#include "net/packet/udp.h"

#define MS_PER_TOKEN    (MS_PER_S / CVSW_PACKET_IN_RATE)
#define MAX_LEN_ALL     0xffffu
#define ROOM_MIN        64u

/* OXM_OF_IN_PORT and OXM_OF_TUNNEL_ID, with their lengths. */
#define OXM_IN_PORT     0x80000004u
#define OXM_TUNNEL_ID   0x80004c08u

bool cvsw_bucket_take(CvswBucket *bucket, uint64_t now_ms)
{
    uint64_t full = CVSW_PACKET_IN_BURST * MS_PER_TOKEN;

    if (now_ms - bucket->empty_ms > full) {
        bucket->empty_ms = now_ms - full;
    }
    if (now_ms - bucket->empty_ms < MS_PER_TOKEN) {
        return false;
    }
    bucket->empty_ms += MS_PER_TOKEN;
    return true;
}

/* OpenFlow 1.3.5 section 5.4: no match fields, and the lowest priority. */
static bool is_table_miss(const CvswEntry *entry)
{
    return entry->priority == 0 && entry->match.fields == 0;
}

/* Returns: octets before the frame's data */
static size_t put_head10(uint8_t *buf, const CvswFrame *frame,
                         uint32_t in_port)
{
    memset(buf, 0, OPI10_DATA);
    buf[OFP_HEADER_VERSION] = OFP10_VERSION;
    put_be32(buf + OPI10_BUFFER_ID, OFP_NO_BUFFER);
    put_be16(buf + OPI10_TOTAL_LEN, MIN(frame->size, UINT16_MAX));
    put_be16(buf + OPI10_IN_PORT, in_port);
    buf[OPI10_REASON] = OFPR_ACTION;
    return OPI10_DATA;
}

/* As put_head10(); ends with two octets of padding. */
static size_t put_head13(uint8_t *buf, const CvswFrame *frame,
                         uint32_t in_port, const CvswEntry *entry)
{
    uint8_t *match = buf + OPI13_MATCH;
    size_t len = OFP13_MATCH_HEAD_LEN;

    memset(buf, 0, ROOM_MIN);
    buf[OFP_HEADER_VERSION] = OFP13_VERSION;
    put_be32(buf + OPI13_BUFFER_ID, OFP_NO_BUFFER);
    put_be16(buf + OPI13_TOTAL_LEN, MIN(frame->size, UINT16_MAX));
    buf[OPI13_REASON] = is_table_miss(entry) ? OFPR_NO_MATCH : OFPR_ACTION;
    put_be64(buf + OPI13_COOKIE, entry->cookie);
    put_be32(match + len, OXM_IN_PORT);
    put_be32(match + len + OXM_HEADER_LEN, in_port);
    len += OXM_HEADER_LEN + 4;
    if (frame->tunnel_id) {
        put_be32(match + len, OXM_TUNNEL_ID);
        put_be64(match + len + OXM_HEADER_LEN, frame->tunnel_id);
        len += OXM_HEADER_LEN + 8;
    }
    put_be16(match, OFPMT_OXM);
    put_be16(match + 2, len);
    return OPI13_MATCH + (len + 7) / 8 * 8 + 2;
}

static void put_checksum(uint8_t *data, size_t len, const CvswFrame *frame,
                         const struct iovec *iov, int parts)
{
    const PacketOffload *offload = &frame->offload;
    size_t start = offload->csum_start, at = start + offload->csum_offset;
    uint16_t sum;

    if (!offload->needs_csum || offload->gso != PACKET_GSO_NONE ||
        start >= frame->size || at + 2 > len) {
        return;
    }
    sum = packet_sum_fold(packet_sum_iov(0, iov, parts, start,
                                         frame->size - start));
    put_be16(data + at, frame->flow.has & PACKET_FLOW_UDP ?
             packet_udp_sum(sum) : sum);
}

size_t cvsw_packet_in_build(uint8_t *buf, size_t room, const CvswFrame *frame,
                            uint32_t in_port, uint16_t max_len,
                            const CvswEntry *entry)
{
    struct iovec iov[CVSW_PARTS_MAX + 1];
    int parts = cvsw_frame_iov(frame, iov);
    size_t head, len;

    g_assert(room >= ROOM_MIN);
    head = entry->flags & CVSW_FLOW_OPENFLOW10 ?
           put_head10(buf, frame, in_port) :
           put_head13(buf, frame, in_port, entry);
    len = max_len == MAX_LEN_ALL ? frame->size : max_len;
    len = packet_iov_copy(iov, parts, 0, buf + head, MIN(len, room - head));
    put_checksum(buf + head, len, frame, iov, parts);
    buf[OFP_HEADER_TYPE] = OFPT_PACKET_IN;
    put_be16(buf + OFP_HEADER_LENGTH, head + len);
    return head + len;
}

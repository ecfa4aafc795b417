/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame that the switch in a NIC processes */
#include <string.h>

#include "hw/net/cvsw/frame/frame.h"

void cvsw_frame_look(CvswFrame *frame)
{
    packet_flow_parse(&frame->flow, frame->head, frame->head_len,
                      frame->size);
}

bool cvsw_frame_take(CvswFrame *frame, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload)
{
    frame->head = frame->room + CVSW_HEADROOM;
    frame->head_len = packet_iov_copy(iov, iovcnt, 0, frame->head,
                                      PACKET_FLOW_LOOK);
    frame->size = packet_iov_len(iov, iovcnt);
    frame->tunnel_id = 0;
    frame->offload = *offload;
    frame->parts = packet_iov_slice(iov, iovcnt, frame->head_len,
                                    frame->size - frame->head_len,
                                    frame->rest, CVSW_PARTS_MAX);
    if (frame->parts < 0 || frame->head_len < PACKET_ETH_LEN) {
        return false;
    }
    cvsw_frame_look(frame);
    return true;
}

void cvsw_frame_copy(CvswFrame *to, const CvswFrame *from)
{
    to->head = to->room + (from->head - from->room);
    to->head_len = from->head_len;
    to->size = from->size;
    to->parts = from->parts;
    to->offload = from->offload;
    to->flow = from->flow;
    to->tunnel_id = from->tunnel_id;
    memcpy(to->head, from->head, from->head_len);
    memcpy(to->rest, from->rest, from->parts * sizeof(*from->rest));
}

/* Headers moved by @by octets; adjusts all offsets after them. */
static void move_offload(PacketOffload *offload, int by)
{
    if (offload->needs_csum) {
        offload->csum_start += by;
    }
    if (offload->gso != PACKET_GSO_NONE && offload->head_len) {
        offload->head_len += by;
    }
    if (offload->tunnel != PACKET_TUNNEL_NONE) {
        offload->outer_l4 += by;
        offload->inner_l3 += by;
    }
}

uint8_t *cvsw_frame_push(CvswFrame *frame, size_t at, size_t len)
{
    if (len > (size_t)(frame->head - frame->room)) {
        return NULL;
    }
    memmove(frame->head - len, frame->head, at);
    frame->head -= len;
    frame->head_len += len;
    frame->size += len;
    move_offload(&frame->offload, len);
    return frame->head + at;
}

void cvsw_frame_pull(CvswFrame *frame, size_t at, size_t len)
{
    memmove(frame->head + len, frame->head, at);
    frame->head += len;
    frame->head_len -= len;
    frame->size -= len;
    move_offload(&frame->offload, -(int)len);
}

int cvsw_frame_iov(const CvswFrame *frame, struct iovec *iov)
{
    iov[0].iov_base = frame->head;
    iov[0].iov_len = frame->head_len;
    memcpy(iov + 1, frame->rest, frame->parts * sizeof(*iov));
    return frame->parts + 1;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A frame on its way through the switch in a NIC
 *
 * Its first octets are a copy, which actions change in place; what is behind
 * them is the sender's memory and is passed on by reference.
 */
#ifndef CVSW_FRAME_FRAME_H
#define CVSW_FRAME_FRAME_H

#include "net/packet/flow.h"
#include "net/packet/segment.h"

/* Room before the first octet: tags, and a tunnel's headers. */
#define CVSW_HEADROOM           128u
/* Parts of what is behind the head. */
#define CVSW_PARTS_MAX          64

typedef struct CvswFrame {
    uint8_t *head;              /* the first octet, in @room */
    size_t head_len;            /* octets there */
    size_t size;                /* octets of the whole frame */
    struct iovec rest[CVSW_PARTS_MAX];
    int parts;
    PacketOffload offload;      /* counts from @head */
    PacketFlow flow;            /* of @head; kept right by cvsw_frame_... */
    uint64_t tunnel_id;         /* 0: it did not come out of a tunnel */
    uint8_t room[CVSW_HEADROOM + PACKET_FLOW_LOOK];
} CvswFrame;

/**
 * cvsw_frame_take: begin with a frame
 * @iov: from the destination address on; referred to until the frame is done
 * @offload: what is left to do to it
 *
 * Headers that are cut or are none leave @frame->flow with what is before them.
 *
 * Returns: false if it is no frame, or has more than CVSW_PARTS_MAX parts
 */
bool cvsw_frame_take(CvswFrame *frame, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload);

/**
 * cvsw_frame_copy: the same frame once more
 * @to: another one; what is behind the head is referred to by both
 */
void cvsw_frame_copy(CvswFrame *to, const CvswFrame *from);

/** cvsw_frame_look: read the head again, after it was changed */
void cvsw_frame_look(CvswFrame *frame);

/**
 * cvsw_frame_push: make room before a place in the head
 * @at: offset, at most @frame->head_len
 * @len: octets; what they hold is left open
 *
 * Returns: where they are, or NULL if there is no room for them
 */
uint8_t *cvsw_frame_push(CvswFrame *frame, size_t at, size_t len);

/** cvsw_frame_pull: take @len octets out of the head, from @at on */
void cvsw_frame_pull(CvswFrame *frame, size_t at, size_t len);

/**
 * cvsw_frame_iov: the whole frame
 * @iov: room for CVSW_PARTS_MAX + 1 parts
 *
 * Returns: how many there are
 */
int cvsw_frame_iov(const CvswFrame *frame, struct iovec *iov);

#endif /* CVSW_FRAME_FRAME_H */

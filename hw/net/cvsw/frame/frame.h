/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A frame that the switch in a NIC processes
 *
 * Its first octets (the head) are a copy, which actions change in place.  The
 * rest stays in the sender's memory and is referred to.
 */
#ifndef CVSW_FRAME_FRAME_H
#define CVSW_FRAME_FRAME_H

#include "net/packet/flow.h"
#include "net/packet/segment.h"

/* Free space before the first octet, for tags and tunnel headers. */
#define CVSW_HEADROOM           128u
/* Maximum number of parts after the head. */
#define CVSW_PARTS_MAX          64

typedef struct CvswFrame {
    uint8_t *head;              /* the first octet, inside @room */
    size_t head_len;            /* octets in the head */
    size_t size;                /* octets of the whole frame */
    struct iovec rest[CVSW_PARTS_MAX];
    int parts;
    PacketOffload offload;      /* offsets count from @head */
    PacketFlow flow;            /* of @head; cvsw_frame_...() update it */
    uint64_t tunnel_id;         /* 0: the frame was not in a tunnel */
    uint8_t room[CVSW_HEADROOM + PACKET_FLOW_LOOK];
} CvswFrame;

/**
 * cvsw_frame_take: initialize a frame
 * @iov: from the destination address on; referred to as long as the frame is
 *       used
 * @offload: what the sender has left to the NIC
 *
 * If a header is truncated or invalid, @frame->flow has only the headers before
 * it.
 *
 * Returns: false if it is not a frame, or has more than CVSW_PARTS_MAX parts
 */
bool cvsw_frame_take(CvswFrame *frame, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload);

/**
 * cvsw_frame_copy: copy a frame
 * @to: a different frame; both refer to the same octets after the head
 */
void cvsw_frame_copy(CvswFrame *to, const CvswFrame *from);

/** cvsw_frame_look: parse the head again after a change */
void cvsw_frame_look(CvswFrame *frame);

/**
 * cvsw_frame_push: insert octets into the head
 * @at: offset, at most @frame->head_len
 * @len: number of octets; their contents are undefined
 *
 * Returns: the inserted octets, or NULL if there is no space
 */
uint8_t *cvsw_frame_push(CvswFrame *frame, size_t at, size_t len);

/** cvsw_frame_pull: remove @len octets from the head, at offset @at */
void cvsw_frame_pull(CvswFrame *frame, size_t at, size_t len);

/**
 * cvsw_frame_iov: the whole frame
 * @iov: space for CVSW_PARTS_MAX + 1 parts
 *
 * Returns: number of parts
 */
int cvsw_frame_iov(const CvswFrame *frame, struct iovec *iov);

#endif /* CVSW_FRAME_FRAME_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Super-frames in a tunnel: one outer packet stands for several
 *
 * Somebody behind the wire, mostly the kernel, cuts the inner packet and gives
 * each piece the outer headers (Linux' UDP tunnel GSO). What it makes is what
 * comes of a super-frame that is cut before it goes into the tunnel, but for
 * the outer IPv4 header's identification, which counts on.
 */
#ifndef CVSW_TUNNEL_SUPER_H
#define CVSW_TUNNEL_SUPER_H

#include "hw/net/cvsw/frame/frame.h"

/*
 * Frames that one may stand for: 64 KiB are 122 segments of the size that holds
 * where nobody has said one (RFC 9293 section 3.7.1). More is work that a VM
 * would make for others.
 */
#define CVSW_PIECES_MAX         256u

/** cvsw_super_is_few: does it stand for CVSW_PIECES_MAX at most? */
bool cvsw_super_is_few(const PacketSegments *s);

/**
 * cvsw_super_inner: what is left to do to the frame in a tunnel
 * @outer: its offload is of a tunnel
 * @at: offset of the frame
 */
PacketOffload cvsw_super_inner(const CvswFrame *outer, size_t at);

/**
 * cvsw_super_is_inner: is the frame in a tunnel what the offload says?
 * @inner: with the offload of cvsw_super_inner()
 * @l3: offset of its IP header, by the outer frame's offload
 */
bool cvsw_super_is_inner(const CvswFrame *inner, size_t l3);

/** cvsw_super_is_outer: has a frame the outer headers that its offload says? */
bool cvsw_super_is_outer(const CvswFrame *frame);

/* A super-frame in a tunnel on its way to be cut; private. */
typedef struct CvswPieces {
    PacketSegments segments;    /* of the inner packet */
    struct iovec inner[CVSW_PARTS_MAX + 1];
    uint8_t outer[PACKET_FLOW_LOOK];
    size_t outer_len;           /* up to the inner IP header */
    size_t l3, l4;              /* of the outer packet */
    bool is_ip6, has_sum;
    uint16_t id;                /* of outer IPv4 */
    uint8_t head[PACKET_FLOW_LOOK + PACKET_SEGMENT_HEAD_MAX];
} CvswPieces;

/**
 * cvsw_pieces_begin: cut a super-frame in a tunnel that ends elsewhere
 * @frame: its headers are copied
 * @iov: the same frame; its payload is referred to
 *
 * The tunnel may be any that is in UDP, not only VXLAN.
 *
 * Returns: false if it is none, or of more than CVSW_PIECES_MAX
 */
bool cvsw_pieces_begin(CvswPieces *p, const CvswFrame *frame,
                       const struct iovec *iov, int iovcnt);

/**
 * cvsw_pieces_next: the next frame, which leaves nothing to be done
 * @iov: room for CVSW_PARTS_MAX parts; refers to @p
 *
 * Returns: how many parts there are; -1 at the end
 */
int cvsw_pieces_next(CvswPieces *p, struct iovec *iov);

#endif /* CVSW_TUNNEL_SUPER_H */

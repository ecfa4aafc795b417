/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Super-frames in a tunnel: an outer packet that must be segmented
 *
 * A sender leaves it to a later stage, usually the kernel, to segment the inner
 * packet and to give each segment the outer headers (Linux' UDP tunnel GSO).
 * The result is the same as with segmentation before encapsulation, except that
 * the identification of the outer IPv4 header is incremented.
 */
#ifndef CVSW_TUNNEL_SUPER_H
#define CVSW_TUNNEL_SUPER_H

#include "hw/net/cvsw/frame/frame.h"

/*
 * Maximum number of segments of a super-frame.  64 KiB are 122 segments of the
 * default MSS (RFC 9293 section 3.7.1).  A higher number is work that one VM
 * causes for others.
 */
#define CVSW_PIECES_MAX         256u

/**
 * cvsw_super_is_few: Returns: true if it has at most CVSW_PIECES_MAX segments
 */
bool cvsw_super_is_few(const PacketSegments *s);

/**
 * cvsw_super_inner: the offload of the inner frame
 * @outer: its offload has a tunnel
 * @at: offset of the inner frame
 */
PacketOffload cvsw_super_inner(const CvswFrame *outer, size_t at);

/**
 * cvsw_super_is_inner: is the inner frame consistent with its offload?
 * @inner: its offload is from cvsw_super_inner()
 * @l3: offset of its IP header, from the outer frame's offload
 */
bool cvsw_super_is_inner(const CvswFrame *inner, size_t l3);

/** cvsw_super_is_outer: are the outer headers consistent with the offload? */
bool cvsw_super_is_outer(const CvswFrame *frame);

/* A super-frame in a tunnel while it is segmented; private. */
typedef struct CvswPieces {
    PacketSegments segments;    /* of the inner packet */
    struct iovec inner[CVSW_PARTS_MAX + 1];
    uint8_t outer[PACKET_FLOW_LOOK];
    size_t outer_len;           /* octets before the inner IP header */
    size_t l3, l4;              /* offsets in the outer packet */
    bool is_ip6, has_sum;
    uint16_t id;                /* identification of outer IPv4 */
    uint8_t head[PACKET_FLOW_LOOK + PACKET_SEGMENT_HEAD_MAX];
} CvswPieces;

/**
 * cvsw_pieces_begin: start to segment a super-frame of a tunnel that ends
 * elsewhere
 * @frame: its headers are copied
 * @iov: the same frame; its payload is referred to
 *
 * Any UDP tunnel is supported, not only VXLAN.
 *
 * Returns: false if it is not a valid one, or has more than CVSW_PIECES_MAX
 * segments
 */
bool cvsw_pieces_begin(CvswPieces *p, const CvswFrame *frame,
                       const struct iovec *iov, int iovcnt);

/**
 * cvsw_pieces_next: the next segment, which needs no offload
 * @iov: space for CVSW_PARTS_MAX parts; they refer to @p
 *
 * Returns: number of parts; -1 at the end
 */
int cvsw_pieces_next(CvswPieces *p, struct iovec *iov);

#endif /* CVSW_TUNNEL_SUPER_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments super-frames of TCP and UDP (GSO)
 *
 * PacketOffload has the contents of a virtio-net header, without its layout;
 * the faces convert it.
 */
#ifndef NET_PACKET_SEGMENT_H
#define NET_PACKET_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

typedef enum PacketGso {
    PACKET_GSO_NONE,
    PACKET_GSO_TCP4,
    PACKET_GSO_TCP6,
    PACKET_GSO_UDP,             /* each segment is a datagram (USO) */
} PacketGso;

/* The tunnel of a super-frame; its outer packet is UDP. */
typedef enum PacketTunnel {
    PACKET_TUNNEL_NONE,
    PACKET_TUNNEL_UDP4,         /* over IPv4 */
    PACKET_TUNNEL_UDP6,
} PacketTunnel;

/* Offsets count from the frame's first octet. */
typedef struct PacketOffload {
    bool needs_csum;            /* compute the sum from @csum_start on */
    uint16_t csum_start;
    uint16_t csum_offset;       /* from @csum_start; store the sum there */
    PacketGso gso;
    bool ecn;                   /* TCP with CWR */
    uint16_t gso_size;          /* payload of a segment, octets */
    uint16_t head_len;          /* all headers; 0: unspecified */
    /* With a tunnel, the members above are about the inner packet. */
    PacketTunnel tunnel;
    bool tunnel_csum;           /* also compute the outer checksum */
    uint16_t outer_l4;          /* offset of the outer UDP header */
    uint16_t inner_l3;          /* offset of the inner IP header */
} PacketOffload;

/* Maximum length of headers: tags, extension headers, options. */
#define PACKET_SEGMENT_HEAD_MAX 256u

/* A super-frame while it is segmented; private. */
typedef struct PacketSegments {
    const struct iovec *iov;
    int iovcnt;
    uint8_t head[PACKET_SEGMENT_HEAD_MAX];
    size_t l3, l4, head_len;    /* offsets; length of all headers */
    size_t payload, done;       /* payload length; octets done */
    size_t size;                /* payload of a segment */
    uint32_t sequence;          /* of TCP */
    uint16_t id;                /* of IPv4 */
    unsigned pieces;
    bool is_ip4, is_tcp;
    uint8_t tcp_flags;
} PacketSegments;

/**
 * packet_segments_begin: check a super-frame
 * @offload: @gso is not PACKET_GSO_NONE; without a tunnel
 * @iov: the frame; a guest may change it at any time, so headers are copied
 *       once
 * @size: payload of a segment, 1..65535; @offload->gso_size, or less
 *
 * Returns: false if the headers do not agree with @offload
 */
bool packet_segments_begin(PacketSegments *s, const PacketOffload *offload,
                           const struct iovec *iov, int iovcnt, size_t size);

/**
 * packet_segments_fit: reduce the segment size
 * @room: maximum length of a segment, from its IP header on
 *
 * The segment size of TCP can be reduced; the size of datagrams cannot.
 *
 * Returns: false if the segments remain longer than @room
 */
bool packet_segments_fit(PacketSegments *s, size_t room);

/**
 * packet_segments_whole: leave the segmentation of TCP to another stage
 * @s: before the first segment
 * @head: space for PACKET_SEGMENT_HEAD_MAX octets; gets the super-frame's
 *        headers with correct lengths and a partial checksum, whatever its
 *        sender wrote there
 * @offload: set, with segments of @s->size
 *
 * The payload after the @s->head_len octets of headers is the super-frame's.
 *
 * Returns: false if there is only one segment, or the length does not fit into
 * the IP header
 */
bool packet_segments_whole(const PacketSegments *s, uint8_t *head,
                           PacketOffload *offload);

/**
 * packet_segments_next: the next segment
 * @head: space for PACKET_SEGMENT_HEAD_MAX octets; gets the headers, with all
 *        checksums computed
 * @head_len: set
 * @payload: space for @max parts; gets the payload, by reference
 *
 * Returns: number of parts in @payload; -1 at the end, or if there are more
 * than @max
 */
int packet_segments_next(PacketSegments *s, uint8_t *head, size_t *head_len,
                         struct iovec *payload, int max);

/**
 * packet_iov_slice: refer to a part of @iov
 *
 * Returns: number of parts in @out; -1 if there are more than @max, or @iov
 * ends too early
 */
int packet_iov_slice(const struct iovec *iov, int iovcnt, size_t offset,
                     size_t len, struct iovec *out, int max);

/** packet_iov_copy: copy from @iov. Returns: octets; less at the end of @iov */
size_t packet_iov_copy(const struct iovec *iov, int iovcnt, size_t offset,
                       void *buf, size_t len);

/** packet_iov_len: length of all parts */
size_t packet_iov_len(const struct iovec *iov, int iovcnt);

#endif /* NET_PACKET_SEGMENT_H */

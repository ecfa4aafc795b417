/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cut super-frames: TCP and UDP packets that stand for several (GSO)
 *
 * The work that a NIC's offloads leave is described as virtio-net does it, but
 * without its layouts: faces translate.
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
    PACKET_GSO_UDP,             /* each piece is a datagram (USO), v4 or v6 */
} PacketGso;

/* A super-frame is in a tunnel whose outer packet is UDP. */
typedef enum PacketTunnel {
    PACKET_TUNNEL_NONE,
    PACKET_TUNNEL_UDP4,         /* over IPv4 */
    PACKET_TUNNEL_UDP6,
} PacketTunnel;

/* Offsets count from the frame's first octet. */
typedef struct PacketOffload {
    bool needs_csum;            /* the sum from @csum_start on is to be made */
    uint16_t csum_start;
    uint16_t csum_offset;       /* from @csum_start, where it is stored */
    PacketGso gso;
    bool ecn;                   /* TCP with CWR */
    uint16_t gso_size;          /* octets of payload in a piece */
    uint16_t head_len;          /* of all headers of a super-frame; 0: unsaid */
    /* In a tunnel what is above is of the inner packet. */
    PacketTunnel tunnel;
    bool tunnel_csum;           /* the outer checksum is to be made, too */
    uint16_t outer_l4;          /* offset of the outer UDP header */
    uint16_t inner_l3;          /* offset of the inner IP header */
} PacketOffload;

/* The longest headers of a frame that can be cut: tags, extensions, options. */
#define PACKET_SEGMENT_HEAD_MAX 256u

/* A super-frame on its way to be cut; private. */
typedef struct PacketSegments {
    const struct iovec *iov;
    int iovcnt;
    uint8_t head[PACKET_SEGMENT_HEAD_MAX];
    size_t l3, l4, head_len;    /* offsets; all headers */
    size_t payload, done;       /* octets of payload, and those given out */
    size_t size;                /* of a piece */
    uint32_t sequence;          /* of TCP */
    uint16_t id;                /* of IPv4 */
    unsigned pieces;
    bool is_ip4, is_tcp;
    uint8_t tcp_flags;
} PacketSegments;

/**
 * packet_segments_begin: look at a super-frame
 * @offload: with @gso other than PACKET_GSO_NONE; not of a tunnel
 * @iov: the frame; it may change under our hands, so headers are copied once
 * @size: of a piece's payload, 1..65535; @offload->gso_size, or less
 *
 * Returns: false if its headers are not what @offload says
 */
bool packet_segments_begin(PacketSegments *s, const PacketOffload *offload,
                           const struct iovec *iov, int iovcnt, size_t size);

/**
 * packet_segments_fit: make pieces small enough
 * @room: for a piece, from its IP header on
 *
 * TCP can be cut anywhere. Datagrams are what their sender wants them to be.
 *
 * Returns: false if the pieces are longer and stay so
 */
bool packet_segments_fit(PacketSegments *s, size_t room);

/**
 * packet_segments_whole: leave the cutting of TCP to somebody else
 * @s: before the first piece
 * @head: room for PACKET_SEGMENT_HEAD_MAX octets: gets the super-frame's
 *        headers, its lengths right and its checksum partial, whatever its
 *        sender wrote there
 * @offload: set to what is left to do, for pieces of @s->size
 *
 * Behind @s->head_len octets of headers, the payload is the super-frame's.
 *
 * Returns: false if there is nothing to cut, or IP cannot say how long it is
 */
bool packet_segments_whole(const PacketSegments *s, uint8_t *head,
                           PacketOffload *offload);

/**
 * packet_segments_next: the next frame
 * @head: room for PACKET_SEGMENT_HEAD_MAX octets: gets its headers, with all
 *        checksums made
 * @head_len: set
 * @payload: room for @max parts: gets the payload, by reference
 *
 * Returns: how many parts @payload has; -1 at the end, or if they are more than
 * @max
 */
int packet_segments_next(PacketSegments *s, uint8_t *head, size_t *head_len,
                         struct iovec *payload, int max);

/**
 * packet_iov_slice: refer to a part of @iov
 *
 * Returns: parts in @out; -1 if they are more than @max, or @iov ends before
 */
int packet_iov_slice(const struct iovec *iov, int iovcnt, size_t offset,
                     size_t len, struct iovec *out, int max);

/** packet_iov_copy: copy out of @iov. Returns: octets, less at its end */
size_t packet_iov_copy(const struct iovec *iov, int iovcnt, size_t offset,
                       void *buf, size_t len);

/** packet_iov_len: octets of all parts */
size_t packet_iov_len(const struct iovec *iov, int iovcnt);

#endif /* NET_PACKET_SEGMENT_H */

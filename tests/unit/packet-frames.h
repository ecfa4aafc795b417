/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of flows, and a receiver that cuts super-frames and compares */
#ifndef TESTS_UNIT_PACKET_FRAMES_H
#define TESTS_UNIT_PACKET_FRAMES_H

#include <glib.h>

#include "net/packet/coalesce.h"

#define FRAME_MAX       2048u

/* Parameters of a frame, which is otherwise valid. */
typedef struct FrameSpec {
    bool is_ip4, is_udp, tagged;
    uint8_t flow;               /* of the source's port */
    uint8_t vlan, ttl, ack;     /* added to the common values */
    uint8_t tos;
    uint16_t id;                /* of IPv4 */
    bool dont_fragment;
    uint32_t sequence;
    uint32_t stamp;             /* TCP's timestamp; 0: no option */
    uint16_t window;
    uint8_t flags;              /* of TCP */
    const uint8_t *payload;
    size_t len;
} FrameSpec;

/** frame_make: write a frame. Returns: its length */
size_t frame_make(uint8_t *buf, const FrameSpec *spec);

/** frame_partial: leave the checksum of frame_make() to the receiver */
PacketOffload frame_partial(uint8_t *frame, const FrameSpec *spec);

/*
 * The frames sent to a receiver, and those that it has received: it must
 * receive all octets of each flow, in order.
 */
typedef struct Stream {
    PacketCoalesce coalesce;
    GPtrArray *sent;            /* GBytes; NULL once it has come */
    unsigned frames;            /* that have come, super-frames as one */
    unsigned super;             /* those */
    size_t longest;
    PacketOffload last;
} Stream;

Stream *stream_new(void);

/** stream_send: @len octets, @full if they are sent with a partial checksum */
void stream_send(Stream *s, unsigned takes, const uint8_t *frame, size_t len,
                 const PacketOffload *offload, const uint8_t *full);

/** stream_free: flush; all frames must have arrived */
void stream_free(Stream *s);

#endif /* TESTS_UNIT_PACKET_FRAMES_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames to the controller: OFPT_PACKET_IN of OpenFlow 1.0 and 1.3
 *
 * A guest can cause any number of them, so a token bucket limits them: it holds
 * CVSW_PACKET_IN_BURST tokens and is refilled at CVSW_PACKET_IN_RATE.
 */
#ifndef CVSW_EVENT_PACKET_IN_H
#define CVSW_EVENT_PACKET_IN_H

#include "hw/net/cvsw/flow/table.h"
#include "hw/net/cvsw/frame/frame.h"

/* Tokens per second; size of the bucket. */
#define CVSW_PACKET_IN_RATE     100u
#define CVSW_PACKET_IN_BURST    50u

/* A token bucket.  Zeroed, it is full one second after the clock's start. */
typedef struct CvswBucket {
    uint64_t empty_ms; /* when the bucket was, or would have been, empty */
} CvswBucket;

/** cvsw_bucket_take: take a token. Returns: false if there is none */
bool cvsw_bucket_take(CvswBucket *bucket, uint64_t now_ms);

/**
 * cvsw_packet_in_build: build the message
 * @buf: @room octets, at least 64; a longer message is truncated
 * @frame: a checksum that the sender has left to the NIC is computed if it is
 *         in the octets that are sent; super-frames are sent as they are
 * @in_port: CVSW_PORT_...
 * @max_len: octets of the frame to send; 0xffff: all
 * @entry: the flow with the output to the controller; its OpenFlow version is
 *         used
 *
 * Returns: octets written
 */
size_t cvsw_packet_in_build(uint8_t *buf, size_t room, const CvswFrame *frame,
                            uint32_t in_port, uint16_t max_len,
                            const CvswEntry *entry);

#endif /* CVSW_EVENT_PACKET_IN_H */

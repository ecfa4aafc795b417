/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames for the controller: OFPT_PACKET_IN, of OpenFlow 1.0 and 1.3
 *
 * A guest decides how many there are, so that only some of them leave: a bucket
 * of CVSW_PACKET_IN_BURST tokens, which fills at CVSW_PACKET_IN_RATE.
 */
#ifndef CVSW_EVENT_PACKET_IN_H
#define CVSW_EVENT_PACKET_IN_H

#include "hw/net/cvsw/flow/table.h"
#include "hw/net/cvsw/frame/frame.h"

/* In a second; at once. */
#define CVSW_PACKET_IN_RATE     100u
#define CVSW_PACKET_IN_BURST    50u

/* A bucket; of zeros, it is full after the clock's first second. */
typedef struct CvswBucket {
    uint64_t empty_ms;          /* when it was, or would have been, empty */
} CvswBucket;

/** cvsw_bucket_take: take a token; false: there is none */
bool cvsw_bucket_take(CvswBucket *bucket, uint64_t now_ms);

/**
 * cvsw_packet_in_build: write the message
 * @buf: @room octets, 64 or more; what does not fit is cut off
 * @frame: a checksum that it leaves to the NIC is made, if it is among what is
 *         told; large segments are told as they are
 * @in_port: CVSW_PORT_...
 * @max_len: octets of the frame to be told; 0xffff: all
 * @entry: the flow that says so; in its version of OpenFlow
 *
 * Returns: octets written
 */
size_t cvsw_packet_in_build(uint8_t *buf, size_t room, const CvswFrame *frame,
                            uint32_t in_port, uint16_t max_len,
                            const CvswEntry *entry);

#endif /* CVSW_EVENT_PACKET_IN_H */

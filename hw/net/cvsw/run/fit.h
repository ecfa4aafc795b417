/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sizes that fit, and what a guest is told that does not know them
 *
 * Two numbers bound what leaves by the wire: the MTU that the controller has
 * set, of the guest's packets; and the MTU of the wire, if it is known, less
 * what the flow that a frame takes puts before it.
 */
#ifndef CVSW_RUN_FIT_H
#define CVSW_RUN_FIT_H

#include "hw/net/cvsw/run/run.h"
#include "net/packet/tcp.h"

/* Errors for the guest at once, and the time in which one more may follow. */
#define CVSW_TOLD_AT_ONCE       50u
#define CVSW_TOLD_EVERY_MS      10u

/**
 * cvsw_room: octets that a frame may have behind its Ethernet header
 * @tunnel: the one that it goes into, or NULL
 * @sa: the association that seals it, or NULL
 *
 * Returns: SIZE_MAX if nobody has said anything
 */
size_t cvsw_room(const CvswRun *run, const CvswTunnel *tunnel, const EspSa *sa,
                 const CvswFrame *frame);

/** cvsw_fits: is a frame that is one packet short enough? */
static inline bool cvsw_fits(const CvswFrame *frame, size_t room)
{
    return room == SIZE_MAX || frame->size <= frame->flow.l3 + room;
}

/** cvsw_is_syn: does a frame say which segments its sender takes? */
static inline bool cvsw_is_syn(const CvswFrame *frame)
{
    return frame->flow.tcp_flags & PACKET_TCP_SYN;
}

/** cvsw_clamp: make a TCP connection announce what fits (packet_mtu_clamp()) */
void cvsw_clamp(CvswFrame *frame, size_t room);

/**
 * cvsw_tell: the guest's frame was too big for the wire
 * @iov: the frame as the guest has sent it
 * @room: octets of a packet that would have fitted
 *
 * An ICMP error for the guest, unless there were too many of them.
 */
void cvsw_tell(CvswRun *run, const struct iovec *iov, int iovcnt, size_t room,
               uint64_t now_ms);

#endif /* CVSW_RUN_FIT_H */

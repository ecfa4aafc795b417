/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packet sizes that fit, and ICMP errors for packets that do not
 *
 * Two numbers limit packets to the wire: the MTU that the controller has set,
 * which applies to the guest's packets; and the MTU of the wire, if it is
 * known, minus the outer headers that the flow adds.
 */
#ifndef CVSW_RUN_FIT_H
#define CVSW_RUN_FIT_H

#include "hw/net/cvsw/run/run.h"
#include "net/packet/tcp.h"

/* ICMP errors to the guest: size of the burst, and interval of further ones. */
#define CVSW_ICMP_BURST         50u
#define CVSW_ICMP_EVERY_MS      10u

/**
 * cvsw_room: maximum length of a frame after its Ethernet header
 * @tunnel: the tunnel that encapsulates it, or NULL
 * @sa: the association that seals it, or NULL
 *
 * Returns: SIZE_MAX if there is no limit
 */
size_t cvsw_room(const CvswRun *run, const CvswTunnel *tunnel, const EspSa *sa,
                 const CvswFrame *frame);

/** cvsw_fits: is a frame with a single packet short enough? */
static inline bool cvsw_fits(const CvswFrame *frame, size_t room)
{
    return room == SIZE_MAX || frame->size <= frame->flow.l3 + room;
}

/** cvsw_is_syn: does a frame announce its sender's MSS? */
static inline bool cvsw_is_syn(const CvswFrame *frame)
{
    return frame->flow.tcp_flags & PACKET_TCP_SYN;
}

/** cvsw_clamp: clamp the MSS of a TCP SYN to @room (packet_mtu_clamp()) */
void cvsw_clamp(CvswFrame *frame, size_t room);

/**
 * cvsw_too_big: send the guest an ICMP error about a packet that is too big
 * @iov: the frame that the guest has sent
 * @room: length of a packet that would fit
 *
 * The rate of errors is limited.
 */
void cvsw_too_big(CvswRun *run, const struct iovec *iov, int iovcnt,
                  size_t room, uint64_t now_ms);

#endif /* CVSW_RUN_FIT_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coalesces a room's frames to the NIC into super-frames
 *
 * A tunnel endpoint decapsulates TCP segments or datagrams.  If the NIC accepts
 * super-frames, the segments are coalesced (net/packet/coalesce.h).  The
 * packets of one main loop iteration are a batch, and a bottom half ends it: so
 * a packet waits at most until the main loop has handled the events that are
 * pending.  Frames of one flow stay in order, also frames that are not
 * coalesced.  A room must call net_stage_gather_flush() before it passes a
 * frame to the NIC.
 */
#ifndef VMMNET_NET_STAGE_GATHER_H
#define VMMNET_NET_STAGE_GATHER_H

#include "net/packet/segment.h"
#include "net/stage/stage.h"

typedef struct NetStageGather NetStageGather;

/**
 * net_stage_gather_new: create an empty one
 * @refused: called when net_stage_send() refuses a frame; may be NULL
 */
NetStageGather *net_stage_gather_new(NetStage *stage,
                                     void (*refused)(void *opaque),
                                     void *opaque);

/** net_stage_gather_free: drop what is held; @g may be NULL */
void net_stage_gather_free(NetStageGather *g);

/**
 * net_stage_gather_send: send a frame to the NIC
 * @queue: see net_stage_send().  Packets held for another queue are sent first,
 *         also while paused: a room that pauses must use one queue only
 * @iov: the frame without virtio-net header
 * @offload: without a tunnel; a super-frame that the NIC does not accept is
 *           segmented
 * @join: the frame may be held and coalesced
 */
void net_stage_gather_send(NetStageGather *g, unsigned queue,
                           const struct iovec *iov, int iovcnt,
                           const PacketOffload *offload, bool join);

/** net_stage_gather_flush: send what is held, unless paused */
void net_stage_gather_flush(NetStageGather *g);

/** net_stage_gather_pause: hold packets until @paused is false */
void net_stage_gather_pause(NetStageGather *g, bool paused);

/** net_stage_gather_discard: drop what is held. Returns: number of packets */
unsigned net_stage_gather_discard(NetStageGather *g);

/** net_stage_gather_is_empty: Returns: true if nothing is held */
bool net_stage_gather_is_empty(const NetStageGather *g);

/** net_stage_gather_packets: Returns: packets that were coalesced */
uint64_t net_stage_gather_packets(const NetStageGather *g);

#endif /* VMMNET_NET_STAGE_GATHER_H */

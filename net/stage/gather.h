/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A room's own frames to the NIC, put together to super-frames
 *
 * What a tunnel's end takes out as TCP segments, or datagrams, goes to a NIC
 * that takes super-frames as such (net/packet/coalesce.h). What comes at once
 * is a batch: a bottom half ends it, so nothing waits longer than the main loop
 * takes for what is there now. Frames of one flow stay in order, also those
 * that are not held; a room that passes frames to the NIC calls
 * net_stage_gather_flush() before.
 */
#ifndef VMMNET_NET_STAGE_GATHER_H
#define VMMNET_NET_STAGE_GATHER_H

#include "net/packet/segment.h"
#include "net/stage/stage.h"

typedef struct NetStageGather NetStageGather;

/**
 * net_stage_gather_new: begin with nothing
 * @refused: net_stage_send() has refused a frame; may be NULL
 */
NetStageGather *net_stage_gather_new(NetStage *stage,
                                     void (*refused)(void *opaque),
                                     void *opaque);

/** net_stage_gather_free: what is held is lost; NULL is welcome */
void net_stage_gather_free(NetStageGather *g);

/**
 * net_stage_gather_send: a frame for the NIC
 * @queue: as net_stage_send() has it.  What is held for another one is sent
 *         before, also while that is paused: a room that pauses uses one queue
 * @iov: the frame without virtio-net header
 * @offload: of no tunnel; a super-frame of a kind that the NIC does not take is
 *           cut
 * @join: it may be held, and be put together with others
 */
void net_stage_gather_send(NetStageGather *g, unsigned queue,
                           const struct iovec *iov, int iovcnt,
                           const PacketOffload *offload, bool join);

/** net_stage_gather_flush: send what is held, unless that is paused */
void net_stage_gather_flush(NetStageGather *g);

/** net_stage_gather_pause: keep what is held; when it goes on, that is sent */
void net_stage_gather_pause(NetStageGather *g, bool paused);

/** net_stage_gather_discard: Returns: how many packets were held */
unsigned net_stage_gather_discard(NetStageGather *g);

/** net_stage_gather_is_empty: is nothing held? */
bool net_stage_gather_is_empty(const NetStageGather *g);

/** net_stage_gather_packets: how many have gone together with others */
uint64_t net_stage_gather_packets(const NetStageGather *g);

#endif /* VMMNET_NET_STAGE_GATHER_H */

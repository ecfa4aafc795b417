/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What NIC and backend tell each other besides frames, passed on by a stage
 *
 * Link states, header lengths and byte order, offloads, and peers that come and
 * go.  Only the files of net/stage include this header.
 */
#ifndef VMMNET_NET_STAGE_CONTROL_H
#define VMMNET_NET_STAGE_CONTROL_H

#include "net/stage/frames.h"

/* Returns: true if netdev_del was called, but a NIC still uses the stage */
bool stage_is_deleted(const NetStage *s);

/* End the stage's room, and drop all frames from here on; may be repeated. */
void stage_end_room(NetStage *s);

/**
 * stage_settle: bottom half, apply what has changed
 * @opaque: the NetStage
 *
 * It tells the backend the NIC's link state, receives frames that wait, and
 * calls the room's changed() if that is due.
 */
void stage_settle(void *opaque);

/* Fill in the methods of a front or a back other than for frames. */
void stage_control_info(NetClientInfo *info, NetStageSide side);

#endif /* VMMNET_NET_STAGE_CONTROL_H */

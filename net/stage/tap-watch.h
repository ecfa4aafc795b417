/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells when the host does nothing with the frames of a stage's tap
 *
 * A tap that is down refuses frames. A bridge that is down drops them without
 * any counter, and a tap that has left its bridge is connected to nothing. Each
 * change is one line in QEMU's log.
 */
#ifndef VMMNET_NET_STAGE_TAP_WATCH_H
#define VMMNET_NET_STAGE_TAP_WATCH_H

#include "net/net.h"

typedef struct StageTapWatch StageTapWatch;

/**
 * stage_tap_watch_new: watch the tap of a stage
 * @nc: the backend; it must exist until stage_tap_watch_free()
 * @type: of the stage, for messages
 * @id: of the stage, for messages; must exist as long
 *
 * Returns: NULL if the backend is no tap
 */
StageTapWatch *stage_tap_watch_new(NetClientState *nc, const char *type,
                                   const char *id);

/** stage_tap_watch_failed: the tap has refused a frame; @w may be NULL */
void stage_tap_watch_failed(StageTapWatch *w);

/** stage_tap_watch_free: @w may be NULL */
void stage_tap_watch_free(StageTapWatch *w);

#endif /* VMMNET_NET_STAGE_TAP_WATCH_H */

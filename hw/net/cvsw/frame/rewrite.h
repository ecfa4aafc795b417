/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes a frame's headers and updates its checksums
 *
 * A complete checksum is updated incrementally (RFC 1624), so a damaged packet
 * stays detectably damaged.  A partial checksum, which the receiver completes,
 * covers only the pseudo header; it is updated when the pseudo header changes.
 */
#ifndef CVSW_FRAME_REWRITE_H
#define CVSW_FRAME_REWRITE_H

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/frame/frame.h"

typedef enum CvswRewrite {
    CVSW_REWRITE_DONE,          /* also if the frame has no such field */
    CVSW_REWRITE_TTL,           /* the TTL is exceeded */
    CVSW_REWRITE_ROOM,          /* no space for another tag */
} CvswRewrite;

/** cvsw_rewrite: execute an action, except OUTPUT, tunnels and ESP */
CvswRewrite cvsw_rewrite(CvswFrame *frame, const CvswAction *action);

#endif /* CVSW_FRAME_REWRITE_H */

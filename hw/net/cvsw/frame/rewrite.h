/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Change a frame's headers, and keep its checksums right
 *
 * A checksum that is there is changed by the difference (RFC 1624), so a packet
 * that was damaged stays so. One that is left to the receiver (partial) covers
 * the pseudo header only, and is changed by what of that changes.
 */
#ifndef CVSW_FRAME_REWRITE_H
#define CVSW_FRAME_REWRITE_H

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/frame/frame.h"

typedef enum CvswRewrite {
    CVSW_REWRITE_DONE,          /* also where the frame has no such field */
    CVSW_REWRITE_TTL,           /* the TTL has ended */
    CVSW_REWRITE_ROOM,          /* no room for one more tag */
} CvswRewrite;

/** cvsw_rewrite: carry out an action other than OUTPUT, tunnels', ESP's */
CvswRewrite cvsw_rewrite(CvswFrame *frame, const CvswAction *action);

#endif /* CVSW_FRAME_REWRITE_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends a frame out of a port: unchanged, or encapsulated, segmented, sealed */
#ifndef CVSW_RUN_LEAVE_H
#define CVSW_RUN_LEAVE_H

#include "hw/net/cvsw/run/run.h"

typedef struct CvswLeave {
    const CvswTunnel *tunnel;   /* NULL: no encapsulation */
    bool sealed;                /* by the association with number @sa */
    uint32_t sa;
} CvswLeave;

/* The reason why a frame was not sent. */
typedef struct CvswLost {
    CvswDrop why;
    size_t room;                /* for CVSW_DROP_TOO_BIG: maximum packet size */
} CvswLost;

/**
 * cvsw_leave: send a frame out of a port
 * @lost: set if the frame was not sent, or not completely
 */
bool cvsw_leave(CvswRun *run, const CvswLeave *leave, CvswFrame *frame,
                uint32_t port, CvswLost *lost);

/** cvsw_leave_changes: must the frame go through cvsw_leave()? */
bool cvsw_leave_changes(const CvswRun *run, const CvswFrame *frame,
                        uint32_t port);

#endif /* CVSW_RUN_LEAVE_H */

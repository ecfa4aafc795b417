/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame leaves: as it is, or by a tunnel, cut and sealed */
#ifndef CVSW_RUN_LEAVE_H
#define CVSW_RUN_LEAVE_H

#include "hw/net/cvsw/run/run.h"

typedef struct CvswLeave {
    const CvswTunnel *tunnel;   /* NULL: as it is */
    bool sealed;                /* by the association of number @sa */
    uint32_t sa;
} CvswLeave;

/* The reason why a frame stayed here. */
typedef struct CvswLost {
    CvswDrop why;
    size_t room;                /* of CVSW_DROP_TOO_BIG: for a packet */
} CvswLost;

/**
 * cvsw_leave: a frame goes out by a port
 * @lost: set if nothing, or not all of it, has left
 */
bool cvsw_leave(CvswRun *run, const CvswLeave *leave, CvswFrame *frame,
                uint32_t port, CvswLost *lost);

/** cvsw_leave_changes: does a frame have to leave by cvsw_leave()? */
bool cvsw_leave_changes(const CvswRun *run, const CvswFrame *frame,
                        uint32_t port);

#endif /* CVSW_RUN_LEAVE_H */

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

/**
 * cvsw_leave: a frame goes out by a port
 * @why: set if nothing, or not all of it, has left
 */
bool cvsw_leave(CvswRun *run, const CvswLeave *leave, CvswFrame *frame,
                uint32_t port, CvswDrop *why);

#endif /* CVSW_RUN_LEAVE_H */

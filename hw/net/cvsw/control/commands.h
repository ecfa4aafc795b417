/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executes a controller's commands (vmmnet/cvsw.h) on a switch */
#ifndef CVSW_CONTROL_COMMANDS_H
#define CVSW_CONTROL_COMMANDS_H

#include "hw/net/cvsw/control/session.h"
#include "hw/net/cvsw/flow/table.h"
#include "hw/net/cvsw/tunnel/sas.h"

/* The switch that a command reads or changes. */
typedef struct CvswCommanded {
    CvswTable *table;
    CvswSas *sas;
    uint16_t mtu;               /* 0: not set */
    /* Returns: false if the guest's driver or the NIC cannot use @mtu */
    bool (*set_mtu)(void *opaque, uint16_t mtu);
    bool (*set_offload)(void *opaque, uint32_t on, uint32_t mask);
    void *opaque;
    uint32_t epoch;             /* real time in s, for the IVs of ESP */
} CvswCommanded;

/**
 * cvsw_command: execute a command
 * @answer: zeroed; filled in
 */
void cvsw_command(CvswCommanded *to, const CvswMessage *command,
                  const CvswSecret *secrets, uint64_t now_ms,
                  CvswAnswer *answer);

#endif /* CVSW_CONTROL_COMMANDS_H */

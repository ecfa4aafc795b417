/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of a controller (vmmnet/cvsw.h), carried out at a switch */
#ifndef CVSW_CONTROL_COMMANDS_H
#define CVSW_CONTROL_COMMANDS_H

#include "hw/net/cvsw/control/session.h"
#include "hw/net/cvsw/flow/table.h"
#include "hw/net/cvsw/tunnel/sas.h"

/* The switch that commands change. */
typedef struct CvswCommanded {
    CvswTable *table;
    CvswSas *sas;
    uint16_t mtu;               /* 0: nobody set one */
    /* Returns: false if the guest, or the NIC, cannot have it so */
    bool (*set_mtu)(void *opaque, uint16_t mtu);
    bool (*set_offload)(void *opaque, uint32_t on, uint32_t mask);
    void *opaque;
    uint32_t epoch;             /* real time in s, for ESP's IVs */
} CvswCommanded;

/**
 * cvsw_command: carry one out
 * @answer: of zeros; filled in
 */
void cvsw_command(CvswCommanded *to, const CvswMessage *command,
                  const CvswSecret *secrets, uint64_t now_ms,
                  CvswAnswer *answer);

#endif /* CVSW_CONTROL_COMMANDS_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.3's instructions, as the list of actions that they come to */
#ifndef CVSW_OPENFLOW_INSTRUCTIONS_H
#define CVSW_OPENFLOW_INSTRUCTIONS_H

#include <glib.h>

#include "hw/net/cvsw/flow/table.h"
#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_instructions_parse: read the instructions of a FLOW_MOD
 * @mod: has its match; gets its actions
 *
 * There is one table, so that a frame's action set is what WRITE_ACTIONS put
 * into it: it is carried out, in the order of section 5.10, behind what
 * APPLY_ACTIONS says, and CLEAR_ACTIONS finds it empty (section 5.9).
 */
CvswOfFault cvsw_of_instructions_parse(CvswFlowMod *mod, const uint8_t *buf,
                                       size_t len);

/** cvsw_of_instructions_build: append them: APPLY_ACTIONS, or none */
void cvsw_of_instructions_build(GByteArray *out, const CvswEntry *entry);

#endif /* CVSW_OPENFLOW_INSTRUCTIONS_H */

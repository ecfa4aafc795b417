/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.3's instructions, converted to one list of actions */
#ifndef CVSW_OPENFLOW_INSTRUCTIONS_H
#define CVSW_OPENFLOW_INSTRUCTIONS_H

#include <glib.h>

#include "hw/net/cvsw/flow/table.h"
#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_instructions_parse: parse the instructions of a FLOW_MOD
 * @mod: has its match already; gets the actions
 *
 * There is only one table, so a frame's action set contains exactly the actions
 * of WRITE_ACTIONS.  The set is executed after the list of APPLY_ACTIONS, in
 * the order of section 5.10.  CLEAR_ACTIONS finds the set empty (section 5.9).
 */
CvswOfFault cvsw_of_instructions_parse(CvswFlowMod *mod, const uint8_t *buf,
                                       size_t len);

/**
 * cvsw_of_instructions_build: append an APPLY_ACTIONS; nothing without actions
 */
void cvsw_of_instructions_build(GByteArray *out, const CvswEntry *entry);

#endif /* CVSW_OPENFLOW_INSTRUCTIONS_H */

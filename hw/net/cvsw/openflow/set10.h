/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Those of OpenFlow 1.0's actions that have one number and ask for no match */
#ifndef CVSW_OPENFLOW_SET10_H
#define CVSW_OPENFLOW_SET10_H

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_set10_octets: how long the argument of an action is
 * @type: ofp_action_type of OpenFlow 1.0
 *
 * Returns: 0, 1, 2, or 4; -1 if @type is none of these actions
 */
int cvsw_of_set10_octets(uint16_t type);

/**
 * cvsw_of_set10_parse: what an action of 1.0 does
 * @action: of zeros
 * @type: SET_VLAN_VID, SET_VLAN_PCP, STRIP_VLAN (@value 0), SET_NW_TOS,
 *        SET_NW_SRC, SET_NW_DST, SET_TP_SRC, SET_TP_DST; others are of a bad
 *        type
 * @value: its argument, host order
 */
CvswOfFault cvsw_of_set10_parse(CvswAction *action, uint16_t type,
                                uint32_t value);

/**
 * cvsw_of_set10_get: the type and the argument that make @action
 *
 * Returns: false if cvsw_of_set10_parse() makes no such ones
 */
bool cvsw_of_set10_get(const CvswAction *action, uint16_t *type,
                       uint32_t *value);

#endif /* CVSW_OPENFLOW_SET10_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.0's actions with one number and without prerequisites */
#ifndef CVSW_OPENFLOW_SET10_H
#define CVSW_OPENFLOW_SET10_H

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_set10_octets: length of an action's argument
 * @type: ofp_action_type of OpenFlow 1.0
 *
 * Returns: 0, 1, 2, or 4; -1 if @type is not one of these actions
 */
int cvsw_of_set10_octets(uint16_t type);

/**
 * cvsw_of_set10_parse: convert an action of 1.0
 * @action: zeroed
 * @type: SET_VLAN_VID, SET_VLAN_PCP, STRIP_VLAN (@value 0), SET_NW_TOS,
 *        SET_NW_SRC, SET_NW_DST, SET_TP_SRC, SET_TP_DST; others are bad types
 * @value: the argument, in host byte order
 */
CvswOfFault cvsw_of_set10_parse(CvswAction *action, uint16_t type,
                                uint32_t value);

/**
 * cvsw_of_set10_get: the type and argument that make @action
 *
 * Returns: false if cvsw_of_set10_parse() never makes @action
 */
bool cvsw_of_set10_get(const CvswAction *action, uint16_t *type,
                       uint32_t *value);

#endif /* CVSW_OPENFLOW_SET10_H */

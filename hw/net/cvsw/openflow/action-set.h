/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of actions, in the order in which it is carried out */
#ifndef CVSW_OPENFLOW_ACTION_SET_H
#define CVSW_OPENFLOW_ACTION_SET_H

#include "hw/net/cvsw/openflow/steps.h"

/**
 * cvsw_of_action_set_add: append a set's actions (OpenFlow 1.3.5 section 5.10)
 * @set: as it was written; of actions that take each other's place the last
 *       counts, and OUTPUT does not where there is GROUP
 *
 * Returns: false if there are too many then
 */
bool cvsw_of_action_set_add(CvswOfSteps *to, const CvswOfSteps *set);

#endif /* CVSW_OPENFLOW_ACTION_SET_H */

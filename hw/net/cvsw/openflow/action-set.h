/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts an action set into a list in execution order */
#ifndef CVSW_OPENFLOW_ACTION_SET_H
#define CVSW_OPENFLOW_ACTION_SET_H

#include "hw/net/cvsw/openflow/steps.h"

/**
 * cvsw_of_action_set_add: append a set's actions (OpenFlow 1.3.5 section 5.10)
 * @set: the actions as they were written; of actions of the same kind only the
 *       last one is used, and OUTPUT is ignored if there is a GROUP
 *
 * Returns: false if the list gets too long
 */
bool cvsw_of_action_set_add(CvswOfSteps *to, const CvswOfSteps *set);

#endif /* CVSW_OPENFLOW_ACTION_SET_H */

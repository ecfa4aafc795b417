/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own actions (include/vmmnet/cvsw-action.h), in both versions */
#ifndef CVSW_OPENFLOW_OWN_H
#define CVSW_OPENFLOW_OWN_H

#include <glib.h>

#include "hw/net/cvsw/openflow/steps.h"

/**
 * cvsw_of_own_parse: parse a vendor or experimenter action
 * @version: the message's version
 * @step: zeroed; undefined on failure
 */
CvswOfFault cvsw_of_own_parse(CvswOfStep *step, uint8_t version,
                              const CvswOfItem *item);

/**
 * cvsw_of_own_build: append an action that only CVSW has
 *
 * Returns: false, with nothing appended, if @action is a standard action
 */
bool cvsw_of_own_build(GByteArray *out, const CvswAction *action);

/**
 * cvsw_of_own_build10: append, for 1.3, OpenFlow 1.0's action @type with @value
 */
void cvsw_of_own_build10(GByteArray *out, uint16_t type, uint32_t value);

#endif /* CVSW_OPENFLOW_OWN_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own actions (include/vmmnet/cvsw-action.h), in either version */
#ifndef CVSW_OPENFLOW_OWN_H
#define CVSW_OPENFLOW_OWN_H

#include <glib.h>

#include "hw/net/cvsw/openflow/steps.h"

/**
 * cvsw_of_own_parse: read a vendor or experimenter action
 * @version: of the message
 * @step: of zeros; undefined where it fails
 */
CvswOfFault cvsw_of_own_parse(CvswOfStep *step, uint8_t version,
                              const CvswOfItem *item);

/**
 * cvsw_of_own_build: append an action that only we have
 *
 * Returns: false, with nothing appended, if @action is not such a one
 */
bool cvsw_of_own_build(GByteArray *out, const CvswAction *action);

/** cvsw_of_own_build10: append OpenFlow 1.0's @type of @value, for 1.3 */
void cvsw_of_own_build10(GByteArray *out, uint16_t type, uint32_t value);

#endif /* CVSW_OPENFLOW_OWN_H */

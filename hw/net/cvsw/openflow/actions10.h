/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Action lists of OpenFlow 1.0 (1.0.1 section 5.2.4) */
#ifndef CVSW_OPENFLOW_ACTIONS10_H
#define CVSW_OPENFLOW_ACTIONS10_H

#include <glib.h>

#include "hw/net/cvsw/openflow/steps.h"

/**
 * cvsw_of_actions10_parse: parse a list
 * @steps: the actions are appended to it
 */
CvswOfFault cvsw_of_actions10_parse(CvswOfSteps *steps, const uint8_t *buf,
                                    size_t len);

/**
 * cvsw_of_actions10_build: append a list to a message
 *
 * Returns: false if 1.0 cannot express one of @actions; @out then has some of
 * them
 */
bool cvsw_of_actions10_build(GByteArray *out, const CvswAction *actions,
                             unsigned len);

#endif /* CVSW_OPENFLOW_ACTIONS10_H */

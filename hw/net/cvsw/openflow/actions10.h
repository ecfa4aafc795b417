/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.0's lists of actions (1.0.1 section 5.2.4) */
#ifndef CVSW_OPENFLOW_ACTIONS10_H
#define CVSW_OPENFLOW_ACTIONS10_H

#include <glib.h>

#include "hw/net/cvsw/openflow/steps.h"

/**
 * cvsw_of_actions10_parse: read a list
 * @steps: what is read is added to them
 */
CvswOfFault cvsw_of_actions10_parse(CvswOfSteps *steps, const uint8_t *buf,
                                    size_t len);

/**
 * cvsw_of_actions10_build: append a list
 *
 * Returns: false if 1.0 cannot say what one of @actions does; @out has some of
 * them then
 */
bool cvsw_of_actions10_build(GByteArray *out, const CvswAction *actions,
                             unsigned len);

#endif /* CVSW_OPENFLOW_ACTIONS10_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Action lists of OpenFlow 1.3 (1.3.5 section 7.2.4) */
#ifndef CVSW_OPENFLOW_ACTIONS13_H
#define CVSW_OPENFLOW_ACTIONS13_H

#include <glib.h>

#include "hw/net/cvsw/flow/match.h"
#include "hw/net/cvsw/openflow/steps.h"

/**
 * cvsw_of_actions13_parse: parse a list
 * @steps: the actions are appended to it
 */
CvswOfFault cvsw_of_actions13_parse(CvswOfSteps *steps, const uint8_t *buf,
                                    size_t len);

/**
 * cvsw_of_actions13_build: append the action list of a flow or of a group's
 * bucket
 * @match: the flow's match; NULL for a bucket, whose actions do not change a
 *         frame without the field
 *
 * Every action can be expressed: the actions that only OpenFlow 1.0 has are
 * written as CVSW_ACT_OPENFLOW10.
 */
void cvsw_of_actions13_build(GByteArray *out, const CvswMatch *match,
                             const CvswAction *actions, unsigned len);

#endif /* CVSW_OPENFLOW_ACTIONS13_H */

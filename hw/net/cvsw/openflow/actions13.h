/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.3's lists of actions (1.3.5 section 7.2.4) */
#ifndef CVSW_OPENFLOW_ACTIONS13_H
#define CVSW_OPENFLOW_ACTIONS13_H

#include <glib.h>

#include "hw/net/cvsw/flow/match.h"
#include "hw/net/cvsw/openflow/steps.h"

/**
 * cvsw_of_actions13_parse: read a list
 * @steps: what is read is added to them
 */
CvswOfFault cvsw_of_actions13_parse(CvswOfSteps *steps, const uint8_t *buf,
                                    size_t len);

/**
 * cvsw_of_actions13_build: append the list of a flow, or of a group's bucket
 * @match: the flow's; NULL: of a bucket, whose actions leave a frame as it is
 *         that does not have what they change
 *
 * 1.3 has words for all actions: OpenFlow 1.0's own ones are told as
 * CVSW_ACT_OPENFLOW10.
 */
void cvsw_of_actions13_build(GByteArray *out, const CvswMatch *match,
                             const CvswAction *actions, unsigned len);

#endif /* CVSW_OPENFLOW_ACTIONS13_H */

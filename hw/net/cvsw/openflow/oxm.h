/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.3's match, and the field of SET_FIELD (1.3.5 section 7.2.3) */
#ifndef CVSW_OPENFLOW_OXM_H
#define CVSW_OPENFLOW_OXM_H

#include <glib.h>

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_oxm_parse: parse an ofp_match
 * @match: zeroed; undefined on failure
 * @buf: @len octets from the ofp_match on
 * @used: set to the length of the ofp_match, including its padding
 */
CvswOfFault cvsw_of_oxm_parse(CvswMatch *match, const uint8_t *buf, size_t len,
                              size_t *used);

/** cvsw_of_oxm_build: append the ofp_match, including its padding */
void cvsw_of_oxm_build(GByteArray *out, const CvswMatch *match);

/**
 * cvsw_of_oxm_parse_set: parse the field of a SET_FIELD
 * @action: set to a CVSW_ACTION_SET_FIELD
 * @buf: @len octets after the action's header, including its padding
 */
CvswOfFault cvsw_of_oxm_parse_set(CvswAction *action, const uint8_t *buf,
                                  size_t len);

/** cvsw_of_oxm_build_set: append the field of a SET_FIELD, without padding */
void cvsw_of_oxm_build_set(GByteArray *out, const CvswAction *action);

#endif /* CVSW_OPENFLOW_OXM_H */

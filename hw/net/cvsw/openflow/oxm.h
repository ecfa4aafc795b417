/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.3's matches, and the field of SET_FIELD (1.3.5 section 7.2.3) */
#ifndef CVSW_OPENFLOW_OXM_H
#define CVSW_OPENFLOW_OXM_H

#include <glib.h>

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_oxm_parse: read an ofp_match
 * @match: of zeros; undefined where it fails
 * @buf: from the ofp_match on, of which @len octets are there
 * @used: octets that it has, its padding included
 */
CvswOfFault cvsw_of_oxm_parse(CvswMatch *match, const uint8_t *buf, size_t len,
                              size_t *used);

/** cvsw_of_oxm_build: append the ofp_match, its padding included */
void cvsw_of_oxm_build(GByteArray *out, const CvswMatch *match);

/**
 * cvsw_of_oxm_parse_set: read the field that a SET_FIELD sets
 * @action: gets CVSW_ACTION_SET_FIELD
 * @buf: @len octets behind the action's head, its padding included
 */
CvswOfFault cvsw_of_oxm_parse_set(CvswAction *action, const uint8_t *buf,
                                  size_t len);

/** cvsw_of_oxm_build_set: append what SET_FIELD sets, without padding */
void cvsw_of_oxm_build_set(GByteArray *out, const CvswAction *action);

#endif /* CVSW_OPENFLOW_OXM_H */

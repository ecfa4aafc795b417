/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.0's ofp_match (1.0.1 section 5.2.3) */
#ifndef CVSW_OPENFLOW_MATCH10_H
#define CVSW_OPENFLOW_MATCH10_H

#include "hw/net/cvsw/openflow/fault.h"
#include "hw/net/cvsw/openflow/wire.h"

/**
 * cvsw_of_match10_parse: parse an ofp_match
 * @match: zeroed; undefined on failure
 *
 * As the specification requires, a field is ignored if its prerequisite is a
 * wildcard or has another value.  The specification has nw_tos, nw_proto,
 * tp_src and tp_dst for IPv4 only; they match IPv6 as well, as in Open vSwitch.
 */
CvswOfFault cvsw_of_match10_parse(CvswMatch *match,
                                  const uint8_t buf[OFM10_MATCH_LEN]);

/**
 * cvsw_of_match10_build: write an ofp_match with those fields that 1.0 has
 *
 * To find out if all fields were written, parse the result and compare.
 */
void cvsw_of_match10_build(uint8_t buf[OFM10_MATCH_LEN],
                           const CvswMatch *match);

#endif /* CVSW_OPENFLOW_MATCH10_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenFlow 1.0's ofp_match (1.0.1 section 5.2.3) */
#ifndef CVSW_OPENFLOW_MATCH10_H
#define CVSW_OPENFLOW_MATCH10_H

#include "hw/net/cvsw/openflow/fault.h"
#include "hw/net/cvsw/openflow/wire.h"

/**
 * cvsw_of_match10_parse: read an ofp_match
 * @match: of zeros; undefined where it fails
 *
 * A field that stands on one that is open, or another's, is ignored, as the
 * specification says.  Those that it has for IPv4 alone and that IPv6 has, too
 * (nw_tos, nw_proto, tp_src, tp_dst), are matched there as well, as Open
 * vSwitch does it.
 */
CvswOfFault cvsw_of_match10_parse(CvswMatch *match,
                                  const uint8_t buf[OFM10_MATCH_LEN]);

/**
 * cvsw_of_match10_build: write an ofp_match of those fields that it has
 *
 * Whether it has all, a caller sees by reading it back.
 */
void cvsw_of_match10_build(uint8_t buf[OFM10_MATCH_LEN],
                           const CvswMatch *match);

#endif /* CVSW_OPENFLOW_MATCH10_H */

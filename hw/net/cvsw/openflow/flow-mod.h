/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OFPT_FLOW_MOD of OpenFlow 1.0 and 1.3, as received
 *
 * Theory of operation
 * ===================
 *
 * Messages of both versions are converted to a CvswFlowMod: matches to the same
 * fields, actions to the same list.  Differences in meaning are kept in the
 * result: as actions that only 1.0 has, as CVSW_FLOW_MODIFY_ADDS, and in the
 * handling of fields without their prerequisites, which 1.0 ignores and 1.3
 * refuses.  Anything that a NIC cannot do is refused, never ignored.
 *
 * In the other direction (reply.h), a flow is sent in the version that the
 * caller asks for.  1.0 cannot express most of 1.3.  1.3 can express all of
 * 1.0, with an action of our own (CVSW_ACT_OPENFLOW10).  So a flow that 1.0
 * cannot express completely is sent in 1.3, whatever the caller asks for; the
 * header of a message has its version.
 */
#ifndef CVSW_OPENFLOW_FLOW_MOD_H
#define CVSW_OPENFLOW_FLOW_MOD_H

#include <stddef.h>

#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_flow_mod_parse: parse a FLOW_MOD
 * @mod: undefined on failure
 * @msg: the message from its ofp_header on; a copy that nothing else writes to
 * @len: octets in @msg; octets after the message's own length are ignored
 *
 * Returns: CVSW_OF_OK, or the fault (OpenFlow 1.0.1 section 5.4.4, 1.3.5
 * section 7.4.4)
 */
CvswOfFault cvsw_of_flow_mod_parse(CvswFlowMod *mod, const void *msg,
                                   size_t len);

#endif /* CVSW_OPENFLOW_FLOW_MOD_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OFPT_FLOW_MOD of OpenFlow 1.0 and 1.3, as it comes
 *
 * Theory of operation
 * ===================
 *
 * Both versions become the same CvswFlowMod: matches the same fields, actions
 * the same list.  What differs in meaning is told apart there: by actions of
 * 1.0's own, by CVSW_FLOW_MODIFY_ADDS, by the fields that 1.0 ignores and 1.3
 * refuses.  What a NIC cannot do is refused, never left out.
 *
 * The other way (reply.h), a flow is told in the version that is asked for.
 * 1.0 has no words for most of 1.3; 1.3 has words for all of 1.0, with an
 * action of our own (CVSW_ACT_OPENFLOW10).  So a flow that 1.0 cannot tell
 * whole is told in 1.3, whoever asks: a message's header says what it is.
 */
#ifndef CVSW_OPENFLOW_FLOW_MOD_H
#define CVSW_OPENFLOW_FLOW_MOD_H

#include <stddef.h>

#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_flow_mod_parse: read a FLOW_MOD
 * @mod: undefined where it fails
 * @msg: from the ofp_header on; a copy that nobody else writes
 * @len: octets there; those behind the message's own length do not matter
 *
 * Returns: CVSW_OF_OK, or why not (OpenFlow 1.0.1 section 5.4.4, 1.3.5 section
 * 7.4.4)
 */
CvswOfFault cvsw_of_flow_mod_parse(CvswFlowMod *mod, const void *msg,
                                   size_t len);

#endif /* CVSW_OPENFLOW_FLOW_MOD_H */

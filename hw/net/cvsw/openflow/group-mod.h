/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OFPT_GROUP_MOD of OpenFlow 1.3, as received
 *
 * A bucket's actions are a set (1.3.5 section 5.10); they are converted to a
 * list in execution order.  A group has no match, so nothing is known about its
 * frames: an action does not change a frame without the field.
 */
#ifndef CVSW_OPENFLOW_GROUP_MOD_H
#define CVSW_OPENFLOW_GROUP_MOD_H

#include <stddef.h>

#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_group_mod_parse: parse a GROUP_MOD
 * @mod: the caller must clear it with cvsw_group_mod_clear(), also on failure
 * @msg: the message from its ofp_header on; a copy that nothing else writes to
 * @len: octets in @msg; octets after the message's own length are ignored
 *
 * Returns: CVSW_OF_OK, or the fault (OpenFlow 1.3.5 sections 6.5 and 7.4.4)
 */
CvswOfFault cvsw_of_group_mod_parse(CvswGroupMod *mod, const void *msg,
                                    size_t len);

#endif /* CVSW_OPENFLOW_GROUP_MOD_H */

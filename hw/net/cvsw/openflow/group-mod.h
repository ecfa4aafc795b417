/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OFPT_GROUP_MOD of OpenFlow 1.3, as it comes
 *
 * A bucket's actions are a set (1.3.5 section 5.10), and become the list in
 * which they are carried out.  As a group has no match, nothing is known of
 * its frames: an action leaves a frame as it is that does not have what it
 * changes.
 */
#ifndef CVSW_OPENFLOW_GROUP_MOD_H
#define CVSW_OPENFLOW_GROUP_MOD_H

#include <stddef.h>

#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_group_mod_parse: read a GROUP_MOD
 * @mod: to be cleared, cvsw_group_mod_clear(), also where it fails
 * @msg: from the ofp_header on; a copy that nobody else writes
 * @len: octets there; those behind the message's own length do not matter
 *
 * Returns: CVSW_OF_OK, or why not (OpenFlow 1.3.5 sections 6.5 and 7.4.4)
 */
CvswOfFault cvsw_of_group_mod_parse(CvswGroupMod *mod, const void *msg,
                                    size_t len);

#endif /* CVSW_OPENFLOW_GROUP_MOD_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages about flows and groups, as they go out
 *
 * Whoever asks names a version, 1 or 4.  A flow that OpenFlow 1.0 cannot tell
 * whole is told in 1.3 (see flow-mod.h).
 */
#ifndef CVSW_OPENFLOW_REPLY_H
#define CVSW_OPENFLOW_REPLY_H

#include <glib.h>

#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_flow_mod_build: append the OFPT_FLOW_MOD that would add a flow
 *
 * Its length is a few octets to about 3 KiB, by the number of fields and
 * actions.
 */
void cvsw_of_flow_mod_build(GByteArray *out, uint8_t version, uint32_t xid,
                            const CvswEntry *entry);

/**
 * cvsw_of_group_mod_build: append the OFPT_GROUP_MOD of 1.3 that would add a
 * group
 *
 * It is not longer than the one that has made it.
 */
void cvsw_of_group_mod_build(GByteArray *out, uint32_t xid,
                             const CvswGroup *group);

/**
 * cvsw_of_error_build: append the OFPT_ERROR that refuses a request
 * @fault: not CVSW_OF_OK
 * @request: its first 64 octets are quoted, and its xid and version taken;
 *           @len may be less than a header
 */
void cvsw_of_error_build(GByteArray *out, CvswOfFault fault,
                         const void *request, size_t len);

/**
 * cvsw_of_removed_build: append the OFPT_FLOW_REMOVED of a flow that ended
 * @now_ms: on the table's clock
 */
void cvsw_of_removed_build(GByteArray *out, uint8_t version, uint32_t xid,
                           const CvswEntry *entry, CvswRemovedWhy why,
                           uint64_t now_ms);

#endif /* CVSW_OPENFLOW_REPLY_H */

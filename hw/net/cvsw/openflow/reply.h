/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds messages about flows and groups
 *
 * The caller asks for a version, 1 or 4.  A flow that OpenFlow 1.0 cannot
 * express completely is sent in 1.3 (see flow-mod.h).
 */
#ifndef CVSW_OPENFLOW_REPLY_H
#define CVSW_OPENFLOW_REPLY_H

#include <glib.h>

#include "hw/net/cvsw/openflow/fault.h"

/**
 * cvsw_of_flow_mod_build: append the OFPT_FLOW_MOD that would add a flow
 *
 * The length is between a few octets and about 3 KiB, depending on the number
 * of fields and actions.
 */
void cvsw_of_flow_mod_build(GByteArray *out, uint8_t version, uint32_t xid,
                            const CvswEntry *entry);

/**
 * cvsw_of_group_mod_build: append the OFPT_GROUP_MOD of 1.3 that would add a
 * group
 *
 * It is not longer than the GROUP_MOD that has added the group.
 */
void cvsw_of_group_mod_build(GByteArray *out, uint32_t xid,
                             const CvswGroup *group);

/**
 * cvsw_of_error_build: append the OFPT_ERROR that refuses a request
 * @fault: not CVSW_OF_OK
 * @request: the error quotes its first 64 octets and has its xid and version;
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

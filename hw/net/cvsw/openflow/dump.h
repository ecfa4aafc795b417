/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints flows and groups in the format of "ovs-ofctl -O OpenFlow13
 * dump-flows", "dump-groups" and "dump-group-stats"
 *
 * Actions that only CVSW has follow the style of Open vSwitch:
 * tunnel_encap(...), tunnel_decap, encrypt(sa=N), decrypt(sa=N).
 */
#ifndef CVSW_OPENFLOW_DUMP_H
#define CVSW_OPENFLOW_DUMP_H

#include <glib.h>

#include "hw/net/cvsw/flow/table.h"

/**
 * cvsw_of_dump: append the line of a flow, without newline
 * @now_ms: on the table's clock
 */
void cvsw_of_dump(GString *out, const CvswEntry *entry, uint64_t now_ms);

/** cvsw_of_dump_match: append "priority=5,tcp,in_port=1"; "" if all match */
void cvsw_of_dump_match(GString *out, const CvswMatch *match,
                        uint16_t priority);

/** cvsw_of_dump_duration: append "61.204s" */
void cvsw_of_dump_duration(GString *out, uint64_t age_ms);

/** cvsw_of_dump_group: append a line of "dump-groups", without newline */
void cvsw_of_dump_group(GString *out, const CvswGroup *group);

/**
 * cvsw_of_dump_group_stats: append a line of "dump-group-stats"
 * @refs: cvsw_table_group_refs()
 * @now_ms: on the table's clock
 */
void cvsw_of_dump_group_stats(GString *out, const CvswGroup *group,
                              unsigned refs, uint64_t now_ms);

/** cvsw_of_dump_actions: append "pop_vlan,output:1", "drop" */
void cvsw_of_dump_actions(GString *out, const CvswAction *actions,
                          unsigned len);

#endif /* CVSW_OPENFLOW_DUMP_H */

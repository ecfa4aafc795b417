/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints groups */
#include <inttypes.h>

#include "hw/net/cvsw/openflow/dump.h"

void cvsw_of_dump_group(GString *out, const CvswGroup *group)
{
    g_string_append_printf(out, " group_id=%" PRIu32 ",type=%s", group->id,
                           group->type == CVSW_GROUP_ALL ? "all" : "indirect");
    for (unsigned i = 0; i < group->buckets_len; i++) {
        g_string_append(out, ",bucket=actions=");
        cvsw_of_dump_actions(out, group->buckets[i].actions,
                             group->buckets[i].actions_len);
    }
}

void cvsw_of_dump_group_stats(GString *out, const CvswGroup *group,
                              unsigned refs, uint64_t now_ms)
{
    g_string_append_printf(out, " group_id=%" PRIu32 ",duration=", group->id);
    cvsw_of_dump_duration(out, now_ms - group->made_ms);
    g_string_append_printf(out, ",ref_count=%u,packet_count=%" PRIu64
                           ",byte_count=%" PRIu64, refs, group->packets,
                           group->octets);
    for (unsigned i = 0; i < group->buckets_len; i++) {
        g_string_append_printf(out, ",bucket%u:packet_count=%" PRIu64
                               ",byte_count=%" PRIu64, i,
                               group->buckets[i].packets,
                               group->buckets[i].octets);
    }
}

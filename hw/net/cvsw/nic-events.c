/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The switch in a NIC: messages to the controller, and trace events */
#include "qemu/osdep.h"

#include "hw/net/cvsw/nic-internal.h"
#include "hw/net/cvsw/openflow/reply.h"
#include "hw/net/cvsw/openflow/wire.h"
#include "trace.h"

static const char *port_name(uint32_t port)
{
    return port == CVSW_PORT_GUEST ? "guest" : "wire";
}

void cvsw_nic_on_drop(void *opaque, uint32_t in_port, CvswDrop why)
{
    CvswNic *nic = opaque;

    trace_cvsw_drop(nic->name, port_name(in_port), cvsw_drop_name(why));
}

void cvsw_nic_drop(CvswNic *nic, uint32_t in_port, CvswDrop why)
{
    nic->run->dropped[in_port != CVSW_PORT_GUEST][why]++;
    cvsw_nic_on_drop(nic, in_port, why);
}

void cvsw_nic_punt(void *opaque, const CvswFrame *frame, uint32_t in_port,
                   uint16_t max_len, const CvswEntry *entry)
{
    CvswNic *nic = opaque;
    uint8_t message[CVSW_PAYLOAD_MAX];
    size_t len;

    if (!cvsw_session_stats(nic->session)->open ||
        !cvsw_bucket_take(&nic->bucket, cvsw_nic_now())) {
        nic->packet_ins_lost++;
        cvsw_nic_drop(nic, in_port, CVSW_DROP_CONTROLLER);
        return;
    }
    len = cvsw_packet_in_build(message, sizeof(message), frame, in_port,
                               max_len, entry);
    cvsw_session_event(nic->session, message, len);
    nic->packet_ins++;
    trace_cvsw_packet_in(nic->name, port_name(in_port), frame->size);
}

void cvsw_nic_removed(void *opaque, const CvswEntry *entry, CvswRemovedWhy why)
{
    static const char *const names[] = {
        [CVSW_REMOVED_IDLE] = "idle",
        [CVSW_REMOVED_HARD] = "hard",
        [CVSW_REMOVED_DELETED] = "deleted",
        [CVSW_REMOVED_GROUP] = "group",
    };
    g_autoptr(GByteArray) message = g_byte_array_new();
    CvswNic *nic = opaque;

    cvsw_of_removed_build(message,
                          entry->flags & CVSW_FLOW_OPENFLOW10 ? OFP10_VERSION
                                                              : OFP13_VERSION,
                          0, entry, why, cvsw_nic_now());
    trace_cvsw_removed(nic->name, entry->priority, entry->cookie,
                       entry->packets, names[why]);
    if (cvsw_session_event(nic->session, message->data, message->len)) {
        nic->removals++;
    } else {
        nic->removals_lost++;
    }
}

static void trace_groups(CvswNic *nic)
{
    CvswGroupsStats now = cvsw_groups_stats(cvsw_table_groups(nic->run->table));

    if (now.changes != nic->group_changes) {
        nic->group_changes = now.changes;
        trace_cvsw_groups(nic->name, now.groups, now.buckets);
    }
}

void cvsw_nic_trace_command(CvswNic *nic, const CvswMessage *command,
                            const CvswAnswer *answer)
{
    trace_cvsw_command(nic->name, command->type, command->sequence,
                       answer->type == CVSW_ACK ? "ack" : "error");
    trace_groups(nic);
}

void cvsw_nic_trace_session(const CvswNic *nic, const CvswSessionStats *before)
{
    const CvswSessionStats *now = cvsw_session_stats(nic->session);

    if (now->registrations != before->registrations) {
        trace_cvsw_register(nic->name, now->registrations);
    }
    if (now->sessions != before->sessions) {
        trace_cvsw_session(nic->name, now->sessions);
    }
    for (unsigned i = 0; i < CVSW_CONTROL_DROPS; i++) {
        if (now->drops[i] != before->drops[i]) {
            trace_cvsw_control_drop(nic->name, cvsw_control_drop_name(i));
        }
    }
}

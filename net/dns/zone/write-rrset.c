/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing a zone image: an RRset, its signatures and its targets */
#include <errno.h>

#include "net/dns/zone/records.h"
#include "net/dns/zone/write-internal.h"

#define RR_HEAD         12
#define NOTED           64      /* records of an RRset whose target is noted */

/* The findings of count_targets(), a bit for each of the first records */
typedef struct Targets {
    unsigned count;
    uint64_t is_target, is_glue;
} Targets;

static bool is_a_target(const ZoneWriter *w, const ZoneRecord *record,
                        DnsName *name)
{
    int at = zone_target_of(record);

    return at >= 0 && record->rdlength > at &&
           !zone_wire_name(record->rdata + at, record->rdlength - at, name) &&
           dns_name_within(name, &w->about.origin);
}

/* Write a target of @record, at @at.  Its node is looked up later. */
static void put_target(uint8_t *to, uint32_t at, const ZoneRecord *record,
                       bool is_glue)
{
    put_le16(to + ZONE_T_AT, at + RR_HEAD + zone_target_of(record));
    put_le16(to + ZONE_T_FLAGS, is_glue ? ZONE_TARGET_GLUE : 0);
}

static bool look_at(const ZoneWriter *w, const DnsName *owner,
                    const ZoneRecord *record, bool *is_glue)
{
    DnsName name;

    if (!is_a_target(w, record, &name)) {
        return false;
    }
    *is_glue = record->type == DNS_TYPE_NS && dns_name_within(&name, owner);
    return true;
}

static Targets count_targets(const ZoneWriter *w, const DnsName *owner,
                             const ZoneGroup *g)
{
    Targets t = { 0 };

    for (size_t i = 0; i < g->count && zone_target_of(g->records) >= 0; i++) {
        bool is_glue = false;

        if (look_at(w, owner, &g->records[i], &is_glue)) {
            t.count++;
            if (i < NOTED) {
                t.is_target |= UINT64_C(1) << i;
                t.is_glue |= (uint64_t)is_glue << i;
            }
        }
    }
    return t;
}

/* Is record @i a target?  Of records that are not noted, look again. */
static bool target_of(const ZoneWriter *w, const DnsName *owner,
                      const ZoneGroup *g, const Targets *t, size_t i,
                      bool *is_glue)
{
    if (i >= NOTED) {
        return look_at(w, owner, &g->records[i], is_glue);
    }
    *is_glue = t->is_glue >> i & 1;
    return t->is_target >> i & 1;
}

static uint64_t most_of(const ZoneGroup *g)
{
    uint64_t most = ZONE_R_SIZE + ZONE_RRSET_ALIGN;

    for (size_t i = 0; i < g->count; i++) {
        most += RR_HEAD + ZONE_T_SIZE + g->records[i].rdlength;
    }
    for (size_t i = 0; i < g->sigs_count; i++) {
        most += RR_HEAD + g->sigs[i].rdlength;
    }
    return most;
}

/* Returns: octets of the records at @to, or a negative errno. */
static int64_t put_records(ZoneWriter *w, const DnsName *owner,
                           const ZoneGroup *g, const Targets *found,
                           uint8_t *targets, uint8_t *to)
{
    ZonePacker packer;
    int64_t len = 0;

    zone_packer_begin(&packer, owner);
    for (size_t i = 0; i < g->count; i++) {
        int packed = zone_pack(&packer, &g->records[i], w->about.rrclass, len,
                               to + len);
        bool is_glue = false;

        if (packed < 0) {
            return packed;
        }
        if (found->count && target_of(w, owner, g, found, i, &is_glue)) {
            if (len > UINT16_MAX - RR_HEAD - 6) {
                return -EFBIG;
            }
            put_target(targets, len, &g->records[i], is_glue);
            targets += ZONE_T_SIZE;
        }
        len += packed;
    }
    return len;
}

static int64_t put_sigs(ZoneWriter *w, const DnsName *owner, const ZoneGroup *g,
                        uint8_t *to)
{
    ZoneGroup sigs = { g->sigs, g->sigs_count, NULL, 0 };

    return put_records(w, owner, &sigs, &(Targets) { 0 }, NULL, to);
}

int zone_writer_rrset(ZoneWriter *w, const DnsName *owner, const ZoneGroup *g)
{
    Targets targets = count_targets(w, owner, g);
    uint64_t most = most_of(g);
    int64_t len, sigs_len;
    uint8_t *to, *at;
    int ret;

    if (g->count > UINT16_MAX || g->sigs_count > UINT16_MAX ||
        most > UINT32_MAX) {
        return -EFBIG;
    }
    ret = zone_writer_room(w, most + ZONE_NODE_ALIGN);
    if (ret) {
        return ret;
    }
    to = zone_writer_here(w);
    at = to + ZONE_R_SIZE + targets.count * ZONE_T_SIZE;
    len = put_records(w, owner, g, &targets, to + ZONE_R_SIZE, at);
    sigs_len = len < 0 ? len : put_sigs(w, owner, g, at + len);
    if (sigs_len < 0) {
        return sigs_len;
    }
    put_le16(to + ZONE_R_TYPE, g->records->type);
    put_le16(to + ZONE_R_RECORDS, g->count);
    put_le16(to + ZONE_R_SIGS, g->sigs_count);
    put_le16(to + ZONE_R_TARGETS, targets.count);
    put_le32(to + ZONE_R_LEN, len);
    put_le32(to + ZONE_R_SIGS_LEN, sigs_len);
    w->end = zone_align_up(w->end + (at - to) + len + sigs_len,
                           ZONE_RRSET_ALIGN);
    w->rrsets++;
    w->records += g->count + g->sigs_count;
    return 0;
}

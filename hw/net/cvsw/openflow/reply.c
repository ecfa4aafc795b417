/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds FLOW_MOD, FLOW_REMOVED and ERROR in both versions, and GROUP_MOD */
#include <string.h>

#include "base/units.h"
#include "hw/net/cvsw/openflow/actions10.h"
#include "hw/net/cvsw/openflow/actions13.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/instructions.h"
#include "hw/net/cvsw/openflow/match10.h"
#include "hw/net/cvsw/openflow/octets.h"
#include "hw/net/cvsw/openflow/oxm.h"
#include "hw/net/cvsw/openflow/reply.h"

/* --- the header ---------------------------------------------------------- */

static void begin(GByteArray *out, uint8_t version, uint8_t type,
                  uint32_t xid)
{
    cvsw_of_put8(out, version);
    cvsw_of_put8(out, type);
    cvsw_of_put16(out, 0);
    cvsw_of_put32(out, xid);
}

/* @from: offset of the message in @out */
static void end(GByteArray *out, size_t from)
{
    cvsw_of_put_at(out, from + OFP_HEADER_LENGTH, out->len - from);
}

/* The other flags are about how to add a flow, not about the flow. */
static unsigned flags_of(const CvswEntry *entry)
{
    return entry->flags & CVSW_FLOW_SEND_REMOVED ? OFPFF_SEND_FLOW_REM : 0;
}

/* --- OpenFlow 1.0 -------------------------------------------------------- */

/* Returns: false if 1.0 cannot express all actions */
static bool flow_mod10(GByteArray *out, uint32_t xid, const CvswEntry *entry)
{
    uint8_t match[OFM10_MATCH_LEN];
    size_t from = out->len;

    cvsw_of_match10_build(match, &entry->match);
    begin(out, OFP10_VERSION, OFPT_FLOW_MOD, xid);
    cvsw_of_put(out, match, sizeof(match));
    cvsw_of_put64(out, entry->cookie);
    cvsw_of_put16(out, OFPFC_ADD);
    cvsw_of_put16(out, entry->idle_timeout);
    cvsw_of_put16(out, entry->hard_timeout);
    cvsw_of_put16(out, entry->priority);
    cvsw_of_put32(out, OFP_NO_BUFFER);
    cvsw_of_put16(out, OFPP10_NONE);
    cvsw_of_put16(out, flags_of(entry));
    if (!cvsw_of_actions10_build(out, entry->actions, entry->actions_len)) {
        return false;
    }
    end(out, from);
    return true;
}

/* A flow that 1.0 cannot express differs when it is parsed again. */
static bool fits10(const CvswEntry *entry)
{
    g_autoptr(GByteArray) message = g_byte_array_new();
    g_autofree CvswFlowMod *mod = g_new(CvswFlowMod, 1);

    return flow_mod10(message, 0, entry) &&
           cvsw_of_flow_mod_parse(mod, message->data, message->len) ==
           CVSW_OF_OK &&
           mod->priority == entry->priority &&
           cvsw_match_equal(&mod->match, &entry->match);
}

static void removed10(GByteArray *out, const CvswEntry *entry,
                      uint8_t reason, uint64_t age_ms)
{
    uint8_t match[OFM10_MATCH_LEN];

    cvsw_of_match10_build(match, &entry->match);
    cvsw_of_put(out, match, sizeof(match));
    cvsw_of_put64(out, entry->cookie);
    cvsw_of_put16(out, entry->priority);
    cvsw_of_put8(out, reason);
    cvsw_of_put8(out, 0);
    cvsw_of_put32(out, age_ms / 1000);
    cvsw_of_put32(out, age_ms % MS_PER_S * MS);
    cvsw_of_put16(out, entry->idle_timeout);
    cvsw_of_put16(out, 0);
    cvsw_of_put64(out, entry->packets);
    cvsw_of_put64(out, entry->octets);
}

/* --- OpenFlow 1.3 -------------------------------------------------------- */

static void flow_mod13(GByteArray *out, uint32_t xid, const CvswEntry *entry)
{
    size_t from = out->len;

    begin(out, OFP13_VERSION, OFPT_FLOW_MOD, xid);
    cvsw_of_put64(out, entry->cookie);
    cvsw_of_put64(out, 0);
    cvsw_of_put8(out, 0);
    cvsw_of_put8(out, OFPFC_ADD);
    cvsw_of_put16(out, entry->idle_timeout);
    cvsw_of_put16(out, entry->hard_timeout);
    cvsw_of_put16(out, entry->priority);
    cvsw_of_put32(out, OFP_NO_BUFFER);
    cvsw_of_put32(out, OFPP13_ANY);
    cvsw_of_put32(out, OFPG_ANY);
    cvsw_of_put16(out, flags_of(entry));
    cvsw_of_put16(out, 0);
    cvsw_of_oxm_build(out, &entry->match);
    cvsw_of_instructions_build(out, entry);
    end(out, from);
}

static void removed13(GByteArray *out, const CvswEntry *entry,
                      uint8_t reason, uint64_t age_ms)
{
    cvsw_of_put64(out, entry->cookie);
    cvsw_of_put16(out, entry->priority);
    cvsw_of_put8(out, reason);
    cvsw_of_put8(out, 0);
    cvsw_of_put32(out, age_ms / 1000);
    cvsw_of_put32(out, age_ms % MS_PER_S * MS);
    cvsw_of_put16(out, entry->idle_timeout);
    cvsw_of_put16(out, entry->hard_timeout);
    cvsw_of_put64(out, entry->packets);
    cvsw_of_put64(out, entry->octets);
    cvsw_of_oxm_build(out, &entry->match);
}

/* --- both ---------------------------------------------------------------- */

void cvsw_of_flow_mod_build(GByteArray *out, uint8_t version, uint32_t xid,
                            const CvswEntry *entry)
{
    if (version == OFP10_VERSION && fits10(entry)) {
        flow_mod10(out, xid, entry);
    } else {
        flow_mod13(out, xid, entry);
    }
}

/* --- groups --------------------------------------------------------------- */

static void put_bucket(GByteArray *out, const CvswGroupBucket *bucket)
{
    size_t from = out->len;

    cvsw_of_put16(out, 0);
    cvsw_of_put16(out, 0);
    cvsw_of_put32(out, OFPP13_ANY);
    cvsw_of_put32(out, OFPG_ANY);
    cvsw_of_put32(out, 0);
    cvsw_of_actions13_build(out, NULL, bucket->actions, bucket->actions_len);
    cvsw_of_put_at(out, from + OBU13_LEN, out->len - from);
}

void cvsw_of_group_mod_build(GByteArray *out, uint32_t xid,
                             const CvswGroup *group)
{
    size_t from = out->len;

    begin(out, OFP13_VERSION, OFPT_GROUP_MOD, xid);
    cvsw_of_put16(out, OFPGC_ADD);
    cvsw_of_put8(out, group->type == CVSW_GROUP_ALL ? OFPGT_ALL
                                                    : OFPGT_INDIRECT);
    cvsw_of_put8(out, 0);
    cvsw_of_put32(out, group->id);
    for (unsigned i = 0; i < group->buckets_len; i++) {
        put_bucket(out, &group->buckets[i]);
    }
    end(out, from);
}

/* --- events --------------------------------------------------------------- */

void cvsw_of_error_build(GByteArray *out, CvswOfFault fault,
                         const void *request, size_t len)
{
    const uint8_t *req = request;
    bool has_head = len >= OFP_HEADER_LEN;
    uint8_t version = has_head && req[OFP_HEADER_VERSION] == OFP13_VERSION ?
                      OFP13_VERSION : OFP10_VERSION;
    const CvswOfError *error = cvsw_of_error(version, fault);
    size_t from = out->len;

    begin(out, version, OFPT_ERROR,
          has_head ? get_be32(req + OFP_HEADER_XID) : 0);
    cvsw_of_put16(out, error->type);
    cvsw_of_put16(out, error->code);
    cvsw_of_put(out, req, MIN(len, OFP_ERROR_QUOTE));
    end(out, from);
}

void cvsw_of_removed_build(GByteArray *out, uint8_t version, uint32_t xid,
                           const CvswEntry *entry, CvswRemovedWhy why,
                           uint64_t now_ms)
{
    static const uint8_t reasons[] = {
        [CVSW_REMOVED_IDLE] = OFPRR_IDLE_TIMEOUT,
        [CVSW_REMOVED_HARD] = OFPRR_HARD_TIMEOUT,
        [CVSW_REMOVED_DELETED] = OFPRR_DELETE,
        [CVSW_REMOVED_GROUP] = OFPRR13_GROUP_DELETE,
    };
    uint64_t age_ms = now_ms - entry->made_ms;
    size_t from = out->len;

    version = version == OFP10_VERSION && fits10(entry) ? OFP10_VERSION
                                                        : OFP13_VERSION;
    begin(out, version, OFPT_FLOW_REMOVED, xid);
    if (version == OFP10_VERSION) {
        removed10(out, entry, reasons[why], age_ms);
    } else {
        removed13(out, entry, reasons[why], age_ms);
    }
    end(out, from);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the state of a switch
 *
 * Everything in the state is checked: an attacker who can write to a migration
 * stream must not be able to make a VMM write outside of its data.
 */
#include <inttypes.h>
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/openflow/flow-mod.h"
#include "hw/net/cvsw/openflow/group-mod.h"
#include "hw/net/cvsw/openflow/wire.h"
#include "hw/net/cvsw/state/record.h"
#include "hw/net/cvsw/state/state.h"
#include "vmmnet/cvsw.h"

/* All bits of CVSW_OFFLOAD_.... */
#define OFFLOADS        (2u * CVSW_OFFLOAD_USO6 - 1)

/* --- the NIC -------------------------------------------------------------- */

static const char *miss_text(bool drops)
{
    return drops ? "drop" : "normal";
}

static char *mac_text(const uint8_t *mac)
{
    return g_strdup_printf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
                           mac[2], mac[3], mac[4], mac[5]);
}

static char *check_nic(const CvswStateReader *r, const uint8_t *record)
{
    CvswTableStats room = cvsw_table_stats(r->to->table);

    if (memcmp(record + NIC_MAC, r->to->mac, sizeof(r->to->mac)) != 0) {
        g_autofree char *there = mac_text(record + NIC_MAC);
        g_autofree char *here = mac_text(r->to->mac);

        return g_strdup_printf("mac=%s here is not %s, which the NIC had",
                               here, there);
    }
    if (record[NIC_DROP_MISSES] > 1) {
        return g_strdup_printf("miss is %u, not 0 or 1",
                               record[NIC_DROP_MISSES]);
    }
    if (record[NIC_DROP_MISSES] != r->to->drop_misses) {
        return g_strdup_printf("miss=%s here is not %s, which the NIC had",
                               miss_text(r->to->drop_misses),
                               miss_text(record[NIC_DROP_MISSES]));
    }
    if (r->to->denied & ~OFFLOADS) {
        return g_strdup_printf("offloads 0x%" PRIx32 " are unknown",
                               r->to->denied);
    }
    if (r->flows > room.entries_max) {
        return g_strdup_printf("flows=%u here has no room for %" PRIu32
                               " flows", room.entries_max, r->flows);
    }
    if (r->groups > CVSW_GROUPS_MAX) {
        return g_strdup_printf("%" PRIu32 " groups are more than %u",
                               r->groups, CVSW_GROUPS_MAX);
    }
    if (r->sas > CVSW_SAS_MAX) {
        return g_strdup_printf("%" PRIu32 " associations are more than %u",
                               r->sas, CVSW_SAS_MAX);
    }
    return NULL;
}

static char *take_nic(CvswStateReader *r, const uint8_t *record, size_t len)
{
    unsigned version = len >= NIC_MAC ? get_be16(record + NIC_VERSION) : 0;
    bool has_groups;

    if (version != CVSW_STATE_VERSION && version != CVSW_STATE_GROUPS) {
        return g_strdup_printf("version is %u, not %u or %u", version,
                               CVSW_STATE_VERSION, CVSW_STATE_GROUPS);
    }
    has_groups = version == CVSW_STATE_GROUPS;
    if (len != (has_groups ? NIC_GROUPS_LEN : NIC_LEN) || r->has_begun) {
        return g_strdup_printf("a record of the NIC is %s",
                               r->has_begun ? "there twice" : "truncated");
    }
    r->has_begun = true;
    r->to->mtu = get_be16(record + NIC_MTU);
    r->to->denied = get_be32(record + NIC_DENIED);
    r->groups = has_groups ? get_be32(record + NIC_GROUPS) : 0;
    r->flows = get_be32(record + NIC_FLOWS);
    r->sas = get_be32(record + NIC_SAS);
    return check_nic(r, record);
}

/* --- groups --------------------------------------------------------------- */

static unsigned num_groups(const CvswStateReader *r)
{
    return cvsw_groups_stats(cvsw_table_groups(r->to->table)).groups;
}

/* Returns: the fault, as the end of a sentence; or NULL */
static const char *read_group(CvswGroupMod *mod, const uint8_t *record,
                              size_t len)
{
    size_t size = len > GROUP_MOD + OFP_HEADER_LEN ?
                  get_be16(record + GROUP_MOD + OFP_HEADER_LENGTH) : 0;
    CvswOfFault fault;

    if (!size) {
        return "is truncated";
    }
    fault = cvsw_of_group_mod_parse(mod, record + GROUP_MOD, len - GROUP_MOD);
    if (fault != CVSW_OF_OK) {
        return cvsw_of_error(OFP13_VERSION, fault)->name;
    }
    if (mod->command != CVSW_GROUP_ADD) {
        return "has a command that adds no group";
    }
    if (len - GROUP_MOD - size != mod->buckets_len * BUCKET_LEN) {
        return "does not have the counters of its buckets";
    }
    return get_be64(record + GROUP_AGE) >= AGE_MAX ?
           "has an invalid age" : NULL;
}

/* @p: the counters of the buckets */
static void restore_counters(CvswGroup *group, const uint8_t *record,
                             const uint8_t *p, uint64_t now_ms)
{
    group->made_ms = now_ms - get_be64(record + GROUP_AGE);
    group->packets = get_be64(record + GROUP_PACKETS);
    group->octets = get_be64(record + GROUP_OCTETS);
    for (unsigned i = 0; i < group->buckets_len; i++, p += BUCKET_LEN) {
        group->buckets[i].packets = get_be64(p);
        group->buckets[i].octets = get_be64(p + 8);
    }
}

static char *take_group(CvswStateReader *r, const uint8_t *record, size_t len)
{
    g_auto(CvswGroupMod) mod = { 0 };
    unsigned number = num_groups(r) + 1;
    CvswGroupFault fault;
    CvswOfFault code;
    const char *why;

    if (!r->has_begun || number > r->groups) {
        return g_strdup_printf("group %u was not announced", number);
    }
    why = read_group(&mod, record, len);
    if (why) {
        return g_strdup_printf("group %u: %s", number, why);
    }
    fault = cvsw_table_group_mod(r->to->table, &mod, r->now_ms);
    if (fault != CVSW_GROUP_OK) {
        code = cvsw_of_group_fault(fault);
        return g_strdup_printf("group %u: %s", number,
                               cvsw_of_error(OFP13_VERSION, code)->name);
    }
    restore_counters(cvsw_groups_find(cvsw_table_groups(r->to->table), mod.id),
                     record, record + GROUP_MOD +
                     get_be16(record + GROUP_MOD + OFP_HEADER_LENGTH),
                     r->now_ms);
    return NULL;
}

/* --- flows ---------------------------------------------------------------- */

/* Returns: the fault, as the end of a sentence; or NULL */
static const char *read_flow(CvswFlowMod *mod, CvswPast *past,
                             const uint8_t *record, size_t len)
{
    uint8_t flags = len > FLOW_MOD ? record[FLOW_FLAGS] : 0;
    CvswOfFault fault;

    if (len <= FLOW_MOD) {
        return "is truncated";
    }
    fault = cvsw_of_flow_mod_parse(mod, record + FLOW_MOD, len - FLOW_MOD);
    if (fault != CVSW_OF_OK) {
        return cvsw_of_error(record[FLOW_MOD], fault)->name;
    }
    past->age_ms = get_be64(record + FLOW_AGE);
    past->idle_ms = get_be64(record + FLOW_IDLE);
    past->packets = get_be64(record + FLOW_PACKETS);
    past->octets = get_be64(record + FLOW_OCTETS);
    if (mod->command != CVSW_ADD) {
        return "has a command that adds no flow";
    }
    if (flags & ~(FLOW_FLAG_REMOVED | FLOW_FLAG_OPENFLOW10)) {
        return "has unknown flags";
    }
    if (past->age_ms >= AGE_MAX || past->idle_ms > past->age_ms) {
        return "has an invalid age";
    }
    mod->flags = flags & FLOW_FLAG_REMOVED ? CVSW_FLOW_SEND_REMOVED : 0;
    mod->flags |= flags & FLOW_FLAG_OPENFLOW10 ? CVSW_FLOW_OPENFLOW10 : 0;
    return NULL;
}

static char *take_flow(CvswStateReader *r, const uint8_t *record, size_t len)
{
    unsigned number = cvsw_table_stats(r->to->table).entries + 1;
    CvswFlowMod mod;
    CvswPast past;
    const char *why;

    if (!r->has_begun || number > r->flows) {
        return g_strdup_printf("flow %u was not announced", number);
    }
    why = read_flow(&mod, &past, record, len);
    if (why) {
        return g_strdup_printf("flow %u: %s", number, why);
    }
    switch (cvsw_table_take_over(r->to->table, &mod, &past, r->now_ms)) {
    case CVSW_FLOW_OK:
        return NULL;
    case CVSW_FLOW_OVERLAP:
        return g_strdup_printf("flow %u is there twice", number);
    case CVSW_FLOW_NO_GROUP:
        return g_strdup_printf("flow %u: a group of it is missing", number);
    default:
        return g_strdup_printf("flow %u: masks=%u here has no room for its "
                               "mask", number,
                               cvsw_table_stats(r->to->table).masks_max);
    }
}

/* --- associations --------------------------------------------------------- */

static const char *read_sa(EspSaConfig *config, const uint8_t *record,
                           size_t len)
{
    char name[SA_ALGORITHM_LEN + 1] = { 0 };

    memcpy(name, record + SA_ALGORITHM, SA_ALGORITHM_LEN);
    config->algorithm = esp_algorithm_by_name(name);
    config->direction = record[SA_DIRECTION] == 1 ? ESP_OUTBOUND : ESP_INBOUND;
    config->spi = get_be32(record + SA_SPI);
    config->esn = record[SA_ESN];
    config->window = get_be16(record + SA_WINDOW);
    config->epoch = get_be32(record + SA_EPOCH);
    config->key = record + SA_KEY;
    config->key_len = len - SA_KEY;
    if (!config->algorithm) {
        return "has an unknown algorithm";
    }
    if (record[SA_DIRECTION] < 1 || record[SA_DIRECTION] > 2) {
        return "has an invalid direction";
    }
    if (record[SA_ESN] > 1) {
        return "has an esn that is not 0 or 1";
    }
    return config->epoch == UINT32_MAX ? "has the last possible epoch" : NULL;
}

static const char *fault_text(EspSaFault fault)
{
    switch (fault) {
    case ESP_SA_SPI:
        return "has an spi that is reserved";
    case ESP_SA_WINDOW:
        return "has an invalid window";
    case ESP_SA_KEY_LEN:
        return "has a key that is not as long as its algorithm's";
    default:
        return "has an algorithm that libcrypto does not offer";
    }
}

static EspSa *find_sa(CvswSas *sas, uint32_t number, const EspSaConfig *config)
{
    return config->direction == ESP_OUTBOUND ?
           cvsw_sas_outbound(sas, number) :
           cvsw_sas_inbound(sas, config->spi, number);
}

/* Continues after the sequence numbers of the source, with IVs of its own. */
static const char *add_sa(CvswStateReader *r, uint32_t number,
                          EspSaConfig *config, const uint8_t *record)
{
    EspSaState state = {
        .next = get_be64(record + SA_NEXT),
        .replay = { .top = get_be64(record + SA_TOP) },
    };
    unsigned before = cvsw_sas_count(r->to->sas);
    EspSaFault fault;

    for (unsigned i = 0; i < ESP_REPLAY_WORDS; i++) {
        state.replay.seen[i] = get_be64(record + SA_SEEN + 8 * i);
    }
    config->epoch = MAX(config->epoch + 1, r->epoch);
    switch (cvsw_sas_set(r->to->sas, number, config, &fault)) {
    case CVSW_SAS_OK:
        break;
    case CVSW_SAS_BAD:
        return fault_text(fault);
    default:
        return "has the spi of another association";
    }
    if (cvsw_sas_count(r->to->sas) == before) {
        return "is there twice";
    }
    return esp_sa_load(find_sa(r->to->sas, number, config), &state) ? NULL :
           "has a number of 64 bits without esn";
}

static char *take_sa(CvswStateReader *r, const uint8_t *record, size_t len)
{
    EspSaConfig config;
    const char *why;
    uint32_t number;

    if (len <= SA_KEY || len > SA_LEN_MAX) {
        return g_strdup_printf("an association has %zu octets", len);
    }
    number = get_be32(record + SA_NUMBER);
    if (!r->has_begun || cvsw_sas_count(r->to->sas) >= r->sas || !number) {
        return g_strdup_printf("association %" PRIu32 " was not announced",
                               number);
    }
    why = read_sa(&config, record, len);
    if (!why) {
        why = add_sa(r, number, &config, record);
    }
    return why ? g_strdup_printf("association %" PRIu32 " %s", number, why) :
           NULL;
}

/* --- all ------------------------------------------------------------------ */

char *cvsw_state_take(CvswStateReader *reader, const void *record, size_t len)
{
    uint8_t type = len ? *(const uint8_t *)record : 0;

    switch (type) {
    case RECORD_NIC:
        return take_nic(reader, record, len);
    case RECORD_FLOW:
        return take_flow(reader, record, len);
    case RECORD_GROUP:
        return take_group(reader, record, len);
    case RECORD_SA:
        return take_sa(reader, record, len);
    default:
        return g_strdup_printf("a record has the type %u", type);
    }
}

char *cvsw_state_end(const CvswStateReader *reader)
{
    unsigned flows = cvsw_table_stats(reader->to->table).entries;
    unsigned sas = cvsw_sas_count(reader->to->sas);

    if (!reader->has_begun) {
        return g_strdup("the record of the NIC is missing");
    }
    if (num_groups(reader) != reader->groups) {
        return g_strdup_printf("%u of %" PRIu32 " groups were received",
                               num_groups(reader), reader->groups);
    }
    if (flows != reader->flows || sas != reader->sas) {
        return g_strdup_printf("%u of %" PRIu32 " flows and %u of %" PRIu32
                               " associations were received", flows,
                               reader->flows, sas, reader->sas);
    }
    return NULL;
}

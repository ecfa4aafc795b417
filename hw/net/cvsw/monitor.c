/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query-cvsw and "info cvsw" */
#include "qemu/osdep.h"

#include "base/units.h"
#include "hw/net/cvsw/nic-internal.h"
#include "hw/net/cvsw/openflow/dump.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-cvsw.h"
#include "qobject/qdict.h"

/* The counters from @first to @num that are not 0. */
static CvswCountList *count_list(const uint64_t *counts, unsigned first,
                                 unsigned num, const char *(*name)(unsigned i))
{
    CvswCountList *list = NULL, **tail = &list;

    for (unsigned i = first; i < num; i++) {
        CvswCount *count;

        if (!counts[i]) {
            continue;
        }
        count = g_new0(CvswCount, 1);
        count->reason = g_strdup(name(i));
        count->count = counts[i];
        QAPI_LIST_APPEND(tail, count);
    }
    return list;
}

static const char *drop_name(unsigned i)
{
    return cvsw_drop_name(i);
}

static const char *control_drop_name(unsigned i)
{
    return cvsw_control_drop_name(i);
}

static const char *result_name(unsigned i)
{
    return esp_result_name(i);
}

static CvswSessionInfo *session_info(const CvswNic *nic)
{
    const CvswSessionStats *stats = cvsw_session_stats(nic->session);
    CvswSessionInfo *info = g_new0(CvswSessionInfo, 1);

    info->open = stats->open;
    info->has_heard = stats->sessions;
    info->heard = info->has_heard ?
                  (cvsw_nic_now() - stats->heard_ms) / MS_PER_S : 0;
    info->registrations = stats->registrations;
    info->sessions = stats->sessions;
    info->commands = stats->commands;
    info->repeated = stats->repeated;
    info->refused = stats->errors;
    info->packet_ins = nic->packet_ins;
    info->packet_ins_lost = nic->packet_ins_lost;
    info->removals = nic->removals;
    info->removals_lost = nic->removals_lost;
    info->dropped = count_list(stats->drops, 0, CVSW_CONTROL_DROPS,
                               control_drop_name);
    info->from_guest = nic->control_of_guest;
    return info;
}

static CvswTableInfo *table_info(const CvswTable *table)
{
    CvswTableStats stats = cvsw_table_stats(table);
    CvswGroupsStats groups = cvsw_groups_stats(cvsw_table_groups(table));
    CvswTableInfo *info = g_new0(CvswTableInfo, 1);

    info->flows = stats.entries;
    info->flows_max = stats.entries_max;
    info->masks = stats.masks;
    info->masks_max = stats.masks_max;
    info->groups = groups.groups;
    info->groups_max = CVSW_GROUPS_MAX;
    info->buckets = groups.buckets;
    info->buckets_max = CVSW_BUCKETS_MAX;
    info->lookups = stats.lookups;
    info->hits = stats.matched;
    info->misses = stats.lookups - stats.matched;
    return info;
}

static void add_sa(uint32_t number, const EspSaConfig *config, EspSa *sa,
                   void *data)
{
    const EspSaCounters *counters = esp_sa_counters(sa);
    CvswSaInfoList ***tail = data;
    CvswSaInfo *info = g_new0(CvswSaInfo, 1);

    info->number = number;
    info->spi = config->spi;
    info->algorithm = g_strdup(config->algorithm->name);
    info->esn = config->esn;
    if (config->direction == ESP_OUTBOUND) {
        info->direction = CVSW_SA_DIRECTION_OUTBOUND;
        info->has_next = true;
        info->next = esp_sa_next(sa);
    } else {
        info->direction = CVSW_SA_DIRECTION_INBOUND;
        info->has_window = info->has_highest = true;
        info->window = config->window;
        info->highest = esp_sa_highest(sa);
    }
    info->packets = counters->packets[ESP_GOOD];
    info->octets = counters->octets;
    info->failed = count_list(counters->packets, ESP_GOOD + 1, ESP_RESULTS,
                              result_name);
    QAPI_LIST_APPEND(*tail, info);
}

static void add_flow(const CvswEntry *entry, void *data)
{
    GString *text = g_string_new(NULL);
    strList ***tail = data;

    cvsw_of_dump(text, entry, cvsw_nic_now());
    QAPI_LIST_APPEND(*tail, g_string_free(text, false));
}

/* The output lines so far. */
typedef struct GroupLines {
    const CvswTable *table;
    strList **groups, **stats;
} GroupLines;

static void add_group(const CvswGroup *group, void *data)
{
    GString *text = g_string_new(NULL), *stats = g_string_new(NULL);
    GroupLines *lines = data;

    cvsw_of_dump_group(text, group);
    QAPI_LIST_APPEND(lines->groups, g_string_free(text, false));
    cvsw_of_dump_group_stats(stats, group,
                             cvsw_table_group_refs(lines->table, group->id),
                             cvsw_nic_now());
    QAPI_LIST_APPEND(lines->stats, g_string_free(stats, false));
}

static void add_entries(const CvswTable *table, CvswInfo *info)
{
    strList **flows = &info->flows;
    GroupLines lines = { table, &info->groups, &info->group_stats };

    info->has_flows = info->has_groups = info->has_group_stats = true;
    cvsw_table_foreach(table, NULL, add_flow, &flows);
    cvsw_groups_foreach(cvsw_table_groups(table), add_group, &lines);
}

static CvswInfo *nic_info(CvswNic *nic, bool flows)
{
    CvswInfo *info = g_new0(CvswInfo, 1);
    NetClientState *backend = net_stage_backend(nic->stage);
    CvswSaInfoList **sas = &info->associations;

    info->id = g_strdup(nic->name);
    info->netdev = g_strdup(backend ? backend->name : "");
    info->mac = qemu_mac_strdup_printf(nic->mac.a);
    info->session = session_info(nic);
    info->table = table_info(nic->run->table);
    info->has_mtu = nic->commanded.mtu;
    info->mtu = nic->commanded.mtu;
    info->tunnel_gso = cvsw_nic_wire_cuts(nic);
    info->tunnel_gso_sent = nic->run->sent_whole;
    info->dropped_from_guest = count_list(nic->run->dropped[0], 0, CVSW_DROPS,
                                          drop_name);
    info->dropped_from_wire = count_list(nic->run->dropped[1], 0, CVSW_DROPS,
                                         drop_name);
    info->esp = count_list(nic->run->esp, ESP_GOOD + 1, ESP_RESULTS,
                           result_name);
    cvsw_sas_foreach(nic->run->sas, add_sa, &sas);
    if (flows) {
        add_entries(nic->run->table, info);
    }
    return info;
}

typedef struct Search {
    const char *id;             /* NULL: all devices */
    bool flows;
    CvswInfoList **tail;
} Search;

static void find_nic(CvswNic *nic, void *data)
{
    Search *search = data;

    if (!search->id || !strcmp(search->id, nic->name)) {
        QAPI_LIST_APPEND(search->tail, nic_info(nic, search->flows));
    }
}

CvswInfoList *qmp_query_cvsw(const char *id, bool has_flows, bool flows,
                             Error **errp)
{
    CvswInfoList *list = NULL;
    Search search = { id, has_flows && flows, &list };

    cvsw_nic_foreach(find_nic, &search);
    if (id && !list) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND,
                  "There is no device '%s' with a switch", id);
    }
    return list;
}

/* --- HMP ------------------------------------------------------------------ */

static void print_counts(Monitor *mon, const char *title,
                         const CvswCountList *list)
{
    if (!list) {
        return;
    }
    monitor_printf(mon, "%s", title);
    for (; list; list = list->next) {
        monitor_printf(mon, " %s=%" PRIu64, list->value->reason,
                       list->value->count);
    }
    monitor_printf(mon, "\n");
}

static void print_session(Monitor *mon, const CvswSessionInfo *info)
{
    monitor_printf(mon, "  session  %s", info->open ? "open" : "none");
    if (info->has_heard) {
        monitor_printf(mon, ", heard %" PRIu64 " s ago", info->heard);
    }
    monitor_printf(mon, ", registrations=%" PRIu64 " sessions=%" PRIu64
                   " commands=%" PRIu64 " repeated=%" PRIu64 " refused=%"
                   PRIu64 "\n", info->registrations, info->sessions,
                   info->commands, info->repeated, info->refused);
    monitor_printf(mon, "  told     packet-ins=%" PRIu64 " (lost %" PRIu64
                   ") removals=%" PRIu64 " (lost %" PRIu64 ")\n",
                   info->packet_ins, info->packet_ins_lost, info->removals,
                   info->removals_lost);
    print_counts(mon, "  control ", info->dropped);
    if (info->from_guest) {
        monitor_printf(mon, "  control  from-guest=%" PRIu64 "\n",
                       info->from_guest);
    }
}

static void print_sa(Monitor *mon, const CvswSaInfo *info)
{
    monitor_printf(mon, "  SA %" PRIu32 "     %s SPI 0x%" PRIx32 " %s%s",
                   info->number, CvswSaDirection_str(info->direction),
                   info->spi, info->algorithm, info->esn ? " esn" : "");
    if (info->has_next) {
        monitor_printf(mon, " next=%" PRIu64, info->next);
    } else {
        monitor_printf(mon, " window=%" PRIu32 " highest=%" PRIu64,
                       info->window, info->highest);
    }
    monitor_printf(mon, ", good=%" PRIu64 "%s", info->packets,
                   info->failed ? "" : "\n");
    print_counts(mon, "", info->failed);
}

static void print_lines(Monitor *mon, const strList *list)
{
    for (; list; list = list->next) {
        monitor_printf(mon, "%s\n", list->value);
    }
}

static void print_nic(Monitor *mon, const CvswInfo *info)
{
    const CvswTableInfo *table = info->table;

    monitor_printf(mon, "%s: netdev %s, MAC %s\n", info->id, info->netdev,
                   info->mac);
    print_session(mon, info->session);
    monitor_printf(mon, "  table    %" PRIu32 " of %" PRIu32 " flows, %" PRIu32
                   " of %" PRIu32 " masks, hits=%" PRIu64 " misses=%" PRIu64
                   "\n", table->flows, table->flows_max, table->masks,
                   table->masks_max, table->hits, table->misses);
    if (table->groups) {
        monitor_printf(mon, "  groups   %" PRIu32 " of %" PRIu32 ", %" PRIu32
                       " of %" PRIu32 " buckets\n", table->groups,
                       table->groups_max, table->buckets, table->buckets_max);
    }
    if (info->has_mtu) {
        monitor_printf(mon, "  MTU      %u\n", info->mtu);
    }
    monitor_printf(mon, "  tunnels  gso=%s sent=%" PRIu64 "\n",
                   info->tunnel_gso ? "on" : "off", info->tunnel_gso_sent);
    print_counts(mon, "  dropped  from the guest:", info->dropped_from_guest);
    print_counts(mon, "  dropped  from the wire:", info->dropped_from_wire);
    print_counts(mon, "  ESP     ", info->esp);
    for (CvswSaInfoList *l = info->associations; l; l = l->next) {
        print_sa(mon, l->value);
    }
    print_lines(mon, info->groups);
    print_lines(mon, info->group_stats);
    print_lines(mon, info->flows);
}

static void hmp_info_cvsw(Monitor *mon, const QDict *qdict)
{
    Error *err = NULL;
    CvswInfoList *list = qmp_query_cvsw(qdict_get_try_str(qdict, "id"), true,
                                        qdict_get_try_bool(qdict, "flows",
                                                           false), &err);

    if (hmp_handle_error(mon, err)) {
        return;
    }
    for (CvswInfoList *l = list; l; l = l->next) {
        print_nic(mon, l->value);
    }
    qapi_free_CvswInfoList(list);
}

static void register_hmp(void)
{
    monitor_register_hmp("cvsw", true, hmp_info_cvsw);
}

type_init(register_hmp)

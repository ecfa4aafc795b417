/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query-hostvlan and "info hostvlan" */
#include "qemu/osdep.h"
#include <net/if.h>

#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "net/hostvlan/netdev.h"
#include "net/tap.h"
#include "net/tap_int.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-hostvlan.h"
#include "qobject/qdict.h"

/* The struct has a counter for each reason and nothing else. */
QEMU_BUILD_BUG_ON(sizeof(HostvlanCounterInfo) !=
                  HOSTVLAN_REASONS * sizeof(uint64_t));

static HostvlanCounterInfo *counter_info(const uint64_t *counters)
{
    HostvlanCounterInfo *info = g_new0(HostvlanCounterInfo, 1);

    info->passed = counters[HOSTVLAN_PASSED];
    info->spoofed = counters[HOSTVLAN_SPOOFED];
    info->unknown_source = counters[HOSTVLAN_UNKNOWN_SOURCE];
    info->other_tenant = counters[HOSTVLAN_OTHER_TENANT];
    info->forged_address = counters[HOSTVLAN_FORGED_ADDRESS];
    info->malformed = counters[HOSTVLAN_MALFORMED];
    info->no_table = counters[HOSTVLAN_NO_TABLE];
    info->no_port = counters[HOSTVLAN_NO_PORT];
    info->damaged = counters[HOSTVLAN_DAMAGED];
    info->l2_control = counters[HOSTVLAN_L2_CONTROL];
    info->multicast_query = counters[HOSTVLAN_QUERY];
    info->ra_guard = counters[HOSTVLAN_RA_GUARD];
    info->dhcp_guard = counters[HOSTVLAN_DHCP_GUARD];
    return info;
}

static char *mac_text(uint64_t mac)
{
    return g_strdup_printf("%02x:%02x:%02x:%02x:%02x:%02x",
                           (unsigned)(mac >> 40 & 0xff),
                           (unsigned)(mac >> 32 & 0xff),
                           (unsigned)(mac >> 24 & 0xff),
                           (unsigned)(mac >> 16 & 0xff),
                           (unsigned)(mac >> 8 & 0xff),
                           (unsigned)(mac & 0xff));
}

static void add_table(HostvlanInfo *info, const HostvlanTable *table,
                      uint64_t mac)
{
    uint32List **tail = &info->lnids;
    HostvlanLnids lnids;

    info->has_generation = info->has_macs = true;
    info->generation = hostvlan_table_generation(table);
    info->macs = hostvlan_table_macs(table);
    info->has_lnids = hostvlan_table_lnids(table,
                                           hostvlan_table_lookup(table, mac),
                                           &lnids);
    for (unsigned i = 0; i < lnids.num; i++) {
        QAPI_LIST_APPEND(tail, lnids.lnid[i]);
    }
}

/* Returns: the name of the tap or macvtap; NULL: another or no backend */
static char *interface_name(HostvlanPort *p)
{
    NetClientState *nc = net_stage_backend(p->stage);
    char name[IFNAMSIZ];

    return nc && nc->info->type == NET_CLIENT_DRIVER_TAP &&
           tap_fd_get_ifname(tap_get_fd(nc), name) == 0 ? g_strdup(name) : NULL;
}

static HostvlanInfo *port_info(HostvlanPort *p)
{
    HostvlanInfo *info = g_new0(HostvlanInfo, 1);
    uint64_t mac = hostvlan_port_mac(p);

    info->id = g_strdup(net_stage_id(p->stage));
    info->netdev = g_strdup(p->backend);
    info->mac = mac ? mac_text(mac) : NULL;
    info->check_sender = p->check_sender;
    info->l2_control = p->l2_control;
    info->ra_guard = p->guards & HOSTVLAN_OFFER_ROUTER;
    info->dhcp_guard = p->guards & HOSTVLAN_OFFER_DHCP;
    info->interface = interface_name(p);
    info->table = g_strdup(p->follow.path);
    info->error = p->follow.error ? g_strdup(p->follow.error->message) : NULL;
    if (p->follow.table) {
        add_table(info, p->follow.table, mac);
    }
    info->send = counter_info(p->counters.send);
    info->receive = counter_info(p->counters.receive);
    return info;
}

typedef struct Search {
    const char *id;             /* NULL: all ports */
    HostvlanInfoList **tail;
} Search;

static void find_port(HostvlanPort *p, void *opaque)
{
    Search *search = opaque;

    if (!search->id || !strcmp(search->id, net_stage_id(p->stage))) {
        QAPI_LIST_APPEND(search->tail, port_info(p));
    }
}

HostvlanInfoList *qmp_query_hostvlan(const char *id, Error **errp)
{
    HostvlanInfoList *list = NULL;
    Search search = { .id = id, .tail = &list };

    hostvlan_netdev_foreach(find_port, &search);
    if (id && !list) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND,
                  "There is no netdev '%s' of type hostvlan", id);
    }
    return list;
}

/* --- HMP ------------------------------------------------------------------ */

static void print_lnids(Monitor *mon, const HostvlanInfo *info)
{
    monitor_printf(mon, "LNIDs");
    for (uint32List *l = info->lnids; l; l = l->next) {
        if (l->value == HOSTVLAN_LNID_GLOBAL) {
            monitor_printf(mon, " global");
        } else {
            monitor_printf(mon, " %" PRIu32, l->value);
        }
    }
    monitor_printf(mon, "%s", info->lnids ? "" : " none");
}

static void print_counters(Monitor *mon, const char *direction,
                           const HostvlanCounterInfo *c)
{
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {
        { "passed", c->passed },
        { "spoofed", c->spoofed },
        { "unknown-source", c->unknown_source },
        { "other-tenant", c->other_tenant },
        { "forged-address", c->forged_address },
        { "malformed", c->malformed },
        { "no-table", c->no_table },
        { "no-port", c->no_port },
        { "damaged", c->damaged },
        { "l2-control", c->l2_control },
        { "multicast-query", c->multicast_query },
        { "ra-guard", c->ra_guard },
        { "dhcp-guard", c->dhcp_guard },
    };

    monitor_printf(mon, "  %-8s", direction);
    for (unsigned i = 0; i < ARRAY_SIZE(counters); i++) {
        if (i == 0 || counters[i].value) {
            monitor_printf(mon, " %s=%" PRIu64, counters[i].name,
                           counters[i].value);
        }
    }
    monitor_printf(mon, "\n");
}

static void print_port(Monitor *mon, const HostvlanInfo *info)
{
    monitor_printf(mon, "%s: netdev %s, MAC address %s, ", info->id,
                   info->netdev, info->mac ?: "none");
    print_lnids(mon, info);
    monitor_printf(mon, "%s%s%s%s\n",
                   info->check_sender ? ", checks senders" : "",
                   info->ra_guard ? ", guards RAs" : "",
                   info->dhcp_guard ? ", guards DHCP" : "",
                   info->l2_control ? ", L2 control passes" : "");
    monitor_printf(mon, "  table    %s", info->table);
    if (info->has_generation) {
        monitor_printf(mon, ", generation %" PRIu64 ", %" PRIu32
                       " MAC addresses", info->generation, info->macs);
    }
    monitor_printf(mon, "\n");
    if (info->error) {
        monitor_printf(mon, "  error    %s; %s\n", info->error,
                       info->has_generation ? "the previous table is in force"
                                            : "nothing passes");
    }
    print_counters(mon, "send", info->send);
    print_counters(mon, "receive", info->receive);
}

static void hmp_info_hostvlan(Monitor *mon, const QDict *qdict)
{
    Error *err = NULL;
    HostvlanInfoList *list =
        qmp_query_hostvlan(qdict_get_try_str(qdict, "id"), &err);

    if (hmp_handle_error(mon, err)) {
        return;
    }
    for (HostvlanInfoList *l = list; l; l = l->next) {
        print_port(mon, l->value);
    }
    qapi_free_HostvlanInfoList(list);
}

static void register_hmp(void)
{
    monitor_register_hmp("hostvlan", true, hmp_info_hostvlan);
}

type_init(register_hmp)

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query-mip6 and "info mip6" */
#include "qemu/osdep.h"

#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "net/mip6/netdev.h"
#include "net/net.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-mip6.h"
#include "qemu/sockets.h"
#include "qobject/qdict.h"

static char *address_text(const struct in6_addr *addr)
{
    char text[INET6_ADDRSTRLEN];

    return g_strdup(inet_ntop(AF_INET6, addr, text, sizeof(text)));
}

static char *guest_mac_text(const Mip6Home *home)
{
    const uint8_t *mac = mip6_home_guest_mac(home);

    return mac ? qemu_mac_strdup_printf(mac) : NULL;
}

static strList *agent_list(const Mip6Dhaad *d)
{
    strList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < d->agents; i++) {
        QAPI_LIST_APPEND(tail, address_text(&d->agent[i]));
    }
    return list;
}

static Mip6DropInfoList *drop_list(const uint64_t *dropped)
{
    Mip6DropInfoList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < MIP6_DROP_REASONS; i++) {
        Mip6DropInfo *info;

        if (!dropped[i]) {
            continue;
        }
        info = g_new0(Mip6DropInfo, 1);
        info->reason = g_strdup(mip6_drop_name(i));
        info->count = dropped[i];
        QAPI_LIST_APPEND(tail, info);
    }
    return list;
}

static Mip6BindingInfo *binding_info(const Mip6Netdev *m, const Mip6Binding *b,
                                     int64_t now)
{
    Mip6BindingInfo *info = g_new0(Mip6BindingInfo, 1);
    const struct in6_addr *care_of;

    info->home_address = address_text(&b->config.home);
    info->state = mip6_netdev_state(m, b);
    info->reason = g_strdup(mip6_why_name(b->why));
    info->status = b->status;
    care_of = b->has_care_of ? &b->care_of
              : mip6_port_is_away(&m->port)
              ? mip6_careof_address(&m->port.careof, now) : NULL;
    info->care_of = care_of ? address_text(care_of) : NULL;
    if (b->expires != INT64_MAX && b->expires > now) {
        info->has_remaining = true;
        info->remaining = (b->expires - now) / NANOSECONDS_PER_SECOND;
    }
    return info;
}

static Mip6BindingInfoList *binding_list(const Mip6Netdev *m, int64_t now)
{
    Mip6BindingInfoList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < m->port.bindings; i++) {
        QAPI_LIST_APPEND(tail, binding_info(m, &m->port.binding[i], now));
    }
    return list;
}

static Mip6DropInfoList *esp_failures(const uint64_t *packets)
{
    Mip6DropInfoList *list = NULL, **tail = &list;

    for (unsigned i = ESP_GOOD + 1; i < ESP_RESULTS; i++) {
        Mip6DropInfo *info;

        if (!packets[i]) {
            continue;
        }
        info = g_new0(Mip6DropInfo, 1);
        info->reason = g_strdup(esp_result_name(i));
        info->count = packets[i];
        QAPI_LIST_APPEND(tail, info);
    }
    return list;
}

/* The association @which of the home address of binding @home. */
static Mip6EspInfo *esp_info(const Mip6Netdev *m, unsigned home,
                             Mip6ProtectSa which)
{
    const EspSa *sa = mip6_protect_sa(m->protect[home], which);
    const EspSaCounters *counters = esp_sa_counters(sa);
    Mip6EspInfo *info = g_new0(Mip6EspInfo, 1);

    info->home_address = address_text(&m->port.binding[home].config.home);
    info->name = g_strdup(mip6_protect_sa_name(which));
    info->cipher = g_strdup(esp_sa_algorithm(sa)->name);
    info->spi = esp_sa_spi(sa);
    info->packets = counters->packets[ESP_GOOD];
    info->failed = esp_failures(counters->packets);
    return info;
}

static Mip6EspInfoList *esp_list(const Mip6Netdev *m)
{
    Mip6EspInfoList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < MIP6_HOME_ADDRESSES && m->protect[i]; i++) {
        for (unsigned j = 0; j < MIP6_PROTECT_SAS; j++) {
            if (mip6_protect_sa(m->protect[i], j)) {
                QAPI_LIST_APPEND(tail, esp_info(m, i, j));
            }
        }
    }
    return list;
}

static Mip6Dhcpv6Info *dhcp6_info(const Mip6Dhcp6 *d, int64_t now)
{
    Mip6Dhcpv6Info *info;

    if (d->state == MIP6_DHCP6_OFF) {
        return NULL;
    }
    info = g_new0(Mip6Dhcpv6Info, 1);
    info->state = g_strdup(mip6_dhcp6_state_name(d->state));
    info->status = d->status;
    if (d->has_address) {
        info->address = address_text(&d->address);
        info->has_remaining = d->valid != INT64_MAX && d->valid > now;
        info->remaining = info->has_remaining
            ? (d->valid - now) / NANOSECONDS_PER_SECOND : 0;
    }
    return info;
}

static Mip6ProbeInfoList *probe_list(const Mip6Probe *p)
{
    Mip6ProbeInfoList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < MIP6_PROBES; i++) {
        Mip6ProbeInfo *info = g_new0(Mip6ProbeInfo, 1);

        info->name = g_strdup(mip6_probe_name(i));
        info->sent = p->sent[i];
        info->answered = p->answered[i];
        info->result = g_strdup(mip6_probe_result_name(p->result[i]));
        QAPI_LIST_APPEND(tail, info);
    }
    return list;
}

static Mip6Info *netdev_info(Mip6Netdev *m)
{
    const Mip6Port *p = &m->port;
    const Mip6BindingInfo *first;
    Mip6Info *info = g_new0(Mip6Info, 1);
    int64_t now = mip6_now();

    info->id = g_strdup(net_stage_id(m->stage));
    info->netdev = g_strdup(m->backend);
    info->bindings = binding_list(m, now);
    first = info->bindings->value;
    info->state = first->state;
    info->reason = g_strdup(first->reason);
    info->status = first->status;
    info->location_known = p->place != MIP6_PLACE_UNKNOWN;
    info->home_address = g_strdup(first->home_address);
    info->home_agents = agent_list(&p->dhaad);
    info->home_agent = p->dhaad.agents
        ? address_text(&p->dhaad.agent[p->dhaad.current]) : NULL;
    info->guest_mac = guest_mac_text(&p->home);
    if (p->home.learned.has_router) {
        info->router = address_text(&p->home.learned.router);
        info->router_mac = mip6_home_is_made_up(&p->home) ? NULL
            : qemu_mac_strdup_printf(p->home.learned.router_mac);
    }
    info->care_of_mac = qemu_mac_strdup_printf(p->careof.mac);
    info->care_of = g_strdup(first->care_of);
    info->dhcpv6 = dhcp6_info(&p->careof.dhcp, now);
    info->has_remaining = first->has_remaining;
    info->remaining = first->remaining;
    info->mtu = mip6_tunnel_mtu(&p->tunnel, now);
    info->sent = p->sent;
    info->received = p->received;
    info->coalesced = net_stage_gather_packets(m->gather);
    info->fragmented = p->tunnel.fragmented;
    info->reported = p->reported;
    info->forwarded = p->forwarded;
    info->dropped = drop_list(p->dropped);
    info->probes = probe_list(&p->probe);
    info->has_esp = m->protect[0];
    info->esp = esp_list(m);
    return info;
}

typedef struct Search {
    const char *id;             /* NULL: all netdevs */
    Mip6InfoList **tail;
} Search;

static void find_netdev(Mip6Netdev *m, void *opaque)
{
    Search *search = opaque;

    if (!search->id || !strcmp(search->id, net_stage_id(m->stage))) {
        QAPI_LIST_APPEND(search->tail, netdev_info(m));
    }
}

Mip6InfoList *qmp_query_mip6(const char *id, Error **errp)
{
    Mip6InfoList *list = NULL;
    Search search = { .id = id, .tail = &list };

    mip6_netdev_foreach(find_netdev, &search);
    if (id && !list) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND,
                  "There is no netdev '%s' of type mip6", id);
    }
    return list;
}

/* --- HMP ------------------------------------------------------------------ */

/* A further home address; its care-of address is that of the first. */
static void print_further(Monitor *mon, const Mip6BindingInfo *info)
{
    monitor_printf(mon, "  home     %s, %s", info->home_address,
                   Mip6RegistrationState_str(info->state));
    if (strcmp(info->reason, "none")) {
        monitor_printf(mon, " (%s)", info->reason);
    }
    if (info->has_remaining) {
        monitor_printf(mon, ", %" PRIu64 " s left", info->remaining);
    }
    monitor_printf(mon, "\n");
}

static void print_esp(Monitor *mon, const Mip6EspInfo *info, bool is_further)
{
    monitor_printf(mon, "  ESP      %s%s%s %s SPI 0x%" PRIx32 ", good=%" PRIu64,
                   info->name, is_further ? " of " : "",
                   is_further ? info->home_address : "", info->cipher,
                   info->spi, info->packets);
    for (Mip6DropInfoList *l = info->failed; l; l = l->next) {
        monitor_printf(mon, " %s=%" PRIu64, l->value->reason,
                       l->value->count);
    }
    monitor_printf(mon, "\n");
}

static void print_dhcp6(Monitor *mon, const Mip6Dhcpv6Info *info)
{
    monitor_printf(mon, "  dhcpv6   %s", info->state);
    if (info->status) {
        monitor_printf(mon, ", refused (status %" PRIu16 ")", info->status);
    }
    if (info->address) {
        monitor_printf(mon, ", %s", info->address);
    }
    if (info->has_remaining) {
        monitor_printf(mon, " for %" PRIu64 " s", info->remaining);
    }
    monitor_printf(mon, "\n");
}

/* Only those that were ever sent. */
static void print_probes(Monitor *mon, const Mip6ProbeInfoList *l)
{
    const char *before = "  probes   ", *after = "";

    for (; l; l = l->next) {
        if (l->value->sent) {
            monitor_printf(mon, "%s%s=%s", before, l->value->name,
                           l->value->result);
            before = " ";
            after = "\n";
        }
    }
    monitor_printf(mon, "%s", after);
}

static void print_netdev(Monitor *mon, const Mip6Info *info)
{
    monitor_printf(mon, "%s: netdev %s, %s", info->id, info->netdev,
                   info->location_known
                   ? Mip6RegistrationState_str(info->state)
                   : "asking the link");
    if (strcmp(info->reason, "none")) {
        monitor_printf(mon, " (%s)", info->reason);
    }
    monitor_printf(mon, "\n  home     %s, agent %s\n", info->home_address,
                   info->home_agent ? info->home_agent : "not known");
    for (Mip6BindingInfoList *l = info->bindings->next; l; l = l->next) {
        print_further(mon, l->value);
    }
    if (info->guest_mac) {
        monitor_printf(mon, "  guest    %s\n", info->guest_mac);
    }
    if (info->router) {
        monitor_printf(mon, "  router   %s, %s\n", info->router,
                       info->router_mac ?: "made up");
    }
    if (info->care_of) {
        monitor_printf(mon, "  care-of  %s at %s", info->care_of,
                       info->care_of_mac);
        if (info->has_remaining) {
            monitor_printf(mon, ", bound for %" PRIu64 " s", info->remaining);
        }
        monitor_printf(mon, "\n");
    }
    if (info->dhcpv6) {
        print_dhcp6(mon, info->dhcpv6);
    }
    monitor_printf(mon, "  tunnel   MTU %" PRIu32 ", sent=%" PRIu64
                   " received=%" PRIu64 " coalesced=%" PRIu64 " fragmented=%"
                   PRIu64 " reported=%" PRIu64 " forwarded=%" PRIu64 "\n",
                   info->mtu, info->sent, info->received, info->coalesced,
                   info->fragmented, info->reported, info->forwarded);
    for (Mip6DropInfoList *l = info->dropped; l; l = l->next) {
        monitor_printf(mon, "%s%s=%" PRIu64 "%s",
                       l == info->dropped ? "  dropped  " : " ",
                       l->value->reason, l->value->count,
                       l->next ? "" : "\n");
    }
    print_probes(mon, info->probes);
    for (Mip6EspInfoList *l = info->has_esp ? info->esp : NULL; l;
         l = l->next) {
        print_esp(mon, l->value,
                  strcmp(l->value->home_address, info->home_address));
    }
}

static void hmp_info_mip6(Monitor *mon, const QDict *qdict)
{
    Error *err = NULL;
    Mip6InfoList *list = qmp_query_mip6(qdict_get_try_str(qdict, "id"), &err);

    if (hmp_handle_error(mon, err)) {
        return;
    }
    for (Mip6InfoList *l = list; l; l = l->next) {
        print_netdev(mon, l->value);
    }
    qapi_free_Mip6InfoList(list);
}

static void register_hmp(void)
{
    monitor_register_hmp("mip6", true, hmp_info_mip6);
}

type_init(register_hmp)

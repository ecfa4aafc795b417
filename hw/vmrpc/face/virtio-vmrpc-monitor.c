/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: query-vmrpc, "info vmrpc" and vmrpc-reload-policy
 *
 * A guest may have a million sockets.  Every call of the guest needs the BQL
 * for a moment, and a monitor command holds it.  So an answer is bounded and
 * says where to continue, and query-vmrpc pauses after each batch of sockets
 * (inspect.h).  The device may be unplugged during a pause: references keep
 * its memory, and its server is NULL from then on.  "info vmrpc" shows one
 * batch and does not pause.
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>

#include "hw/vmrpc/face/virtio-vmrpc-audit.h"
#include "hw/vmrpc/face/virtio-vmrpc-device.h"
#include "hw/vmrpc/face/virtio-vmrpc-report.h"
#include "hw/vmrpc/server/inspect.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-vmrpc.h"
#include "qemu/coroutine.h"
#include "qemu/main-loop.h"
#include "qobject/qdict.h"
#include "vmmnet/qemu-compat.h"

/* Long enough for a vCPU to wake up and to take the BQL. */
#define PAUSE_US                100

/* Sockets in one answer of query-vmrpc; vmrpc.json documents it. */
#define LIMIT_MAX               1024

/* Rules that "info vmrpc" prints for one device. */
#define RULES_MAX               64

/* VmrpcCounterInfo has every counter and nothing else. */
QEMU_BUILD_BUG_ON(sizeof(VmrpcCounterInfo) !=
                  sizeof(VmrpcCounters) + sizeof(VmrpcReachCounters) +
                  sizeof(VmrpcAlgCounters) +
                  sizeof(DnsProxyCounters) + sizeof(DnsUpstreamCounters) +
                  sizeof(DnsOwnZonesCounters));

/* --- the server's types as QAPI's ---------------------------------------- */

static char *text4(struct in_addr addr)
{
    char text[INET_ADDRSTRLEN];

    return g_strdup(inet_ntop(AF_INET, &addr, text, sizeof(text)));
}

static char *text6(const struct in6_addr *addr)
{
    char text[INET6_ADDRSTRLEN];

    return g_strdup(inet_ntop(AF_INET6, addr, text, sizeof(text)));
}

static char *prefix4(struct in_addr addr, unsigned len)
{
    g_autofree char *text = text4(addr);

    return g_strdup_printf("%s/%u", text, len);
}

static VmrpcAddress *address4(const struct sockaddr_in *sin)
{
    VmrpcAddress *address;

    if (sin->sin_family != AF_INET) {
        return NULL;
    }
    address = g_new0(VmrpcAddress, 1);
    address->address = text4(sin->sin_addr);
    address->port = ntohs(sin->sin_port);
    return address;
}

static VmrpcAddress *address_any(const struct sockaddr_storage *ss)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
    VmrpcAddress *address;

    if (ss->ss_family != AF_INET6) {
        return address4((const struct sockaddr_in *)ss);
    }
    address = g_new0(VmrpcAddress, 1);
    address->address = text6(&sin6->sin6_addr);
    address->port = ntohs(sin6->sin6_port);
    return address;
}

static VmrpcSocketBacking backing_info(VmrpcBacking backing)
{
    switch (backing) {
    case VMRPC_BACKING_HOST:
        return VMRPC_SOCKET_BACKING_HOST;
    case VMRPC_BACKING_RESOLVER:
        return VMRPC_SOCKET_BACKING_RESOLVER;
    case VMRPC_BACKING_ARRIVING:
        return VMRPC_SOCKET_BACKING_ARRIVING;
    case VMRPC_BACKING_LOST:
        return VMRPC_SOCKET_BACKING_LOST;
    }
    g_assert_not_reached();
}

static VmrpcSocketType type_info(const VmrpcSockView *view)
{
    switch (view->proto) {
    case IPPROTO_TCP:
        return VMRPC_SOCKET_TYPE_TCP;
    case IPPROTO_ICMP:
        return VMRPC_SOCKET_TYPE_ICMP;
    default:
        return VMRPC_SOCKET_TYPE_UDP;
    }
}

static VmrpcSocketInfo *socket_info(const VmrpcSockView *view)
{
    VmrpcSocketInfo *info = g_new0(VmrpcSocketInfo, 1);

    info->handle = view->handle;
    info->type = type_info(view);
    info->backing = backing_info(view->backing);
    info->has_missing = view->backing == VMRPC_BACKING_ARRIVING;
    info->missing = virtio_vmrpc_missing(view->missing);
    info->missing_error = info->has_missing
                          ? g_strdup(strerror(view->missing_error)) : NULL;
    /* Linux numbers the states from 1, in the same order. */
    info->state = view->state - 1;
    info->guest_local = address4(&view->guest_local);
    info->guest_peer = address4(&view->guest_peer);
    info->host_local = address_any(&view->host_local);
    info->host_peer = address_any(&view->host_peer);
    info->recv_queue = view->recv_queue;
    info->send_queue = view->send_queue;
    info->bytes_sent = view->bytes_sent;
    info->bytes_received = view->bytes_received;
    info->pending_error = view->error ? g_strdup(strerror(view->error)) : NULL;
    info->watched = view->watched;
    return info;
}

static VmrpcCounterInfo *counter_info(const VmrpcServerView *view)
{
    VmrpcCounterInfo *info = g_new0(VmrpcCounterInfo, 1);

#define COPY_COUNTER(name)      info->name = view->counters.name;
#define COPY_REACH_COUNTER(name) info->name = view->reach_counters.name;
#define COPY_ALG_COUNTER(name)  info->name = view->alg_counters.name;
#define COPY_DNS_COUNTER(name)  info->dns_##name = view->dns_counters.name;
#define COPY_UPSTREAM_COUNTER(name)                                           \
    info->upstream_##name = view->upstream_counters.name;
#define COPY_ZONE_COUNTER(name) info->zone_##name = view->zone_counters.name;
    VMRPC_COUNTERS(COPY_COUNTER)
    VMRPC_REACH_COUNTERS(COPY_REACH_COUNTER)
    VMRPC_ALG_COUNTERS(COPY_ALG_COUNTER)
    DNS_PROXY_COUNTERS(COPY_DNS_COUNTER)
    DNS_UPSTREAM_COUNTERS(COPY_UPSTREAM_COUNTER)
    DNS_OWN_ZONES_COUNTERS(COPY_ZONE_COUNTER)
#undef COPY_ZONE_COUNTER
#undef COPY_UPSTREAM_COUNTER
#undef COPY_DNS_COUNTER
#undef COPY_ALG_COUNTER
#undef COPY_REACH_COUNTER
#undef COPY_COUNTER
    return info;
}

static VmrpcDnsSource dns_source(DnsServersFrom from)
{
    switch (from) {
    case DNS_SERVERS_GIVEN:
        return VMRPC_DNS_SOURCE_OPTION;
    case DNS_SERVERS_FILE:
        return VMRPC_DNS_SOURCE_FILE;
    case DNS_SERVERS_LOOPBACK:
        return VMRPC_DNS_SOURCE_LOOPBACK;
    case DNS_SERVERS_KEPT:
        return VMRPC_DNS_SOURCE_KEPT;
    }
    g_assert_not_reached();
}

/* With resolver4 there is one server at least. */
static void add_dns_servers(VmrpcDeviceInfo *info, const VmrpcServerView *view)
{
    VmrpcDnsServerList **tail = &info->dns_servers;
    char text[DNSC_SERVER_TEXT_MAX];

    if (!view->servers.count) {
        return;
    }
    info->has_dns_source = true;
    info->dns_source = dns_source(view->servers_from);
    info->has_dns_servers = true;
    for (size_t i = 0; i < view->servers.count; i++) {
        VmrpcDnsServer *server = g_new0(VmrpcDnsServer, 1);

        dnsc_list_text(&view->servers, i, text);
        server->address = g_strdup(text);
        server->present = !dnsc_list_is_absent(&view->servers, i);
        QAPI_LIST_APPEND(tail, server);
    }
}

static VmrpcDeviceInfo *device_info(VirtIOVmrpc *s)
{
    VmrpcDeviceInfo *info = g_new0(VmrpcDeviceInfo, 1);
    VmrpcServerView view;

    vmrpc_inspect_server(s->server, &view);
    info->id = g_strdup(virtio_vmrpc_id(s));
    info->qom_path = object_get_canonical_path(OBJECT(s));
    info->translate = view.config.reach.translate;
    info->guest4 = prefix4(view.config.reach.guest4,
                           view.config.reach.guest4_prefix);
    if (view.config.reach.has_address6) {
        info->address6 = text6(&view.config.reach.address6);
        info->has_address6_claim = true;
        info->address6_claim = s->claim_state;
    }
    info->has_address_state = s->address_route;
    info->address_state = s->address_state;
    if (view.config.reach.translate) {
        info->pool4 = prefix4(view.config.reach.pool4,
                              view.config.reach.pool4_prefix);
    }
    if (view.config.reach.resolver4.s_addr) {
        info->resolver4 = text4(view.config.reach.resolver4);
    }
    add_dns_servers(info, &view);
    if (view.has_nat64) {
        g_autofree char *text = text6(&view.nat64.addr);

        info->nat64_prefix = g_strdup_printf("%s/%u", text, view.nat64.len);
    }
    info->mappings = view.map.entries;
    info->mappings_in_use = view.map.in_use;
    info->max_sockets = view.config.max_sockets;
    info->sockets_open = view.sockets;
    info->sockets_arriving = view.arriving;
    info->audit = virtio_vmrpc_audit_info(s);
    info->counters = counter_info(&view);
    return info;
}

/* All rules of the policy file, if there is one. */
static void add_rules(VmrpcDeviceInfo *info, VmrpcServer *server)
{
    g_autoptr(GArray) rules = vmrpc_inspect_rules(server);
    VmrpcRuleInfoList **tail = &info->rules;

    if (!rules) {
        return;
    }
    info->has_rules = true;
    for (guint i = 0; i < rules->len; i++) {
        VmrpcPolicyHits *hits = &g_array_index(rules, VmrpcPolicyHits, i);
        VmrpcRuleInfo *rule = g_new0(VmrpcRuleInfo, 1);

        rule->line = hits->line;
        rule->rule = g_steal_pointer(&hits->text);
        rule->destinations = hits->destinations;
        rule->names_refused = hits->names;
        rule->has_sent = hits->terms && hits->terms->sent;
        rule->sent = hits->sent;
        rule->has_names_asked = hits->terms && hits->terms->names;
        rule->names_asked = hits->names_asked;
        QAPI_LIST_APPEND(tail, rule);
    }
}

/*
 * Appends at most @max sockets and at most VMRPC_INSPECT_MAX; returns their
 * number, as vmrpc_inspect_socks() does.
 */
static unsigned add_sockets(VmrpcSocketInfoList ***tail, VmrpcServer *server,
                            uint32_t *handle, unsigned max)
{
    g_autofree VmrpcSockView *view = g_new(VmrpcSockView, VMRPC_INSPECT_MAX);
    unsigned n = vmrpc_inspect_socks(server, handle, view,
                                     MIN(max, VMRPC_INSPECT_MAX));

    for (unsigned i = 0; i < n; i++) {
        QAPI_LIST_APPEND(*tail, socket_info(&view[i]));
    }
    return n;
}

/* The handle to continue with, if there are more sockets. */
static void set_next(VmrpcDeviceInfo *info, VmrpcServer *server,
                     uint32_t handle)
{
    info->has_sockets_next = vmrpc_inspect_next(server, &handle);
    info->sockets_next = handle;
}

/* --- the devices -------------------------------------------------------- */

typedef struct Search {
    const char *id;             /* or QOM path; NULL: all devices */
    GPtrArray *found;           /* Held */
} Search;

/* A reference to a device, and one to its proxy, of whose memory it may be. */
typedef struct Held {
    VirtIOVmrpc *device;
    DeviceState *proxy;
} Held;

static void hold(GPtrArray *found, VirtIOVmrpc *s)
{
    Held *held = g_new(Held, 1);

    held->device = s;
    held->proxy = qdev_get_parent_bus(DEVICE(s))->parent;
    object_ref(OBJECT(held->device));
    object_ref(OBJECT(held->proxy));
    g_ptr_array_add(found, held);
}

static void let_go(gpointer data)
{
    Held *held = data;

    object_unref(OBJECT(held->device));
    object_unref(OBJECT(held->proxy));
    g_free(held);
}

static VirtIOVmrpc *held_device(const GPtrArray *found, guint i)
{
    const Held *held = g_ptr_array_index(found, i);

    return held->device;
}

static bool is_called(VirtIOVmrpc *s, const char *name)
{
    g_autofree char *path = object_get_canonical_path(OBJECT(s));

    return !g_strcmp0(virtio_vmrpc_id(s), name) || !g_strcmp0(path, name);
}

static int find_device(Object *child, void *opaque)
{
    VirtIOVmrpc *s = (VirtIOVmrpc *)object_dynamic_cast(child,
                                                        TYPE_VIRTIO_VMRPC);
    Search *search = opaque;

    if (s && s->server && (!search->id || is_called(s, search->id))) {
        hold(search->found, s);
    }
    return 0;
}

/*
 * Holds the device with this @id, or all devices.  NULL, with @errp, if none has
 * the @id.
 */
static GPtrArray *find_devices(const char *id, Error **errp)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(let_go);
    Search search = { .id = id, .found = found };

    object_child_foreach_recursive(object_get_root(), find_device, &search);
    if (id && !found->len) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND,
                  "There is no virtio-vmrpc device '%s'", id);
        return NULL;
    }
    return g_steal_pointer(&found);
}

/* --- QMP ----------------------------------------------------------------- */

/*
 * Shows at most *@limit sockets, and subtracts their number from it.  Returns
 * NULL if the device is unplugged.
 */
static VmrpcDeviceInfo *coroutine_fn query_device(VirtIOVmrpc *s,
                                                  uint32_t handle,
                                                  uint32_t *limit, bool rules)
{
    g_autoptr(VmrpcDeviceInfo) info = NULL;
    VmrpcSocketInfoList **tail;
    unsigned n;

    if (!s->server) {
        return NULL;
    }
    info = device_info(s);
    if (rules) {
        add_rules(info, s->server);
    }
    tail = &info->sockets;
    while (*limit && (n = add_sockets(&tail, s->server, &handle, *limit))) {
        *limit -= n;
        qemu_co_sleep_ns(QEMU_CLOCK_REALTIME, PAUSE_US * SCALE_US);
        if (!s->server) {
            return NULL;
        }
    }
    set_next(info, s->server, handle);
    return g_steal_pointer(&info);
}

VmrpcDeviceInfoList *coroutine_fn qmp_query_vmrpc(const char *id,
                                                  bool has_sockets_from,
                                                  uint32_t sockets_from,
                                                  bool has_sockets_limit,
                                                  uint32_t sockets_limit,
                                                  bool has_rules, bool rules,
                                                  Error **errp)
{
    uint32_t limit = has_sockets_limit ? sockets_limit : LIMIT_MAX;
    VmrpcDeviceInfoList *list = NULL, **tail = &list;
    g_autoptr(GPtrArray) found = NULL;

    if (limit > LIMIT_MAX) {
        error_setg(errp, "Parameter 'sockets-limit' expects at most %u",
                   LIMIT_MAX);
        return NULL;
    }
    found = find_devices(id, errp);
    for (guint i = 0; found && i < found->len; i++) {
        VmrpcDeviceInfo *info = query_device(held_device(found, i),
                                             has_sockets_from ? sockets_from
                                                              : 0, &limit,
                                             has_rules && rules);

        if (info) {
            QAPI_LIST_APPEND(tail, info);
        }
    }
    return list;
}

void qmp_vmrpc_reload_policy(const char *id, bool has_established,
                             VmrpcEstablished established, Error **errp)
{
    g_autoptr(GPtrArray) found = find_devices(id, errp);
    g_autoptr(GError) err = NULL;
    VirtIOVmrpc *s;

    if (!found) {
        return;
    }
    if (found->len != 1) {
        error_setg(errp, "There are %u virtio-vmrpc devices: say which one by "
                   "its id", found->len);
        return;
    }
    s = held_device(found, 0);
    if (!vmrpc_server_reload_policy(s->server, &err)) {
        error_setg(errp, "%s", err->message);
    } else if (has_established && established == VMRPC_ESTABLISHED_CLOSE) {
        vmrpc_server_end_refused(s->server);
    }
}

/* --- HMP ----------------------------------------------------------------- */

static char *endpoint(const VmrpcAddress *address)
{
    if (!address) {
        return g_strdup("-");
    }
    return g_strdup_printf(strchr(address->address, ':') ? "[%s]:%u" : "%s:%u",
                           address->address, address->port);
}

static void print_socket(Monitor *mon, const VmrpcSocketInfo *s)
{
    g_autofree char *guest_local = endpoint(s->guest_local);
    g_autofree char *guest_peer = endpoint(s->guest_peer);
    g_autofree char *host_local = endpoint(s->host_local);
    g_autofree char *host_peer = endpoint(s->host_peer);

    monitor_printf(mon, "%6" PRIu32 " %s %-11s %8" PRIu32 " %8" PRIu32
                   " %10" PRIu64 " %10" PRIu64 "  %s > %s  %s > %s",
                   s->handle, VmrpcSocketType_str(s->type),
                   VmrpcSocketState_str(s->state), s->recv_queue,
                   s->send_queue, s->bytes_received, s->bytes_sent,
                   guest_local, guest_peer, host_local, host_peer);
    if (s->backing != VMRPC_SOCKET_BACKING_HOST) {
        monitor_printf(mon, "  %s", VmrpcSocketBacking_str(s->backing));
    }
    if (s->has_missing) {
        monitor_printf(mon, ": no %s: %s", VmrpcSocketMissing_str(s->missing),
                       s->missing_error);
    }
    if (s->pending_error) {
        monitor_printf(mon, "  error: %s", s->pending_error);
    }
    monitor_printf(mon, "%s\n", s->watched ? "" : "  unwatched");
}

static void print_counter(Monitor *mon, const char *field, uint64_t value)
{
    g_autofree char *name = g_strdelimit(g_strdup(field), "_", '-');

    if (value) {
        monitor_printf(mon, "  %-27s %" PRIu64 "\n", name, value);
    }
}

/* Those that are not 0. */
static void print_counters(Monitor *mon, const VmrpcCounterInfo *counters)
{
#define PRINT_COUNTER(name)     print_counter(mon, #name, counters->name);
#define PRINT_DNS_COUNTER(name)                                               \
    print_counter(mon, "dns-" #name, counters->dns_##name);
#define PRINT_UPSTREAM_COUNTER(name)                                          \
    print_counter(mon, "upstream-" #name, counters->upstream_##name);
#define PRINT_ZONE_COUNTER(name)                                              \
    print_counter(mon, "zone-" #name, counters->zone_##name);
    VMRPC_COUNTERS(PRINT_COUNTER)
    VMRPC_REACH_COUNTERS(PRINT_COUNTER)
    VMRPC_ALG_COUNTERS(PRINT_COUNTER)
    DNS_PROXY_COUNTERS(PRINT_DNS_COUNTER)
    DNS_UPSTREAM_COUNTERS(PRINT_UPSTREAM_COUNTER)
    DNS_OWN_ZONES_COUNTERS(PRINT_ZONE_COUNTER)
#undef PRINT_ZONE_COUNTER
#undef PRINT_UPSTREAM_COUNTER
#undef PRINT_DNS_COUNTER
#undef PRINT_COUNTER
}

/* Those that have decided anything; at most RULES_MAX. */
static void print_rules(Monitor *mon, const VmrpcRuleInfoList *rules)
{
    unsigned num = 0;

    for (; rules; rules = rules->next) {
        const VmrpcRuleInfo *r = rules->value;

        if (!r->destinations && !r->names_refused) {
            continue;
        }
        if (num++ == RULES_MAX) {
            monitor_printf(mon, "More rules: query-vmrpc shows all\n");
            break;
        }
        monitor_printf(mon, "  policy line %-5" PRIu32 " %10" PRIu64
                       " destinations %10" PRIu64 " names refused  %s\n",
                       r->line, r->destinations, r->names_refused, r->rule);
    }
}

static void print_dns_servers(Monitor *mon, const VmrpcDeviceInfo *info)
{
    if (!info->has_dns_servers) {
        return;
    }
    monitor_printf(mon, "  DNS servers (%s):",
                   VmrpcDnsSource_str(info->dns_source));
    for (VmrpcDnsServerList *s = info->dns_servers; s; s = s->next) {
        monitor_printf(mon, " %s%s%s", s->value->address,
                       s->value->present ? "" : " (no interface)",
                       s->next ? "," : "\n");
    }
}

static void print_device(Monitor *mon, const VmrpcDeviceInfo *info)
{
    monitor_printf(mon, "%s: guest %s, %s, pool %s, resolver %s, NAT64 %s\n",
                   info->id ?: info->qom_path,
                   info->guest4,
                   info->address6 ?: info->translate ? "no address of its own"
                                                     : "no translation",
                   info->pool4 ?: "none", info->resolver4 ?: "none",
                   info->nat64_prefix ?: "none");
    if (info->has_address6_claim) {
        monitor_printf(mon, "  claim to the address: %s\n",
                       VmrpcAddressClaim_str(info->address6_claim));
    }
    if (info->has_address_state) {
        monitor_printf(mon, "  address on this host: %s\n",
                       VmrpcAddressState_str(info->address_state));
    }
    print_dns_servers(mon, info);
    monitor_printf(mon, "  sockets: %" PRIu32 " of %" PRIu32 ", mappings: %"
                   PRIu64 ", in use: %" PRIu64, info->sockets_open,
                   info->max_sockets, info->mappings, info->mappings_in_use);
    if (info->sockets_arriving) {
        monitor_printf(mon, ", arriving: %" PRIu32, info->sockets_arriving);
    }
    monitor_printf(mon, "\n");
    if (info->audit) {
        monitor_printf(mon, "  audit log: %s, lines: %" PRIu64 ", lost: %"
                       PRIu64 ", pending: %" PRIu64 "%s\n",
                       info->audit->chardev, info->audit->lines,
                       info->audit->lost, info->audit->pending,
                       info->audit->blocked ? ", blocked" : "");
    }
    print_counters(mon, info->counters);
    print_rules(mon, info->rules);
    if (info->sockets) {
        monitor_printf(mon, "handle type state   recv-q   send-q   received"
                       "       sent  guest local > peer  host local > peer\n");
    }
    for (VmrpcSocketInfoList *s = info->sockets; s; s = s->next) {
        print_socket(mon, s->value);
    }
    if (info->has_sockets_next) {
        monitor_printf(mon, "More sockets: info vmrpc %s %" PRIu32 "\n",
                       info->id ?: info->qom_path, info->sockets_next);
    }
}

static void print_first(Monitor *mon, VirtIOVmrpc *s, uint32_t handle)
{
    g_autoptr(VmrpcDeviceInfo) info = device_info(s);
    VmrpcSocketInfoList **tail = &info->sockets;

    add_rules(info, s->server);
    add_sockets(&tail, s->server, &handle, VMRPC_INSPECT_MAX);
    set_next(info, s->server, handle);
    print_device(mon, info);
}

static void hmp_info_vmrpc(Monitor *mon, const QDict *qdict)
{
    Error *err = NULL;
    g_autoptr(GPtrArray) found = find_devices(qdict_get_try_str(qdict, "id"),
                                              &err);

    if (hmp_handle_error(mon, err)) {
        return;
    }
    for (guint i = 0; i < found->len; i++) {
        print_first(mon, held_device(found, i),
                    qdict_get_try_int(qdict, "from", 0));
    }
}

static void register_hmp(void)
{
    monitor_register_hmp("vmrpc", true, hmp_info_vmrpc);
}

type_init(register_hmp)

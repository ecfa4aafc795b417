/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: reports of the server, for the trace, the log and QMP
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>

#include "hw/vmrpc/face/virtio-vmrpc-report.h"
#include "qapi/qapi-events-vmrpc.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "hw/vmrpc/trace.h"

static void report_call(void *opaque, unsigned op, uint32_t handle, int error,
                        uint32_t value)
{
    trace_virtio_vmrpc_call(opaque, op, handle, error, value);
}

static void report_refused(void *opaque, const VmrpcRefusal *refusal)
{
    trace_virtio_vmrpc_refused(opaque, refusal->dest ?: "-", refusal->port,
                               refusal->name ?: "-", refusal->reason,
                               refusal->line);
}

static void report_moved(void *opaque, uint32_t handle, const char *what,
                         const char *from, const char *to)
{
    trace_virtio_vmrpc_moved(opaque, handle, what, from, to);
}

static void report_raced(void *opaque, uint32_t handle, const char *dest)
{
    trace_virtio_vmrpc_raced(opaque, handle, dest);
}

/* In the thread that follows the file. */
static void report_policy(void *opaque, const char *error)
{
    trace_virtio_vmrpc_policy(opaque, error ?: "read again");
    if (error) {
        error_report("virtio-vmrpc: %s", error);
    }
}

static void report_zone(void *opaque, const char *name, const char *error)
{
    trace_virtio_vmrpc_zone(opaque, name, error ?: "read again");
    if (error) {
        error_report("virtio-vmrpc: %s", error);
    }
}

/* --- DNS servers --------------------------------------------------------- */

/* The servers that can be asked */
static char *servers_text(const DnscServerList *list)
{
    g_autoptr(GString) text = g_string_new("");
    char server[DNSC_SERVER_TEXT_MAX];

    for (size_t i = 0; i < list->count; i++) {
        if (!dnsc_list_is_absent(list, i)) {
            dnsc_list_text(list, i, server);
            g_string_append_printf(text, "%s%s", text->len ? ", " : "",
                                   server);
        }
    }
    return g_strdup(text->len ? text->str : "none");
}

static void log_absent(const char *id, const DnsOrigin *origin)
{
    char server[DNSC_SERVER_TEXT_MAX];

    for (size_t i = 0; i < origin->list.count; i++) {
        if (dnsc_list_is_absent(&origin->list, i)) {
            dnsc_list_text(&origin->list, i, server);
            warn_report("virtio-vmrpc '%s': %s%s: this host has no interface "
                        "'%s'; the server is asked when it has", id,
                        origin->file.path ? "nameserver " : "dns=", server,
                        origin->list.zone[i]);
        }
    }
}

/* In any thread that uses the server; its lock is held. */
static void report_servers(void *opaque, const DnsOrigin *origin,
                           const char *error)
{
    g_autofree char *path = object_get_canonical_path(OBJECT(opaque));
    g_autofree char *servers = servers_text(&origin->list);
    const char *id = virtio_vmrpc_id(opaque) ?: path;
    const char *file = origin->file.path;

    trace_virtio_vmrpc_servers(opaque, servers, origin->from, error ?: "");
    if (error) {
        warn_report("virtio-vmrpc '%s': the former DNS servers are asked and "
                    "not %s: %s", id, servers, error);
        return;
    }
    switch (origin->from) {
    case DNS_SERVERS_GIVEN:
        info_report("virtio-vmrpc '%s': DNS servers of dns=: %s", id, servers);
        break;
    case DNS_SERVERS_FILE:
        info_report("virtio-vmrpc '%s': DNS servers of %s: %s", id, file,
                    servers);
        break;
    case DNS_SERVERS_LOOPBACK:
        warn_report("virtio-vmrpc '%s': %s names no DNS server, and dns= is "
                    "not given: until it does, %s is asked", id, file,
                    servers);
        break;
    case DNS_SERVERS_KEPT:
        warn_report("virtio-vmrpc '%s': %s names no DNS server any more: "
                    "until it does, those that it named are asked: %s", id,
                    file, servers);
        break;
    }
    log_absent(id, origin);
}

/* --- validated answers --------------------------------------------------- */

/*
 * The log gets the first bogus name only: a guest can ask for any number of
 * them.
 */
static void log_bogus(VirtIOVmrpc *s, const char *name,
                      const DnsValidated *found)
{
    if (s->bogus_reported) {
        return;
    }
    s->bogus_reported = true;
    warn_report("virtio-vmrpc: dnssec=%s: the answer for %s (type %u) is "
                "bogus: %s (EDE %d); more of them are counted in "
                "upstream-bogus", s->dnssec, name, found->question->type,
                found->reason, found->ede);
}

/* In any thread that uses the server; its lock is held. */
static void report_validated(void *opaque, const DnsValidated *found)
{
    static const char *const words[] = {
        [VMMNET_DNS_INDETERMINATE] = "indeterminate",
        [VMMNET_DNS_INSECURE] = "insecure",
        [VMMNET_DNS_SECURE] = "secure",
        [VMMNET_DNS_BOGUS_DATA] = "bogus",
    };
    char name[DNS_NAME_TEXT_MAX];

    dns_name_to_text(&found->question->name, name);
    trace_virtio_vmrpc_validated(opaque, name, found->question->type,
                                 words[found->security], found->ede,
                                 found->reason);
    if (found->security == VMMNET_DNS_BOGUS_DATA) {
        log_bogus(opaque, name, found);
    }
}

/* In any thread that uses the server; its lock is held. */
static void report_validator(void *opaque, const char *trouble)
{
    VirtIOVmrpc *s = opaque;
    bool is_strict = !strcmp(s->dnssec, "strict");

    trace_virtio_vmrpc_validator(s, trouble ?: "");
    if (trouble) {
        warn_report("virtio-vmrpc: dnssec=%s: vmmnet-validate at %s is away: "
                    "%s; until it is back, names %s", s->dnssec, s->validator,
                    trouble, is_strict ? "that are not in the cache get "
                    "SERVFAIL" : "are not validated");
    } else {
        info_report("virtio-vmrpc: dnssec=%s: vmmnet-validate at %s is back",
                    s->dnssec, s->validator);
    }
}

/* --- addresses of the pool that others use -------------------------------- */

/*
 * In any thread that uses the server; its lock is held.  The log gets the first
 * case only: a guest can make any number of them.
 */
static void report_pool(void *opaque, struct in_addr addr4, const char *name)
{
    VirtIOVmrpc *s = opaque;
    g_autofree char *path = object_get_canonical_path(OBJECT(s));
    const char *id = virtio_vmrpc_id(s) ?: path;
    const char *pool = s->pool4 ?: VIRTIO_VMRPC_POOL4;
    char addr[INET_ADDRSTRLEN];

    inet_ntop(AF_INET, &addr4, addr, sizeof(addr));
    trace_virtio_vmrpc_pool(s, addr, name ?: "-");
    if (s->pool_reported) {
        return;
    }
    s->pool_reported = true;
    if (name) {
        warn_report("virtio-vmrpc '%s': the DNS servers answer %s with %s, an "
                    "address of pool4=%s: another program hands out the same "
                    "addresses, such as a VPN with \"fake IP\" DNS; give the "
                    "device another pool4=; more are counted in "
                    "pool-in-answers", id, name, addr, pool);
    } else {
        warn_report("virtio-vmrpc '%s': the guest contacts %s of pool4=%s, "
                    "which stands for no peer: an address from before this "
                    "device, or of another program that hands out the same "
                    "addresses, such as a VPN with \"fake IP\" DNS; for that, "
                    "give the device another pool4=; more are counted in "
                    "unreachable-no-mapping", id, addr, pool);
    }
}

/* --- sockets that wait after a migration ---------------------------------- */

typedef struct ArrivalReport {
    char *id, *path, *address;
    VmrpcArrival arrival;       /* its address is not valid */
} ArrivalReport;

VmrpcSocketMissing virtio_vmrpc_missing(VmrpcMissing missing)
{
    switch (missing) {
    case VMRPC_MISSING_ADDRESS:
        return VMRPC_SOCKET_MISSING_ADDRESS;
    case VMRPC_MISSING_PORT:
        return VMRPC_SOCKET_MISSING_PORT;
    case VMRPC_MISSING_ROUTE:
        return VMRPC_SOCKET_MISSING_ROUTE;
    case VMRPC_MISSING_TURN:
        return VMRPC_SOCKET_MISSING_TURN;
    default:
        return VMRPC_SOCKET_MISSING_RESOURCE;
    }
}

static char *describe_missing(const VmrpcArrival *arrival, const char *address)
{
    switch (arrival->missing) {
    case VMRPC_MISSING_ADDRESS:
        return address ? g_strdup_printf("the VM's address, %s", address)
                       : g_strdup("an address: this device has none");
    case VMRPC_MISSING_PORT:
        return g_strdup_printf("ports like %u of %s", arrival->port,
                               address ?: "this host");
    case VMRPC_MISSING_ROUTE:
        return g_strdup_printf("routes like that for %s", address);
    default:
        return g_strdup("what this host does not give");
    }
}

static void log_missing(const ArrivalReport *r)
{
    const VmrpcArrival *arrival = &r->arrival;
    g_autofree char *missing = describe_missing(arrival, r->address);

    warn_report("virtio-vmrpc '%s': %" PRIu32 " of the guest's sockets wait "
                "after the migration for %s: %s", r->id ?: r->path,
                arrival->sockets, missing, strerror(arrival->error));
}

static void report_arrival_bh(void *opaque)
{
    ArrivalReport *r = opaque;
    const VmrpcArrival *arrival = &r->arrival;

    if (arrival->sockets) {
        log_missing(r);
        qapi_event_send_vmrpc_sockets_arriving(
            r->id, r->path, virtio_vmrpc_missing(arrival->missing), r->address,
            arrival->port, arrival->port, strerror(arrival->error),
            arrival->sockets);
    } else {
        info_report("virtio-vmrpc '%s': none of the guest's sockets waits any "
                    "more after the migration", r->id ?: r->path);
        qapi_event_send_vmrpc_sockets_arrived(r->id, r->path);
    }
    g_free(r->id);
    g_free(r->path);
    g_free(r->address);
    g_free(r);
}

/*
 * In any thread that uses the server; its lock is held, which must not wait
 * for a monitor: the main loop sends the event.
 */
static void report_arrival(void *opaque, const VmrpcArrival *arrival)
{
    VirtIOVmrpc *s = opaque;
    ArrivalReport *r = g_new(ArrivalReport, 1);

    trace_virtio_vmrpc_arrival(s, arrival->sockets, arrival->address ?: "-",
                               arrival->port, arrival->error);
    *r = (ArrivalReport) {
        .id = g_strdup(virtio_vmrpc_id(s)),
        .path = object_get_canonical_path(OBJECT(s)),
        .address = g_strdup(arrival->address),
        .arrival = *arrival,
    };
    aio_bh_schedule_oneshot(qemu_get_aio_context(), report_arrival_bh, r);
}

VmrpcTracer virtio_vmrpc_tracer(VirtIOVmrpc *s)
{
    return (VmrpcTracer) {
        .call = report_call,
        .refused = report_refused,
        .pool = report_pool,
        .raced = report_raced,
        .moved = report_moved,
        .policy = report_policy,
        .zone = report_zone,
        .validated = report_validated,
        .validator = report_validator,
        .servers = report_servers,
        .arrival = report_arrival,
        .opaque = s,
    };
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: counts and traces refusals
 */
#include "hw/vmrpc/reach/report.h"

#include <arpa/inet.h>
#include <errno.h>

#include "hw/vmrpc/reach/dest-names.h"

void vmrpc_pool_in_answer(VmrpcReach *reach, struct in_addr addr4,
                          const DnsName *name)
{
    char text[DNS_NAME_TEXT_MAX];

    reach->counters.pool_in_answers++;
    if (reach->tracer.pool) {
        dns_name_to_text(name, text);
        reach->tracer.pool(reach->tracer.opaque, addr4, text);
    }
}

void vmrpc_count_unreachable(VmrpcReach *reach, struct in_addr guest,
                             VmrpcUnreachable why)
{
    switch (why) {
    case VMRPC_UNREACHABLE_OTHER:
        break;
    case VMRPC_UNREACHABLE_NO_MAPPING:
        reach->counters.unreachable_no_mapping++;
        if (reach->tracer.pool) {
            reach->tracer.pool(reach->tracer.opaque, guest, NULL);
        }
        break;
    case VMRPC_UNREACHABLE_NO_NAT64:
        reach->counters.unreachable_no_nat64++;
        break;
    }
}

void vmrpc_refused(VmrpcReach *reach, const VmrpcRefusal *refusal,
                   uint64_t *counter)
{
    (*counter)++;
    if (reach->tracer.refused) {
        reach->tracer.refused(reach->tracer.opaque, refusal);
    }
}

static uint64_t *counter_of(VmrpcReach *reach, VmrpcVerdictReason reason)
{
    switch (reason) {
    case VMRPC_VERDICT_DENY_RULE:
        return &reach->counters.refused_policy;
    case VMRPC_VERDICT_DENY_DEFAULT:
        return &reach->counters.refused_default;
    case VMRPC_VERDICT_HOST:
        return &reach->counters.refused_host_address;
    default:
        return &reach->counters.refused_builtin;
    }
}

/* Writes the address of @dest as text, and returns its port. */
static unsigned print_dest(const struct sockaddr_storage *dest,
                           char text[INET6_ADDRSTRLEN])
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)dest;
    const struct sockaddr_in *sin = (const struct sockaddr_in *)dest;

    if (dest->ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &sin6->sin6_addr, text, INET6_ADDRSTRLEN);
        return ntohs(sin6->sin6_port);
    }
    inet_ntop(AF_INET, &sin->sin_addr, text, INET6_ADDRSTRLEN);
    return ntohs(sin->sin_port);
}

void vmrpc_refused_by_policy(VmrpcReach *reach,
                             const struct sockaddr_storage *dest, int error,
                             const VmrpcVerdict *why, const char *name)
{
    char text[INET6_ADDRSTRLEN];
    VmrpcRefusal refusal = {
        .error = error,
        .dest = text,
        .port = print_dest(dest, text),
        .name = name,
        .reason = vmrpc_verdict_name(why->reason),
        .line = why->line,
    };

    vmrpc_refused(reach, &refusal, counter_of(reach, why->reason));
}

void vmrpc_refused_by_said(VmrpcReach *reach,
                           const struct sockaddr_storage *dest,
                           const char *reason, const char *name,
                           unsigned line)
{
    char text[INET6_ADDRSTRLEN];
    VmrpcRefusal refusal = {
        .dest = text,
        .port = print_dest(dest, text),
        .error = EACCES,
        .name = name,
        .is_said = true,
        .reason = reason,
        .line = line,
    };

    vmrpc_refused(reach, &refusal, &reach->counters.refused_hello);
}

void vmrpc_refused_by_limit(VmrpcReach *reach,
                            const struct sockaddr_storage *dest, int error,
                            const char *reason, uint64_t *counter)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)dest;
    char addr[INET6_ADDRSTRLEN], name[DNS_NAME_TEXT_MAX];
    VmrpcRefusal refusal = { .error = error, .reason = reason };
    VmrpcNameFound found;

    if (dest && reach->tracer.refused) {
        refusal.dest = addr;
        refusal.port = print_dest(dest, addr);
        if (dest->ss_family == AF_INET6 &&
            vmrpc_dest_names(reach, &sin6->sin6_addr, &found, 1)) {
            dns_name_to_text(found.name, name);
            refusal.name = name;
        }
    }
    vmrpc_refused(reach, &refusal, counter);
}

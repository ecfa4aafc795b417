/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc audit: an event as a line of JSON
 *
 * Names are the only part of a line that a guest can make long.  They come last,
 * and as many as fit, so a line always has the rest.
 */
#include "hw/vmrpc/audit/line.h"

#include <arpa/inet.h>
#include <string.h>
#include <time.h>

#include <glib.h>

#include "hw/vmrpc/audit/json.h"

/* The end of a line: ,"more":N}\n */
#define END_MAX         32

#define US              1000000

const char *vmrpc_audit_event_name(VmrpcAuditEvent event)
{
    static const char *const names[] = {
        [VMRPC_AUDIT_OPEN] = "open",
        [VMRPC_AUDIT_REFUSED] = "refused",
        [VMRPC_AUDIT_WATCHED] = "watched",
        [VMRPC_AUDIT_SAID] = "said",
        [VMRPC_AUDIT_CLOSE] = "close",
        [VMRPC_AUDIT_NAME] = "name",
        [VMRPC_AUDIT_ANSWER] = "answer",
        [VMRPC_AUDIT_POLICY] = "policy",
        [VMRPC_AUDIT_LOST] = "lost",
    };

    return event < G_N_ELEMENTS(names) ? names[event] : "?";
}

static const char *proto_name(int proto)
{
    switch (proto) {
    case IPPROTO_TCP:
        return "tcp";
    case IPPROTO_UDP:
        return "udp";
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        return "icmp";
    default:
        return NULL;
    }
}

/* Two digits at @at */
static void digits2(char *at, unsigned value)
{
    at[0] = '0' + value / 10 % 10;
    at[1] = '0' + value % 10;
}

/* "time":"2026-11-28T09:14:03.120451Z" */
static void put_time(VmrpcJson *j, int64_t time_us)
{
    char text[] = "\"time\":\"0000-00-00T00:00:00.000000Z\"";
    char *at = text + strlen("\"time\":\"");
    time_t seconds = time_us / US;
    unsigned us = time_us % US;
    struct tm tm = { };

    gmtime_r(&seconds, &tm);
    digits2(at, (tm.tm_year + 1900) / 100);
    digits2(at + 2, tm.tm_year + 1900);
    digits2(at + 5, tm.tm_mon + 1);
    digits2(at + 8, tm.tm_mday);
    digits2(at + 11, tm.tm_hour);
    digits2(at + 14, tm.tm_min);
    digits2(at + 17, tm.tm_sec);
    digits2(at + 20, us / 10000);
    digits2(at + 22, us / 100);
    digits2(at + 24, us);
    vmrpc_json_raw(j, text);
}

static void add_peer(VmrpcJson *j, const VmrpcAuditEntry *entry)
{
    const struct sockaddr_storage *peer = entry->peer;
    const char *address = entry->address;
    unsigned port = entry->port;
    char text[INET6_ADDRSTRLEN];

    if (peer) {
        bool is6 = peer->ss_family == AF_INET6;
        const void *addr = is6
            ? (const void *)&((const struct sockaddr_in6 *)peer)->sin6_addr
            : &((const struct sockaddr_in *)peer)->sin_addr;

        address = inet_ntop(is6 ? AF_INET6 : AF_INET, addr, text, sizeof(text));
        /* At the same place in both. */
        port = ntohs(((const struct sockaddr_in *)peer)->sin_port);
    }
    vmrpc_json_add_string(j, "address", address);
    if (address && port) {
        vmrpc_json_add_number(j, "port", port);
    }
}

static const char *type_name(unsigned type)
{
    switch (type) {
    case 1:
        return "A";
    case 2:
        return "NS";
    case 5:
        return "CNAME";
    case 6:
        return "SOA";
    case 12:
        return "PTR";
    case 15:
        return "MX";
    case 16:
        return "TXT";
    case 28:
        return "AAAA";
    case 33:
        return "SRV";
    case 64:
        return "SVCB";
    case 65:
        return "HTTPS";
    default:
        return NULL;
    }
}

/* A type without a name is TYPE123 (RFC 3597). */
static void add_question(VmrpcJson *j, const VmrpcAuditEntry *entry)
{
    char text[] = "TYPE65535";
    const char *type = type_name(entry->type);

    vmrpc_json_add_string(j, "name", entry->name);
    if (entry->type && !type) {
        g_snprintf(text, sizeof(text), "TYPE%u", (uint16_t)entry->type);
        type = text;
    }
    if (entry->type) {
        vmrpc_json_add_string(j, "type", type);
    }
    vmrpc_json_add_string(j, "security", entry->security);
}

static void add_verdict(VmrpcJson *j, const VmrpcAuditEntry *entry)
{
    vmrpc_json_add_string(j, "verdict", entry->verdict);
    vmrpc_json_add_string(j, "reason", entry->reason);
    if (entry->error) {
        vmrpc_json_add_string(j, entry->event == VMRPC_AUDIT_CLOSE ? "error"
                                                                   : "errno",
                              strerrorname_np(entry->error) ?: "?");
    }
    if (entry->line) {
        vmrpc_json_add_number(j, "line", entry->line);
    }
    vmrpc_json_add_string(j, "policy", entry->policy);
    vmrpc_json_add_string(j, "via", entry->via);
    if (entry->has_socket) {
        vmrpc_json_add_number(j, "socket", entry->socket);
    }
}

/* The text of element @i; @buf has room for an address. */
static const char *element(const VmrpcAuditEntry *entry, size_t i, char *buf)
{
    if (!entry->addresses) {
        return entry->asked[i];
    }
    if (IN6_IS_ADDR_V4MAPPED(&entry->addresses[i])) {
        return inet_ntop(AF_INET, &entry->addresses[i].s6_addr[12], buf,
                         INET6_ADDRSTRLEN);
    }
    return inet_ntop(AF_INET6, &entry->addresses[i], buf, INET6_ADDRSTRLEN);
}

/* "asked" or "addresses": as many as fit, and how many did not. */
static void add_list(VmrpcJson *j, const VmrpcAuditEntry *entry)
{
    size_t num = entry->addresses ? entry->address_num : entry->asked_num;
    char buf[INET6_ADDRSTRLEN];
    size_t i = 0;

    if (!num || !vmrpc_json_raw(j, entry->addresses ? ",\"addresses\":["
                                                    : ",\"asked\":[")) {
        return;
    }
    j->size--;                  /* the bracket at the end */
    for (; i < num; i++) {
        size_t before = j->len;

        if ((i && !vmrpc_json_raw(j, ",")) ||
            !vmrpc_json_string(j, element(entry, i, buf))) {
            j->len = before;
            break;
        }
    }
    j->size++;
    vmrpc_json_raw(j, "]");
    if (i < num) {
        j->size += END_MAX / 2;
        vmrpc_json_add_number(j, "more", num - i);
    }
}

size_t vmrpc_audit_format(const VmrpcAuditEntry *entry, const char *who,
                          char *text, size_t size)
{
    VmrpcJson j = { .text = text, .size = size - END_MAX };

    put_time(&j, entry->time_us);
    vmrpc_json_raw(&j, who);
    vmrpc_json_add_string(&j, "event", vmrpc_audit_event_name(entry->event));
    vmrpc_json_add_string(&j, "proto", proto_name(entry->proto));
    if (entry->incoming) {
        vmrpc_json_raw(&j, ",\"incoming\":true");
    }
    add_peer(&j, entry);
    add_verdict(&j, entry);
    switch (entry->event) {
    case VMRPC_AUDIT_CLOSE:
        vmrpc_json_add_number(&j, "sent", entry->sent);
        vmrpc_json_add_number(&j, "received", entry->received);
        vmrpc_json_add_number(&j, "ms", entry->ms);
        break;
    case VMRPC_AUDIT_LOST:
        vmrpc_json_add_number(&j, "count", entry->count);
        break;
    default:
        break;
    }
    add_question(&j, entry);
    vmrpc_json_add_string(&j, "file", entry->file);
    vmrpc_json_add_string(&j, "problem", entry->problem);
    vmrpc_json_add_string(&j, "said", entry->said);
    vmrpc_json_add_string(&j, "says", entry->says);
    vmrpc_json_add_string(&j, "alpn", entry->alpn);
    add_list(&j, entry);
    j.size = size;
    vmrpc_json_raw(&j, "}\n");
    return j.len;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: what the audit log is told
 *
 * Theory of operation
 * ===================
 *
 * A line comes before what it is about: "open" before the first packet, "name"
 * before the question.  With audit-full=wait the call asks first whether the log
 * takes lines (vmrpc_evidence_admits()), and waits if not (parked.c).
 *
 * A stream has "open" with its connect().  A datagram socket has it with the
 * first datagram to a peer, as connect() sends nothing and many programs only
 * ask for an address by it.  Which peers had a line is remembered in a table of
 * hashes, one place for each hash: a peer that another one displaces gets a
 * second line.
 */
#include "hw/vmrpc/server/evidence.h"

#include <errno.h>
#include <string.h>

#include "hw/vmrpc/reach/dest-names.h"
#include "hw/vmrpc/server/parked.h"
#include "hw/vmrpc/server/timer.h"
#include "hw/vmrpc/wire/uninitialized.h"

#define HASH            UINT64_C(14695981039346656037)

/* The names of a peer, as text */
typedef struct Names {
    size_t num;
    VmrpcNameFound found[VMRPC_POLICY_MAX_NAMES];
    const char *list[VMRPC_POLICY_MAX_NAMES];
    char text[VMRPC_POLICY_MAX_NAMES][DNS_NAME_TEXT_MAX];
} Names;

static VMRPC_LOCKED void find_names(const VmrpcServer *srv,
                                    const struct sockaddr_storage *peer,
                                    Names *names)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)peer;

    names->num = peer->ss_family == AF_INET6
                 ? vmrpc_dest_names(&srv->reach, &sin6->sin6_addr,
                                    names->found, VMRPC_POLICY_MAX_NAMES) : 0;
    for (size_t i = 0; i < names->num; i++) {
        dns_name_to_text(names->found[i].name, names->text[i]);
        names->list[i] = names->text[i];
    }
}

static VMRPC_LOCKED void write_line(VmrpcServer *srv, VmrpcAuditEntry *entry)
{
    entry->time_us = g_get_real_time();
    vmrpc_audit_write(srv->config.audit, entry);
}

static VMRPC_LOCKED const char *policy_id(const VmrpcServer *srv)
{
    return vmrpc_policy_id(srv->reach.policy);
}

/* Why "deny" would have refused what "watch" lets pass. */
static const char *watched_reason(VmrpcVerdictReason reason)
{
    return vmrpc_verdict_name(reason == VMRPC_VERDICT_WATCH_RULE
                              ? VMRPC_VERDICT_DENY_RULE
                              : VMRPC_VERDICT_DENY_DEFAULT);
}

/* --- destinations ---------------------------------------------------------- */

int vmrpc_evidence_dest(VmrpcServer *srv, VmrpcSock *s,
                        const struct sockaddr_in *guest,
                        struct sockaddr_storage *host, VmrpcPass *pass)
{
    int len;

    srv->judged = s;
    len = vmrpc_dest_to_host(&srv->reach, guest, s->proto, host, pass);
    srv->judged = NULL;
    s->decided = srv->reach.decided;
    return len;
}

/* @s has a line "open" of @peer. */
static VMRPC_LOCKED void begin(VmrpcSock *s,
                               const struct sockaddr_storage *peer)
{
    if (!s->opened) {
        s->opened = true;
        s->opened_ms = vmrpc_now_ms();
    }
    memcpy(&s->opened_peer, peer, sizeof(s->opened_peer));
    s->open_error = 0;
    s->said = 0;
}

void vmrpc_evidence_tell_open(VmrpcServer *srv, VmrpcSock *s,
                              const struct sockaddr_storage *peer,
                              const VmrpcTerms *terms)
{
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_OPEN, .proto = s->proto, .peer = peer,
        .verdict = "allow", .line = s->decided.line, .has_socket = true,
        .socket = s->handle,
        .via = terms && terms->via ? terms->via->name : NULL,
    };
    Names names VMRPC_UNINITIALIZED;

    find_names(srv, peer, &names);
    entry.asked = names.list;
    entry.asked_num = names.num;
    entry.policy = policy_id(srv);
    if (vmrpc_verdict_is_watch(s->decided.reason)) {
        entry.event = VMRPC_AUDIT_WATCHED;
        entry.verdict = "watch";
        entry.reason = watched_reason(s->decided.reason);
        entry.error = EACCES;
        write_line(srv, &entry);
        entry.event = VMRPC_AUDIT_OPEN;
        entry.reason = NULL;
        entry.error = 0;
    }
    write_line(srv, &entry);
    begin(s, peer);
}

void vmrpc_evidence_accept(VmrpcServer *srv, VmrpcSock *s,
                           const struct sockaddr_storage *peer)
{
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_OPEN, .proto = s->proto, .incoming = true,
        .peer = peer, .has_socket = true, .socket = s->handle,
    };

    if (srv->config.audit) {
        write_line(srv, &entry);
        begin(s, peer);
    }
}

/*
 * The peer of a stream that has "open".  A race may have been won by an address
 * before the latest; behind a proxy, the host's socket has another peer.
 */
static void peer_of(const VmrpcSock *s, struct sockaddr_storage *peer)
{
    socklen_t len = sizeof(*peer);
    bool direct = !s->terms || !s->terms->via;

    if (!direct || getpeername(s->fd, (struct sockaddr *)peer, &len) < 0) {
        memcpy(peer, &s->opened_peer, sizeof(s->opened_peer));
    }
}

void vmrpc_evidence_tell_close(VmrpcServer *srv, VmrpcSock *s)
{
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_CLOSE, .proto = s->proto, .has_socket = true,
        .socket = s->handle, .sent = s->bytes_sent,
        .received = s->bytes_received,
        .error = s->so_error ?: s->open_error ?: s->reported_error,
    };
    struct sockaddr_storage peer;

    if (s->type == SOCK_STREAM) {
        peer_of(s, &peer);
        entry.peer = &peer;
    }
    entry.ms = vmrpc_now_ms() - s->opened_ms;
    s->opened = false;
    write_line(srv, &entry);
}

/* FNV-1a, from HASH on */
static uint64_t hash(uint64_t h, const void *data, size_t len)
{
    const uint8_t *octet = data;

    for (size_t i = 0; i < len; i++) {
        h = (h ^ octet[i]) * UINT64_C(1099511628211);
    }
    return h;
}

/* The place in the table for this peer of @s; *@value: what shows that */
static VMRPC_LOCKED uint64_t *place_of(VmrpcServer *srv, const VmrpcSock *s,
                                       const struct sockaddr_storage *dest,
                                       uint64_t *value)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)dest;
    const struct sockaddr_in *sin = (const struct sockaddr_in *)dest;
    uint64_t h = HASH;

    h = hash(h, &s->handle, sizeof(s->handle));
    h = hash(h, &s->gen, sizeof(s->gen));
    h = hash(h, &sin->sin_port, sizeof(sin->sin_port));
    h = dest->ss_family == AF_INET6
        ? hash(h, &sin6->sin6_addr, sizeof(sin6->sin6_addr))
        : hash(h, &sin->sin_addr, sizeof(sin->sin_addr));
    *value = h | 1;             /* 0: none */
    return &srv->audit_peers[(h ^ h >> 32) % VMRPC_AUDIT_PEERS];
}

void vmrpc_evidence_said(VmrpcServer *srv, VmrpcSock *s,
                         const struct sockaddr_storage *peer, VmrpcSays says,
                         const VmrpcSaid *said)
{
    uint32_t name = hash(HASH, said->name, strlen(said->name)) | 1;
    struct sockaddr_storage own;
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_SAID, .proto = s->proto, .peer = peer ?: &own,
        .has_socket = true, .socket = s->handle, .said = said->name,
        .says = says == VMRPC_SAYS_HTTP ? "http" : "tls",
        .alpn = says != VMRPC_SAYS_HTTP && *said->alpn ? said->alpn : NULL,
    };

    /* Each request of HTTP says it again. */
    if (srv->config.audit && (peer || s->said != name)) {
        if (!peer) {
            peer_of(s, &own);
        }
        write_line(srv, &entry);
        s->said = name;
    }
}

int vmrpc_evidence_sends(VmrpcServer *srv, VmrpcSock *s,
                         const struct sockaddr_storage *dest)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);
    uint64_t *place, value;

    if (s->type == SOCK_STREAM) {
        if (!vmrpc_evidence_admits(srv)) {
            vmrpc_park(srv, s, VMRPC_PARKED_SEND);
            return -EAGAIN;
        }
        return 0;
    }
    if (!dest && s->peer_opened) {
        return 0;
    }
    if (!dest) {
        if (getpeername(s->fd, (struct sockaddr *)&peer, &len) < 0) {
            return 0;           /* and so nothing will leave */
        }
        dest = &peer;
    }
    place = place_of(srv, s, dest, &value);
    if (*place != value) {
        if (!vmrpc_evidence_admits(srv)) {
            vmrpc_park(srv, s, VMRPC_PARKED_SEND);
            return -EAGAIN;
        }
        vmrpc_evidence_open(srv, s, dest, NULL);
        *place = value;
    }
    s->peer_opened |= dest == &peer;
    return 0;
}

/* --- refusals --------------------------------------------------------------- */

void vmrpc_evidence_refused(VmrpcServer *srv, const VmrpcRefusal *refusal)
{
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_REFUSED, .address = refusal->dest,
        .port = refusal->port, .asked = &refusal->name,
        .asked_num = refusal->name && !refusal->is_said,
        .said = refusal->is_said ? refusal->name : NULL, .verdict = "deny",
        .reason = refusal->reason, .error = refusal->error,
        .line = refusal->line, .policy = policy_id(srv),
    };

    /* Of a name that may not be asked there is the line "name". */
    if (!srv->config.audit || (refusal->name && !refusal->dest)) {
        return;
    }
    if (srv->judged) {
        entry.proto = srv->judged->proto;
        entry.has_socket = true;
        entry.socket = srv->judged->handle;
    }
    write_line(srv, &entry);
}

/* --- names ------------------------------------------------------------------ */

void vmrpc_evidence_name(VmrpcServer *srv, const char *name,
                         const DnsQuestion *question, const char *refused,
                         const VmrpcVerdict *why)
{
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_NAME, .name = name, .type = question->type,
        .verdict = refused ? "deny" : "allow", .reason = refused,
        .line = why ? why->line : 0, .policy = policy_id(srv),
    };

    if (!srv->config.audit) {
        return;
    }
    if (srv->judged) {
        entry.has_socket = true;
        entry.socket = srv->judged->handle;
    }
    if (!refused && why && vmrpc_verdict_is_watch(why->reason)) {
        entry.verdict = "watch";
        entry.reason = watched_reason(why->reason);
    }
    write_line(srv, &entry);
}

void vmrpc_evidence_answer(VmrpcServer *srv, const DnsName *asked,
                           const DnsProxyAddress *addrs, size_t num)
{
    struct in6_addr list[DNS_PROXY_MAX_ADDRESSES];
    char name[DNS_NAME_TEXT_MAX] VMRPC_UNINITIALIZED;
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_ANSWER, .name = name, .addresses = list,
        .address_num = MIN(num, G_N_ELEMENTS(list)),
    };

    if (!srv->config.audit) {
        return;
    }
    dns_name_to_text(asked, name);
    for (size_t i = 0; i < entry.address_num; i++) {
        list[i] = addrs[i].addr6;
    }
    write_line(srv, &entry);
}

void vmrpc_evidence_validated(VmrpcServer *srv, const DnsValidated *found)
{
    static const char *const words[] = {
        [VMMNET_DNS_INDETERMINATE] = "indeterminate",
        [VMMNET_DNS_INSECURE] = "insecure",
        [VMMNET_DNS_SECURE] = "secure",
        [VMMNET_DNS_BOGUS_DATA] = "bogus",
    };
    char name[DNS_NAME_TEXT_MAX] VMRPC_UNINITIALIZED;
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_ANSWER, .name = name,
        .type = found->question->type, .security = words[found->security],
    };

    if (srv->config.audit) {
        dns_name_to_text(&found->question->name, name);
        write_line(srv, &entry);
    }
}

/* --- the policy ------------------------------------------------------------- */

void vmrpc_evidence_policy(VmrpcServer *srv, const char *problem)
{
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_POLICY, .policy = policy_id(srv),
        .file = srv->policy_file.name, .problem = problem,
    };

    if (srv->config.audit) {
        write_line(srv, &entry);
    }
}

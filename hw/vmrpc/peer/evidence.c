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
 * ask for an address by it.  Which peers had a line is remembered in a table,
 * with one place for each hash: a peer that another one displaces gets a second
 * line.  A guest can choose handles, generations and addresses of its own with
 * one hash, so the places have the whole addresses, and count sockets
 * themselves.
 */
#include "hw/vmrpc/peer/evidence.h"

#include <errno.h>
#include <string.h>

#include "hw/vmrpc/peer/parked.h"
#include "hw/vmrpc/reach/dest-names.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/wire/uninitialized.h"

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
static VMRPC_LOCKED void begin(VmrpcServer *srv, VmrpcSock *s,
                               const struct sockaddr_storage *peer)
{
    if (!s->opened) {
        s->opened = ++srv->opened_num;
        s->opened_ms = vmrpc_now_ms();
    }
    memcpy(&s->opened_peer, peer, sizeof(s->opened_peer));
    s->open_error = 0;
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
    begin(srv, s, peer);
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
        begin(srv, s, peer);
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
    s->opened = 0;
    write_line(srv, &entry);
}

/* FNV-1a */
static uint64_t hash(uint64_t h, const void *data, size_t len)
{
    const uint8_t *octet = data;

    for (size_t i = 0; i < len; i++) {
        h = (h ^ octet[i]) * UINT64_C(1099511628211);
    }
    return h;
}

/* @dest as an entry of the table, of @s */
static VmrpcAuditPeer entry_of(const VmrpcSock *s,
                               const struct sockaddr_storage *dest)
{
    const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)dest;
    const struct sockaddr_in *sin = (const struct sockaddr_in *)dest;
    VmrpcAuditPeer entry = { .opened = s->opened, .port = sin->sin_port };

    if (dest->ss_family == AF_INET6) {
        entry.addr6 = sin6->sin6_addr;
    } else {
        entry.addr6.s6_addr[10] = entry.addr6.s6_addr[11] = 0xff;
        memcpy(&entry.addr6.s6_addr[12], &sin->sin_addr, 4);
    }
    return entry;
}

static VMRPC_LOCKED VmrpcAuditPeer *place_of(VmrpcServer *srv,
                                             const VmrpcAuditPeer *entry)
{
    uint64_t h = UINT64_C(14695981039346656037);

    h = hash(h, &entry->opened, sizeof(entry->opened));
    h = hash(h, &entry->port, sizeof(entry->port));
    h = hash(h, &entry->addr6, sizeof(entry->addr6));
    return &srv->audit_peers[(h ^ h >> 32) % VMRPC_AUDIT_PEERS];
}

/* Has @dest a line "open" since @s had its first one? */
static VMRPC_LOCKED bool is_known(VmrpcServer *srv, const VmrpcSock *s,
                                  const struct sockaddr_storage *dest)
{
    VmrpcAuditPeer entry = entry_of(s, dest);
    const VmrpcAuditPeer *place = place_of(srv, &entry);

    return s->opened && place->opened == entry.opened &&
           place->port == entry.port &&
           IN6_ARE_ADDR_EQUAL(&place->addr6, &entry.addr6);
}

void vmrpc_evidence_said(VmrpcServer *srv, VmrpcSock *s,
                         const struct sockaddr_storage *peer, VmrpcSays says,
                         const VmrpcSaid *said)
{
    struct sockaddr_storage own;
    VmrpcAuditEntry entry = {
        .event = VMRPC_AUDIT_SAID, .proto = s->proto, .peer = peer ?: &own,
        .has_socket = true, .socket = s->handle, .said = said->name,
        .says = says == VMRPC_SAYS_HTTP ? "http" : "tls",
        .alpn = says != VMRPC_SAYS_HTTP && *said->alpn ? said->alpn : NULL,
    };

    /* Each request of HTTP says it again. */
    if (!peer && g_strcmp0(s->said, said->name) == 0) {
        return;
    }
    if (!peer) {
        peer_of(s, &own);
        g_free(s->said);
        s->said = g_strdup(said->name);
    }
    if (srv->config.audit) {
        write_line(srv, &entry);
    }
}

bool vmrpc_evidence_asks(VmrpcServer *srv, VmrpcSock *s,
                         const struct sockaddr_in *guest)
{
    struct sockaddr_storage host;

    if (vmrpc_evidence_admits(srv) ||
        (vmrpc_addr_to_host(&srv->reach, guest->sin_addr, guest->sin_port,
                            &host) >= 0 && is_known(srv, s, &host))) {
        return true;
    }
    vmrpc_park(srv, s, VMRPC_PARKED_SEND);
    return false;
}

int vmrpc_evidence_sends(VmrpcServer *srv, VmrpcSock *s,
                         const struct sockaddr_storage *dest)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);
    VmrpcAuditPeer entry;

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
        s->decided = s->peer_decided;
    }
    if (!is_known(srv, s, dest)) {
        if (!vmrpc_evidence_admits(srv)) {
            vmrpc_park(srv, s, VMRPC_PARKED_SEND);
            return -EAGAIN;
        }
        vmrpc_evidence_open(srv, s, dest, NULL);
        entry = entry_of(s, dest);
        *place_of(srv, &entry) = entry;
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
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);

    /* Of a name that may not be asked there is the line "name". */
    if (!srv->config.audit || (refusal->name && !refusal->dest)) {
        return;
    }
    if (srv->judged) {
        entry.proto = srv->judged->proto;
        entry.has_socket = true;
        entry.socket = srv->judged->handle;
        /* A budget ends a connection that has begun. */
        if (!refusal->dest && srv->judged->fd >= 0 &&
            getpeername(srv->judged->fd, (struct sockaddr *)&peer, &len) == 0) {
            entry.peer = &peer;
        }
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

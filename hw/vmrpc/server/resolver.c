/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the DNS proxy as the guest's sockets meet it
 *
 * Theory of operation
 * ===================
 *
 * A guest finds a DNS server at resolver4, port 53.  No host socket is on the
 * way to it: a datagram to that address goes straight into the proxy (net/dns),
 * and its answer waits in the guest socket's dns_rx queue for the next RECVMSG.
 * A stream that is connected to it has no host socket at all; its bytes are cut
 * into messages by the two-byte length of RFC 1035, section 4.2.2.
 *
 * Queries that the proxy has no room for wait (resolver-queue.c).  Sockets with
 * such a query take turns, a query each.  The number of queries with the proxy
 * is bounded for the VM and not for a socket, so a program can ask for a
 * thousand names at once.  But one socket may have no more of it than it leaves
 * for the others.
 *
 * Beyond its part, a datagram socket loses queries and answers, as with a full
 * buffer natively: its program asks again.  A stream's sender must wait.  An
 * answer for which there is no memory ends the stream, or its program would
 * wait for ever.
 *
 * Turns are taken in the IOThread (replies, the timer), TURNS at a time.  A
 * call of the guest only sets dns_turn, and with it the timer: it must not
 * raise events of other sockets.
 *
 * The token of a query in the proxy is the socket's handle and generation, not
 * its address: an answer to a socket that is closed is dropped.
 *
 * The upstream's descriptor, which stands for all of its sockets, is in the
 * server's epoll set, level-triggered.
 */
#include "hw/vmrpc/server/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/epoll.h>

#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/reach/report.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/hostsock.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/resolver-queue.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/timer.h"
#include "hw/vmrpc/wire/uninitialized.h"
#include "net/dns/wire/wire.h"

#define DNS_PORT                53

/* The largest query over UDP that is taken; resolvers send some 100 bytes. */
#define DNS_UDP_QUERY_MAX       4096

/* Queries that are handed to the proxy at a time. */
#define TURNS                   64

/* The cache of the servers' replies: entries, and bytes of memory. */
#define CACHE_ENTRIES           4096
#define CACHE_OCTETS            (4 << 20)

/* The TTL of the name of the VM's own address, seconds. */
#define OWN_NAME_TTL_S          300

G_STATIC_ASSERT(sizeof(void *) >= sizeof(uint64_t));
G_STATIC_ASSERT((int)VMRPC_NAMES_MAX_ADDRESSES >=
                (int)DNS_PROXY_MAX_ADDRESSES);

static void *token_of(const VmrpcSock *s)
{
    return (void *)(uintptr_t)((uint64_t)s->gen << 32 | s->handle);
}

static VMRPC_LOCKED VmrpcSock *sock_of(VmrpcServer *srv, void *token)
{
    uint64_t value = (uintptr_t)token;

    return vmrpc_sock_find(srv, value, value >> 32);
}

bool vmrpc_is_resolver(const VmrpcServer *srv, const struct sockaddr_in *addr)
{
    return srv->config.reach.resolver4.s_addr &&
           addr->sin_addr.s_addr == srv->config.reach.resolver4.s_addr &&
           addr->sin_port == htons(DNS_PORT);
}

/* --- callbacks of the proxy --------------------------------------------- */

/* May this be asked? */
static VMRPC_LOCKED int proxy_admit(void *opaque, const DnsQuestion *question,
                                    bool local)
{
    VmrpcServer *srv = opaque;
    char text[DNS_NAME_TEXT_MAX] VMRPC_UNINITIALIZED;
    VmrpcRefusal refusal = { .error = EACCES, .name = text };
    VmrpcVerdict why;
    int ret = 0;

    if (!srv->reach.policy && !srv->config.audit) {
        return 0;
    }
    dns_name_to_text(&question->name, text);
    if (!local) {
        ret = vmrpc_policy_check_name(srv->reach.policy, text, &why);
    }
    if (ret < 0) {
        refusal.reason = vmrpc_verdict_name(why.reason);
        refusal.line = why.line;
        vmrpc_policy_count_name(srv->reach.policy, &why);
        vmrpc_refused(&srv->reach, &refusal, &srv->reach.counters.refused_name);
    } else if (!local &&
               vmrpc_budget_name(srv, why.terms, text, why.line) < 0) {
        refusal.reason = "budget-names";
        ret = -EACCES;
    } else {
        ret = vmrpc_budget_query(srv, text);
        refusal.reason = ret < 0 ? "limit-dns" : NULL;
    }
    vmrpc_evidence_name(srv, text, question, refusal.reason,
                        local ? NULL : &why);
    return ret;
}

/* The policy's rules by name need the names that the guest asked for. */
static VMRPC_LOCKED void proxy_resolved(void *opaque, const DnsName *asked,
                                        const DnsProxyAddress *addrs,
                                        size_t num)
{
    VmrpcNameAddr noted[VMRPC_NAMES_MAX_ADDRESSES] VMRPC_UNINITIALIZED;
    VmrpcServer *srv = opaque;

    for (size_t i = 0; i < num; i++) {
        noted[i].addr6 = addrs[i].addr6;
        noted[i].ttl_s = addrs[i].ttl;
    }
    vmrpc_names_note(srv->reach.names, asked, noted, num, vmrpc_now_ms());
    vmrpc_evidence_answer(srv, asked, addrs, num);
}

/* So does the comparison with what it says. */
static VMRPC_LOCKED bool proxy_compares(void *opaque)
{
    VmrpcServer *srv = opaque;

    return vmrpc_policy_compares(srv->reach.policy);
}

static VMRPC_LOCKED void proxy_leads_on(void *opaque, const DnsName *asked,
                                        const DnsName *target)
{
    VmrpcServer *srv = opaque;

    if (!srv->reach.targets) {
        srv->reach.targets = vmrpc_targets_new();
    }
    if (srv->reach.targets) {
        vmrpc_targets_note(srv->reach.targets, asked, target);
    }
}

static VMRPC_LOCKED int proxy_map(void *opaque, const struct in6_addr *addr6,
                                  uint32_t ttl, struct in_addr *addr4,
                                  uint32_t *lease)
{
    VmrpcServer *srv = opaque;

    /* The VM's own name: its traffic stays inside. */
    if (srv->config.reach.has_address6 &&
        IN6_ARE_ADDR_EQUAL(addr6, &srv->config.reach.address6)) {
        *addr4 = srv->config.reach.guest4;
        *lease = ttl;
        return 0;
    }
    /* Made by a DNS64: datagrams come from the IPv4 address inside it. */
    if (vmrpc_nat64_peer(&srv->reach, addr6, addr4)) {
        *lease = ttl;
        return 0;
    }
    /* A TTL of 0 is for peers that no name led to, which come and go. */
    return vmrpc_addrmap_lease(srv->reach.map, addr6, MAX(ttl, 1),
                               vmrpc_now_ms(), addr4, lease);
}

static VMRPC_LOCKED int proxy_unmap(void *opaque, struct in_addr addr4,
                                    struct in6_addr *addr6, uint32_t *lease)
{
    VmrpcServer *srv = opaque;
    struct in_addr same;

    if (srv->config.reach.has_address6 &&
        addr4.s_addr == srv->config.reach.guest4.s_addr) {
        *addr6 = srv->config.reach.address6;
        *lease = OWN_NAME_TTL_S;
        return 0;
    }
    if (!vmrpc_addrmap_contains(srv->reach.map, addr4)) {
        return -ERANGE;
    }
    if (vmrpc_addrmap_lookup4(srv->reach.map, addr4, addr6) < 0) {
        return -ENOENT;
    }
    return vmrpc_addrmap_lease(srv->reach.map, addr6, 0, vmrpc_now_ms(), &same,
                               lease);
}

/* Do two prefixes, of @a_bits and @b_bits bits, overlap? */
static bool is_same_net(struct in_addr a, unsigned a_bits, struct in_addr b,
                        unsigned b_bits)
{
    unsigned bits = MIN(a_bits, b_bits);

    return !bits || !((ntohl(a.s_addr) ^ ntohl(b.s_addr)) >> (32 - bits));
}

/* Names that proxy_unmap() has, and those of the images */
static bool proxy_is_above(void *opaque, const DnsName *name)
{
    const VmrpcServer *srv = opaque;
    const VmrpcReachConfig *config = &srv->config.reach;
    struct in_addr prefix;
    unsigned bits;

    if (dns_name_to_in_prefix(name, &prefix, &bits) && bits < 32 &&
        (is_same_net(prefix, bits, config->pool4, config->pool4_prefix) ||
         (config->has_address6 &&
          is_same_net(prefix, bits, config->guest4, 32)))) {
        return true;
    }
    return srv->own_zones && dns_own_zones_is_above(srv->own_zones, name);
}

/* Is @addr6 private, and may @asked not lead there? */
static VMRPC_LOCKED bool is_rebound(VmrpcServer *srv, const DnsName *asked,
                                    const struct in6_addr *addr6,
                                    unsigned *line)
{
    char text[DNS_NAME_TEXT_MAX] VMRPC_UNINITIALIZED;

    if (!vmrpc_policy_has_private(srv->reach.policy)) {
        return false;
    }
    dns_name_to_text(asked, text);
    return vmrpc_addr_is_private(&srv->reach, addr6, text, line);
}

static VMRPC_LOCKED int proxy_usable(void *opaque, const DnsName *asked,
                                     const struct in6_addr *addr6)
{
    unsigned line;

    if (IN6_IS_ADDR_UNSPECIFIED(addr6) || IN6_IS_ADDR_LOOPBACK(addr6) ||
        IN6_IS_ADDR_LINKLOCAL(addr6) || IN6_IS_ADDR_MULTICAST(addr6) ||
        IN6_IS_ADDR_V4MAPPED(addr6) || IN6_IS_ADDR_V4COMPAT(addr6)) {
        return -ENETUNREACH;
    }
    return is_rebound(opaque, asked, addr6, &line) ? -EACCES : 0;
}

static VMRPC_LOCKED int proxy_usable4(void *opaque, const DnsName *asked,
                                      struct in_addr addr4)
{
    const struct in6_addr addr6 = vmrpc_names_key4(addr4);
    VmrpcServer *srv = opaque;
    unsigned line;

    if (!vmrpc_addr_nat64_eligible(&srv->reach, addr4)) {
        if (vmrpc_addrmap_contains(srv->reach.map, addr4)) {
            vmrpc_pool_in_answer(&srv->reach, addr4, asked);
        }
        return -ENETUNREACH;
    }
    return is_rebound(srv, asked, &addr6, &line) ? -EACCES : 0;
}

/* Counts and traces an address that was removed from an answer. */
static VMRPC_LOCKED void proxy_withheld(void *opaque, const DnsName *asked,
                                        const struct in6_addr *addr6,
                                        int error)
{
    VmrpcServer *srv = opaque;
    char dest[INET6_ADDRSTRLEN], name[DNS_NAME_TEXT_MAX];
    VmrpcRefusal refusal = { .error = -error, .dest = dest, .name = name };
    uint64_t *counter, of_proxy = 0;    /* the proxy counts unusable ones */

    inet_ntop(AF_INET6, addr6, dest, sizeof(dest));
    dns_name_to_text(asked, name);
    if (error == -EACCES) {
        is_rebound(srv, asked, addr6, &refusal.line);
        refusal.reason = "private-address";
        counter = &srv->reach.counters.refused_private;
    } else {
        refusal.reason = "unusable-address";
        counter = &of_proxy;
    }
    vmrpc_refused(&srv->reach, &refusal, counter);
}

/* Traces a query that cannot be understood; the proxy counts it. */
static VMRPC_LOCKED void proxy_rejected(void *opaque, DnsRcode rcode)
{
    VmrpcServer *srv = opaque;
    VmrpcRefusal refusal = {
        .reason = rcode == DNS_RCODE_REFUSED ? "dns-kind" : "dns-malformed",
    };
    uint64_t of_proxy = 0;

    vmrpc_refused(&srv->reach, &refusal, &of_proxy);
}

static bool proxy_nat64_available(void *opaque)
{
    VmrpcServer *srv = opaque;

    return vmrpc_nat64_in_use(&srv->reach.nat64);
}

static VMRPC_LOCKED bool proxy_hides_ech(void *opaque)
{
    VmrpcServer *srv = opaque;

    return vmrpc_policy_hides_ech(srv->reach.policy);
}

static bool proxy_uses_ipv6(void *opaque)
{
    VmrpcServer *srv = opaque;

    return srv->has_inet6;
}

static int64_t proxy_now_ms(void *opaque)
{
    return vmrpc_now_ms();
}

/* The proxy cannot go on with a stream: to the guest, it has hung up. */
static void break_off(VmrpcSock *s)
{
    s->shut_rd = true;
    s->shut_wr = true;
}

static VMRPC_LOCKED void proxy_answer(void *opaque, void *token,
                                      const uint8_t *msg, size_t len)
{
    VmrpcServer *srv = opaque;
    VmrpcSock *s = sock_of(srv, token);

    if (!s) {
        return;
    }
    s->dns_out--;
    if (!vmrpc_dns_push_answer(srv, s, msg, len)) {
        srv->counters.dropped_dns_queue_full++;
        if (vmrpc_dns_is_stream(s)) {
            break_off(s);
            vmrpc_sock_notify(srv, s);
        }
        return;
    }
    /* With EPOLLET, each datagram is an event, as natively. */
    s->edge_event |= s->edge;
    vmrpc_sock_notify(srv, s);
}

static const DnsProxyOps proxy_ops = {
    .admit = proxy_admit,
    .resolved = proxy_resolved,
    .compares = proxy_compares,
    .leads_on = proxy_leads_on,
    .map = proxy_map,
    .unmap = proxy_unmap,
    .is_above = proxy_is_above,
    .usable = proxy_usable,
    .usable4 = proxy_usable4,
    .withheld = proxy_withheld,
    .rejected = proxy_rejected,
    .nat64_available = proxy_nat64_available,
    .hides_ech = proxy_hides_ech,
    .uses_ipv6 = proxy_uses_ipv6,
    .answer = proxy_answer,
    .now_ms = proxy_now_ms,
};

/* --- timers ------------------------------------------------------------- */

int vmrpc_resolver_timeout_ms(VmrpcServer *srv)
{
    if (!srv->dns_proxy) {
        return -1;
    }
    if (srv->dns_turn) {
        return 0;
    }
    return vmrpc_earlier(dns_upstream_timeout_ms(srv->dns_upstream),
                         dns_proxy_timeout_ms(srv->dns_proxy));
}

/* --- queries that wait --------------------------------------------------- */

/* How many queries can be added; each needs two upstream. */
static VMRPC_LOCKED size_t room(VmrpcServer *srv)
{
    if (!vmrpc_evidence_admits(srv)) {
        return 0;
    }
    return MIN(dns_proxy_room(srv->dns_proxy),
               dns_upstream_room(srv->dns_upstream) / 2);
}

static VMRPC_LOCKED bool may_ask(VmrpcServer *srv, const VmrpcSock *s)
{
    return s->dns_out < room(srv);
}

/* Does the proxy answer it, if only with an error? */
static bool is_query(const uint8_t *msg, size_t len)
{
    return len >= DNS_HEADER_LEN && !(msg[2] & 0x80);
}

/* Returns true if no timeout of the proxy has changed. */
static VMRPC_LOCKED bool ask_proxy(VmrpcServer *srv, VmrpcSock *s,
                                   const uint8_t *msg, size_t len)
{
    /* Before the proxy answers from memory what former servers have said */
    bool moved = dns_upstream_follow(srv->dns_upstream);
    bool same;

    s->dns_out += is_query(msg, len);
    srv->judged = s;
    same = dns_proxy_query(srv->dns_proxy, msg, len,
                           vmrpc_dns_is_stream(s) ? DNS_TRANSPORT_TCP
                                                  : DNS_TRANSPORT_UDP,
                           token_of(s)) && !moved;
    srv->judged = NULL;
    return same;
}

/* Hands over the first message of dns_tx.  Returns false if it must wait. */
static VMRPC_LOCKED bool ask_first(VmrpcServer *srv, VmrpcSock *s)
{
    const uint8_t *msg;
    size_t len;

    if (!vmrpc_dns_wants_turn(s) || !may_ask(srv, s) ||
        !vmrpc_dns_first(s, &msg, &len)) {
        return false;
    }
    ask_proxy(srv, s, msg, len);
    vmrpc_dns_consume(srv, s, 2 + len);
    return true;
}

/* Hands over what is in dns_tx, unless @s waits for its turn. */
static VMRPC_LOCKED void ask_some(VmrpcServer *srv, VmrpcSock *s)
{
    unsigned n = 0;

    if (s->dns_waits) {
        return;
    }
    while (n < TURNS && ask_first(srv, s)) {
        n++;
    }
    vmrpc_dns_join_queue(srv, s);
    srv->dns_turn |= n == TURNS;
}

/* Sockets that wait, in turn.  Only in the IOThread: it raises events. */
static VMRPC_LOCKED void take_turns(VmrpcServer *srv)
{
    bool asked = false;
    VmrpcSock *s;

    for (unsigned n = 0; n < TURNS && room(srv) &&
                         (s = g_queue_peek_head(&srv->dns_wait)); n++) {
        vmrpc_dns_leave_queue(srv, s);
        if (ask_first(srv, s)) {
            srv->counters.queries_waited++;
            asked = true;
        }
        vmrpc_dns_join_queue(srv, s);
        /* There may be room to send again, or the stream is over. */
        vmrpc_sock_notify(srv, s);
    }
    srv->dns_turn = asked && srv->dns_wait.length && room(srv);
}

/* --- events -------------------------------------------------------------- */

void vmrpc_resolver_process_fd(VmrpcServer *srv)
{
    dns_upstream_process(srv->dns_upstream);
    take_turns(srv);
    vmrpc_timer_rearm(srv);
}

void vmrpc_resolver_process_timer(VmrpcServer *srv)
{
    if (!srv->dns_proxy) {
        return;
    }
    dns_upstream_process(srv->dns_upstream);
    dns_proxy_process_timeouts(srv->dns_proxy);
    take_turns(srv);
}

void vmrpc_resolver_forget(VmrpcServer *srv)
{
    if (srv->dns_proxy) {
        dns_proxy_forget(srv->dns_proxy);
    }
}

/* --- the guest's side --------------------------------------------------- */

/* A datagram waits behind those of its socket, or is dropped. */
static VMRPC_LOCKED void wait_datagram(VmrpcServer *srv, VmrpcSock *s,
                                       const uint8_t *query, size_t len)
{
    if (!vmrpc_dns_append_datagram(srv, s, query, len)) {
        srv->counters.dropped_dns_wait_full++;
        return;
    }
    vmrpc_dns_join_queue(srv, s);
}

static VMRPC_LOCKED ssize_t send_datagram(VmrpcServer *srv, VmrpcSock *s,
                                          VmrpcCall *call)
{
    uint8_t query[DNS_UDP_QUERY_MAX] VMRPC_UNINITIALIZED;

    /* No DNS server would answer it: drop it. */
    if (call->out_len > sizeof(query)) {
        return call->out_len;
    }
    vmrpc_call_read(call, query, sizeof(query));
    if (s->dns_waits || !may_ask(srv, s)) {
        wait_datagram(srv, s, query, call->out_len);
    } else if (ask_proxy(srv, s, query, call->out_len)) {
        return call->out_len;
    }
    vmrpc_timer_rearm(srv);
    return call->out_len;
}

static VMRPC_LOCKED ssize_t send_stream(VmrpcServer *srv, VmrpcSock *s,
                                        VmrpcCall *call)
{
    uint8_t *space;
    size_t len;

    if (s->shut_wr) {
        return -EPIPE;
    }
    if (!(vmrpc_dns_stream_ready(s) & VMRPC_OUT)) {
        return -EAGAIN;
    }
    len = MIN(call->out_len, vmrpc_dns_stream_room(s));
    if (!len) {
        return 0;
    }
    space = vmrpc_dns_append_bytes(srv, s, len);
    if (!space) {
        return -ENOBUFS;
    }
    vmrpc_call_read(call, space, len);
    ask_some(srv, s);
    vmrpc_timer_rearm(srv);
    return len;
}

ssize_t vmrpc_resolver_send(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    if (s->type == SOCK_DGRAM) {
        return s->shut_wr ? -EPIPE : send_datagram(srv, s, call);
    }
    return send_stream(srv, s, call);
}

static VMRPC_LOCKED ssize_t recv_datagram(VmrpcServer *srv, VmrpcSock *s,
                                          VmrpcCall *call, int flags)
{
    gsize len;
    const void *data = g_bytes_get_data(s->dns_rx.head->data, &len);
    size_t copied = vmrpc_call_write(call, 0, data, len);

    if (copied < len) {
        call->msg_flags |= MSG_TRUNC;
    }
    call->result.sin_family = AF_INET;
    call->result.sin_addr = srv->config.reach.resolver4;
    call->result.sin_port = htons(DNS_PORT);
    if (!(flags & MSG_PEEK)) {
        vmrpc_dns_pop_answer(srv, s);
    }
    return flags & MSG_TRUNC ? len : copied;
}

static VMRPC_LOCKED ssize_t recv_stream(VmrpcServer *srv, VmrpcSock *s,
                                        VmrpcCall *call, int flags)
{
    size_t done = 0;

    while (s->dns_rx.length && done < call->in_len) {
        gsize len;
        const uint8_t *data = g_bytes_get_data(s->dns_rx.head->data, &len);
        size_t part = MIN(len - s->dns_rx_offset, call->in_len - done);

        vmrpc_call_write(call, done, data + s->dns_rx_offset, part);
        done += part;
        if (flags & MSG_PEEK) {
            break;
        }
        s->dns_rx_offset += part;
        if (s->dns_rx_offset == len) {
            vmrpc_dns_pop_answer(srv, s);
        }
    }
    if (!(flags & MSG_PEEK)) {
        ask_some(srv, s);
        vmrpc_timer_rearm(srv);
    }
    return done;
}

ssize_t vmrpc_resolver_recv(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call,
                            int flags)
{
    if (s->dns_rx.length && !(flags & MSG_ERRQUEUE)) {
        return vmrpc_dns_is_stream(s) ? recv_stream(srv, s, call, flags)
                                      : recv_datagram(srv, s, call, flags);
    }
    /* After SHUT_RD there is nothing to wait for. */
    return s->shut_rd || vmrpc_dns_is_over(s) ? 0 : -EAGAIN;
}

/* A stream that has a peer, or has had one. */
static int admit(VmrpcServer *srv, VmrpcSock *s, unsigned op)
{
    switch (op) {
    case VMRPC_BIND:
    case VMRPC_LISTEN:
        return -EINVAL;
    case VMRPC_CONNECT:
        return -EISCONN;
    default:
        return 0;
    }
}

const VmrpcBackingOps vmrpc_resolver_backing = {
    .kind = VMRPC_BACKING_RESOLVER,
    .admit = admit,
    .ready = vmrpc_dns_stream_ready,
};

void vmrpc_resolver_attach(VmrpcServer *srv, VmrpcSock *s)
{
    vmrpc_sock_close_host(srv, s);
    s->ready = 0;               /* that was the host socket's */
    vmrpc_sock_set_backing(srv, s, &vmrpc_resolver_backing);
}

void vmrpc_resolver_detach(VmrpcServer *srv, VmrpcSock *s)
{
    if (srv->dns_proxy && s->dns_out) {
        dns_proxy_cancel(srv->dns_proxy, token_of(s));
    }
    vmrpc_dns_clear(srv, s);
    /* Others can have its part now. */
    if (srv->dns_wait.length) {
        srv->dns_turn = true;
        vmrpc_timer_rearm(srv);
    }
}

/* --- life --------------------------------------------------------------- */

static bool parse_servers(const char *const *names, DnsServer *servers,
                          size_t *count, GError **errp)
{
    *count = names ? g_strv_length((char **)names) : 0;
    if (*count > DNS_UPSTREAM_MAX_SERVERS) {
        g_autofree char *value = g_strjoinv("+", (char **)names);

        g_set_error(errp, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "dns=%s: these are %zu servers, no more than %d can be "
                    "asked", value, *count, DNS_UPSTREAM_MAX_SERVERS);
        return false;
    }
    for (size_t i = 0; i < *count; i++) {
        if (!dns_server_parse(names[i], &servers[i], errp)) {
            g_prefix_error(errp, "dns=%s: ", names[i]);
            return false;
        }
    }
    return true;
}

static VMRPC_LOCKED void on_validated(void *opaque, const DnsValidated *found)
{
    VmrpcServer *srv = opaque;

    vmrpc_evidence_validated(srv, found);
    if (srv->tracer.validated) {
        srv->tracer.validated(srv->tracer.opaque, found);
    }
}

static void on_validator_news(void *opaque, const char *trouble)
{
    VmrpcServer *srv = opaque;

    if (srv->tracer.validator) {
        srv->tracer.validator(srv->tracer.opaque, trouble);
    }
}

static void tell_servers(VmrpcServer *srv, const char *error)
{
    if (srv->tracer.servers) {
        srv->tracer.servers(srv->tracer.opaque,
                            dns_upstream_origin(srv->dns_upstream), error);
    }
}

/* Other servers may be in another network: ask for its NAT64 prefix, too. */
static VMRPC_LOCKED void on_moved(void *opaque, const char *error)
{
    VmrpcServer *srv = opaque;

    if (!error) {
        dns_proxy_forget(srv->dns_proxy);
        srv->nat64_due_ms = 0;
    }
    tell_servers(srv, error);
}

const DnsOrigin *vmrpc_resolver_origin(VmrpcServer *srv)
{
    if (!srv->dns_proxy) {
        return NULL;
    }
    if (dns_upstream_follow(srv->dns_upstream)) {
        vmrpc_timer_rearm(srv);
    }
    return dns_upstream_origin(srv->dns_upstream);
}

void vmrpc_resolver_tell_servers(VmrpcServer *srv)
{
    const DnsOrigin *origin = srv->dns_upstream
                              ? dns_upstream_origin(srv->dns_upstream) : NULL;
    bool is_whole = true;

    for (size_t i = 0; origin && i < origin->list.count; i++) {
        is_whole &= !dnsc_list_is_absent(&origin->list, i);
    }
    if (origin && (origin->from == DNS_SERVERS_LOOPBACK || !is_whole)) {
        tell_servers(srv, NULL);
    }
}

static bool make_upstream(VmrpcServer *srv, GError **errp)
{
    struct epoll_event ev = { .events = EPOLLIN,
                              .data.u64 = VMRPC_EPOLL_DNS };
    DnsServer servers[DNS_UPSTREAM_MAX_SERVERS];
    const VmrpcReachConfig *reach = &srv->config.reach;
    DnsUpstreamOptions options = {
        .servers = servers,
        .bind6 = reach->has_address6 ? &reach->address6 : NULL,
        .cache_entries = CACHE_ENTRIES,
        .cache_octets = CACHE_OCTETS,
        .dnssec = srv->config.dnssec,
        .validator = srv->config.validator,
        .validator_news = on_validator_news,
        .validated = on_validated,
        .moved = on_moved,
        .opaque = srv,
    };

    if (!parse_servers(srv->config.dns, servers, &options.count, errp)) {
        return false;
    }
    srv->dns_upstream = dns_upstream_new(&options, errp);
    if (!srv->dns_upstream) {
        return false;
    }
    if (epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD,
                  dns_upstream_fd(srv->dns_upstream), &ev) < 0) {
        g_set_error(errp, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_SYSTEM,
                    "cannot set up DNS queries: %s", g_strerror(errno));
        return false;
    }
    return true;
}

int vmrpc_resolver_init(VmrpcServer *srv, GError **errp)
{
    if (!srv->config.reach.resolver4.s_addr) {
        return 0;
    }
    if (!srv->config.reach.translate) {
        /* There is no map, from which virtual addresses would come. */
        g_set_error(errp, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "resolver4 has no use with translate=off");
        return -EINVAL;
    }
    if (!make_upstream(srv, errp)) {
        return -EINVAL;
    }
    if (srv->config.zones) {
        srv->own_zones = dns_own_zones_new(&dns_upstream_ops,
                                           srv->dns_upstream);
    }
    srv->dns_proxy = srv->own_zones
                     ? dns_proxy_new(&proxy_ops, srv, &dns_own_zones_ops,
                                     srv->own_zones)
                     : dns_proxy_new(&proxy_ops, srv, &dns_upstream_ops,
                                     srv->dns_upstream);
    vmrpc_timer_rearm(srv);
    return 0;
}

void vmrpc_resolver_cleanup(VmrpcServer *srv)
{
    if (srv->dns_proxy) {
        dns_proxy_free(srv->dns_proxy);
    }
    dns_own_zones_free(srv->own_zones);
    if (srv->dns_upstream) {
        dns_upstream_ops.cancel(srv->dns_upstream, srv, srv->nat64_request);
        dns_upstream_free(srv->dns_upstream);
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the DNS proxy as the guest's sockets meet it
 *
 * Theory of operation
 * ===================
 *
 * A guest finds a DNS server at resolver4, port 53.  There is no socket on
 * the way to it: a datagram to that address goes straight into the proxy
 * (net/dns), and its answer waits in the guest socket's dns_rx queue for the
 * next RECVMSG.  A stream connected to it has no host socket at all; its
 * bytes are cut into messages by the two-byte length of RFC 1035 section
 * 4.2.2.
 *
 * Queries that the proxy has no room for wait in dns_tx, where datagrams have
 * such a length as well.  Sockets with a query there are in the server's
 * dns_wait and take turns, a query each.  Bounds are of the VM and not of a
 * socket: who asks for a thousand names at once has them.  But one socket may
 * have no more of anything (queries with the proxy, memory for queries and for
 * answers) than is left for the others.  So one that takes all it can leaves
 * half, the next of that kind half of that, and who has least has what becomes
 * free.
 *
 * Beyond its part, a datagram socket loses what it sends or what is answered,
 * as a full buffer does natively: its program asks again.  A stream's sender is
 * held up.  An answer for which there is no memory ends the stream, or its
 * program would wait for ever.
 *
 * Turns are given where the IOThread comes by (replies, the
 * timer), TURNS at a time.  Calls of the guest only set dns_turn, and with it
 * the timer: the events of other sockets are not theirs to tell.
 *
 * The token of a query in the proxy is the socket's handle and generation,
 * not its address, so an answer that comes after the socket has gone finds
 * nobody.
 *
 * The upstream's descriptor, which stands for all of its sockets, is in the
 * server's epoll set, level-triggered, and a timerfd in the same set stands for
 * both timeouts.
 */
#include "hw/vmrpc/server/server-internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "hw/vmrpc/reach/policy-hits.h"
#include "net/dns/nat64-discovery.h"
#include "net/dns/wire.h"

#define DNS_PORT                53

/* The largest query over UDP that is taken; resolvers send some 100 bytes. */
#define DNS_UDP_QUERY_MAX       4096

/* Bytes of a stream's answers that may wait for the guest. */
#define DNS_STREAM_RX_MAX       (256 * 1024)

/* Bytes of a stream that may wait for the proxy. */
#define DNS_STREAM_TX_MAX       (2 + 65535)

/* Queries that are handed to the proxy at a time. */
#define TURNS                   64

/* Replies of the servers that are remembered, and the memory that they take. */
#define CACHE_ENTRIES           4096
#define CACHE_OCTETS            (4 << 20)

/* For how long the VM's own address has its name. */
#define OWN_NAME_TTL_S          300

/* What an answer in a queue takes beside its bytes, roughly. */
#define ANSWER_OVERHEAD         128

/*
 * When to ask for the NAT64 prefix again, milliseconds.  Whatever the TTL, a
 * prefix that has changed is found within a day: it can be one of 68 years.
 */
#define NAT64_RETRY_MS          10000
#define NAT64_REFRESH_MIN_MS    60000
#define NAT64_REFRESH_MAX_MS    (24 * 3600 * 1000)
#define NAT64_UNUSED_MS         (10 * 60 * 1000)    /* none is waited for */

G_STATIC_ASSERT(sizeof(void *) >= sizeof(uint64_t));
G_STATIC_ASSERT((int)VMRPC_NAMES_MAX_ADDRESSES >=
                (int)DNS_PROXY_MAX_ADDRESSES);

static void *token_of(const VmrpcSock *s)
{
    return (void *)(uintptr_t)((uint64_t)s->gen << 32 | s->handle);
}

static VmrpcSock *sock_of(VmrpcServer *srv, void *token)
{
    uint64_t value = (uintptr_t)token;

    return vmrpc_sock_find(srv, value, value >> 32);
}

static bool is_stream(const VmrpcSock *s)
{
    return s->backing == VMRPC_BACKING_RESOLVER;
}

bool vmrpc_is_resolver(const VmrpcServer *srv, const struct sockaddr_in *addr)
{
    return srv->config.reach.resolver4.s_addr &&
           addr->sin_addr.s_addr == srv->config.reach.resolver4.s_addr &&
           addr->sin_port == htons(DNS_PORT);
}

/* --- what the proxy asks of us ------------------------------------------ */

/* May this be asked? */
static int proxy_admit(void *opaque, const DnsQuestion *question, bool local)
{
    VmrpcServer *srv = opaque;
    char text[DNS_NAME_TEXT_MAX] VMRPC_UNINITIALIZED;
    VmrpcRefusal refusal = { .name = text };
    VmrpcVerdict why;

    if (!srv->reach.policy) {
        return 0;
    }
    dns_name_to_text(&question->name, text);
    if (!local && vmrpc_policy_check_name(srv->reach.policy, text, &why) < 0) {
        refusal.reason = vmrpc_verdict_name(why.reason);
        refusal.line = why.line;
        vmrpc_policy_count_name(srv->reach.policy, &why);
        vmrpc_refused(&srv->reach, &refusal, &srv->reach.counters.refused_name);
        return -EACCES;
    }
    return vmrpc_budget_query(srv, text);
}

/* The policy by name lives from what the guest asked. */
static void proxy_resolved(void *opaque, const DnsName *asked,
                           const DnsProxyAddress *addrs, size_t num)
{
    VmrpcNameAddr noted[VMRPC_NAMES_MAX_ADDRESSES] VMRPC_UNINITIALIZED;
    VmrpcServer *srv = opaque;

    for (size_t i = 0; i < num; i++) {
        noted[i].addr6 = addrs[i].addr6;
        noted[i].ttl_s = addrs[i].ttl;
    }
    vmrpc_names_note(srv->reach.names, asked, noted, num, vmrpc_now_ms());
}

static int proxy_map(void *opaque, const struct in6_addr *addr6, uint32_t ttl,
                     struct in_addr *addr4, uint32_t *lease)
{
    VmrpcServer *srv = opaque;

    /* The VM's own name: its traffic stays inside. */
    if (srv->config.reach.has_address6 &&
        IN6_ARE_ADDR_EQUAL(addr6, &srv->config.reach.address6)) {
        *addr4 = srv->config.reach.guest4;
        *lease = ttl;
        return 0;
    }
    /* A DNS64 has made it: its datagrams come from the address behind. */
    if (vmrpc_nat64_peer(&srv->reach, addr6, addr4)) {
        *lease = ttl;
        return 0;
    }
    /* Without a TTL it would be a stranger's. */
    return vmrpc_addrmap_lease(srv->reach.map, addr6, MAX(ttl, 1),
                               vmrpc_now_ms(), addr4, lease);
}

static int proxy_unmap(void *opaque, struct in_addr addr4,
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

/* Have two prefixes of so many bits an address in common? */
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

/* Is it private, and of a name that may not lead there? */
static bool is_rebound(VmrpcServer *srv, const DnsName *asked,
                       const struct in6_addr *addr6, unsigned *line)
{
    char text[DNS_NAME_TEXT_MAX] VMRPC_UNINITIALIZED;

    if (!vmrpc_policy_has_private(srv->reach.policy)) {
        return false;
    }
    dns_name_to_text(asked, text);
    return vmrpc_addr_is_private(&srv->reach, addr6, text, line);
}

static int proxy_usable(void *opaque, const DnsName *asked,
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

static int proxy_usable4(void *opaque, const DnsName *asked,
                         struct in_addr addr4)
{
    const struct in6_addr addr6 = vmrpc_names_key4(addr4);
    VmrpcServer *srv = opaque;
    unsigned line;

    if (!vmrpc_addr_nat64_eligible(&srv->reach, addr4)) {
        return -ENETUNREACH;
    }
    return is_rebound(srv, asked, &addr6, &line) ? -EACCES : 0;
}

/* Tells of an address that the guest is not told. */
static void proxy_blocked(void *opaque, const DnsName *asked,
                          const struct in6_addr *addr6)
{
    VmrpcServer *srv = opaque;
    char dest[INET6_ADDRSTRLEN], name[DNS_NAME_TEXT_MAX];
    VmrpcRefusal refusal = {
        .dest = dest, .name = name, .reason = "private-address",
    };

    inet_ntop(AF_INET6, addr6, dest, sizeof(dest));
    dns_name_to_text(asked, name);
    is_rebound(srv, asked, addr6, &refusal.line);
    vmrpc_refused(&srv->reach, &refusal, &srv->reach.counters.refused_private);
}

static bool proxy_nat64_available(void *opaque)
{
    VmrpcServer *srv = opaque;

    return vmrpc_nat64_in_use(&srv->reach.nat64);
}

static int64_t proxy_now_ms(void *opaque)
{
    return vmrpc_now_ms();
}

/* The part of @s in the memory that VMRPC_DNS_BYTES_MAX bounds */
static size_t held(const VmrpcSock *s)
{
    return s->dns_rx_bytes + s->dns_rx.length * ANSWER_OVERHEAD +
           (is_stream(s) ? vmrpc_resolver_unsent(s) : 0);
}

/*
 * May who has @own of what all have @all of, at most @max, have @more?  Not
 * more than is left for the others.
 */
static bool is_fair(size_t own, size_t all, size_t max, size_t more)
{
    return own + all + more <= max;
}

/* The peer of a stream cannot go on with it: to the guest, it has hung up. */
static void break_off(VmrpcSock *s)
{
    s->shut_rd = true;
    s->shut_wr = true;
}

static void proxy_answer(void *opaque, void *token, const uint8_t *msg,
                         size_t len)
{
    VmrpcServer *srv = opaque;
    VmrpcSock *s = sock_of(srv, token);
    size_t prefix;
    uint8_t *copy;

    if (!s) {
        return;
    }
    prefix = is_stream(s) ? 2 : 0;
    s->dns_out--;
    if (!is_fair(held(s), srv->dns_bytes, VMRPC_DNS_BYTES_MAX,
                 prefix + len + ANSWER_OVERHEAD)) {
        srv->counters.dropped_dns_queue_full++;
        if (is_stream(s)) {
            break_off(s);
            vmrpc_sock_notify(srv, s);
        }
        return;
    }
    copy = g_malloc(prefix + len);
    if (prefix) {
        copy[0] = len >> 8;
        copy[1] = len;
    }
    memcpy(copy + prefix, msg, len);
    g_queue_push_tail(&s->dns_rx, g_bytes_new_take(copy, prefix + len));
    s->dns_rx_bytes += prefix + len;
    srv->dns_bytes += prefix + len + ANSWER_OVERHEAD;
    /* Natively each datagram is an event for who asked for edges. */
    s->news |= s->edge;
    vmrpc_sock_notify(srv, s);
}

static const DnsProxyOps proxy_ops = {
    .admit = proxy_admit,
    .resolved = proxy_resolved,
    .map = proxy_map,
    .unmap = proxy_unmap,
    .is_above = proxy_is_above,
    .usable = proxy_usable,
    .usable4 = proxy_usable4,
    .blocked = proxy_blocked,
    .nat64_available = proxy_nat64_available,
    .answer = proxy_answer,
    .now_ms = proxy_now_ms,
};

/* --- timers ------------------------------------------------------------- */

static int nat64_timeout_ms(const VmrpcServer *srv)
{
    int64_t left;

    if (srv->nat64_asking) {
        return -1;
    }
    left = srv->nat64_due_ms - vmrpc_now_ms();
    return CLAMP(left, 0, NAT64_REFRESH_MAX_MS);
}

int vmrpc_resolver_timeout_ms(VmrpcServer *srv)
{
    int ms;

    if (!srv->dns_proxy) {
        return -1;
    }
    if (srv->dns_turn) {
        return 0;
    }
    ms = vmrpc_earlier(dns_upstream_timeout_ms(srv->dns_upstream),
                       dns_proxy_timeout_ms(srv->dns_proxy));
    return vmrpc_earlier(ms, nat64_timeout_ms(srv));
}

/*
 * --- NAT64 prefix discovery (RFC 7050) ----------------------------------
 *
 * Also if none is to be used, or another: names lead through a translator
 * whatever the options, and the policy has to know who is behind it.
 */

static void take_prefixes(VmrpcServer *srv, const DnsNat64Prefix *found,
                          unsigned num)
{
    Nat64Prefix prefixes[VMRPC_NAT64_MAX];
    unsigned good = 0;

    dns_proxy_forget(srv->dns_proxy);
    for (unsigned i = 0; i < num; i++) {
        good += nat64_prefix_init(&prefixes[good], &found[i].prefix,
                                  found[i].len, NULL);
    }
    if (vmrpc_reach_nat64_found(&srv->reach, prefixes, good,
                                srv->config.nat64_mode == VMRPC_NAT64_AUTO)) {
        vmrpc_nat64_moved(srv);
    }
}

static void nat64_reply(void *opaque, uint64_t request,
                        DnsUpstreamStatus status, const uint8_t *msg,
                        size_t len)
{
    VmrpcServer *srv = opaque;
    DnsNat64Prefix found[VMRPC_NAT64_MAX];
    bool used = srv->config.nat64_mode == VMRPC_NAT64_AUTO;
    int64_t wait_ms = used ? NAT64_RETRY_MS : NAT64_REFRESH_MIN_MS;
    int ret = -EAGAIN;

    srv->nat64_asking = false;
    if (status == DNS_UPSTREAM_OK) {
        ret = dns_nat64_discover(msg, len, &srv->reach.nat64.prefix[0], found,
                                 G_N_ELEMENTS(found));
    }
    if (ret > 0) {
        take_prefixes(srv, found, ret);
        wait_ms = CLAMP((int64_t)found[0].ttl * 1000, NAT64_REFRESH_MIN_MS,
                        NAT64_REFRESH_MAX_MS);
    } else if (ret == -ENOENT) {
        take_prefixes(srv, NULL, 0);    /* the policy goes on with the old */
        wait_ms = used ? NAT64_REFRESH_MIN_MS : NAT64_UNUSED_MS;
    }
    srv->nat64_due_ms = vmrpc_now_ms() + wait_ms;
}

static void nat64_ask(VmrpcServer *srv)
{
    uint8_t query[DNS_QUERY_MAX];
    size_t len = dns_nat64_query(query);

    srv->nat64_asking = true;
    if (dns_upstream_fresh_ops.send(srv->dns_upstream, query, len, nat64_reply,
                                    srv, ++srv->nat64_request) < 0) {
        srv->nat64_asking = false;
        srv->nat64_due_ms = vmrpc_now_ms() + NAT64_RETRY_MS;
    }
}

/* --- queries that wait --------------------------------------------------- */

size_t vmrpc_resolver_unsent(const VmrpcSock *s)
{
    return s->dns_tx ? s->dns_tx->len - s->dns_tx_done : 0;
}

/* The counter that has what is unsent of @s. */
static size_t *unsent_total(VmrpcServer *srv, const VmrpcSock *s)
{
    return is_stream(s) ? &srv->dns_bytes : &srv->dns_wait_bytes;
}

/* Room for @len bytes behind those of dns_tx, which are counted. */
static uint8_t *append(VmrpcServer *srv, VmrpcSock *s, size_t len)
{
    size_t old;

    if (!s->dns_tx) {
        s->dns_tx = g_byte_array_new();
        s->dns_tx_done = 0;
    }
    old = s->dns_tx->len;
    g_byte_array_set_size(s->dns_tx, old + len);
    *unsent_total(srv, s) += len;
    return s->dns_tx->data + old;
}

/* @len bytes at the beginning of dns_tx are with the proxy. */
static void consume(VmrpcServer *srv, VmrpcSock *s, size_t len)
{
    GByteArray *rest = NULL;
    size_t left;

    *unsent_total(srv, s) -= len;
    s->dns_tx_done += len;
    left = vmrpc_resolver_unsent(s);
    if (s->dns_tx_done < left) {
        return;
    }
    /* A new array: the old one would stay as large as it ever was. */
    if (left) {
        rest = g_byte_array_new();
        g_byte_array_append(rest, s->dns_tx->data + s->dns_tx_done, left);
    }
    g_byte_array_free(s->dns_tx, TRUE);
    s->dns_tx = rest;
    s->dns_tx_done = 0;
}

/* The first message in dns_tx; false if there is no whole one. */
static bool first_message(const VmrpcSock *s, const uint8_t **msg, size_t *len)
{
    size_t left = vmrpc_resolver_unsent(s);
    const uint8_t *at;

    if (left < 2) {
        return false;
    }
    at = s->dns_tx->data + s->dns_tx_done;
    *len = at[0] << 8 | at[1];
    *msg = at + 2;
    return *len <= left - 2;
}

/* Is there a query that only the proxy's room is missing for? */
static bool wants_turn(const VmrpcSock *s)
{
    const uint8_t *msg;
    size_t len;

    return (!is_stream(s) || s->dns_rx_bytes < DNS_STREAM_RX_MAX) &&
           first_message(s, &msg, &len);
}

static void leave_queue(VmrpcServer *srv, VmrpcSock *s)
{
    if (s->dns_waits) {
        g_queue_unlink(&srv->dns_wait, &s->dns_link);
        s->dns_waits = false;
    }
}

static void join_queue(VmrpcServer *srv, VmrpcSock *s)
{
    if (!s->dns_waits && wants_turn(s)) {
        g_queue_push_tail_link(&srv->dns_wait, &s->dns_link);
        s->dns_waits = true;
    }
}

/* Queries that can be under way beside those that are; two upstream each. */
static size_t room(const VmrpcServer *srv)
{
    return MIN(dns_proxy_room(srv->dns_proxy),
               dns_upstream_room(srv->dns_upstream) / 2);
}

static bool may_ask(const VmrpcServer *srv, const VmrpcSock *s)
{
    return s->dns_out < room(srv);
}

/* Does the proxy answer it, well or not? */
static bool is_query(const uint8_t *msg, size_t len)
{
    return len >= DNS_HEADER_LEN && !(msg[2] & 0x80);
}

/* Returns true if the timer is what it was. */
static bool ask_proxy(VmrpcServer *srv, VmrpcSock *s, const uint8_t *msg,
                      size_t len)
{
    s->dns_out += is_query(msg, len);
    return dns_proxy_query(srv->dns_proxy, msg, len,
                           is_stream(s) ? DNS_TRANSPORT_TCP
                                        : DNS_TRANSPORT_UDP, token_of(s));
}

/* Hands over the first message of dns_tx.  Returns false if it must wait. */
static bool ask_first(VmrpcServer *srv, VmrpcSock *s)
{
    const uint8_t *msg;
    size_t len;

    if (!wants_turn(s) || !may_ask(srv, s) || !first_message(s, &msg, &len)) {
        return false;
    }
    ask_proxy(srv, s, msg, len);
    consume(srv, s, 2 + len);
    return true;
}

/* Hands over what is in dns_tx, as long as those who wait are not passed. */
static void ask_some(VmrpcServer *srv, VmrpcSock *s)
{
    unsigned n = 0;

    if (s->dns_waits) {
        return;
    }
    while (n < TURNS && ask_first(srv, s)) {
        n++;
    }
    join_queue(srv, s);
    srv->dns_turn |= n == TURNS;
}

/* Those who wait, in turn.  Only in the IOThread: others get events. */
static void take_turns(VmrpcServer *srv)
{
    bool asked = false;
    VmrpcSock *s;

    for (unsigned n = 0; n < TURNS && room(srv) &&
                         (s = g_queue_peek_head(&srv->dns_wait)); n++) {
        leave_queue(srv, s);
        if (ask_first(srv, s)) {
            srv->counters.queries_waited++;
            asked = true;
        }
        join_queue(srv, s);
        /* There may be room to send again, or it is over. */
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
    if (nat64_timeout_ms(srv) == 0) {
        nat64_ask(srv);
    }
}

void vmrpc_resolver_forget(VmrpcServer *srv)
{
    if (srv->dns_proxy) {
        dns_proxy_forget(srv->dns_proxy);
    }
}

/* --- the guest's side --------------------------------------------------- */

/* As servers do: who asks no more has had all answers. */
static bool is_over(const VmrpcSock *s)
{
    return is_stream(s) && s->shut_wr && !s->dns_out && !s->dns_rx.length &&
           !s->dns_waits;
}

uint32_t vmrpc_resolver_ready(const VmrpcSock *s)
{
    uint32_t ready = 0;

    if (s->dns_rx.length) {
        ready |= VMRPC_IN;
    }
    if (is_stream(s)) {
        if (s->shut_wr || (s->dns_rx_bytes < DNS_STREAM_RX_MAX &&
                           vmrpc_resolver_unsent(s) < DNS_STREAM_TX_MAX)) {
            ready |= VMRPC_OUT;
        }
        if (is_over(s) || (s->shut_rd && s->shut_wr)) {
            ready |= VMRPC_HUP;
        }
    }
    if (s->shut_rd || is_over(s)) {
        ready |= VMRPC_IN | VMRPC_RDHUP;
    }
    return ready;
}

uint32_t vmrpc_resolver_inq(const VmrpcSock *s)
{
    return is_stream(s)
           ? s->dns_rx_bytes - s->dns_rx_offset
           : g_bytes_get_size(s->dns_rx.head->data);
}

/* A datagram waits behind those of its socket, or is dropped. */
static void wait_datagram(VmrpcServer *srv, VmrpcSock *s,
                          const uint8_t *query, size_t len)
{
    uint8_t *at;

    if (!is_fair(vmrpc_resolver_unsent(s), srv->dns_wait_bytes,
                 VMRPC_DNS_WAIT_MAX, 2 + len)) {
        srv->counters.dropped_dns_wait_full++;
        return;
    }
    at = append(srv, s, 2 + len);
    at[0] = len >> 8;
    at[1] = len;
    memcpy(at + 2, query, len);
    join_queue(srv, s);
}

static ssize_t send_datagram(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    uint8_t query[DNS_UDP_QUERY_MAX] VMRPC_UNINITIALIZED;

    /* What no DNS server would read, none answers. */
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

static ssize_t send_stream(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    size_t len;

    if (s->shut_wr) {
        return -EPIPE;
    }
    if (!(vmrpc_resolver_ready(s) & VMRPC_OUT)) {
        return -EAGAIN;
    }
    /* So that the longest message fits. */
    len = MIN(call->out_len, DNS_STREAM_TX_MAX - vmrpc_resolver_unsent(s));
    if (!len) {
        return 0;
    }
    if (!is_fair(held(s), srv->dns_bytes, VMRPC_DNS_BYTES_MAX, len)) {
        return -ENOBUFS;
    }
    vmrpc_call_read(call, append(srv, s, len), len);
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

static void pop_answer(VmrpcServer *srv, VmrpcSock *s)
{
    GBytes *head = g_queue_pop_head(&s->dns_rx);

    s->dns_rx_bytes -= g_bytes_get_size(head);
    srv->dns_bytes -= g_bytes_get_size(head) + ANSWER_OVERHEAD;
    s->dns_rx_offset = 0;
    g_bytes_unref(head);
}

static ssize_t recv_datagram(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call,
                             int flags)
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
        pop_answer(srv, s);
    }
    return flags & MSG_TRUNC ? len : copied;
}

static ssize_t recv_stream(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call,
                           int flags)
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
            pop_answer(srv, s);
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
        return is_stream(s) ? recv_stream(srv, s, call, flags)
                            : recv_datagram(srv, s, call, flags);
    }
    /* After SHUT_RD there is nothing to wait for; set here, not on the host. */
    return s->shut_rd || is_over(s) ? 0 : -EAGAIN;
}

void vmrpc_resolver_detach(VmrpcServer *srv, VmrpcSock *s)
{
    if (srv->dns_proxy && s->dns_out) {
        dns_proxy_cancel(srv->dns_proxy, token_of(s));
    }
    leave_queue(srv, s);
    while (s->dns_rx.length) {
        pop_answer(srv, s);
    }
    if (s->dns_tx) {
        *unsent_total(srv, s) -= vmrpc_resolver_unsent(s);
        g_byte_array_free(s->dns_tx, TRUE);
        s->dns_tx = NULL;
    }
    /* Its part is for others now. */
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

static void on_validated(void *opaque, const DnsValidated *found)
{
    VmrpcServer *srv = opaque;

    if (srv->tracer.validated) {
        srv->tracer.validated(srv->tracer.opaque, found);
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
        .trust_anchor = srv->config.trust_anchor,
        .validated = on_validated,
        .opaque = srv,
    };

    if (!parse_servers(srv->config.dns, servers, &options.count, errp)) {
        return false;
    }
    srv->dns_upstream = dns_upstream_new(&options, errp);
    if (!srv->dns_upstream) {
        if (!options.count && errp &&
            g_error_matches(*errp, DNS_UPSTREAM_ERROR,
                            DNS_UPSTREAM_ERROR_ADDRESS)) {
            g_prefix_error(errp, "dns= is not given: ");
        }
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
        /* There would be no map to take virtual addresses from. */
        g_set_error(errp, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "resolver4 has no use with translate=off");
        return -EINVAL;
    }
    if (!make_upstream(srv, errp) || !vmrpc_zone_files_init(srv, errp)) {
        return -EINVAL;
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
    vmrpc_zone_files_cleanup(srv);
    if (srv->dns_upstream) {
        dns_upstream_ops.cancel(srv->dns_upstream, srv, srv->nat64_request);
        dns_upstream_free(srv->dns_upstream);
    }
}

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
 * The token of a query in the proxy is the socket's handle and generation,
 * not its address, so an answer that comes after the socket has gone finds
 * nobody.
 *
 * Upstream, c-ares' sockets are in the server's epoll set, level-triggered,
 * and a timerfd in the same set stands for both timeouts.
 */
#include "hw/vmrpc/server-internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "net/dns/nat64-discovery.h"
#include "net/dns/wire.h"

#define DNS_PORT                53

/* The largest query over UDP that is taken; resolvers send some 100 bytes. */
#define DNS_UDP_QUERY_MAX       4096

/* Bytes of a stream's answers that may wait for the guest. */
#define DNS_STREAM_RX_MAX       (256 * 1024)

/* Bytes of a stream that may wait for the proxy. */
#define DNS_STREAM_TX_MAX       (2 + 65535)

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

bool vmrpc_is_resolver(const VmrpcServer *srv, const struct sockaddr_in *addr)
{
    return srv->config.resolver4.s_addr &&
           addr->sin_addr.s_addr == srv->config.resolver4.s_addr &&
           addr->sin_port == htons(DNS_PORT);
}

/* --- what the proxy asks of us ------------------------------------------ */

/* May this be asked? */
static int proxy_admit(void *opaque, const DnsQuestion *question)
{
    VmrpcServer *srv = opaque;
    char text[DNS_NAME_TEXT_MAX] VMRPC_UNINITIALIZED;
    VmrpcRefusal refusal = { .name = text };
    VmrpcVerdict why;

    if (!srv->policy) {
        return 0;
    }
    dns_name_to_text(&question->name, text);
    if (vmrpc_policy_check_name(srv->policy, text, &why) < 0) {
        refusal.reason = vmrpc_verdict_name(why.reason);
        refusal.line = why.line;
        vmrpc_policy_count_name(srv->policy, &why);
        vmrpc_refused(srv, &refusal, &srv->counters.refused_name);
        return -EACCES;
    }
    return vmrpc_budget_query(srv, text);
}

/* The policy by name lives from what the guest asked. */
static void proxy_resolved(void *opaque, const DnsName *asked,
                           const DnsProxyAddress *addrs, size_t num)
{
    VmrpcNameAddr noted[VMRPC_NAMES_MAX_ADDRESSES];
    VmrpcServer *srv = opaque;

    for (size_t i = 0; i < num; i++) {
        noted[i].addr6 = addrs[i].addr6;
        noted[i].ttl_s = addrs[i].ttl;
    }
    vmrpc_names_note(srv->names, asked, 1, noted, num, vmrpc_now_ms());
}

static int proxy_map(void *opaque, const struct in6_addr *addr6, uint32_t ttl,
                     struct in_addr *addr4, uint32_t *lease)
{
    VmrpcServer *srv = opaque;

    /* The VM's own name: its traffic stays inside. */
    if (srv->config.has_address6 &&
        IN6_ARE_ADDR_EQUAL(addr6, &srv->config.address6)) {
        *addr4 = srv->config.guest4;
        *lease = ttl;
        return 0;
    }
    /* A DNS64 has made it: its datagrams come from the address behind. */
    if (vmrpc_nat64_peer(srv, addr6, addr4)) {
        *lease = ttl;
        return 0;
    }
    /* Without a TTL it would be a stranger's. */
    return vmrpc_addrmap_lease(srv->map, addr6, MAX(ttl, 1), vmrpc_now_ms(),
                               addr4, lease);
}

static int proxy_unmap(void *opaque, struct in_addr addr4,
                       struct in6_addr *addr6, uint32_t *lease)
{
    VmrpcServer *srv = opaque;
    struct in_addr same;

    if (srv->config.has_address6 &&
        addr4.s_addr == srv->config.guest4.s_addr) {
        *addr6 = srv->config.address6;
        *lease = OWN_NAME_TTL_S;
        return 0;
    }
    if (!vmrpc_addrmap_contains(srv->map, addr4)) {
        return -ERANGE;
    }
    if (vmrpc_addrmap_lookup4(srv->map, addr4, addr6) < 0) {
        return -ENOENT;
    }
    return vmrpc_addrmap_lease(srv->map, addr6, 0, vmrpc_now_ms(), &same,
                               lease);
}

static bool proxy_usable(void *opaque, const struct in6_addr *addr6)
{
    return !IN6_IS_ADDR_UNSPECIFIED(addr6) && !IN6_IS_ADDR_LOOPBACK(addr6) &&
           !IN6_IS_ADDR_LINKLOCAL(addr6) && !IN6_IS_ADDR_MULTICAST(addr6) &&
           !IN6_IS_ADDR_V4MAPPED(addr6) && !IN6_IS_ADDR_V4COMPAT(addr6);
}

static bool proxy_usable4(void *opaque, struct in_addr addr4)
{
    return vmrpc_addr_is_far(opaque, addr4);
}

static bool proxy_nat64_available(void *opaque)
{
    VmrpcServer *srv = opaque;

    return vmrpc_nat64_in_use(&srv->nat64);
}

static int64_t proxy_now_ms(void *opaque)
{
    return vmrpc_now_ms();
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
    prefix = s->backing == VMRPC_BACKING_RESOLVER ? 2 : 0;
    s->dns_out -= MIN(s->dns_out, prefix != 0);
    if (s->dns_rx.length >= VMRPC_DNS_RX_MAX ||
        srv->dns_bytes + prefix + len + ANSWER_OVERHEAD >
        VMRPC_DNS_BYTES_MAX) {
        srv->counters.dropped_dns_queue_full++;
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
    vmrpc_sock_notify(srv, s);
}

static const DnsProxyOps proxy_ops = {
    .admit = proxy_admit,
    .resolved = proxy_resolved,
    .map = proxy_map,
    .unmap = proxy_unmap,
    .usable = proxy_usable,
    .usable4 = proxy_usable4,
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
    /* The latest, also if the network had none for a while. */
    const Nat64Prefix old = srv->nat64.prefix[0];
    Nat64Prefix prefixes[VMRPC_NAT64_MAX];
    unsigned good = 0;

    for (unsigned i = 0; i < num; i++) {
        good += nat64_prefix_init(&prefixes[good], &found[i].prefix,
                                  found[i].len, NULL);
    }
    if (srv->config.nat64_mode != VMRPC_NAT64_AUTO) {
        /* Of as many as there may be the one in use is one. */
        vmrpc_nat64_found_unused(&srv->nat64, prefixes,
                                 MIN(good, VMRPC_NAT64_MAX - 1),
                                 vmrpc_now_ms());
        return;
    }
    vmrpc_nat64_found(&srv->nat64, prefixes, good, vmrpc_now_ms());
    if (good && !nat64_prefix_equal(&old, &prefixes[0])) {
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
        ret = dns_nat64_discover(msg, len, &srv->nat64.prefix[0], found,
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
    if (dns_upstream_ops.send(srv->dns_upstream, query, len, nat64_reply, srv,
                              ++srv->nat64_request) < 0) {
        srv->nat64_asking = false;
        srv->nat64_due_ms = vmrpc_now_ms() + NAT64_RETRY_MS;
    }
}

/* --- descriptors of c-ares ---------------------------------------------- */

static void watch(void *opaque, int fd, bool readable, bool writable)
{
    VmrpcServer *srv = opaque;
    struct epoll_event ev = {
        .events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0),
        .data.u64 = (uint64_t)(uint32_t)fd << 32 | VMRPC_EPOLL_DNS,
    };

    if (!ev.events) {
        epoll_ctl(srv->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    } else if (epoll_ctl(srv->epoll_fd, EPOLL_CTL_MOD, fd, &ev) < 0 &&
               errno == ENOENT) {
        /* Should this fail, the query ends by its timeout. */
        epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
    }
}

void vmrpc_resolver_process_fd(VmrpcServer *srv, int fd, uint32_t events)
{
    bool broken = events & (EPOLLERR | EPOLLHUP);

    dns_upstream_process_fd(srv->dns_upstream, fd,
                            broken || events & EPOLLIN,
                            broken || events & EPOLLOUT);
    vmrpc_timer_rearm(srv);
}

void vmrpc_resolver_process_timer(VmrpcServer *srv)
{
    if (!srv->dns_proxy) {
        return;
    }
    dns_upstream_process_timeouts(srv->dns_upstream);
    dns_proxy_process_timeouts(srv->dns_proxy);
    if (nat64_timeout_ms(srv) == 0) {
        nat64_ask(srv);
    }
}

/* --- the guest's side --------------------------------------------------- */

/* As servers do: who asks no more has had all answers. */
static bool is_over(const VmrpcSock *s)
{
    return s->backing == VMRPC_BACKING_RESOLVER && s->shut_wr &&
           !s->dns_out && !s->dns_rx.length;
}

uint32_t vmrpc_resolver_ready(const VmrpcSock *s)
{
    uint32_t ready = 0;

    if (s->dns_rx.length) {
        ready |= VMRPC_IN;
    }
    if (s->backing == VMRPC_BACKING_RESOLVER) {
        if (s->shut_wr || (s->dns_rx_bytes < DNS_STREAM_RX_MAX &&
                           s->dns_tx->len < DNS_STREAM_TX_MAX)) {
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
    return s->backing == VMRPC_BACKING_RESOLVER
           ? s->dns_rx_bytes - s->dns_rx_offset
           : g_bytes_get_size(s->dns_rx.head->data);
}

static ssize_t send_datagram(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    uint8_t query[DNS_UDP_QUERY_MAX];

    /* What no DNS server would read, none answers. */
    if (call->out_len > sizeof(query)) {
        return call->out_len;
    }
    vmrpc_call_read(call, query, sizeof(query));
    dns_proxy_query(srv->dns_proxy, query, call->out_len, DNS_TRANSPORT_UDP,
                    token_of(s));
    return call->out_len;
}

/* Does the proxy answer it, well or not? */
static bool is_query(const uint8_t *msg, size_t len)
{
    return len >= DNS_HEADER_LEN && !(msg[2] & 0x80);
}

/*
 * Hands complete messages of the stream to the proxy: as many as there is room
 * for their answers, which nobody would ask for again.  The others wait until
 * the guest has read some.
 */
static void cut_stream(VmrpcServer *srv, VmrpcSock *s)
{
    GByteArray *tx = s->dns_tx;
    size_t done = 0;

    while (tx->len - done >= 2 &&
           s->dns_out + s->dns_rx.length < VMRPC_DNS_RX_MAX) {
        size_t len = tx->data[done] << 8 | tx->data[done + 1];

        if (tx->len - done - 2 < len) {
            break;
        }
        s->dns_out += is_query(tx->data + done + 2, len);
        dns_proxy_query(srv->dns_proxy, tx->data + done + 2, len,
                        DNS_TRANSPORT_TCP, token_of(s));
        done += 2 + len;
    }
    if (done) {
        /* A new array: the old one would stay as large as it ever was. */
        s->dns_tx = g_byte_array_new();
        g_byte_array_append(s->dns_tx, tx->data + done, tx->len - done);
        g_byte_array_free(tx, TRUE);
        srv->dns_bytes -= done;
    }
}

static ssize_t send_stream(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    size_t old = s->dns_tx->len;
    size_t len;

    if (s->shut_wr) {
        return -EPIPE;
    }
    if (!(vmrpc_resolver_ready(s) & VMRPC_OUT)) {
        return -EAGAIN;
    }
    /* So that the longest message fits. */
    len = MIN(call->out_len, DNS_STREAM_TX_MAX - old);
    if (!len) {
        return 0;
    }
    if (srv->dns_bytes + len > VMRPC_DNS_BYTES_MAX) {
        return -ENOBUFS;
    }
    srv->dns_bytes += len;
    g_byte_array_set_size(s->dns_tx, old + len);
    vmrpc_call_read(call, s->dns_tx->data + old, len);
    cut_stream(srv, s);
    return len;
}

ssize_t vmrpc_resolver_send(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call)
{
    ssize_t n;

    if (s->type == SOCK_DGRAM) {
        n = s->shut_wr ? -EPIPE : send_datagram(srv, s, call);
    } else {
        n = send_stream(srv, s, call);
    }
    vmrpc_timer_rearm(srv);
    return n;
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
    call->result.sin_addr = srv->config.resolver4;
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
        cut_stream(srv, s);
        vmrpc_timer_rearm(srv);
    }
    return done;
}

ssize_t vmrpc_resolver_recv(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call,
                            int flags)
{
    if (s->dns_rx.length && !(flags & MSG_ERRQUEUE)) {
        return s->backing == VMRPC_BACKING_RESOLVER
               ? recv_stream(srv, s, call, flags)
               : recv_datagram(srv, s, call, flags);
    }
    /* After SHUT_RD there is nothing to wait for; set here, not on the host. */
    return s->shut_rd || is_over(s) ? 0 : -EAGAIN;
}

void vmrpc_resolver_detach(VmrpcServer *srv, VmrpcSock *s)
{
    if (srv->dns_proxy) {
        dns_proxy_cancel(srv->dns_proxy, token_of(s));
    }
    while (s->dns_rx.length) {
        pop_answer(srv, s);
    }
    if (s->dns_tx) {
        srv->dns_bytes -= s->dns_tx->len;
        g_byte_array_free(s->dns_tx, TRUE);
        s->dns_tx = NULL;
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

int vmrpc_resolver_init(VmrpcServer *srv, GError **errp)
{
    DnsServer servers[DNS_UPSTREAM_MAX_SERVERS];
    size_t count;

    if (!srv->config.resolver4.s_addr) {
        return 0;
    }
    if (!srv->config.translate) {
        /* There would be no map to take virtual addresses from. */
        g_set_error(errp, DNS_UPSTREAM_ERROR, DNS_UPSTREAM_ERROR_ADDRESS,
                    "resolver4 has no use with translate=off");
        return -EINVAL;
    }
    if (!parse_servers(srv->config.dns, servers, &count, errp)) {
        return -EINVAL;
    }
    srv->names = vmrpc_names_new(VMRPC_NAMES_DEFAULT_SIZE, errp);
    if (!srv->names) {
        return -EINVAL;
    }
    srv->dns_upstream = dns_upstream_new(servers, count,
                                         srv->config.has_address6
                                         ? &srv->config.address6 : NULL,
                                         watch, srv, errp);
    if (!srv->dns_upstream) {
        if (!count) {
            g_prefix_error(errp, "dns= is not given: ");
        }
        return -EINVAL;
    }
    srv->dns_proxy = dns_proxy_new(&proxy_ops, srv, &dns_upstream_ops,
                                   srv->dns_upstream);
    vmrpc_timer_rearm(srv);
    return 0;
}

void vmrpc_resolver_cleanup(VmrpcServer *srv)
{
    if (srv->dns_proxy) {
        dns_proxy_free(srv->dns_proxy);
    }
    if (srv->dns_upstream) {
        dns_upstream_ops.cancel(srv->dns_upstream, srv, srv->nat64_request);
        dns_upstream_free(srv->dns_upstream);
    }
    vmrpc_names_free(srv->names);
}

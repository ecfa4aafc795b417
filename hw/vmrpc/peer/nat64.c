/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: NAT64 prefix discovery (RFC 7050)
 *
 * The prefix is asked for even where none is used, or another is configured:
 * names lead through a translator whatever the options say, and the policy
 * has to know which addresses are behind it.
 */
#include "hw/vmrpc/peer/nat64.h"

#include <errno.h>

#include "hw/vmrpc/peer/bind.h"
#include "hw/vmrpc/sock/timer.h"
#include "net/dns/proxy/nat64-discovery.h"

/*
 * When to ask for the NAT64 prefix again, milliseconds.  A TTL can be 68 years;
 * a prefix that has changed is found within a day all the same.
 */
#define NAT64_RETRY_MS          10000
#define NAT64_REFRESH_MIN_MS    60000
#define NAT64_REFRESH_MAX_MS    (24 * 3600 * 1000)
#define NAT64_UNUSED_MS         (10 * 60 * 1000)    /* none is waited for */

int vmrpc_nat64_timeout_ms(VmrpcServer *srv)
{
    int64_t left;

    if (!srv->dns_proxy || srv->nat64_asking) {
        return -1;
    }
    left = srv->nat64_due_ms - vmrpc_now_ms();
    return CLAMP(left, 0, NAT64_REFRESH_MAX_MS);
}

/* Uses @found, which the network has, from now on. */
static VMRPC_LOCKED void take_prefixes(VmrpcServer *srv,
                                       const DnsNat64Prefix *found,
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

static VMRPC_LOCKED void reply(void *opaque, uint64_t request,
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

static VMRPC_LOCKED void ask(VmrpcServer *srv)
{
    uint8_t query[DNS_QUERY_MAX];
    size_t len = dns_nat64_query(query);

    srv->nat64_asking = true;
    if (dns_upstream_fresh_ops.send(srv->dns_upstream, query, len, reply,
                                    srv, ++srv->nat64_request) < 0) {
        srv->nat64_asking = false;
        srv->nat64_due_ms = vmrpc_now_ms() + NAT64_RETRY_MS;
    }
}

void vmrpc_nat64_process_timer(VmrpcServer *srv)
{
    if (vmrpc_nat64_timeout_ms(srv) == 0) {
        ask(srv);
    }
}

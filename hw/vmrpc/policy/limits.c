/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much one VM may take of the host
 *
 * Theory of operation
 *
 * The guest's sockets are sockets of the host: they take its descriptors, its
 * kernel memory and its ports, and can flood its network.  The policy file may
 * bound each.
 *
 * connections, dns: a token bucket.  It holds at most "burst" tokens and gains
 * "per_s" a second; a connection or a query takes one, or is refused.  So at
 * most burst + per_s * t pass in any t seconds.  The level is in millionths,
 * since a bucket gains exactly per_s of them a microsecond: no rounding, no
 * drift.  (Milliseconds are too coarse for a burst of 1: at 999 a second the
 * bucket would be full, and lose the rest, every second time.)  A full bucket
 * is below 2^61, and time that would overfill it is cut before it is
 * multiplied, so nothing overflows, however long the VM was paused.  A clock
 * that goes back adds and removes nothing.
 *
 * Every TCP connect() that would reach the network counts, even if it fails
 * then: the limit is against scans and floods.  Datagrams do not count, nor do
 * connections that the guest accepts.  A refusal is immediate (ENOBUFS,
 * REFUSED), so the guest's program can choose how to wait.  EAGAIN would make
 * it wait for an event that never comes.
 *
 * sent, received: a bucket of octets, for all sockets together.  A call passes
 * while the bucket has any, and may leave a debt, which is at most one call's
 * octets and passes with time; so no call is cut or starved for being large.
 * Here the guest waits: its sockets are not writable, or readable, meanwhile.
 * No octet is dropped or kept by us.  What the peer sends fills the socket's
 * buffer, and TCP closes its window.
 *
 * sockets: a cap, beside the device's own max-sockets.
 *
 * buffers: what the host's kernel may keep for the VM's sockets: data that is
 * not yet acknowledged, or not yet read.  The kernel does not report when this
 * grows, and lets the buffers of a TCP socket grow to megabytes.  So a limit
 * on the memory in use could be observed but not enforced.  The size of the
 * buffers can be enforced: the kernel does not change a size that was set.
 * While there is this limit, every host socket has both sizes set, and their
 * sum over all sockets stays within it:
 *
 *   a new socket    asks for BUFFER_START for each buffer, sets the size that
 *                   it is granted, reads back what the kernel made of it, and
 *                   settles that: vmrpc_limits_buffer(granted, actual)
 *   an accepted one asks for the sizes of its listener, which it inherits
 *   SO_SNDBUF, ...  asks for the size; if less is left, it gets less, and
 *                   getsockopt() says so, as with the host's wmem_max
 *   close()         gives the bytes back
 *
 * First come, first served.  Bytes are reserved, not used: an idle socket
 * counts like a busy one, and the sum is never exceeded.  Two things do not
 * count: a packet that the kernel accepts above a full buffer, one for each
 * socket; and connections that wait to be accepted, at most the listener's
 * backlog.
 */
#include <stddef.h>

#include "hw/vmrpc/policy/limits.h"

#define TOKEN UINT64_C(1000000) /* millionths, and microseconds a second */

static void bucket_fill(VmrpcBucket *bucket, const VmrpcRate *rate,
                        int64_t now_us)
{
    uint64_t room = (int64_t)(rate->burst * TOKEN) - bucket->level;
    uint64_t elapsed;

    if (now_us <= bucket->filled_us) {
        return;
    }
    elapsed = (uint64_t)now_us - (uint64_t)bucket->filled_us;
    bucket->filled_us = now_us;
    bucket->level += elapsed > room / rate->per_s ? room
                                                  : elapsed * rate->per_s;
}

static bool bucket_take(VmrpcBucket *bucket, const VmrpcRate *rate,
                        int64_t now_us)
{
    if (!rate->per_s) {
        return true;
    }
    bucket_fill(bucket, rate, now_us);
    if (bucket->level < (int64_t)TOKEN) {
        return false;
    }
    bucket->level -= TOKEN;
    return true;
}

static void bucket_change(VmrpcBucket *bucket, const VmrpcRate *old,
                          const VmrpcRate *rate, int64_t now_us)
{
    int64_t full = rate->burst * TOKEN;

    if (!old->per_s) {
        *bucket = (VmrpcBucket) { full, now_us };
        return;
    }
    bucket_fill(bucket, old, now_us);
    if (bucket->level > full) {
        bucket->level = full;
    }
}

void vmrpc_limits_init(VmrpcLimits *limits, const VmrpcLimitsConfig *config,
                       int64_t now_us)
{
    *limits = (VmrpcLimits) { 0 };
    vmrpc_limits_change(limits, config, now_us);
}

void vmrpc_limits_change(VmrpcLimits *limits, const VmrpcLimitsConfig *config,
                         int64_t now_us)
{
    static const VmrpcLimitsConfig none;

    config = config ?: &none;
    bucket_change(&limits->connections, &limits->config.connections,
                  &config->connections, now_us);
    bucket_change(&limits->dns, &limits->config.dns, &config->dns, now_us);
    for (int i = 0; i < VMRPC_FLOW_NUM; i++) {
        bucket_change(&limits->flow[i], &limits->config.flow[i],
                      &config->flow[i], now_us);
    }
    limits->config = *config;
}

bool vmrpc_limits_connection(VmrpcLimits *limits, int64_t now_us)
{
    return bucket_take(&limits->connections, &limits->config.connections,
                       now_us);
}

bool vmrpc_limits_dns(VmrpcLimits *limits, int64_t now_us)
{
    return bucket_take(&limits->dns, &limits->config.dns, now_us);
}

int64_t vmrpc_limits_wait_us(VmrpcLimits *limits, VmrpcFlow flow,
                             int64_t now_us)
{
    const VmrpcRate *rate = &limits->config.flow[flow];
    VmrpcBucket *bucket = &limits->flow[flow];

    if (!rate->per_s) {
        return 0;
    }
    bucket_fill(bucket, rate, now_us);
    return bucket->level > 0 ? 0 : -bucket->level / (int64_t)rate->per_s + 1;
}

bool vmrpc_limits_socket(VmrpcLimits *limits, uint32_t sockets)
{
    return !limits->config.sockets || sockets < limits->config.sockets;
}

/* Bytes for a buffer that shall grow: never less than it has. */
static uint64_t grow(const VmrpcLimits *limits, uint64_t others,
                     uint64_t held, uint64_t asked)
{
    uint64_t limit = limits->config.buffers;
    uint64_t left = limit > others ? limit - others : 0;

    if (!limit || asked <= left) {
        return asked;
    }
    /* A socket with a buffer of a few bytes would hardly make progress. */
    if (!held && left < VMRPC_LIMITS_BUFFER_LEAST) {
        return 0;
    }
    return left > held ? left : held;
}

uint64_t vmrpc_limits_buffer(VmrpcLimits *limits, uint64_t held,
                             uint64_t asked)
{
    uint64_t others = limits->buffers - held;
    uint64_t granted = asked > held ? grow(limits, others, held, asked)
                                    : asked;

    limits->buffers = others + granted;
    return granted;
}

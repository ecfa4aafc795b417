/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much one VM may take of the host
 *
 * Theory of operation
 *
 * The guest's sockets are the host's: its descriptors, its kernel memory, its
 * ports and its neighbours' patience. The policy file may bound each.
 *
 * connections, dns: a token bucket. It holds at most "burst" tokens and gains
 * "per_s" a second; a connection or a query takes one, or is refused. So in
 * any t seconds at most burst + per_s * t pass. The level is kept in
 * millionths, since a bucket then gains exactly per_s of them a microsecond:
 * no rounding, no drift. (Milliseconds are too coarse for a burst of 1: at
 * 999 a second it would be full, and lose the rest, every second time.) A
 * full bucket is below 2^40, and time that would overfill it is cut before
 * it is multiplied, so nothing overflows, however long the VM was paused. A
 * clock that goes back gives nothing and takes nothing.
 *
 * Every TCP connect() that would reach the network counts, also one that then
 * fails: the limit is there against scans and floods. Datagrams do not count,
 * nor does what the guest accepts, which others open. A refused one is told
 * at once (ENOBUFS, REFUSED): the guest's program knows best what to do with
 * the delay. EAGAIN would make it wait for a readiness that never comes.
 *
 * sockets: a cap. The device's own max-sockets holds beside it.
 *
 * buffers: what the host's kernel may keep for the VM's sockets, sent and not
 * yet acknowledged or received and not yet read. The kernel tells nobody when
 * that grows, and it lets the buffers of a TCP socket grow by themselves to
 * megabytes; a limit on what is really used could only be looked at, not
 * enforced. What can be enforced is the size of the buffers: a socket whose
 * size was set keeps it. So while there is this limit, every host socket gets
 * both sizes set, and their sum over all sockets stays within it:
 *
 *   a new socket    asks for BUFFER_START for each buffer, sets what it is
 *                   granted, reads back what the kernel made of it, and
 *                   settles that: vmrpc_limits_buffer(granted, actual)
 *   an accepted one asks for what its listener has, since it inherits that
 *   SO_SNDBUF, ...  asks for the size; where less is left it gets less,
 *                   and getsockopt() says so, as with the host's wmem_max
 *   close()         gives back
 *
 * First come, first served. The bytes are reserved, not used: an idle socket
 * counts like a busy one, and the sum is never exceeded. Two things are not
 * seen: a packet that the kernel lets in above a full buffer, one a socket;
 * and connections that wait to be accepted, at most the listener's backlog.
 */
#include <stddef.h>

#include "hw/vmrpc/reach/limits.h"

#define TOKEN UINT64_C(1000000) /* millionths, and microseconds a second */

static void bucket_fill(VmrpcBucket *bucket, const VmrpcRate *rate,
                        int64_t now_us)
{
    uint64_t room = rate->burst * TOKEN - bucket->level;
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
    if (bucket->level < TOKEN) {
        return false;
    }
    bucket->level -= TOKEN;
    return true;
}

static void bucket_change(VmrpcBucket *bucket, const VmrpcRate *old,
                          const VmrpcRate *rate, int64_t now_us)
{
    uint64_t full = rate->burst * TOKEN;

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

bool vmrpc_limits_socket(VmrpcLimits *limits, uint32_t sockets)
{
    return !limits->config.sockets || sockets < limits->config.sockets;
}

/* Bytes for a buffer that is to grow: never less than it holds. */
static uint64_t grow(const VmrpcLimits *limits, uint64_t others,
                     uint64_t held, uint64_t asked)
{
    uint64_t limit = limits->config.buffers;
    uint64_t left = limit > others ? limit - others : 0;

    if (!limit || asked <= left) {
        return asked;
    }
    /* A new buffer of a few bytes would be a socket that hardly moves. */
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much one VM may take of the host: connections, DNS queries and octets a
 * second, sockets, buffer bytes
 *
 * The policy file sets the limits (policy-parse.h); limits.c explains each.
 * Thread safety: none; the owner serialises all calls.
 * Times are microseconds of a monotonic clock, as of g_get_monotonic_time().
 * Every function takes constant time.
 */
#ifndef HW_VMRPC_LIMITS_H
#define HW_VMRPC_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define VMRPC_LIMITS_MAX_RATE    1000000            /* a second; also a burst */
#define VMRPC_LIMITS_MAX_SOCKETS 1048576
#define VMRPC_LIMITS_MIN_BUFFERS (64 * 1024)        /* bytes */
#define VMRPC_LIMITS_MAX_BUFFERS (UINT64_C(1) << 40)
#define VMRPC_LIMITS_MIN_BYTES   1024               /* a second; also a burst */

/*
 * Bytes of one buffer, as getsockopt() shows them: the initial size while there
 * is a limit, and the smallest size of a new buffer.
 */
#define VMRPC_LIMITS_BUFFER_START (128 * 1024)
#define VMRPC_LIMITS_BUFFER_LEAST (8 * 1024)

typedef struct VmrpcRate {
    uint64_t per_s;             /* 0: no limit */
    uint64_t burst;             /* after a pause; 1 or more */
} VmrpcRate;

/* Octets of the guest's sockets, by direction */
typedef enum VmrpcFlow {
    VMRPC_FLOW_SENT,
    VMRPC_FLOW_RECEIVED,
    VMRPC_FLOW_NUM
} VmrpcFlow;

/* All zero: nothing is limited. */
typedef struct VmrpcLimitsConfig {
    VmrpcRate connections;
    VmrpcRate dns;
    VmrpcRate flow[VMRPC_FLOW_NUM];     /* of octets */
    uint32_t sockets;           /* 0: no limit */
    uint64_t buffers;           /* bytes; 0: no limit */
} VmrpcLimitsConfig;

/* A token bucket. */
typedef struct VmrpcBucket {
    int64_t level;              /* millionths of a token; below 0: a debt */
    int64_t filled_us;          /* when level was computed */
} VmrpcBucket;

/* The owner embeds it, and counts refusals; only limits.c writes to it. */
typedef struct VmrpcLimits {
    VmrpcLimitsConfig config;
    VmrpcBucket connections;
    VmrpcBucket dns;
    VmrpcBucket flow[VMRPC_FLOW_NUM];
    uint64_t buffers;           /* bytes granted to all sockets together */
} VmrpcLimits;

/**
 * vmrpc_limits_init: begin with full buckets and no buffers
 * @config: copied; NULL: nothing is limited
 */
void vmrpc_limits_init(VmrpcLimits *limits, const VmrpcLimitsConfig *config,
                       int64_t now_us);

/**
 * vmrpc_limits_change: use other limits from now on, as after a reload
 *
 * Granted bytes stay granted, even above a new limit; further requests are
 * refused until enough bytes are back.  A bucket keeps its tokens, up to the
 * new burst; a rate that had no limit before begins with a full bucket.
 */
void vmrpc_limits_change(VmrpcLimits *limits, const VmrpcLimitsConfig *config,
                         int64_t now_us);

/**
 * vmrpc_limits_connection: the guest wants to open a TCP connection
 *
 * Ask after the policy, so that a connection that it refuses costs no token.
 *
 * Returns: true, and takes a token; or false: connect() fails with -ENOBUFS.
 */
bool vmrpc_limits_connection(VmrpcLimits *limits, int64_t now_us);

/**
 * vmrpc_limits_dns: the guest sends the DNS proxy a query
 *
 * Returns: true, and takes a token; or false: the answer is REFUSED.
 */
bool vmrpc_limits_dns(VmrpcLimits *limits, int64_t now_us);

/**
 * vmrpc_limits_wait_us: how long must octets of @flow wait?
 *
 * Returns: 0: they may pass now, as many as a call has, and are to be counted
 * by vmrpc_limits_passed(); or microseconds.
 */
int64_t vmrpc_limits_wait_us(VmrpcLimits *limits, VmrpcFlow flow,
                             int64_t now_us);

/** vmrpc_limits_passed: @octets of @flow have passed, less than 2^32 */
static inline void vmrpc_limits_passed(VmrpcLimits *limits, VmrpcFlow flow,
                                       uint64_t octets)
{
    if (limits->config.flow[flow].per_s) {
        limits->flow[flow].level -= octets * 1000000;
    }
}

/**
 * vmrpc_limits_socket: the guest wants one more socket
 * @sockets: how many it has, of all kinds
 *
 * Returns: true; or false: the call that needs the host socket fails with
 * -EMFILE, and a connection that waits to be accepted stays in the queue.
 */
bool vmrpc_limits_socket(VmrpcLimits *limits, uint32_t sockets);

/**
 * vmrpc_limits_buffer: one buffer of a socket changes its size
 * @held: bytes that it was granted before; 0: it is new
 * @asked: bytes that it shall have, below 2^32; 0: it goes, as on close()
 *
 * Bytes are those of getsockopt(SO_SNDBUF) and SO_RCVBUF: on Linux twice the
 * value of setsockopt().  Without a limit the sum counts as well, so that it is
 * right when a limit comes.
 *
 * Returns: the bytes that are granted from now on: at most @asked, but @held if
 * the buffer cannot grow.  0 for a new buffer: there is no room; the call that
 * needs the host socket fails with -ENOBUFS.  A smaller size is always granted.
 */
uint64_t vmrpc_limits_buffer(VmrpcLimits *limits, uint64_t held,
                             uint64_t asked);

#endif /* HW_VMRPC_LIMITS_H */

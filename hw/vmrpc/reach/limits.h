/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much one VM may take of the host: connections and DNS queries a second,
 * sockets, buffer bytes
 *
 * The policy file sets the limits (policy.h); limits.c says what each means.
 * Not thread-safe: the server that owns them uses them under its lock.
 * Times are microseconds of a monotonic clock, as of g_get_monotonic_time().
 * Everything is constant time.
 */
#ifndef HW_VMRPC_LIMITS_H
#define HW_VMRPC_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define VMRPC_LIMITS_MAX_RATE    1000000            /* a second; also a burst */
#define VMRPC_LIMITS_MAX_SOCKETS 1048576
#define VMRPC_LIMITS_MIN_BUFFERS (64 * 1024)        /* bytes */
#define VMRPC_LIMITS_MAX_BUFFERS (UINT64_C(1) << 40)

/*
 * Bytes of one buffer, as getsockopt() shows them: what a socket starts with
 * while the buffers are limited, and what it cannot be without.
 */
#define VMRPC_LIMITS_BUFFER_START (128 * 1024)
#define VMRPC_LIMITS_BUFFER_LEAST (8 * 1024)

typedef struct VmrpcRate {
    uint32_t per_s;             /* 0: no limit; to VMRPC_LIMITS_MAX_RATE */
    uint32_t burst;             /* at once after a pause; 1 to the same */
} VmrpcRate;

/* All zero: nothing is limited. */
typedef struct VmrpcLimitsConfig {
    VmrpcRate connections;
    VmrpcRate dns;
    uint32_t sockets;           /* 0: no limit */
    uint64_t buffers;           /* bytes; 0: no limit */
} VmrpcLimitsConfig;

/* A token bucket. */
typedef struct VmrpcBucket {
    uint64_t level;             /* millionths of a token */
    int64_t filled_us;          /* when level was true */
} VmrpcBucket;

/* Part of its owner, who counts what is refused; only limits.c writes. */
typedef struct VmrpcLimits {
    VmrpcLimitsConfig config;
    VmrpcBucket connections;
    VmrpcBucket dns;
    uint64_t buffers;           /* bytes held by all sockets together */
} VmrpcLimits;

/**
 * vmrpc_limits_init:
 * @config: copied; NULL: nothing is limited
 */
void vmrpc_limits_init(VmrpcLimits *limits, const VmrpcLimitsConfig *config,
                       int64_t now_us);

/**
 * vmrpc_limits_change: other limits from now on, as after a reload
 *
 * What is held stays held, also above a new limit; more is refused until
 * enough was given back. Tokens that were saved up stay, as far as the new
 * burst goes; a rate that was not limited before begins with a whole burst.
 */
void vmrpc_limits_change(VmrpcLimits *limits, const VmrpcLimitsConfig *config,
                         int64_t now_us);

/**
 * vmrpc_limits_connection: the guest wants to open a TCP connection
 *
 * Ask last, after the policy, so that what is refused anyway costs no token.
 *
 * Returns: true, taking a token, or false: connect() fails with -ENOBUFS.
 */
bool vmrpc_limits_connection(VmrpcLimits *limits, int64_t now_us);

/**
 * vmrpc_limits_dns: the guest sends the DNS proxy a query
 *
 * Returns: true, taking a token, or false: the answer is REFUSED.
 */
bool vmrpc_limits_dns(VmrpcLimits *limits, int64_t now_us);

/**
 * vmrpc_limits_socket: the guest wants one more socket
 * @sockets: how many it has, of whatever kind
 *
 * Returns: whether it may; if not, the call that needs the host's socket fails
 * with -EMFILE, and a connection that was to be accepted stays in the queue.
 */
bool vmrpc_limits_socket(VmrpcLimits *limits, uint32_t sockets);

/**
 * vmrpc_limits_buffer: one buffer of a socket changes its size
 * @held: bytes it was granted before; 0 for a new one
 * @asked: bytes it shall have, below 2^32; 0 to give all back, as on close()
 *
 * Bytes are those of getsockopt(SO_SNDBUF) and SO_RCVBUF: on Linux twice what
 * setsockopt() is given. Call it also while nothing is limited, else the sum
 * is wrong when a limit comes.
 *
 * Returns: the bytes granted from now on, at most @asked, or @held where that
 * cannot grow. 0 for a new buffer: no room for it; the call that needs the
 * host's socket fails with -ENOBUFS. Getting smaller always succeeds.
 */
uint64_t vmrpc_limits_buffer(VmrpcLimits *limits, uint64_t held,
                             uint64_t asked);

#endif /* HW_VMRPC_LIMITS_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc reach: where an address leads, and whether the guest may use it
 *
 * Theory of operation
 * ===================
 *
 * A guest names IPv4 addresses.  A VmrpcReach translates them into the host's
 * addresses and back, and judges each destination by the policy:
 *
 *   translate.h    addresses, guest to host and host to guest
 *   judge.h        a translated destination before the policy
 *   candidates.h   the other addresses of a destination's name
 *   report.h       counts and traces refusals
 *
 * It uses these tables, and owns them:
 *
 *   addrmap.h      virtual IPv4 addresses of IPv6 peers
 *   names.h        the names by which the guest got to know an address
 *   targets.h      where the answers for a name lead on
 *   nat64-list.h   NAT64 prefixes
 *   route.h        the host's own addresses
 *   policy.h       rules of the policy file
 *   limits.h       limits of the policy file
 *
 * It has no guest socket and no event loop, and uses no file of server/.  The
 * route table asks the host's kernel over netlink; nothing else here does I/O.
 * Time comes from a function that the owner gives.
 *
 * Thread safety: none.  The owner serialises all calls; in a vmrpc server that
 * is the server's lock.
 */
#ifndef HW_VMRPC_REACH_H
#define HW_VMRPC_REACH_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "hw/vmrpc/policy/limits.h"
#include "hw/vmrpc/policy/policy.h"
#include "hw/vmrpc/reach/addrmap.h"
#include "hw/vmrpc/reach/names.h"
#include "hw/vmrpc/reach/nat64-list.h"
#include "hw/vmrpc/reach/route.h"
#include "hw/vmrpc/reach/targets.h"

/* The VM's addresses, as the device's options give them. */
typedef struct VmrpcReachConfig {
    bool translate;             /* host side IPv6 (true) or IPv4 */
    bool has_address6;
    struct in6_addr address6;   /* the VM's own address on the host */
    struct in_addr guest4;      /* the same address, as the guest sees it */
    unsigned guest4_prefix;
    struct in_addr pool4;       /* virtual addresses, with translate */
    unsigned pool4_prefix;
    uint32_t pool4_start;       /* random: vmrpc_addrmap_new() */
    struct in_addr resolver4;   /* where the DNS proxy answers; 0: nowhere */
} VmrpcReachConfig;

/* Refused or unreachable destinations and names, by reason. */
#define VMRPC_REACH_COUNTERS(X)                                               \
    X(refused_policy)           /* a deny rule of the policy file */          \
    X(refused_default)          /* "default deny" of the policy file */       \
    X(refused_name)             /* lookups of names */                        \
    X(refused_private)          /* addresses withheld from DNS answers */     \
    X(refused_hello)            /* names said in the first bytes */           \
    X(refused_builtin)          /* loopback, link-local, metadata ... */      \
    X(refused_host_address)     /* one of the host's own addresses */         \
    X(unreachable_no_mapping)   /* pool address that maps to nothing */       \
    X(pool_in_answers)          /* DNS servers name addresses of the pool */  \
    X(unreachable_no_nat64)     /* IPv4 destination and no prefix */

typedef struct VmrpcReachCounters {
#define VMRPC_REACH_COUNTER_FIELD(name) uint64_t name;
    VMRPC_REACH_COUNTERS(VMRPC_REACH_COUNTER_FIELD)
#undef VMRPC_REACH_COUNTER_FIELD
} VmrpcReachCounters;

/* A refusal and its reason; strings are valid during the call. */
typedef struct VmrpcRefusal {
    int error;                  /* of the guest's call, positive errno */
    const char *dest;           /* address as text; NULL: something else */
    unsigned port;              /* host byte order */
    const char *name;           /* that the guest asked for; NULL: none */
    bool is_said;               /* that the guest has said to the peer */
    const char *reason;
    unsigned line;              /* of the policy file; 0: none */
} VmrpcRefusal;

/* Callbacks of an observer; every member may be NULL. */
typedef struct VmrpcReachTracer {
    /* The policy or a limit refused something. */
    void (*refused)(void *opaque, const VmrpcRefusal *refusal);
    /*
     * Someone else uses the pool's addresses: the DNS servers answered @name
     * with @addr4; or, if @name is NULL, the guest contacts @addr4, which
     * stands for no peer.  Both are counted.
     */
    void (*pool)(void *opaque, struct in_addr addr4, const char *name);
    void *opaque;
} VmrpcReachTracer;

typedef struct VmrpcReach {
    const VmrpcReachConfig *config; /* the owner's */
    int64_t (*now_ms)(void);    /* milliseconds of the monotonic clock */
    VmrpcAddrMap *map;          /* NULL without translation */
    VmrpcNames *names;          /* NULL without a resolver4 */
    VmrpcTargets *targets;      /* NULL until there is one */
    VmrpcNat64List nat64;       /* the first of the current ones is in use */
    VmrpcRoute *route;
    VmrpcPolicy *policy;        /* NULL: built-in refusals only */
    VmrpcDecided decided;       /* of the latest vmrpc_dest_to_host() */
    VmrpcLimits limits;
    VmrpcReachTracer tracer;
    VmrpcReachCounters counters;
} VmrpcReach;

/**
 * vmrpc_reach_init: make the tables, and open the route table
 * @reach: all zero
 * @config: must stay, unchanged, until vmrpc_reach_destroy()
 * @now_ms: milliseconds of a clock that never goes back
 *
 * The list of NAT64 prefixes and the policy are empty; the owner sets them.
 *
 * Returns: false, with @errp set, if a property is wrong, which the message
 * names, or the host has no memory or descriptor.  vmrpc_reach_destroy() may
 * be called in both cases.
 */
bool vmrpc_reach_init(VmrpcReach *reach, const VmrpcReachConfig *config,
                      int64_t (*now_ms)(void), GError **errp);

/** vmrpc_reach_destroy: free all tables, the policy included */
void vmrpc_reach_destroy(VmrpcReach *reach);

/**
 * vmrpc_reach_forget: empty the address map and the tables of names
 *
 * Both are new objects after that.
 *
 * Returns: false, with @errp set and nothing changed, if there is no memory.
 */
bool vmrpc_reach_forget(VmrpcReach *reach, GError **errp);

/**
 * vmrpc_reach_nat64_found: the NAT64 prefixes that the network has now
 * @prefixes: all different; the first is the preferred one
 * @num: may be more than VMRPC_NAT64_MAX; the first ones count
 * @use: translate with the first one; else all are for the policy only
 *
 * The resolver calls this when it has discovered prefixes (RFC 7050).
 *
 * Returns: true if addresses are translated with another prefix than the last
 * one that was in use.
 */
bool vmrpc_reach_nat64_found(VmrpcReach *reach, const Nat64Prefix *prefixes,
                             unsigned num, bool use);

/* IPPROTO_ICMP has one number in each family; every other protocol has one. */
static inline int vmrpc_host_proto(int family, int proto)
{
    return family == AF_INET6 && proto == IPPROTO_ICMP ? IPPROTO_ICMPV6 : proto;
}

#endif /* HW_VMRPC_REACH_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: its configuration, its counters, and what it tells an observer
 */
#ifndef HW_VMRPC_CONFIG_H
#define HW_VMRPC_CONFIG_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "hw/vmrpc/alg/alg.h"
#include "hw/vmrpc/audit/log.h"
#include "hw/vmrpc/reach/reach.h"
#include "hw/vmrpc/wire/mapped.h"
#include "net/dns/upstream/upstream.h"
#include "net/packet/nat64.h"

/* The source of the NAT64 prefix. */
typedef enum VmrpcNat64Mode {
    VMRPC_NAT64_OFF,
    VMRPC_NAT64_AUTO,           /* RFC 7050, asked of the upstream servers */
    VMRPC_NAT64_FIXED,
} VmrpcNat64Mode;

/*
 * The settings of a server.  Strings and the policy belong to the caller
 * of vmrpc_server_new(), which copies what it keeps.
 */
typedef struct VmrpcServerConfig {
    VmrpcReachConfig reach;     /* addresses */
    /*
     * upstream servers, NULL-terminated; none: those of /etc/resolv.conf, which
     * is read again when it changes
     */
    const char *const *dns;
    DnsDnssec dnssec;           /* are their answers validated? */
    const char *validator;      /* the socket of vmmnet-validate, for dnssec */
    /* zone images that are answered first, NULL-terminated; NULL: none */
    const char *const *zones;
    VmrpcNat64Mode nat64_mode;
    Nat64Prefix nat64_prefix;   /* for VMRPC_NAT64_FIXED */
    bool alg;                   /* rewrite addresses in FTP and SIP */
    bool happy_eyeballs;        /* connect() may try a name's other addresses */
    const char *policy_file;    /* NULL: built-in refusals only */
    /*
     * The secret @id of a proxy, to be freed, or NULL.  Called in the thread
     * that makes the server or calls vmrpc_server_reload_policy().  NULL: there
     * are no secrets.
     */
    char *(*secret)(const char *id, GError **errp);
    uint32_t max_sockets;       /* 1 .. VMRPC_SOCKETS_MAX */
    /* the caller's, for longer than the server; NULL: no audit log */
    VmrpcAudit *audit;
} VmrpcServerConfig;

/* The kinds of things that stand behind a socket of the guest. */
typedef enum VmrpcBacking {
    VMRPC_BACKING_HOST,         /* a host socket */
    VMRPC_BACKING_RESOLVER,     /* a stream to the DNS proxy */
    /* a host socket that is not yet what it was before a migration */
    VMRPC_BACKING_ARRIVING,     /* or waits for its turn: arriving.c */
    VMRPC_BACKING_LOST,         /* nothing: it did not survive a migration */
} VmrpcBacking;

/* An arriving socket waits for one of these, which is missing on this host. */
typedef enum VmrpcMissing {
    VMRPC_MISSING_ADDRESS,      /* the VM's, which is none of this host's */
    VMRPC_MISSING_PORT,         /* another socket on this host has it */
    VMRPC_MISSING_ROUTE,        /* to its peer, or for its groups */
    VMRPC_MISSING_RESOURCE,     /* a descriptor, memory, a permission */
    VMRPC_MISSING_TURN,         /* the VM's socket of the other family has it */
    VMRPC_MISSING_NUM,
} VmrpcMissing;

/*
 * Everything that was counted, beside VMRPC_REACH_COUNTERS.  The X-macro lets
 * the device publish each counter by its name; in QMP it has the same one, in
 * vmrpc.json.
 */
#define VMRPC_COUNTERS(X)                                                     \
    X(requests)                 /* requests executed */                       \
    X(requests_malformed)       /* refused: the header was wrong */           \
    X(events)                   /* readiness events handed out */             \
    X(sockets_opened)                                                         \
    X(sockets_closed)                                                         \
    X(sockets_refused_limit)    /* "limit sockets" or max-sockets reached */  \
    X(sockets_refused_host)     /* the host had no descriptor or memory */    \
    X(bytes_sent)                                                             \
    X(bytes_received)                                                         \
    X(connections_refused_limit) /* "limit connections" of the policy file */ \
    X(queries_refused_limit)    /* "limit dns" */                             \
    X(buffers_refused_limit)    /* "limit buffers": no room for a socket */   \
    X(buffers_cut)              /* and buffers smaller than asked for */      \
    X(connections_raced)        /* attempts at other addresses of a name */   \
    X(connections_raced_won)    /* and how often that was the connection */   \
    X(connections_proxied)      /* handed to a proxy, "via" */                \
    X(proxied_failed)           /* and failed there */                        \
    X(sends_refused_budget)     /* "sent" of a rule: nothing is left */       \
    X(queries_refused_budget)   /* "names" of a rule: too many new names */   \
    X(throttled)                /* "limit sent|received": a socket waits */   \
    X(connections_ended)        /* a new policy file refuses them */          \
    X(policy_reloads)           /* the policy file was read again */          \
    X(policy_errors)            /* and was wrong */                           \
    X(zone_reloads)             /* a zone image was read again */             \
    X(zone_errors)              /* and was wrong */                           \
    X(groups_joined_again)      /* memberships, at another interface */       \
    X(dropped_pool_full)        /* a peer's, without an address left for it */\
    X(queries_waited)           /* DNS queries that waited for their turn */  \
    X(dropped_dns_wait_full)    /* or had no room to */                       \
    X(dropped_dns_queue_full)   /* answers a guest socket did not fetch */    \
    X(control_dropped)          /* ancillary data without IPv4 equivalent */  \
    X(connections_lost)         /* could not follow a migration */

typedef struct VmrpcCounters {
#define VMRPC_COUNTER_FIELD(name) uint64_t name;
    VMRPC_COUNTERS(VMRPC_COUNTER_FIELD)
#undef VMRPC_COUNTER_FIELD
} VmrpcCounters;

typedef struct VmrpcServer VmrpcServer;

/* Sockets wait for something after a migration; texts as in VmrpcRefusal. */
typedef struct VmrpcArrival {
    uint32_t sockets;           /* that wait for this; 0: the wait is over */
    VmrpcMissing missing;
    const char *address;        /* the VM's; of a route, the peer's; or NULL */
    unsigned port;              /* of one of the sockets, if that is missing */
    int error;                  /* what the host says, positive errno */
} VmrpcArrival;

/* Callbacks of an observer; every member may be NULL. */
typedef struct VmrpcTracer {
    /* A request was executed: its fields, error (errno or 0) and value. */
    void (*call)(void *opaque, unsigned op, uint32_t handle, int error,
                 uint32_t value);
    /* The policy or a limit refused something. */
    void (*refused)(void *opaque, const VmrpcRefusal *refusal);
    /* Someone else uses addresses of pool4: VmrpcReachTracer. */
    void (*pool)(void *opaque, struct in_addr addr4, const char *name);
    /* connect() found @dest, another address of the name, sooner. */
    void (*raced)(void *opaque, uint32_t handle, const char *dest);
    /* A state of a socket has changed: "backing", "binding" or "peer". */
    void (*moved)(void *opaque, uint32_t handle, const char *what,
                  const char *from, const char *to);
    /*
     * The policy file has changed and was read again; or @error says why the
     * old rules are still in force.
     */
    void (*policy)(void *opaque, const char *error);
    /* The same of the zone image of that name. */
    void (*zone)(void *opaque, const char *name, const char *error);
    /* An answer of the DNS servers was validated; the server's lock is held. */
    void (*validated)(void *opaque, const DnsValidated *found);
    /*
     * Other DNS servers are asked, or the same for another reason; or @error
     * says why the former ones still are.  When the tracer is set, it is called
     * if servers are missing.  The server's lock is held.
     */
    void (*servers)(void *opaque, const DnsOrigin *origin, const char *error);
    /*
     * vmmnet-validate is away, and why; or it is back: NULL.  The server's lock
     * is held.
     */
    void (*validator)(void *opaque, const char *trouble);
    /*
     * Sockets wait for something that is missing on this host; or none waits
     * any more.
     */
    void (*arrival)(void *opaque, const VmrpcArrival *arrival);
    void *opaque;
} VmrpcTracer;

#endif /* HW_VMRPC_CONFIG_H */

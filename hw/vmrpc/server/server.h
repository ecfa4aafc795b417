/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: executes a guest's socket calls on the host.
 *
 * Thread safety: vmrpc_server_call() may run in any number of threads, and one
 * more thread may call vmrpc_server_process() and fetch events.  During any
 * other function no other thread may use the server, unless its comment says
 * so.  A lock is held for the bookkeeping only, not while data move.
 */
#ifndef VMRPC_SERVER_H
#define VMRPC_SERVER_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "vmmnet/vmrpc.h"
#include "hw/vmrpc/alg/alg.h"
#include "hw/vmrpc/audit/log.h"
#include "hw/vmrpc/reach/reach.h"
#include "hw/vmrpc/server/lock.h"
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
 * What a server needs to know.  Strings and the policy belong to the caller
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

/* What stands behind a socket of the guest. */
typedef enum VmrpcBacking {
    VMRPC_BACKING_HOST,         /* a host socket */
    VMRPC_BACKING_RESOLVER,     /* a stream to the DNS proxy */
    /* a host socket that is not yet what it was before a migration */
    VMRPC_BACKING_ARRIVING,     /* or waits for its turn: arriving.c */
    VMRPC_BACKING_LOST,         /* nothing: it did not survive a migration */
} VmrpcBacking;

/* What is missing on this host, so that an arriving socket waits. */
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

/*
 * Makes a server.  Checks that address6 (with translate off: guest4) is an
 * address of this host unless @incoming, when it may arrive only with the VM.
 * Returns NULL and sets @errp on failure; the message names the property.
 */
VmrpcServer *vmrpc_server_new(const VmrpcServerConfig *config, bool incoming,
                              GError **errp);

/**
 * vmrpc_server_own_address: can sockets have the VM's address on this host?
 *
 * Any thread may call it at any time.
 *
 * Returns: 0, also if the VM has no address of its own; else the positive
 * errno, EADDRNOTAVAIL if the address is none of this host's, or tentative.
 */
int vmrpc_server_own_address(const VmrpcServer *srv);

/* Closes every host socket and frees the server.  NULL is allowed. */
void vmrpc_server_free(VmrpcServer *srv);

/*
 * Closes every host socket, as if the guest had closed them all without
 * sending anything more; the address map stays.
 */
void vmrpc_server_reset(VmrpcServer *srv);

/*
 * Executes one request.
 *
 * @out: the readable part of the chain, request header first
 * @in: the writable part; the response is written to its beginning
 * Data is read from and written to the remaining vectors in place.
 * @may_wait: the calling thread has the time that the request wants to wait
 *
 * Returns the number of bytes written to @in, counted from its beginning, or
 * -EBADMSG if the chain cannot hold a header and a response; then nothing was
 * done.  Every other mistake of the guest is answered in the response.
 */
VMRPC_UNLOCKED ssize_t vmrpc_server_call(VmrpcServer *srv,
                                         const struct iovec *out,
                                         unsigned out_num,
                                         const struct iovec *in,
                                         unsigned in_num, bool may_wait);

/*
 * A descriptor that polls readable whenever vmrpc_server_process() has
 * something to do: host sockets, DNS, timers.  Owned by the server.
 */
int vmrpc_server_fd(const VmrpcServer *srv);

/*
 * Processes the events of host sockets since the last call, a bounded number;
 * if there are more, vmrpc_server_fd() stays readable.  Never blocks.  Returns
 * true if there was an event.
 */
VMRPC_UNLOCKED bool vmrpc_server_process(VmrpcServer *srv);

/* True if vmrpc_server_next_event() would return an event. */
VMRPC_UNLOCKED bool vmrpc_server_has_event(VmrpcServer *srv);

/*
 * Fills @ev with the next event for the guest.  Returns false if there is
 * none.  An event stays pending until it is fetched here: call it only with a
 * guest buffer at hand.
 */
VMRPC_UNLOCKED bool vmrpc_server_next_event(VmrpcServer *srv,
                                            struct vmrpc_event *ev);

/*
 * A call that waits asks @may_go_on every 100 us, in its own thread, whether to
 * wait longer.  NULL: it may always.
 */
void vmrpc_server_set_may_go_on(VmrpcServer *srv, bool (*may_go_on)(void));

/*
 * The guest may map buffers, in memory that @ops gives access to; copied.
 * NULL: it may not.  Drops all buffers that are mapped.
 */
void vmrpc_server_set_memory(VmrpcServer *srv, const VmrpcMemoryOps *ops);

/*
 * What guest and device have agreed on, as bits 1 << VMRPC_F_*; the server looks
 * at VMRPC_F_MOMENTS, VMRPC_F_LONG_VALUES and VMRPC_F_INET6.  No call may be
 * under way.
 */
void vmrpc_server_set_features(VmrpcServer *srv, uint64_t features);

/* Sets or replaces the tracer; copied. */
void vmrpc_server_set_tracer(VmrpcServer *srv, const VmrpcTracer *tracer);

/*
 * Reads the policy file and the secrets of its proxies again; a change of the
 * file has the same effect, but cannot read secrets.  Returns false, and the
 * old rules are still in force, if it cannot be read or is wrong, or there is
 * none.  Any thread that may call the configuration's secret() may call it; it
 * reads a file.
 */
VMRPC_UNLOCKED bool vmrpc_server_reload_policy(VmrpcServer *srv, GError **errp);

/*
 * Ends the connections of the guest that the policy refuses now, or wants to
 * go another way.  Takes the lock for a few sockets at a time.
 */
VMRPC_UNLOCKED void vmrpc_server_end_refused(VmrpcServer *srv);

/*
 * The audit log takes lines again after vmrpc_audit_admits() said no: calls
 * that wait go on.  Any thread may call it.
 */
VMRPC_UNLOCKED void vmrpc_server_audit_has_room(VmrpcServer *srv);

/* The address map, which stays the server's; NULL without translation. */
VmrpcAddrMap *vmrpc_server_addrmap(VmrpcServer *srv);

/**
 * vmrpc_server_forget: empty the address map and the names, before a restore
 *
 * For a guest that goes back to a snapshot: it has got other names since.
 * vmrpc_server_addrmap() gives another map from here on.
 *
 * Returns: false, and nothing is changed, if there is no memory, or there are
 * sockets, as only a forged migration stream can cause.
 */
bool vmrpc_server_forget(VmrpcServer *srv, GError **errp);

/* The number of sockets that the guest has open. */
uint32_t vmrpc_server_sockets(const VmrpcServer *srv);

/* Fills the parts of the device's configuration that the server knows. */
void vmrpc_server_fill_config(const VmrpcServer *srv,
                              struct vmrpc_config *config);

/* --- migration: flat records, so that the device can put them on the wire  */

#define VMRPC_SAVED_OPTIONS     32

typedef struct VmrpcSavedOption {
    uint32_t level;             /* the guest's (level, name) and value */
    uint32_t name;
    uint32_t len;
    uint8_t value[VMRPC_OPTVAL_MAX];
} VmrpcSavedOption;

enum {
    VMRPC_SAVED_BOUND = 1,
    VMRPC_SAVED_LISTENING = 2,
    VMRPC_SAVED_CONNECTED = 4,  /* datagram: peer is set; stream: lost */
    VMRPC_SAVED_RESOLVER = 8,   /* the peer is the DNS proxy */
    VMRPC_SAVED_PING = 16,      /* IPPROTO_ICMP */
    VMRPC_SAVED_SELF = 32,      /* datagram: its peer is inside the guest */
    VMRPC_SAVED_INET6 = 64,     /* of AF_INET6 */
    VMRPC_SAVED_MAPPED = 128,   /* INET6: it names IPv4-mapped addresses */
};

typedef struct VmrpcSavedSock {
    uint32_t handle;
    uint32_t gen;
    uint32_t type;              /* SOCK_STREAM, SOCK_DGRAM */
    uint32_t flags;
    uint32_t ready_seq;
    union {                     /* one field of the migration stream */
        uint32_t backlog;       /* SOCK_STREAM: of listen() */
        uint32_t bound_group;   /* SOCK_DGRAM: network byte order; 0: none */
    };
    uint16_t local_port;        /* host byte order */
    uint16_t peer_port;         /* host byte order */
    uint32_t peer4;             /* network byte order */
    uint32_t option_num;
    VmrpcSavedOption option[VMRPC_SAVED_OPTIONS];
} VmrpcSavedSock;

/* Calls @fn for every socket with a record that is valid during the call. */
void vmrpc_server_save(const VmrpcServer *srv,
                       void (*fn)(void *opaque, const VmrpcSavedSock *saved),
                       void *opaque);

/*
 * Makes a socket again from its record: listening and datagram sockets are
 * bound again, as soon as the host has what they need (arriving.c); an
 * established stream is lost and reports ECONNRESET.
 * The address map must have been restored before.  Returns 0, or -EINVAL for
 * a record that no vmrpc_server_save() can have written.
 */
int vmrpc_server_restore(VmrpcServer *srv, const VmrpcSavedSock *saved);

/* A name that the guest asked for and an address that it leads to. */
typedef struct VmrpcSavedName {
    uint32_t len;               /* of the name in wire format */
    uint8_t name[DNS_NAME_MAX];
    uint8_t addr6[16];          /* as names.h has it */
    uint32_t ttl_s;             /* what is left of it */
} VmrpcSavedName;

#define VMRPC_SAVED_NAMES_MAX   (VMRPC_NAMES_DEFAULT_SIZE * \
                                 VMRPC_NAMES_MAX_ADDRESSES)

/* How many there are; calls @fn, which may be NULL, for each. */
uint32_t vmrpc_server_save_names(const VmrpcServer *srv,
                                 void (*fn)(void *opaque,
                                            const VmrpcSavedName *saved),
                                 void *opaque);

/*
 * Puts a name back: in the order in which they were saved, and before the
 * sockets, whose peers the policy may allow by name.  Returns 0, or
 * -EINVAL for a record that no vmrpc_server_save_names() can have written.
 */
int vmrpc_server_restore_name(VmrpcServer *srv, const VmrpcSavedName *saved);

/* A NAT64 prefix that the policy judges by (nat64-list.h). */
typedef struct VmrpcSavedNat64 {
    uint8_t addr6[16];
    uint32_t len;               /* bits, as net/packet/nat64.h has them */
    uint32_t in_use;            /* 1: the network has it; 0: it had it */
    uint32_t age_s;             /* since the network last announced it */
} VmrpcSavedNat64;

/* Returns how many there are. */
uint32_t vmrpc_server_save_nat64(const VmrpcServer *srv,
                                 VmrpcSavedNat64 saved[VMRPC_NAT64_MAX]);

/*
 * Puts them back, before the sockets: sockets may have peers behind the first
 * one, and the policy judges by all.  With VMRPC_NAT64_AUTO those in use stay
 * in use until this server has found its own; a configured prefix comes first.
 *
 * Returns @num.  If no vmrpc_server_save_nat64() can have written a record
 * behind those before it, does nothing and returns the index of that record.
 */
uint32_t vmrpc_server_restore_nat64(VmrpcServer *srv,
                                    const VmrpcSavedNat64 *saved,
                                    uint32_t num);

#endif /* VMRPC_SERVER_H */

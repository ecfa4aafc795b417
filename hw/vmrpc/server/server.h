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

#include <sys/uio.h>

#include "vmmnet/vmrpc.h"
#include "hw/vmrpc/sock/config.h"
#include "hw/vmrpc/sock/lock.h"
#include "hw/vmrpc/sock/options.h"

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

/* The spent parts of hourly budgets; NULL: nothing.  See policy-hits.h. */
GBytes *vmrpc_server_save_budgets(const VmrpcServer *srv);

/* Puts it back.  False if vmrpc_server_save_budgets() cannot have made it. */
bool vmrpc_server_restore_budgets(VmrpcServer *srv, GBytes *saved);

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

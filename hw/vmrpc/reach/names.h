/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest asked for: from an address back to the names that led to it
 *
 * The key is the address as the DNS answer had it: an IPv6 address, or an
 * IPv4 address to be reached through NAT64, written as IPv4-mapped
 * (::ffff:192.0.2.1).  So a name outlives a change of the NAT64 prefix, and
 * cannot be confused with an AAAA record, as none that is IPv4-mapped may be
 * noted (the DNS proxy gives none to the guest).
 *
 * Not thread-safe: the server that owns a table uses it under its lock.
 * Times are milliseconds of any clock that never goes back.
 */
#ifndef HW_VMRPC_NAMES_H
#define HW_VMRPC_NAMES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <glib.h>

#include "net/dns/wire.h"

#define VMRPC_NAMES_DEFAULT_SIZE 4096
#define VMRPC_NAMES_MAX_SIZE 65536

/* Addresses a name: all that the DNS proxy hands out of one answer. */
#define VMRPC_NAMES_MAX_ADDRESSES 32

/*
 * What a TTL is made of, in seconds.  At least: TTL 0 means "for the
 * transaction in progress" (RFC 1035 section 3.2.1), and a program that
 * tries one address after another takes its time for that.  At most: what
 * resolvers cut it to, so that a name cannot occupy its place for long.
 */
#define VMRPC_NAMES_MIN_TTL_S 60
#define VMRPC_NAMES_MAX_TTL_S (24 * 3600)

#define VMRPC_NAMES_ERROR vmrpc_names_error_quark()
GQuark vmrpc_names_error_quark(void);

typedef enum VmrpcNamesError {
    VMRPC_NAMES_ERROR_SYSTEM,   /* no memory, no randomness */
} VmrpcNamesError;

typedef struct VmrpcNames VmrpcNames;

/* The key of an IPv4 address: ::ffff:192.0.2.1 */
static inline struct in6_addr vmrpc_names_key4(struct in_addr addr4)
{
    struct in6_addr key = { .s6_addr = { [10] = 0xff, 0xff } };

    memcpy(&key.s6_addr[12], &addr4, sizeof(addr4));
    return key;
}

/* The IPv4 address of such a key; false if @key is an IPv6 address. */
static inline bool vmrpc_names_get_key4(const struct in6_addr *key,
                                        struct in_addr *addr4)
{
    if (!IN6_IS_ADDR_V4MAPPED(key)) {
        return false;
    }
    memcpy(addr4, &key->s6_addr[12], sizeof(*addr4));
    return true;
}

/* One address of an answer. */
typedef struct VmrpcNameAddr {
    struct in6_addr addr6;
    uint32_t ttl_s;             /* the least on the way to it */
} VmrpcNameAddr;

/* A name that led to an address; valid until the next vmrpc_names_note(). */
typedef struct VmrpcNameFound {
    const DnsName *name;        /* in lower case */
    uint32_t number;            /* for vmrpc_names_siblings(), _use() */
} VmrpcNameFound;

typedef struct VmrpcNamesStats {
    uint64_t names;             /* now */
    uint64_t addresses;         /* now; one of several names counts once */
    uint64_t created;           /* names that came in */
    uint64_t reclaimed;         /* of these, in place of one that was over */
    uint64_t evicted;           /* and in place of one within its TTL */
} VmrpcNamesStats;

/**
 * vmrpc_names_new:
 * @size: names the table can hold, 1 to VMRPC_NAMES_MAX_SIZE
 *
 * All memory is reserved here: 2 KiB a name (8 MiB for the default), made
 * resident by the kernel as names come.
 *
 * Returns: the table, to be freed with vmrpc_names_free(), or NULL.
 */
VmrpcNames *vmrpc_names_new(size_t size, GError **errp);

/** vmrpc_names_free: @names may be NULL. */
void vmrpc_names_free(VmrpcNames *names);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(VmrpcNames, vmrpc_names_free)

/**
 * vmrpc_names_note: remember an answer to the guest
 * @name: the name that the guest asked for; not the target of an alias
 * @addrs: the addresses, in the order of the answer; the table keeps the first
 *         VMRPC_NAMES_MAX_ADDRESSES of them
 * @addr_num: their number; 0 is allowed and does nothing
 *
 * Addresses of earlier answers stay behind those of this one, the latest answer
 * first, up to the limit: programs keep addresses, and servers give some of
 * many in turn.
 */
void vmrpc_names_note(VmrpcNames *names, const DnsName *name,
                      const VmrpcNameAddr *addrs, size_t addr_num,
                      int64_t now_ms);

/**
 * vmrpc_names_restore: what vmrpc_names_foreach() told elsewhere, in its order
 *
 * The TTL is what is left of one, so it is taken as it is.
 */
void vmrpc_names_restore(VmrpcNames *names, const DnsName *name,
                         const VmrpcNameAddr *addr, int64_t now_ms);

/**
 * vmrpc_names_lookup: the names that led to @addr6
 * @found: the names whose answers had it most recently, the latest first
 * @max: room in @found.  An address of a content network has many names, so
 *       who looks for one among them should take more than a few.
 *
 * A name answers until its place is given to another, also after its TTL.
 *
 * Returns: how many were found.  O(1) and O(1) for each name found.
 */
size_t vmrpc_names_lookup(const VmrpcNames *names,
                          const struct in6_addr *addr6,
                          VmrpcNameFound *found, size_t max);

/**
 * vmrpc_names_siblings: the addresses of a name that was found
 * @now_ms: only those whose TTL is not over then: who connects to an address
 *          that the guest did not name needs DNS to stand by it; INT64_MIN:
 *          all that are remembered
 * @addrs: in the order of the answers, see vmrpc_names_note()
 *
 * Returns: how many; 0 if all are over.
 */
size_t vmrpc_names_siblings(const VmrpcNames *names,
                            const VmrpcNameFound *found, int64_t now_ms,
                            struct in6_addr addrs[VMRPC_NAMES_MAX_ADDRESSES]);

/**
 * vmrpc_names_use: the guest was let through by this name
 *
 * A name that was just used is not the next to be forgotten, so a server
 * that resolves its upstream once and connects for days keeps it.
 */
void vmrpc_names_use(VmrpcNames *names, const VmrpcNameFound *found,
                     int64_t now_ms);

/* Where a name leads, one address of it, as it travels with a migrating VM. */
typedef struct VmrpcNameEntry {
    const DnsName *name;
    VmrpcNameAddr addr;         /* ttl_s: what is left of it */
} VmrpcNameEntry;

typedef void VmrpcNamesFunc(void *opaque, const VmrpcNameEntry *entry);

/**
 * vmrpc_names_foreach: all names with all their addresses
 *
 * In the order in which vmrpc_names_note(), with each entry on its own, makes
 * a table like this one.  @func must not change the table.
 */
void vmrpc_names_foreach(const VmrpcNames *names, int64_t now_ms,
                         VmrpcNamesFunc *func, void *opaque);

void vmrpc_names_stats(const VmrpcNames *names, VmrpcNamesStats *stats);

#endif /* HW_VMRPC_NAMES_H */

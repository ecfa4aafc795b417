/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names that the guest has looked up: from an address back to its names
 *
 * The key is the address of the DNS record: an IPv6 address, or an IPv4 address
 * to be reached through NAT64, written as IPv4-mapped (::ffff:192.0.2.1).  So
 * a name stays valid when the NAT64 prefix changes.  No AAAA record has such a
 * key: the DNS proxy gives the guest no IPv4-mapped address.
 *
 * Thread safety: none; the owner serialises all calls.
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

#include "net/dns/wire/wire.h"

#define VMRPC_NAMES_DEFAULT_SIZE 4096
#define VMRPC_NAMES_MAX_SIZE 65536

/* Addresses of one name: the DNS proxy passes on no more from one answer. */
#define VMRPC_NAMES_MAX_ADDRESSES 32

/*
 * Bounds of a TTL, in seconds.  TTL 0 means "for the transaction in progress"
 * (RFC 1035 section 3.2.1), and a program that tries one address after another
 * takes some time for that.  The upper bound is one that resolvers use; with
 * it, a name cannot occupy its place for long.
 */
#define VMRPC_NAMES_MIN_TTL_S 60
#define VMRPC_NAMES_MAX_TTL_S (24 * 3600)

#define VMRPC_NAMES_ERROR vmrpc_names_error_quark()
GQuark vmrpc_names_error_quark(void);

typedef enum VmrpcNamesError {
    VMRPC_NAMES_ERROR_SYSTEM,   /* no memory, no random numbers */
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
    uint32_t ttl_s;             /* the lowest of its records and aliases */
} VmrpcNameAddr;

/* A name of an address; valid until the next vmrpc_names_note() */
typedef struct VmrpcNameFound {
    const DnsName *name;        /* in lower case */
    uint32_t number;            /* for vmrpc_names_siblings(), _use() */
} VmrpcNameFound;

typedef struct VmrpcNamesStats {
    uint64_t names;             /* now */
    uint64_t addresses;         /* now; each counts once */
    uint64_t created;           /* names that were added */
    uint64_t reclaimed;         /* of these, in place of an expired name */
    uint64_t evicted;           /* and in place of a name within its TTL */
} VmrpcNamesStats;

/**
 * vmrpc_names_new: an empty table
 * @size: names the table can hold, 1 to VMRPC_NAMES_MAX_SIZE
 *
 * Reserves all memory: 2 KiB for each name (8 MiB for the default size).  The
 * kernel makes pages resident as names are added.
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
 * vmrpc_names_restore: add an entry that vmrpc_names_foreach() has given
 *
 * Restore all entries in their order.  The lower bound of a TTL does not apply:
 * this one is what is left of it.
 */
void vmrpc_names_restore(VmrpcNames *names, const DnsName *name,
                         const VmrpcNameAddr *addr, int64_t now_ms);

/**
 * vmrpc_names_lookup: the names that led to @addr6
 * @found: the names, the one with the latest answer first
 * @max: room in @found.  An address of a content network has many names, so a
 *       search for one of them needs more than a few.
 *
 * A name is found until another name takes its place, even after its TTL.
 *
 * Returns: how many were found.  O(1), and O(1) for each name found.
 */
size_t vmrpc_names_lookup(const VmrpcNames *names,
                          const struct in6_addr *addr6,
                          VmrpcNameFound *found, size_t max);

/**
 * vmrpc_names_find: look up a name
 * @found: the name, if the result is true
 *
 * Returns: whether the guest has asked for it, and there was an answer.
 */
bool vmrpc_names_find(const VmrpcNames *names, const DnsName *name,
                      VmrpcNameFound *found);

/**
 * vmrpc_names_leads: has this name led to @addr6?
 * @found: a name that was found
 *
 * However many names the address has, and even after the TTL.
 */
bool vmrpc_names_leads(const VmrpcNames *names, const VmrpcNameFound *found,
                       const struct in6_addr *addr6);

/**
 * vmrpc_names_siblings: the addresses of a name that was found
 * @now_ms: only addresses whose TTL lasts at this time: for a connection to an
 *          address that the guest did not name, DNS must vouch for it now;
 *          INT64_MIN: all addresses in the table
 * @addrs: in the order of the answers, see vmrpc_names_note()
 *
 * Returns: their number; 0 if the TTL of all is over.
 */
size_t vmrpc_names_siblings(const VmrpcNames *names,
                            const VmrpcNameFound *found, int64_t now_ms,
                            struct in6_addr addrs[VMRPC_NAMES_MAX_ADDRESSES]);

/**
 * vmrpc_names_use: a rule for this name has allowed a destination
 *
 * Makes the name one of the last to be replaced: so a program that resolves a
 * name once and connects for days keeps it.
 */
void vmrpc_names_use(VmrpcNames *names, const VmrpcNameFound *found,
                     int64_t now_ms);

/* A name and one of its addresses, in a migration stream */
typedef struct VmrpcNameEntry {
    const DnsName *name;
    VmrpcNameAddr addr;         /* ttl_s: what is left of it */
} VmrpcNameEntry;

typedef void VmrpcNamesFunc(void *opaque, const VmrpcNameEntry *entry);

/**
 * vmrpc_names_foreach: call @func for every name with each of its addresses
 *
 * vmrpc_names_restore(), called in this order, makes a table like this one.
 * @func must not change the table.
 */
void vmrpc_names_foreach(const VmrpcNames *names, int64_t now_ms,
                         VmrpcNamesFunc *func, void *opaque);

/**
 * vmrpc_names_stats: the counters
 *
 * The tests compare them with a model: they show that no address stays without
 * a name, and which choice replaced a name.
 */
void vmrpc_names_stats(const VmrpcNames *names, VmrpcNamesStats *stats);

#endif /* HW_VMRPC_NAMES_H */

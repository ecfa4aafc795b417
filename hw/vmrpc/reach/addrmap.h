/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 46/64 address map: virtual IPv4 addresses for IPv6 peers
 *
 * A peer is either one that a DNS name led to, or a stranger: one that came by
 * itself (accept, recvfrom).
 *
 * Thread safety: none; the owner serialises all calls.
 * Addresses are in network byte order.  Times are milliseconds of any clock
 * that never goes back.
 */
#ifndef HW_VMRPC_ADDRMAP_H
#define HW_VMRPC_ADDRMAP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <glib.h>

/* Prefix lengths of a pool: from 2^20 addresses down to 2 usable ones */
#define VMRPC_ADDRMAP_MIN_PREFIX 12
#define VMRPC_ADDRMAP_MAX_PREFIX 30

/* Longest lease: a week; RFC 8767 recommends that as the cap of a TTL. */
#define VMRPC_ADDRMAP_MAX_LEASE_S (7 * 24 * 3600)

/* For so long after its lease, no stranger gets the address of a name. */
#define VMRPC_ADDRMAP_KEPT_S (7 * 24 * 3600)

/* For so long after a contact, no other peer gets a stranger's address. */
#define VMRPC_ADDRMAP_STRANGER_MS 1000

/* Longest leases while names have more than 1/2 or 3/4 of the pool */
#define VMRPC_ADDRMAP_HALF_LEASE_S 3600
#define VMRPC_ADDRMAP_FULL_LEASE_S 60

#define VMRPC_ADDRMAP_ERROR vmrpc_addrmap_error_quark()
GQuark vmrpc_addrmap_error_quark(void);

typedef enum VmrpcAddrMapError {
    VMRPC_ADDRMAP_ERROR_POOL,   /* the prefix is unusable */
    VMRPC_ADDRMAP_ERROR_OVERLAP,/* the pool has a reserved address */
    VMRPC_ADDRMAP_ERROR_SYSTEM, /* no memory, no randomness */
} VmrpcAddrMapError;

typedef struct VmrpcAddrMap VmrpcAddrMap;

/* An address that the pool must not contain, and the option that sets it */
typedef struct VmrpcAddrReserved {
    struct in_addr addr;
    const char *name;           /* "guest4", for the error message */
} VmrpcAddrReserved;

typedef struct VmrpcAddrMapStats {
    uint64_t capacity;          /* addresses that peers can get */
    uint64_t entries;           /* addresses that have a peer */
    uint64_t in_use;            /* of these, referenced by a socket */
    uint64_t created;           /* peers that got an address */
    uint64_t reclaimed;         /* of these, an address of an older peer */
    uint64_t full;              /* peers that got -ENOSPC */
} VmrpcAddrMapStats;

/**
 * vmrpc_addrmap_new: an empty map
 * @base: first address of the pool, its network address
 * @prefix_len: VMRPC_ADDRMAP_MIN_PREFIX to VMRPC_ADDRMAP_MAX_PREFIX
 * @start: random; the first name gets the address @start (modulo the names'
 *         part of the pool) after the first one, the next names those behind
 *         it.  A program may have the address of a name from an earlier map;
 *         the start keeps another name from it.
 * @reserved: addresses with another meaning in the guest (its own, resolver)
 * @n_reserved: their number; @reserved may be NULL if 0
 * @errp: the message names pool4= and the address that it collides with
 *
 * Reserves all memory: 52 bytes for each address (7 MiB for 131,072).  The
 * kernel makes pages resident as addresses are used.
 *
 * Returns: the map, to be freed with vmrpc_addrmap_free(); NULL if the pool
 * has bits set after its prefix, is too large or too small, overlaps
 * 0/8, 127/8, 169.254/16, 224/4 or 240/4, or holds a reserved address.
 */
VmrpcAddrMap *vmrpc_addrmap_new(struct in_addr base, unsigned prefix_len,
                                uint32_t start,
                                const VmrpcAddrReserved *reserved,
                                size_t n_reserved, GError **errp);

/** vmrpc_addrmap_free: @map may be NULL. */
void vmrpc_addrmap_free(VmrpcAddrMap *map);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(VmrpcAddrMap, vmrpc_addrmap_free)

/**
 * vmrpc_addrmap_contains: is @addr4 in the pool?
 *
 * It need not have a peer.  The network and the broadcast address of the pool
 * count as inside.
 */
bool vmrpc_addrmap_contains(const VmrpcAddrMap *map, struct in_addr addr4);

/**
 * vmrpc_addrmap_lease: the virtual address of a peer, a new one if need be
 * @addr6: the peer
 * @ttl_s: of a name: the TTL of the DNS answer, at least 1; of a stranger: 0.
 *         A stranger's socket takes a reference if it needs the address to
 *         stay.  Cut to VMRPC_ADDRMAP_MAX_LEASE_S, or to less while names have
 *         much of the pool.
 * @now_ms: now
 * @addr4: the virtual address; not written on error
 * @lease_s: may be NULL; whole seconds for which the address is promised from
 *           now on, at least the @ttl_s that was granted, at most the cap
 *
 * Extends the lease of a known peer to @ttl_s from now; never shortens it.
 * Constant time for a known peer with an unchanged lease, logarithmic
 * otherwise.
 *
 * When no address is fresh, a new peer gets the address of a stranger without
 * a socket whose last contact is VMRPC_ADDRMAP_STRANGER_MS ago.  If there is
 * none, or names have seven eighths of the pool, a name gets the address of
 * the name whose lease ended first; a stranger gets that address only
 * VMRPC_ADDRMAP_KEPT_S after the lease.
 *
 * Returns: 0, or -ENOSPC if every address that the peer could get is in use,
 * under lease, or kept for a name.
 */
int vmrpc_addrmap_lease(VmrpcAddrMap *map, const struct in6_addr *addr6,
                        uint32_t ttl_s, int64_t now_ms,
                        struct in_addr *addr4, uint32_t *lease_s);

/**
 * vmrpc_addrmap_lookup4: the peer of a virtual address (table "46")
 *
 * An entry answers until another peer gets its address, even after its lease:
 * programs keep addresses longer than the TTL.  Hence there is no time
 * argument.
 *
 * Returns: 0, or -ENOENT (also for an address outside the pool).
 */
int vmrpc_addrmap_lookup4(const VmrpcAddrMap *map, struct in_addr addr4,
                          struct in6_addr *addr6);

/**
 * vmrpc_addrmap_lookup6: the virtual address of a peer (table "64")
 *
 * Changes nothing, unlike vmrpc_addrmap_lease(): the tests compare table "64"
 * with table "46" and with a model after each step.
 *
 * Returns: 0 or -ENOENT.
 */
int vmrpc_addrmap_lookup6(const VmrpcAddrMap *map,
                          const struct in6_addr *addr6,
                          struct in_addr *addr4);

/**
 * vmrpc_addrmap_ref: take a reference; no other peer gets @addr4 meanwhile
 *
 * Returns: 0, -ENOENT if @addr4 has no peer, -EOVERFLOW.
 */
int vmrpc_addrmap_ref(VmrpcAddrMap *map, struct in_addr addr4);

/**
 * vmrpc_addrmap_unref: drop a reference
 * @now_ms: with the last reference, the promise ends now, or with the lease if
 *          that is later
 *
 * Returns: 0, -ENOENT if @addr4 has no peer, -EINVAL if it had no reference.
 */
int vmrpc_addrmap_unref(VmrpcAddrMap *map, struct in_addr addr4,
                        int64_t now_ms);

/** vmrpc_addrmap_stats: the counters, for management and migration */
void vmrpc_addrmap_stats(const VmrpcAddrMap *map, VmrpcAddrMapStats *stats);

/* An entry in a migration stream */
typedef struct VmrpcAddrMapEntry {
    struct in_addr addr4;
    struct in6_addr addr6;
    /*
     * The rest of the lease.  -1: a stranger, without a lease.  Less: the
     * lease ended -1 - remaining_ms milliseconds ago.
     */
    int64_t remaining_ms;
    uint32_t refs;              /* references of sockets */
} VmrpcAddrMapEntry;

typedef void (*VmrpcAddrMapFunc)(const VmrpcAddrMapEntry *entry,
                                 void *opaque);

/**
 * vmrpc_addrmap_foreach: call @func for every entry, by ascending address
 *
 * @func must not change the map.
 */
void vmrpc_addrmap_foreach(const VmrpcAddrMap *map, int64_t now_ms,
                           VmrpcAddrMapFunc func, void *opaque);

/**
 * vmrpc_addrmap_restore: restore an entry of a migration stream
 * @remaining_ms: as in VmrpcAddrMapEntry; cut to the longest lease, or to
 *                VMRPC_ADDRMAP_KEPT_S.  Older streams have 0 for strangers:
 *                then strangers are protected like names.
 *
 * References are not restored: restored sockets take their own.
 * The stream is not trusted; this function checks everything in it.
 *
 * Returns: 0; also if the same pair is there, whose lease is extended.
 * -ERANGE if no peer can have @addr4, -EEXIST if @addr4 or @addr6 already
 * belongs to another entry.
 */
int vmrpc_addrmap_restore(VmrpcAddrMap *map, struct in_addr addr4,
                          const struct in6_addr *addr6,
                          int64_t remaining_ms, int64_t now_ms);

#endif /* HW_VMRPC_ADDRMAP_H */

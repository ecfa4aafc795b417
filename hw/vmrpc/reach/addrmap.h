/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 46/64 address map: virtual IPv4 addresses for IPv6 peers
 *
 * Not thread-safe: the server that owns a map uses it under its lock.
 * Addresses are in network byte order, as in the structs that hold them.
 * Times are milliseconds of any clock that never goes back.
 */
#ifndef HW_VMRPC_ADDRMAP_H
#define HW_VMRPC_ADDRMAP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <glib.h>

/* Prefix lengths of a pool: from 2^20 addresses down to two usable ones. */
#define VMRPC_ADDRMAP_MIN_PREFIX 12
#define VMRPC_ADDRMAP_MAX_PREFIX 30

/* Longest lease: a week, RFC 8767's advice for the cap of a TTL. */
#define VMRPC_ADDRMAP_MAX_LEASE_S (7 * 24 * 3600)

/* How long after its lease what a name led to is not given to a stranger. */
#define VMRPC_ADDRMAP_KEPT_S (7 * 24 * 3600)

/* How long nobody else gets the address of a stranger who was met. */
#define VMRPC_ADDRMAP_STRANGER_MS 1000

/* When names have more than half of the pool, and more than 3/4 of it. */
#define VMRPC_ADDRMAP_HALF_LEASE_S 3600
#define VMRPC_ADDRMAP_FULL_LEASE_S 60

#define VMRPC_ADDRMAP_ERROR vmrpc_addrmap_error_quark()
GQuark vmrpc_addrmap_error_quark(void);

typedef enum VmrpcAddrMapError {
    VMRPC_ADDRMAP_ERROR_POOL,   /* the prefix itself is unusable */
    VMRPC_ADDRMAP_ERROR_OVERLAP,/* the pool holds an address it must not */
    VMRPC_ADDRMAP_ERROR_SYSTEM, /* no memory, no randomness */
} VmrpcAddrMapError;

typedef struct VmrpcAddrMap VmrpcAddrMap;

/* An address the pool must not hold, and the option that sets it. */
typedef struct VmrpcAddrReserved {
    struct in_addr addr;
    const char *name;           /* "guest4": named in the error */
} VmrpcAddrReserved;

typedef struct VmrpcAddrMapStats {
    uint64_t capacity;          /* addresses the pool can hand out */
    uint64_t entries;           /* addresses that have a peer */
    uint64_t in_use;            /* of these, held by at least one socket */
    uint64_t created;           /* peers that were given an address */
    uint64_t reclaimed;         /* of these, by taking it from another */
    uint64_t full;              /* peers refused with -ENOSPC */
} VmrpcAddrMapStats;

/**
 * vmrpc_addrmap_new:
 * @base: first address of the pool, its network address
 * @prefix_len: VMRPC_ADDRMAP_MIN_PREFIX to VMRPC_ADDRMAP_MAX_PREFIX
 * @reserved: addresses the guest sees that are no peers (its own, resolver)
 * @n_reserved: how many; @reserved may be NULL if 0
 * @errp: names pool4= and what it collides with
 *
 * All memory is reserved here: 52 bytes an address (7 MiB for 131,072), made
 * resident by the kernel as addresses are handed out.
 *
 * Returns: the map, to be freed with vmrpc_addrmap_free(); NULL if the pool
 * has bits set after its prefix, is too large or too small, overlaps
 * 0/8, 127/8, 169.254/16, 224/4 or 240/4, or holds a reserved address.
 */
VmrpcAddrMap *vmrpc_addrmap_new(struct in_addr base, unsigned prefix_len,
                                const VmrpcAddrReserved *reserved,
                                size_t n_reserved, GError **errp);

/** vmrpc_addrmap_free: @map may be NULL. */
void vmrpc_addrmap_free(VmrpcAddrMap *map);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(VmrpcAddrMap, vmrpc_addrmap_free)

/**
 * vmrpc_addrmap_contains:
 *
 * Returns: whether @addr4 lies in the pool (mapped or not; the network and
 * the broadcast address of the pool count as inside).
 */
bool vmrpc_addrmap_contains(const VmrpcAddrMap *map, struct in_addr addr4);

/**
 * vmrpc_addrmap_lease:
 * @addr6: the peer
 * @ttl_s: how long the caller promises the address to the guest: the TTL of
 *         a DNS answer, at least 1; 0 for a stranger, a peer that came by
 *         itself (accept, recvfrom), whose socket holds a reference if it
 *         matters. Cut to VMRPC_ADDRMAP_MAX_LEASE_S, or to less when
 *         names have much of the pool.
 * @now_ms: now
 * @addr4: the virtual address; not written on error
 * @lease_s: may be NULL; whole seconds the address is promised from now on,
 *           at least the @ttl_s that was granted, at most the cap
 *
 * Finds or creates the entry of @addr6 and extends its lease to @ttl_s from
 * now; a lease is never shortened. Constant time for a known peer with an
 * unchanged lease, logarithmic otherwise.
 *
 * When no address is fresh, a new peer gets that of a stranger who has not
 * been met for VMRPC_ADDRMAP_STRANGER_MS; if there is none without a socket, a
 * name gets that of the name whose lease is over for the longest time.  So it
 * does when names have seven eighths of the pool.  A stranger gets that only
 * when the lease has been over for VMRPC_ADDRMAP_KEPT_S: what a name led to is
 * not for those who came by themselves.
 *
 * Returns: 0, or -ENOSPC when every address that it could get is in use, under
 * lease, or, for a stranger, kept for a name.
 */
int vmrpc_addrmap_lease(VmrpcAddrMap *map, const struct in6_addr *addr6,
                        uint32_t ttl_s, int64_t now_ms,
                        struct in_addr *addr4, uint32_t *lease_s);

/**
 * vmrpc_addrmap_lookup4: the peer of a virtual address (table "46")
 *
 * An entry answers until its address is given to another peer, also after
 * its lease: programs keep addresses longer than a TTL, and over IPv4 that
 * works. Hence no time argument.
 *
 * Returns: 0, or -ENOENT (also for an address outside the pool).
 */
int vmrpc_addrmap_lookup4(const VmrpcAddrMap *map, struct in_addr addr4,
                          struct in6_addr *addr6);

/**
 * vmrpc_addrmap_lookup6: the virtual address of a peer (table "64")
 *
 * Returns: 0, or -ENOENT. Creates nothing; see vmrpc_addrmap_lease().
 */
int vmrpc_addrmap_lookup6(const VmrpcAddrMap *map,
                          const struct in6_addr *addr6,
                          struct in_addr *addr4);

/**
 * vmrpc_addrmap_ref: a socket uses @addr4; it stays until unref
 *
 * Returns: 0, -ENOENT if @addr4 has no peer, -EOVERFLOW.
 */
int vmrpc_addrmap_ref(VmrpcAddrMap *map, struct in_addr addr4);

/**
 * vmrpc_addrmap_unref: a socket has let go of @addr4
 * @now_ms: from now on the address ages, if its lease does not end later
 *
 * Returns: 0, -ENOENT if @addr4 has no peer, -EINVAL if it had no reference.
 */
int vmrpc_addrmap_unref(VmrpcAddrMap *map, struct in_addr addr4,
                        int64_t now_ms);

void vmrpc_addrmap_stats(const VmrpcAddrMap *map, VmrpcAddrMapStats *stats);

/* One entry, as it travels with a migrating VM. */
typedef struct VmrpcAddrMapEntry {
    struct in_addr addr4;
    struct in6_addr addr6;
    /* of the lease; -1: a stranger's; less: over for so long, and 1 ms */
    int64_t remaining_ms;
    uint32_t refs;              /* sockets that hold it */
} VmrpcAddrMapEntry;

typedef void (*VmrpcAddrMapFunc)(const VmrpcAddrMapEntry *entry,
                                 void *opaque);

/**
 * vmrpc_addrmap_foreach: calls @func for every entry, by ascending address
 *
 * @func must not change the map.
 */
void vmrpc_addrmap_foreach(const VmrpcAddrMap *map, int64_t now_ms,
                           VmrpcAddrMapFunc func, void *opaque);

/**
 * vmrpc_addrmap_restore: puts back an entry of a migration stream
 * @remaining_ms: as exported, cut to the longest lease, or to how long an
 *                address is kept after it.  Older streams have 0 for
 *                strangers, which protects too many rather than too few.
 *
 * References are not restored: the sockets that come back take their own.
 * The stream is not trusted: everything in it is checked here.
 *
 * Returns: 0 (also if the very same pair is there, whose lease it extends),
 * -ERANGE if @addr4 is not one the pool hands out, -EEXIST if @addr4 or
 * @addr6 already belongs to another.
 */
int vmrpc_addrmap_restore(VmrpcAddrMap *map, struct in_addr addr4,
                          const struct in6_addr *addr6,
                          int64_t remaining_ms, int64_t now_ms);

#endif /* HW_VMRPC_ADDRMAP_H */

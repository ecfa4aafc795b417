/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 46/64 address map: virtual IPv4 addresses for IPv6 peers
 *
 * Theory of operation
 *
 * The guest uses IPv4, its peers are IPv6 hosts.  Each peer gets an address of
 * a pool, and keeps it for as long as a program may remember it ("Address
 * mapping table", section 4.1 of the VMRPC paper).
 *
 * 46 (address to peer): one entry for each address, found by its offset in the
 * pool.  64 (peer to address): a hash table; its chains run through the same
 * entries.  The keys come from the network, so the hash is SipHash with a
 * random key: nobody outside can choose peers that fall into one chain.
 *
 * There are two kinds of peers.  A name led to the one kind: a DNS answer gave
 * the guest the address.  A stranger came by itself (accept, recvfrom).
 *
 * An entry has a promise: the lease that came with the DNS answer, and each
 * socket that uses the address.  The promise ends when the lease is over and
 * the last socket is closed.  After that the entry stays until a new peer
 * needs an address and no fresh one is left; the entry whose promise ended
 * first is reused first.  Entries without a socket are in a binary heap by
 * that time.  A list would do if all leases had one length; as they do not, a
 * guest that asks for names with long TTLs would make others search the list.
 *
 * Programs keep the address of a name long after its TTL.  If a stranger got
 * this address, it would receive what such a program sends, and anybody with a
 * prefix of his own could try until he has the address.  So a stranger gets
 * the entry of a name only a week after the promise has ended.  Strangers take
 * addresses from one another, except in the first second, in which the guest
 * may be about to answer.  Names take the entries of strangers first, then
 * those of other names.  Hence there are two heaps.
 *
 * In a pool of 8 addresses or more, an eighth is for strangers: otherwise no
 * new peer could reach a guest that has looked up many names.  When names have
 * the rest, a new name takes the entry of the name whose promise ended first.
 * If the new name belongs to a known stranger, that stranger keeps its entry,
 * and the old name's entry counts as a stranger's from then on.
 *
 * A map begins empty when the device is plugged in again, or when QEMU starts
 * under a guest that was hibernated, while programs in the guest still have
 * addresses of the earlier map.  So names take fresh addresses from a random
 * start on: the address of another name is met by chance only.  Strangers take
 * fresh addresses of their eighth, which lies behind the names' part of the
 * pool: they get no address that was a name's, as long as an eighth is enough
 * for them.
 *
 * The more names there are, the shorter are new leases.  Otherwise the owner
 * of a zone with long TTLs and many addresses for each name could lease the
 * whole pool with a few thousand lookups.  With the shortest lease, addresses
 * come back within a minute.  Names whose lease is over count as well: finding
 * them would take a search, and a short lease costs the guest another lookup,
 * not the address.
 *
 * Limits: a pool that is full of leases and sockets refuses new peers with an
 * error; so does a pool that filled with strangers within the last second.
 *
 * Nothing is allocated after creation.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "hw/vmrpc/reach/addrmap.h"
#include "net/packet/siphash.h"

/*
 * 40 bytes, and 12 more in the arrays of VmrpcAddrMap.  Entry 0 is the network
 * address of the pool, which no peer gets; so 0 ends chains and means "not in
 * the heap".
 */
typedef struct Entry {
    struct in6_addr addr6;
    int64_t until;              /* end of the promise, sockets apart */
    uint32_t refs;              /* sockets; > 0: not in a heap */
    uint32_t place;             /* in its heap, from 1 */
    uint32_t next;              /* in the chain of the hash */
    bool named;                 /* a name led to it; else a stranger */
} Entry;

/* Entries without a socket; the one to reuse first is at 1. */
typedef struct Heap {
    uint32_t *at;               /* [size], by the end of the promise, from 1 */
    uint32_t num;
} Heap;

struct VmrpcAddrMap {
    /* constant after creation */
    uint32_t base;              /* host byte order, as all addresses below */
    uint32_t size;              /* a power of two */
    uint64_t key[2];

    Entry *entries;             /* [size], by offset in the pool */
    uint32_t *chains;           /* [size], first entry of each chain */
    Heap heap[2];               /* by Entry.named: strangers, names */
    uint32_t named;             /* entries with Entry.named */
    uint32_t start;             /* where names begin, < names_part() */
    /* In the order of fresh_entry(); between them only restored entries. */
    uint32_t fresh, fresh_end;
    VmrpcAddrMapStats stats;
};

typedef struct Special {
    uint32_t base;
    unsigned len;
    const char *name;
} Special;

/* IPv4 ranges with a special meaning in the guest (RFC 6890) */
static const Special specials[] = {
    { 0x00000000, 8, "0.0.0.0/8 (this network)" },
    { 0x7f000000, 8, "127.0.0.0/8 (loopback)" },
    { 0xa9fe0000, 16, "169.254.0.0/16 (link-local)" },
    { 0xe0000000, 4, "224.0.0.0/4 (multicast)" },
    { 0xf0000000, 4, "240.0.0.0/4 (reserved)" },
};

GQuark vmrpc_addrmap_error_quark(void)
{
    return g_quark_from_static_string("vmrpc-addrmap-error");
}

/* The heaps */

static Heap *heap_of(VmrpcAddrMap *map, uint32_t n)
{
    return &map->heap[map->entries[n].named];
}

static bool goes_before(const VmrpcAddrMap *map, uint32_t a, uint32_t b)
{
    return map->entries[a].until < map->entries[b].until;
}

static void heap_put(VmrpcAddrMap *map, Heap *heap, uint32_t place, uint32_t n)
{
    heap->at[place] = n;
    map->entries[n].place = place;
}

static void heap_up(VmrpcAddrMap *map, Heap *heap, uint32_t place, uint32_t n)
{
    while (place > 1 && goes_before(map, n, heap->at[place / 2])) {
        heap_put(map, heap, place, heap->at[place / 2]);
        place /= 2;
    }
    heap_put(map, heap, place, n);
}

static void heap_down(VmrpcAddrMap *map, Heap *heap, uint32_t place, uint32_t n)
{
    for (;;) {
        uint32_t child = place * 2;

        if (child > heap->num) {
            break;
        }
        if (child < heap->num &&
            goes_before(map, heap->at[child + 1], heap->at[child])) {
            child++;
        }
        if (!goes_before(map, heap->at[child], n)) {
            break;
        }
        heap_put(map, heap, place, heap->at[child]);
        place = child;
    }
    heap_put(map, heap, place, n);
}

static void heap_add(VmrpcAddrMap *map, uint32_t n)
{
    Heap *heap = heap_of(map, n);

    heap_up(map, heap, ++heap->num, n);
}

static void heap_remove(VmrpcAddrMap *map, uint32_t n)
{
    Heap *heap = heap_of(map, n);
    uint32_t place = map->entries[n].place;
    uint32_t last = heap->at[heap->num--];

    map->entries[n].place = 0;
    if (last == n) {
        return;
    }
    if (place > 1 && goes_before(map, last, heap->at[place / 2])) {
        heap_up(map, heap, place, last);
    } else {
        heap_down(map, heap, place, last);
    }
}

static uint32_t *chain_of(const VmrpcAddrMap *map,
                          const struct in6_addr *addr6)
{
    uint64_t hash = siphash_1_3(map->key, addr6, sizeof(*addr6));

    return &map->chains[hash & (map->size - 1)];
}

/* The number of the entry of @addr6; 0: there is none */
static uint32_t find6(const VmrpcAddrMap *map, const struct in6_addr *addr6)
{
    uint32_t n = *chain_of(map, addr6);

    while (n && memcmp(&map->entries[n].addr6, addr6, sizeof(*addr6))) {
        n = map->entries[n].next;
    }
    return n;
}

static void unchain(VmrpcAddrMap *map, uint32_t n)
{
    uint32_t *link = chain_of(map, &map->entries[n].addr6);

    while (*link != n) {
        link = &map->entries[*link].next;
    }
    *link = map->entries[n].next;
}

static bool has_peer(const VmrpcAddrMap *map, uint32_t n)
{
    return map->entries[n].refs || map->entries[n].place;
}

/* The number of the entry of @addr4; 0: the address has no peer */
static uint32_t find4(const VmrpcAddrMap *map, struct in_addr addr4)
{
    uint32_t n = ntohl(addr4.s_addr) - map->base;

    return n < map->size && has_peer(map, n) ? n : 0;
}

static struct in_addr addr_of(const VmrpcAddrMap *map, uint32_t n)
{
    return (struct in_addr) { .s_addr = htonl(map->base + n) };
}

/* Gives the free entry @n to @addr6. */
static void occupy(VmrpcAddrMap *map, uint32_t n,
                   const struct in6_addr *addr6, int64_t until, bool named)
{
    Entry *entry = &map->entries[n];
    uint32_t *chain = chain_of(map, addr6);

    entry->addr6 = *addr6;
    entry->until = until;
    entry->named = named;
    entry->refs = 0;
    entry->next = *chain;
    *chain = n;
    heap_add(map, n);
    map->named += named;
    map->stats.entries++;
}

static void vacate(VmrpcAddrMap *map, uint32_t n)
{
    heap_remove(map, n);
    unchain(map, n);
    map->named -= map->entries[n].named;
    map->stats.entries--;
}

/* As many entries can be names'; the strangers' part is behind them. */
static uint32_t names_part(const VmrpcAddrMap *map)
{
    return map->stats.capacity - map->stats.capacity / 8;
}

/* The @i-th entry, from 0, in the order in which names take fresh ones */
static uint32_t fresh_entry(const VmrpcAddrMap *map, uint32_t i)
{
    uint32_t part = names_part(map);

    return 1 + (i < part ? (map->start + i) % part : i);
}

/* Names go through that order from its beginning, strangers from its end. */
static uint32_t find_fresh(VmrpcAddrMap *map, bool named)
{
    while (map->fresh < map->fresh_end) {
        uint32_t n = fresh_entry(map, named ? map->fresh++
                                            : --map->fresh_end);

        if (!has_peer(map, n)) {
            return n;
        }
    }
    return 0;
}

/* The entry whose promise ended first; 0 if none has ended by @when */
static uint32_t first_over(const VmrpcAddrMap *map, bool named, int64_t when)
{
    const Heap *heap = &map->heap[named];

    return heap->num && map->entries[heap->at[1]].until <= when ? heap->at[1]
                                                                : 0;
}

/* May one more entry be a name's? */
static bool has_room_for_name(const VmrpcAddrMap *map)
{
    return map->named < names_part(map);
}

/*
 * A free entry for a name or a stranger; if there is none, vacates an old one.
 * Returns 0 if every entry is in use or kept.
 */
static uint32_t find_free(VmrpcAddrMap *map, bool named, int64_t now_ms)
{
    uint32_t n = 0;

    if (!named || has_room_for_name(map)) {
        n = find_fresh(map, named);
        if (n) {
            return n;
        }
        n = first_over(map, false, now_ms - VMRPC_ADDRMAP_STRANGER_MS);
    }
    if (!n) {
        n = first_over(map, true, named ? now_ms
                       : now_ms - 1000LL * VMRPC_ADDRMAP_KEPT_S);
    }
    if (n) {
        vacate(map, n);
        map->stats.reclaimed++;
    }
    return n;
}

static void set_named(VmrpcAddrMap *map, uint32_t n, bool named)
{
    Entry *entry = &map->entries[n];
    bool waits = entry->place;

    if (waits) {
        heap_remove(map, n);
    }
    map->named += named - entry->named;
    entry->named = named;
    if (waits) {
        heap_add(map, n);
    }
}

/*
 * Entry @n becomes a name's; contacts without a name do not change that later.
 * Returns false if there are too many names.
 */
static bool give_name(VmrpcAddrMap *map, uint32_t n, int64_t now_ms)
{
    if (map->entries[n].named) {
        return true;
    }
    if (!has_room_for_name(map)) {
        uint32_t other = first_over(map, true, now_ms);

        if (!other) {
            return false;
        }
        set_named(map, other, false);
    }
    set_named(map, n, true);
    return true;
}

/* Extends the promise of @n to @until, if it ends earlier. */
static void extend(VmrpcAddrMap *map, uint32_t n, int64_t until)
{
    Entry *entry = &map->entries[n];

    if (until > entry->until) {
        entry->until = until;
        if (entry->place) {
            heap_down(map, heap_of(map, n), entry->place, n);
        }
    }
}

static bool ranges_meet(uint32_t a, unsigned a_len, uint32_t b, unsigned b_len)
{
    unsigned len = MIN(a_len, b_len);

    return (a ^ b) >> (32 - len) == 0;
}

static bool check_pool(uint32_t base, unsigned len,
                       const VmrpcAddrReserved *reserved, size_t n_reserved,
                       GError **errp)
{
    struct in_addr addr = { .s_addr = htonl(base) };
    char pool[INET_ADDRSTRLEN], other[INET_ADDRSTRLEN];
    size_t i;

    inet_ntop(AF_INET, &addr, pool, sizeof(pool));
    if (len < VMRPC_ADDRMAP_MIN_PREFIX || len > VMRPC_ADDRMAP_MAX_PREFIX) {
        g_set_error(errp, VMRPC_ADDRMAP_ERROR, VMRPC_ADDRMAP_ERROR_POOL,
                    "pool4=%s/%u: the prefix length must be %u (%u addresses, "
                    "all of them kept in memory) to %u (2 addresses)",
                    pool, len, VMRPC_ADDRMAP_MIN_PREFIX,
                    1u << (32 - VMRPC_ADDRMAP_MIN_PREFIX),
                    VMRPC_ADDRMAP_MAX_PREFIX);
        return false;
    }
    if (base & (UINT32_MAX >> len)) {
        addr.s_addr = htonl(base & ~(UINT32_MAX >> len));
        inet_ntop(AF_INET, &addr, other, sizeof(other));
        g_set_error(errp, VMRPC_ADDRMAP_ERROR, VMRPC_ADDRMAP_ERROR_POOL,
                    "pool4=%s/%u has bits set after its prefix; "
                    "the network is %s/%u", pool, len, other, len);
        return false;
    }
    for (i = 0; i < G_N_ELEMENTS(specials); i++) {
        if (ranges_meet(base, len, specials[i].base, specials[i].len)) {
            g_set_error(errp, VMRPC_ADDRMAP_ERROR,
                        VMRPC_ADDRMAP_ERROR_OVERLAP,
                        "pool4=%s/%u overlaps %s; choose another pool",
                        pool, len, specials[i].name);
            return false;
        }
    }
    for (i = 0; i < n_reserved; i++) {
        if (ranges_meet(base, len, ntohl(reserved[i].addr.s_addr), 32)) {
            inet_ntop(AF_INET, &reserved[i].addr, other, sizeof(other));
            g_set_error(errp, VMRPC_ADDRMAP_ERROR,
                        VMRPC_ADDRMAP_ERROR_OVERLAP,
                        "pool4=%s/%u holds %s=%s; choose a pool that does "
                        "not, or another address", pool, len,
                        reserved[i].name, other);
            return false;
        }
    }
    return true;
}

VmrpcAddrMap *vmrpc_addrmap_new(struct in_addr base, unsigned prefix_len,
                                uint32_t start,
                                const VmrpcAddrReserved *reserved,
                                size_t n_reserved, GError **errp)
{
    g_autoptr(VmrpcAddrMap) map = NULL;

    if (!check_pool(ntohl(base.s_addr), prefix_len, reserved, n_reserved,
                    errp)) {
        return NULL;
    }
    map = g_new0(VmrpcAddrMap, 1);
    map->base = ntohl(base.s_addr);
    map->size = 1u << (32 - prefix_len);
    map->stats.capacity = map->size - 2;
    map->fresh_end = map->stats.capacity;
    map->start = start % names_part(map);
    map->entries = g_try_new0(Entry, map->size);
    map->chains = g_try_new0(uint32_t, map->size);
    map->heap[0].at = g_try_new0(uint32_t, map->size);
    map->heap[1].at = g_try_new0(uint32_t, map->size);
    if (!map->entries || !map->chains || !map->heap[0].at ||
        !map->heap[1].at) {
        g_set_error(errp, VMRPC_ADDRMAP_ERROR, VMRPC_ADDRMAP_ERROR_SYSTEM,
                    "pool4: no memory for %u addresses", map->size);
        return NULL;
    }
    if (getrandom(map->key, sizeof(map->key), 0) != sizeof(map->key)) {
        g_set_error(errp, VMRPC_ADDRMAP_ERROR, VMRPC_ADDRMAP_ERROR_SYSTEM,
                    "pool4: no random numbers: %s", g_strerror(errno));
        return NULL;
    }
    return g_steal_pointer(&map);
}

void vmrpc_addrmap_free(VmrpcAddrMap *map)
{
    if (!map) {
        return;
    }
    g_free(map->entries);
    g_free(map->chains);
    g_free(map->heap[0].at);
    g_free(map->heap[1].at);
    g_free(map);
}

bool vmrpc_addrmap_contains(const VmrpcAddrMap *map, struct in_addr addr4)
{
    return ntohl(addr4.s_addr) - map->base < map->size;
}

/* The longest lease that a new name can get now */
static uint32_t max_lease(const VmrpcAddrMap *map)
{
    if (map->named * 4 > map->stats.capacity * 3) {
        return VMRPC_ADDRMAP_FULL_LEASE_S;
    }
    return map->named * 2 > map->stats.capacity ? VMRPC_ADDRMAP_HALF_LEASE_S
                                                : VMRPC_ADDRMAP_MAX_LEASE_S;
}

int vmrpc_addrmap_lease(VmrpcAddrMap *map, const struct in6_addr *addr6,
                        uint32_t ttl_s, int64_t now_ms,
                        struct in_addr *addr4, uint32_t *lease_s)
{
    int64_t until = now_ms + 1000LL * MIN(ttl_s, max_lease(map));
    uint32_t n = find6(map, addr6);
    bool named = ttl_s > 0;

    if (n) {
        if (named && !give_name(map, n, now_ms)) {
            map->stats.full++;
            return -ENOSPC;
        }
        extend(map, n, until);
    } else {
        n = find_free(map, named, now_ms);
        if (!n) {
            map->stats.full++;
            return -ENOSPC;
        }
        occupy(map, n, addr6, until, named);
        map->stats.created++;
    }
    *addr4 = addr_of(map, n);
    if (lease_s) {
        *lease_s = MIN((map->entries[n].until - now_ms) / 1000,
                       VMRPC_ADDRMAP_MAX_LEASE_S);
    }
    return 0;
}

int vmrpc_addrmap_lookup4(const VmrpcAddrMap *map, struct in_addr addr4,
                          struct in6_addr *addr6)
{
    uint32_t n = find4(map, addr4);

    if (!n) {
        return -ENOENT;
    }
    *addr6 = map->entries[n].addr6;
    return 0;
}

int vmrpc_addrmap_lookup6(const VmrpcAddrMap *map,
                          const struct in6_addr *addr6, struct in_addr *addr4)
{
    uint32_t n = find6(map, addr6);

    if (!n) {
        return -ENOENT;
    }
    *addr4 = addr_of(map, n);
    return 0;
}

int vmrpc_addrmap_ref(VmrpcAddrMap *map, struct in_addr addr4)
{
    uint32_t n = find4(map, addr4);

    if (!n) {
        return -ENOENT;
    }
    if (map->entries[n].refs == UINT32_MAX) {
        return -EOVERFLOW;
    }
    if (!map->entries[n].refs++) {
        heap_remove(map, n);
        map->stats.in_use++;
    }
    return 0;
}

int vmrpc_addrmap_unref(VmrpcAddrMap *map, struct in_addr addr4,
                        int64_t now_ms)
{
    uint32_t n = find4(map, addr4);

    if (!n) {
        return -ENOENT;
    }
    if (!map->entries[n].refs) {
        return -EINVAL;
    }
    if (!--map->entries[n].refs) {
        map->entries[n].until = MAX(map->entries[n].until, now_ms);
        heap_add(map, n);
        map->stats.in_use--;
    }
    return 0;
}

void vmrpc_addrmap_stats(const VmrpcAddrMap *map, VmrpcAddrMapStats *stats)
{
    *stats = map->stats;
}

void vmrpc_addrmap_foreach(const VmrpcAddrMap *map, int64_t now_ms,
                           VmrpcAddrMapFunc func, void *opaque)
{
    uint32_t n;

    for (n = 1; n < map->size - 1; n++) {
        if (has_peer(map, n)) {
            const Entry *entry = &map->entries[n];
            int64_t left = entry->until - now_ms;
            VmrpcAddrMapEntry out = {
                .addr4 = addr_of(map, n),
                .addr6 = entry->addr6,
                .remaining_ms = !entry->named ? -1 : left >= 0 ? left
                                                               : left - 1,
                .refs = entry->refs,
            };

            func(&out, opaque);
        }
    }
}

int vmrpc_addrmap_restore(VmrpcAddrMap *map, struct in_addr addr4,
                          const struct in6_addr *addr6,
                          int64_t remaining_ms, int64_t now_ms)
{
    uint32_t n = ntohl(addr4.s_addr) - map->base;
    bool named = remaining_ms != -1;
    int64_t left = remaining_ms + (remaining_ms < 0);
    int64_t until = now_ms + CLAMP(left, -1000LL * VMRPC_ADDRMAP_KEPT_S,
                                   1000LL * VMRPC_ADDRMAP_MAX_LEASE_S);
    uint32_t known = find6(map, addr6);

    if (n == 0 || n >= map->size - 1) {
        return -ERANGE;
    }
    if (known != n && (known || has_peer(map, n))) {
        return -EEXIST;
    }
    if (known) {
        if (named && !map->entries[n].named) {
            set_named(map, n, true);
        }
        extend(map, n, until);
    } else {
        occupy(map, n, addr6, until, named);
    }
    return 0;
}

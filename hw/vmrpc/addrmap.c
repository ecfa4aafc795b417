/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 46/64 address map: virtual IPv4 addresses for IPv6 peers
 *
 * Theory of operation
 *
 * The guest knows IPv4 only, its peers are IPv6 hosts. Each peer gets an
 * address of a pool, the same one for as long as anybody may remember it
 * ("Address mapping table", section 4.1 of the VMRPC paper).
 *
 * 46 (address to peer): an entry an address, found by its offset in the
 * pool. 64 (peer to address): a hash table, chained through the same entries.
 * Its keys come from the network, so the hash is SipHash under a random key:
 * nobody outside can choose peers that fall into one chain.
 *
 * An address that was given to a peer stays with it until somebody else needs
 * one and none is fresh. Then the one whose promise ended first goes: a
 * promise is the lease given with a DNS answer, and every socket that uses
 * the address; it ends when the lease is over and the last socket is closed.
 * The entries without a socket wait in a binary heap by that time. A list
 * would do if all leases were equally long; they are not, and a guest that
 * asks for names with long TTLs must not make others search a list.
 *
 * Programs keep the address of a name long after its TTL, and who takes that
 * address gets what they send. So an entry that a name led to is not given
 * to a stranger, a peer that came by itself, before its lease and its last
 * socket have been over for a week: else anybody with a prefix of his own could
 * send until he has it. Strangers take addresses from one another. Names take
 * those of strangers first, then that of the name which was over first. So in
 * the heap all strangers are before all that a name led to.
 *
 * The more names are there, the shorter are new leases: else the owner of a
 * zone with long TTLs and many addresses a name could lease all that is there
 * with a few thousand lookups. What is left then comes back within a minute.
 * Names whose lease is over count, too: to tell them from others would take a
 * search, and a short lease costs a lookup, not the address.
 *
 * Limits: a pool that is full of leases and sockets refuses new peers, and
 * says so. One that is full of the names of a week refuses strangers.
 *
 * Nothing is allocated after creation.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "hw/vmrpc/addrmap.h"

/*
 * 40 bytes, and 8 for its places in the two arrays of VmrpcAddrMap. Number 0
 * is the network address of the pool, never handed out; so 0 ends chains and
 * means "not in the heap".
 */
typedef struct Entry {
    struct in6_addr addr6;
    int64_t until;              /* end of the promise, sockets apart */
    uint32_t refs;              /* sockets; > 0: not in the heap */
    uint32_t place;             /* in the heap, from 1 */
    uint32_t next;              /* in the chain of the hash */
    bool named;                 /* a name led to it: not for strangers */
} Entry;

struct VmrpcAddrMap {
    /* constant after creation */
    uint32_t base;              /* host byte order, as all addresses below */
    uint32_t size;              /* a power of two */
    uint64_t key[2];

    Entry *entries;             /* [size], by offset in the pool */
    uint32_t *chains;           /* [size], first entry of each chain */
    uint32_t *heap;             /* [size], by goes_before(), from 1 */
    uint32_t waiting;           /* entries in the heap */
    uint32_t named;             /* entries that a name led to */
    uint32_t fresh;             /* no entry from here on, restored ones apart */
    VmrpcAddrMapStats stats;
};

typedef struct Special {
    uint32_t base;
    unsigned len;
    const char *name;
} Special;

/* IPv4 ranges a guest treats in its own way (RFC 6890). */
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

/* The heap: the entry that is given away first is at 1. */

static void heap_put(VmrpcAddrMap *map, uint32_t place, uint32_t n)
{
    map->heap[place] = n;
    map->entries[n].place = place;
}

/* Strangers go before names; of the same kind, the promise that ends first. */
static bool goes_before(const VmrpcAddrMap *map, uint32_t a, uint32_t b)
{
    const Entry *x = &map->entries[a], *y = &map->entries[b];

    return x->named == y->named ? x->until < y->until : y->named;
}

static void heap_up(VmrpcAddrMap *map, uint32_t place, uint32_t n)
{
    while (place > 1 && goes_before(map, n, map->heap[place / 2])) {
        heap_put(map, place, map->heap[place / 2]);
        place /= 2;
    }
    heap_put(map, place, n);
}

static void heap_down(VmrpcAddrMap *map, uint32_t place, uint32_t n)
{
    for (;;) {
        uint32_t child = place * 2;

        if (child > map->waiting) {
            break;
        }
        if (child < map->waiting &&
            goes_before(map, map->heap[child + 1], map->heap[child])) {
            child++;
        }
        if (!goes_before(map, map->heap[child], n)) {
            break;
        }
        heap_put(map, place, map->heap[child]);
        place = child;
    }
    heap_put(map, place, n);
}

static void heap_add(VmrpcAddrMap *map, uint32_t n)
{
    heap_up(map, ++map->waiting, n);
}

static void heap_remove(VmrpcAddrMap *map, uint32_t n)
{
    uint32_t place = map->entries[n].place;
    uint32_t last = map->heap[map->waiting--];

    map->entries[n].place = 0;
    if (last == n) {
        return;
    }
    if (place > 1 && goes_before(map, last, map->heap[place / 2])) {
        heap_up(map, place, last);
    } else {
        heap_down(map, place, last);
    }
}

/* The hash: SipHash-1-3 (Aumasson, Bernstein) of sixteen bytes. */

static uint64_t rotl(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] = rotl(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] = rotl(v[2], 32);
}

static uint32_t *chain_of(const VmrpcAddrMap *map,
                          const struct in6_addr *addr6)
{
    uint64_t words[3] = { 0, 0, (uint64_t)sizeof(*addr6) << 56 };
    uint64_t v[4] = {
        map->key[0] ^ 0x736f6d6570736575, map->key[1] ^ 0x646f72616e646f6d,
        map->key[0] ^ 0x6c7967656e657261, map->key[1] ^ 0x7465646279746573,
    };
    int i;

    memcpy(words, addr6, sizeof(*addr6));
    for (i = 0; i < 3; i++) {
        v[3] ^= words[i];
        sip_round(v);
        v[0] ^= words[i];
    }
    v[2] ^= 0xff;
    for (i = 0; i < 3; i++) {
        sip_round(v);
    }
    return &map->chains[(v[0] ^ v[1] ^ v[2] ^ v[3]) & (map->size - 1)];
}

/* The number of the entry of @addr6, 0 if it has none. */
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

/* The number of the entry of @addr4, 0 if it has no peer. */
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

/* Can nobody be expected to use what a name led to any more? */
static bool is_forgotten(const Entry *entry, int64_t now_ms)
{
    return now_ms - entry->until >= 1000LL * VMRPC_ADDRMAP_KEPT_S;
}

/*
 * A free entry, at the expense of an old one if need be; 0 if there is none.
 * That of a name is for names only, as long as somebody may use it.
 */
static uint32_t find_free(VmrpcAddrMap *map, bool named, int64_t now_ms)
{
    const Entry *oldest;
    uint32_t n;

    while (map->fresh < map->size - 1) {
        n = map->fresh++;
        if (!has_peer(map, n)) {
            return n;
        }
    }
    n = map->heap[1];
    oldest = &map->entries[n];
    if (!map->waiting || oldest->until > now_ms ||
        (oldest->named && !named && !is_forgotten(oldest, now_ms))) {
        return 0;
    }
    vacate(map, n);
    map->stats.reclaimed++;
    return n;
}

/*
 * Makes the promise of @n last until @until, if it ends earlier.  What a name
 * led to once stays so, whoever meets it later.
 */
static void extend(VmrpcAddrMap *map, uint32_t n, int64_t until, bool named)
{
    Entry *entry = &map->entries[n];

    if (until <= entry->until && named <= entry->named) {
        return;
    }
    entry->until = MAX(entry->until, until);
    map->named += named > entry->named;
    entry->named |= named;
    if (entry->place) {
        heap_down(map, entry->place, n);
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
    map->fresh = 1;
    map->stats.capacity = map->size - 2;
    map->entries = g_try_new0(Entry, map->size);
    map->chains = g_try_new0(uint32_t, map->size);
    map->heap = g_try_new0(uint32_t, map->size);
    if (!map->entries || !map->chains || !map->heap) {
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
    g_free(map->heap);
    g_free(map);
}

bool vmrpc_addrmap_contains(const VmrpcAddrMap *map, struct in_addr addr4)
{
    return ntohl(addr4.s_addr) - map->base < map->size;
}

/* The longest lease that is given now. */
static uint32_t max_lease(const VmrpcAddrMap *map)
{
    if (map->named * 8 > map->stats.capacity * 7) {
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
        extend(map, n, until, named);
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
            VmrpcAddrMapEntry out = {
                .addr4 = addr_of(map, n),
                .addr6 = entry->addr6,
                .remaining_ms = entry->named ? MAX(entry->until - now_ms, 0)
                                             : -1,
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
    int64_t until = now_ms + CLAMP(remaining_ms, 0,
                                   1000LL * VMRPC_ADDRMAP_MAX_LEASE_S);
    uint32_t known = find6(map, addr6);
    bool named = remaining_ms >= 0;

    if (n == 0 || n >= map->size - 1) {
        return -ERANGE;
    }
    if (known != n && (known || has_peer(map, n))) {
        return -EEXIST;
    }
    if (known) {
        extend(map, n, until, named);
    } else {
        occupy(map, n, addr6, until, named);
    }
    return 0;
}

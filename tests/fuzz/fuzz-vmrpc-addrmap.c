/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations on an address map, four bytes each: operation, peer or address,
 * two of time; the map must agree with itself after each
 */
#include <arpa/inet.h>
#include <string.h>

#include "hw/vmrpc/reach/addrmap.h"

#define BASE 0x64400000u        /* 100.64.0.0 */
#define SIZE 16u                /* a /28 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Walk {
    VmrpcAddrMap *map;
    uint32_t refs[SIZE];
    struct in6_addr held[SIZE]; /* the peer of each referenced address */
    struct in6_addr named[SIZE];/* of those with a name, else :: */
    int64_t over_ms[SIZE];      /* not after the end of its lease */
    int64_t now_ms;
    unsigned seen, in_use, names;
    bool restored;              /* a stream may bring more names than room */
} Walk;

static void check_entry(const VmrpcAddrMapEntry *entry, void *opaque)
{
    Walk *walk = opaque;
    uint32_t n = ntohl(entry->addr4.s_addr) - BASE;
    struct in_addr back;

    g_assert(n > 0 && n < SIZE - 1);
    g_assert(entry->refs == walk->refs[n]);
    if (!IN6_ARE_ADDR_EQUAL(&walk->named[n], &entry->addr6) ||
        entry->remaining_ms > 0) {
        walk->over_ms[n] = walk->now_ms + entry->remaining_ms;
    }
    walk->named[n] = entry->remaining_ms != -1 ? entry->addr6 : in6addr_any;
    walk->names += entry->remaining_ms != -1;
    if (entry->refs) {
        g_assert(IN6_ARE_ADDR_EQUAL(&entry->addr6, &walk->held[n]));
        walk->in_use++;
    }
    g_assert(vmrpc_addrmap_lookup6(walk->map, &entry->addr6, &back) == 0);
    g_assert(back.s_addr == entry->addr4.s_addr);
    walk->seen++;
}

/* A stranger got @addr4, which no recent name of another peer may have had. */
static void check_stranger(const Walk *walk, struct in_addr addr4,
                           const struct in6_addr *addr6)
{
    uint32_t n = ntohl(addr4.s_addr) - BASE;
    const struct in6_addr *was = &walk->named[n];

    g_assert(IN6_IS_ADDR_UNSPECIFIED(was) || IN6_ARE_ADDR_EQUAL(was, addr6) ||
             walk->now_ms - walk->over_ms[n] >= 1000LL * VMRPC_ADDRMAP_KEPT_S);
}

static void step(Walk *walk, const uint8_t *op, int64_t *now_ms)
{
    struct in6_addr addr6 = { .s6_addr = { 0x20, 0x01, [15] = op[1] } };
    struct in_addr addr4 = { htonl(BASE + op[1] % (SIZE + 2)) };
    uint32_t n = op[1] % (SIZE + 2);
    uint32_t time = op[2] | op[3] << 8, left;
    struct in_addr got;

    switch (op[0] % 5) {
    case 0:
        if (vmrpc_addrmap_lease(walk->map, &addr6, time, *now_ms, &got,
                                &left) == 0) {
            g_assert(left >= MIN(time, VMRPC_ADDRMAP_FULL_LEASE_S));
            if (!time) {
                check_stranger(walk, got, &addr6);
            }
        }
        break;
    case 1:
        if (vmrpc_addrmap_ref(walk->map, addr4) == 0) {
            walk->refs[n]++;
            vmrpc_addrmap_lookup4(walk->map, addr4, &walk->held[n]);
        }
        break;
    case 2:
        if (vmrpc_addrmap_unref(walk->map, addr4, *now_ms) == 0) {
            g_assert(walk->refs[n]-- > 0);
        }
        break;
    case 3:
        vmrpc_addrmap_restore(walk->map, addr4, &addr6,
                              time == UINT16_MAX
                              ? -1 : (int64_t)(int16_t)time * 1000, *now_ms);
        walk->restored = true;
        break;
    default:
        *now_ms += (int64_t)time * 100;
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct in_addr base = { htonl(BASE) };
    g_autoptr(VmrpcAddrMap) map =
        vmrpc_addrmap_new(base, 28, size, NULL, 0, NULL);
    Walk walk = { .map = map };
    VmrpcAddrMapStats stats;
    int64_t now_ms = 0;
    size_t i;

    for (i = 0; i + 4 <= size && i < 4 * 2000; i += 4) {
        step(&walk, data + i, &now_ms);
        walk.seen = walk.in_use = walk.names = 0;
        walk.now_ms = now_ms;
        vmrpc_addrmap_foreach(map, now_ms, check_entry, &walk);
        vmrpc_addrmap_stats(map, &stats);
        g_assert(stats.entries == walk.seen);
        g_assert(stats.in_use == walk.in_use);
        g_assert(walk.restored || walk.names <= stats.capacity -
                                                stats.capacity / 8);
    }
    return 0;
}

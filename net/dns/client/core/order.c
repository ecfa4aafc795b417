/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Destination address selection, RFC 6724 section 6
 */

#include <string.h>

#include "net/dns/client/core/order.h"

const DnscPolicy dnsc_default_policy[] = {
    { { { { [15] = 1 } } }, 128, 50, 0 },               /* ::1 */
    { { { { [10] = 0xff, [11] = 0xff } } }, 96, 35, 4 },/* ::ffff:0:0 */
    { { { { 0 } } }, 96, 1, 3 },                        /* ::/96 */
    { { { { 0x20, 0x01 } } }, 32, 5, 5 },               /* Teredo */
    { { { { 0x20, 0x02 } } }, 16, 30, 2 },              /* 6to4 */
    { { { { 0x3f, 0xfe } } }, 16, 1, 12 },              /* 6bone */
    { { { { 0xfe, 0xc0 } } }, 10, 1, 11 },              /* site-local */
    { { { { 0xfc } } }, 7, 3, 13 },                     /* unique local */
    { { { { 0 } } }, 0, 40, 1 },
};

static unsigned common_bits(const struct in6_addr *a, const struct in6_addr *b)
{
    unsigned bits = 0;

    while (bits < 128) {
        uint8_t differ = a->s6_addr[bits / 8] ^ b->s6_addr[bits / 8];

        if (differ) {
            return bits + __builtin_clz(differ) - 24;
        }
        bits += 8;
    }
    return bits;
}

/* The longest prefix that matches; rows may be in any order. */
static const DnscPolicy *look_up(const DnscPolicy *row,
                                 const struct in6_addr *addr)
{
    const DnscPolicy *best = NULL;

    for (;; row++) {
        if (common_bits(&row->prefix, addr) >= row->len &&
            (!best || row->len > best->len)) {
            best = row;
        }
        if (!row->len) {
            return best;
        }
    }
}

/* Section 3.1; for IPv4 section 3.2 */
static unsigned scope(const struct in6_addr *addr)
{
    if (IN6_IS_ADDR_MULTICAST(addr)) {
        return addr->s6_addr[1] & 0xf;
    }
    if (IN6_IS_ADDR_V4MAPPED(addr)) {
        const uint8_t *v4 = addr->s6_addr + 12;

        return v4[0] == 127 || (v4[0] == 169 && v4[1] == 254) ? 2 : 14;
    }
    if (IN6_IS_ADDR_LINKLOCAL(addr) || IN6_IS_ADDR_LOOPBACK(addr)) {
        return 2;
    }
    return IN6_IS_ADDR_SITELOCAL(addr) ? 5 : 14;
}

/* Bits are counted within the address of each family. */
static unsigned matching_bits(const DnscDestination *d)
{
    unsigned bits = common_bits(&d->addr, &d->source);

    return d->source_len && bits > d->source_len ? d->source_len : bits;
}

/* Negative: a is better; 0: rules 1 to 9 do not decide. */
static int compare(const DnscPolicy *policy, const DnscDestination *a,
                   const DnscDestination *b)
{
    const DnscPolicy *to_a = look_up(policy, &a->addr);
    const DnscPolicy *to_b = look_up(policy, &b->addr);
    unsigned scope_a = scope(&a->addr), scope_b = scope(&b->addr);
    bool v4 = IN6_IS_ADDR_V4MAPPED(&a->addr);
    int better;

    if (a->usable != b->usable) {
        return b->usable - a->usable;
    }
    if (a->usable) {
        better = (scope_b == scope(&b->source)) -
                 (scope_a == scope(&a->source));
        better = better ? better : a->deprecated - b->deprecated;
        /*
         * An address that is home and care-of is best, then home, then neither.
         */
        better = better ? better : (b->home && b->care_of) -
                                   (a->home && a->care_of);
        better = better ? better : (b->home && !b->care_of) -
                                   (a->home && !a->care_of);
        better = better ? better : (a->care_of && !a->home) -
                                   (b->care_of && !b->home);
        better = better ? better :
                 (to_b->label == look_up(policy, &b->source)->label) -
                 (to_a->label == look_up(policy, &a->source)->label);
        if (better) {
            return better;
        }
    }
    better = to_b->precedence - to_a->precedence;
    better = better ? better : a->encapsulated - b->encapsulated;
    better = better ? better : (int)scope_a - (int)scope_b;
    /* Not for IPv4: glibc and others keep the order of DNS there. */
    if (!better && a->usable && !v4 && !IN6_IS_ADDR_V4MAPPED(&b->addr)) {
        better = (int)matching_bits(b) - (int)matching_bits(a);
    }
    return better;
}

void dnsc_order(const DnscPolicy *policy, DnscDestination *destinations,
                size_t count)
{
    size_t i, j;

    for (i = 1; i < count; i++) {
        DnscDestination d = destinations[i];

        for (j = i; j && compare(policy, &d, &destinations[j - 1]) < 0; j--) {
            destinations[j] = destinations[j - 1];
        }
        destinations[j] = d;
    }
}

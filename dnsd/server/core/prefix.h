/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses, and lists of prefixes for access control
 *
 * An address has 16 octets.  An IPv4 address is ::ffff:a.b.c.d, as on a socket
 * for both families.
 */
#ifndef DNSD_SERVER_CORE_PREFIX_H
#define DNSD_SERVER_CORE_PREFIX_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DnsdAddr {
    uint8_t octets[16];
} DnsdAddr;

/* The first and the last address of a prefix */
typedef struct DnsdRange {
    DnsdAddr first;
    DnsdAddr last;
} DnsdRange;

/* After dnsd_ranges_sort() the ranges are sorted and disjoint */
typedef struct DnsdRanges {
    size_t count;
    DnsdRange *range;
} DnsdRanges;

/** dnsd_addr_is4: is it an IPv4 address? */
bool dnsd_addr_is4(const DnsdAddr *addr);

/** dnsd_addr_of: the address of a socket address, AF_INET or AF_INET6 */
DnsdAddr dnsd_addr_of(const struct sockaddr *sa);

/** dnsd_addr_keep: clear all but the first bits: for example keep 24 of IPv4 */
DnsdAddr dnsd_addr_keep(const DnsdAddr *addr, unsigned bits4, unsigned bits6);

/**
 * dnsd_range_read: parse "192.0.2.0/24", "2001:db8::/32", or one address
 *
 * Returns: NULL; or what is wrong, a constant text.
 */
const char *dnsd_range_read(DnsdRange *range, const char *text);

/** dnsd_ranges_sort: prepare ranges, in any order, for searching */
void dnsd_ranges_sort(DnsdRanges *ranges);

/** dnsd_ranges_have: is the address in one of the ranges? */
bool dnsd_ranges_have(const DnsdRanges *ranges, const DnsdAddr *addr);

#endif /* DNSD_SERVER_CORE_PREFIX_H */

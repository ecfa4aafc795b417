/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses, and lists of prefixes that clients must be in
 *
 * An address has 16 octets; an IPv4 address is ::ffff:a.b.c.d, as the kernel
 * has it at sockets for both.
 */
#ifndef NET_DNS_SERVER_CORE_PREFIX_H
#define NET_DNS_SERVER_CORE_PREFIX_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DnsdAddr {
    uint8_t octets[16];
} DnsdAddr;

/* All addresses of a prefix: from the first to the last */
typedef struct DnsdRange {
    DnsdAddr first;
    DnsdAddr last;
} DnsdRange;

/* After dnsd_ranges_sort(): ranges that do not touch, in order */
typedef struct DnsdRanges {
    size_t count;
    DnsdRange *range;
} DnsdRanges;

/** dnsd_addr_is4: is it an IPv4 address? */
bool dnsd_addr_is4(const DnsdAddr *addr);

/** dnsd_addr_of: of a socket address of AF_INET or AF_INET6. */
DnsdAddr dnsd_addr_of(const struct sockaddr *sa);

/** dnsd_addr_keep: the first bits, the others as 0; 24 of IPv4, say. */
DnsdAddr dnsd_addr_keep(const DnsdAddr *addr, unsigned bits4, unsigned bits6);

/**
 * dnsd_range_read: "192.0.2.0/24", "2001:db8::/32", or one address
 *
 * Returns: NULL, or what is wrong with it, for people; constant.
 */
const char *dnsd_range_read(DnsdRange *range, const char *text);

/** dnsd_ranges_sort: make of ranges in any order what can be searched. */
void dnsd_ranges_sort(DnsdRanges *ranges);

/** dnsd_ranges_have: is the address in one of them? */
bool dnsd_ranges_have(const DnsdRanges *ranges, const DnsdAddr *addr);

#endif /* NET_DNS_SERVER_CORE_PREFIX_H */

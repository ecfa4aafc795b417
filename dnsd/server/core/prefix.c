/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of prefixes, searched by bisection */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "dnsd/server/core/prefix.h"

#define BITS            128
#define MAPPED_BITS     96

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

bool dnsd_addr_is4(const DnsdAddr *addr)
{
    return !memcmp(addr->octets, mapped, sizeof(mapped));
}

static DnsdAddr map(const void *octets)
{
    DnsdAddr addr;

    memcpy(addr.octets, mapped, sizeof(mapped));
    memcpy(addr.octets + sizeof(mapped), octets, 4);
    return addr;
}

DnsdAddr dnsd_addr_of(const struct sockaddr *sa)
{
    DnsdAddr addr;

    if (sa->sa_family == AF_INET) {
        return map(&((const struct sockaddr_in *)sa)->sin_addr);
    }
    memcpy(addr.octets, &((const struct sockaddr_in6 *)sa)->sin6_addr,
           sizeof(addr.octets));
    return addr;
}

/* Set all bits from @bits on to @value. */
static void fill(DnsdAddr *addr, unsigned bits, bool value)
{
    for (unsigned i = bits / 8; i < sizeof(addr->octets); i++) {
        uint8_t mask = i == bits / 8 ? 0xff >> bits % 8 : 0xff;

        addr->octets[i] = value ? addr->octets[i] | mask
                                : addr->octets[i] & ~mask;
    }
}

DnsdAddr dnsd_addr_keep(const DnsdAddr *addr, unsigned bits4, unsigned bits6)
{
    DnsdAddr kept = *addr;

    fill(&kept, dnsd_addr_is4(addr) ? MAPPED_BITS + bits4 : bits6, false);
    return kept;
}

/* --- reading -------------------------------------------------------------- */

const char *dnsd_range_read(DnsdRange *range, const char *text)
{
    char addr[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    struct in_addr four;
    uint32_t bits, before;
    DnsdAddr first;

    if (len >= sizeof(addr)) {
        return "is no address";
    }
    memcpy(addr, text, len);
    addr[len] = 0;
    if (inet_pton(AF_INET, addr, &four) == 1) {
        range->first = map(&four);
        before = MAPPED_BITS;
    } else if (inet_pton(AF_INET6, addr, range->first.octets) == 1) {
        before = 0;
    } else {
        return "is no address";
    }
    bits = BITS - before;
    if (slash && number_read(slash + 1, 0, BITS - before, &bits)) {
        return before ? "has no length from 0 to 32 behind the '/'"
                      : "has no length from 0 to 128 behind the '/'";
    }
    first = range->first;
    fill(&first, before + bits, false);
    if (memcmp(&first, &range->first, sizeof(first))) {
        return "has bits behind its length";
    }
    range->last = first;
    fill(&range->last, before + bits, true);
    return NULL;
}

/* --- lists ---------------------------------------------------------------- */

static int compare(const DnsdAddr *a, const DnsdAddr *b)
{
    return memcmp(a->octets, b->octets, sizeof(a->octets));
}

static int compare_ranges(const void *a, const void *b)
{
    return compare(&((const DnsdRange *)a)->first,
                   &((const DnsdRange *)b)->first);
}

/* Two prefixes are nested or disjoint; sorted, the outer one comes first. */
void dnsd_ranges_sort(DnsdRanges *ranges)
{
    size_t kept = 0;

    if (!ranges->count) {
        return;
    }
    qsort(ranges->range, ranges->count, sizeof(*ranges->range),
          compare_ranges);
    for (size_t i = 1; i < ranges->count; i++) {
        DnsdRange *last = &ranges->range[kept];

        if (compare(&ranges->range[i].first, &last->last) > 0) {
            ranges->range[++kept] = ranges->range[i];
        } else if (compare(&ranges->range[i].last, &last->last) > 0) {
            last->last = ranges->range[i].last;
        }
    }
    ranges->count = kept + 1;
}

bool dnsd_ranges_have(const DnsdRanges *ranges, const DnsdAddr *addr)
{
    size_t low = 0, high = ranges->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(&ranges->range[middle].last, addr) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < ranges->count &&
           compare(&ranges->range[low].first, addr) <= 0;
}

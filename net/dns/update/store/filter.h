/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter of a store's deltas; those who use it count */
#ifndef NET_DNS_UPDATE_STORE_FILTER_H
#define NET_DNS_UPDATE_STORE_FILTER_H

#include <stddef.h>

#include "net/dns/zone/filter.h"
#include "net/dns/zone/image.h"

/* The count and what is not in ZoneFilter are the control thread's. */
typedef struct DnsFilter {
    ZoneFilter filter;          /* what readers have */
    unsigned refs;
    uint64_t names;             /* that were added */
    uint64_t names_max;         /* with more it says too often "perhaps" */
} DnsFilter;

/**
 * dns_filter_new: with the names of these images
 * @key: of hashes, ZoneImage.key of most of them
 *
 * Returns: NULL without memory.
 */
DnsFilter *dns_filter_new(const uint64_t key[2], ZoneImage *const *images,
                          unsigned count);

/** dns_filter_add: the names of one more image; false if it becomes full. */
bool dns_filter_add(DnsFilter *filter, ZoneImage *image);

DnsFilter *dns_filter_ref(DnsFilter *filter);
void dns_filter_unref(DnsFilter *filter);

#endif /* NET_DNS_UPDATE_STORE_FILTER_H */

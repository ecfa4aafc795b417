/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter of a store's deltas, with a reference count */
#ifndef DNSD_UPDATE_STORE_FILTER_H
#define DNSD_UPDATE_STORE_FILTER_H

#include <stddef.h>

#include "net/dns/zone/filter.h"
#include "net/dns/zone/image.h"

/* Only the control thread uses the count and the fields besides ZoneFilter. */
typedef struct DnsFilter {
    ZoneFilter filter;          /* readers use this */
    unsigned refs;
    uint64_t names;             /* names that were added */
    uint64_t names_max;         /* with more it has too many false positives */
} DnsFilter;

/**
 * dns_filter_new: make a filter with the names of these images
 * @key: of the hashes: ZoneImage.key of most of them
 *
 * Returns: NULL without memory.
 */
DnsFilter *dns_filter_new(const uint64_t key[2], ZoneImage *const *images,
                          unsigned count);

/** dns_filter_add: add the names of one more image; false if it gets full */
bool dns_filter_add(DnsFilter *filter, ZoneImage *image);

DnsFilter *dns_filter_ref(DnsFilter *filter);
void dns_filter_unref(DnsFilter *filter);

#endif /* DNSD_UPDATE_STORE_FILTER_H */

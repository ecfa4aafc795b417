/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records sorted for an image, outside memory where there are many
 *
 * Records are kept in memory until there are so many; then they are sorted and
 * go to a file without a name.  In the end all such runs are merged.
 */
#ifndef NET_DNS_UPDATE_XFR_SORTER_H
#define NET_DNS_UPDATE_XFR_SORTER_H

#include "net/dns/zone/write.h"

typedef struct DnsSorter DnsSorter;

/**
 * dns_sorter_new: NULL without memory
 * @folder: where the file is made
 * @memory: octets, more or less
 */
DnsSorter *dns_sorter_new(const char *folder, size_t memory);

void dns_sorter_free(DnsSorter *sorter);

/** dns_sorter_add: 0 or a negative errno */
int dns_sorter_add(DnsSorter *sorter, const DnsName *name,
                   const ZoneRecord *record);

/**
 * dns_sorter_each: all of them in order: by name, then as zone_writer_node()
 * wants them
 *
 * Returns: 0, what @each returned if that is not 0, or a negative errno.
 */
int dns_sorter_each(DnsSorter *sorter,
                    int (*each)(void *opaque, const DnsName *name,
                                const ZoneRecord *record), void *opaque);

#endif /* NET_DNS_UPDATE_XFR_SORTER_H */

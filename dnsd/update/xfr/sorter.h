/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records sorted for an image, in a file if there are many
 *
 * Records are collected in memory.  If the memory is full, they are sorted and
 * written to a file without a name as a run.  At the end all runs are merged.
 */
#ifndef DNSD_UPDATE_XFR_SORTER_H
#define DNSD_UPDATE_XFR_SORTER_H

#include "net/dns/zone/write.h"

typedef struct DnsSorter DnsSorter;

/**
 * dns_sorter_new: NULL without memory
 * @folder: the folder of the file
 * @memory: octets, approximately
 */
DnsSorter *dns_sorter_new(const char *folder, size_t memory);

void dns_sorter_free(DnsSorter *sorter);

/** dns_sorter_add: add a record; 0 or a negative errno */
int dns_sorter_add(DnsSorter *sorter, const DnsName *name,
                   const ZoneRecord *record);

/**
 * dns_sorter_each: call @each for all records, by name, then in the order for
 * zone_writer_node()
 *
 * Returns: 0; the result of @each if it is not 0; or a negative errno.
 */
int dns_sorter_each(DnsSorter *sorter,
                    int (*each)(void *opaque, const DnsName *name,
                                const ZoneRecord *record), void *opaque);

#endif /* DNSD_UPDATE_XFR_SORTER_H */

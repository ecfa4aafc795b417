/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store in a folder of its own, with a control thread and a reader */
#ifndef DNS_STORE_FIXTURE_H
#define DNS_STORE_FIXTURE_H

#include "net/dns/update/change/changes.h"
#include "net/dns/update/store/store.h"
#include "zone-fixture.h"

typedef struct StoreBed {
    char *folder;
    char *image;
    DnsMerger *merger;
    DnsStore *store;
    size_t seal_nodes;
    uint64_t rebase_len;
    uint64_t history_max;
    const ZoneView *view;       /* published last */
    unsigned published;
    char *last_log;
} StoreBed;

/* A new zone: SOA with serial 1 and NS, and the lines */
void store_bed_make(StoreBed *bed, const char *origin, const ZoneLine *lines,
                    size_t count);

/* Open the zone of the folder.  Returns the error, or NULL. */
char *store_bed_try(StoreBed *bed);
void store_bed_open(StoreBed *bed);
void store_bed_close(StoreBed *bed);

/* Close it, delete the folder */
void store_bed_free(StoreBed *bed);

/* A record of a line; its RDATA is in @rdata. */
ZoneRecord store_record(const ZoneLine *line, uint8_t rdata[DNS_NAME_MAX]);

/* Add or remove the record of a line, in an edit of its own, uncommitted */
int store_bed_add(StoreBed *bed, const ZoneLine *line);
int store_bed_remove(StoreBed *bed, const ZoneLine *line);

/* Does the published view have the record? */
bool store_bed_has(const StoreBed *bed, const ZoneLine *line);

#endif /* DNS_STORE_FIXTURE_H */

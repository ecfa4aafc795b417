/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From master files to an image in memory */
#ifndef DNSD_ZONE_MAKE_H
#define DNSD_ZONE_MAKE_H

#include "dnsd/zone/check-node.h"
#include "dnsd/zone/progress.h"
#include "net/dns/zone/write.h"

typedef struct Make {
    ZoneRules rules;
    const char *const *paths;
    size_t count;
    unsigned threads;
    uint64_t memory;            /* octets, for sorting */
    bool has_default_ttl;
    uint32_t default_ttl;
    const char *dir;            /* for temporary files */
    Report *report;
    Progress *progress;
    ZoneOut *out;
} Make;

/* The result of make_image() */
typedef struct Made {
    uint64_t len;               /* octets of the image */
    uint64_t nodes;
    uint64_t records;
    double seconds;
    uint32_t serial;
} Made;

extern const ProgressStep make_steps[];

/** make_thread_count: the number of processors that may be used */
unsigned make_thread_count(void);

/** make_memory: a quarter of the machine's memory, at least RUNS_MEMORY_MIN */
uint64_t make_memory(void);

/**
 * make_image: read, sort, check and write
 *
 * Faults of the zone are reported; if one is an error, there is no image.
 *
 * Returns: 0, or a negative errno for errors that are not faults of the zone.
 */
int make_image(const Make *make, Made *made);

#endif /* DNSD_ZONE_MAKE_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of the commands that read master files */
#ifndef DNSD_ZONE_SOURCE_H
#define DNSD_ZONE_SOURCE_H

#include "base/args.h"
#include "dnsd/zone/make.h"
#include "dnsd/zone/runs.h"

typedef enum WhenProgress {
    PROGRESS_AUTO,          /* on a terminal */
    PROGRESS_ON,
    PROGRESS_OFF,
} WhenProgress;

typedef struct SourceOptions {
    uint64_t memory;
    uint64_t threads;
    uint64_t messages;
    uint64_t default_ttl;
    bool has_default_ttl;
    const char *rrclass;
    unsigned progress;      /* WhenProgress */
    bool json;
} SourceOptions;

/* The values of the options below; only one command runs. */
extern SourceOptions source_options;

extern const ArgOption source_arguments[];

/**
 * source_make: make an image in @out from master files
 * @make: .paths, .count, .dir, .report and .out are set
 *
 * Returns: 0; EXIT_USAGE for a wrong zone or class, after a message; or a
 * negative errno.
 */
int source_make(const char *zone, Make *make, Made *made);

/** source_messages: print the report as a JSON array, after its numbers */
void source_messages(const Report *report);

#endif /* DNSD_ZONE_SOURCE_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages on a zone, for people: lines "FILE:LINE: error: ..."
 *
 * Threads find it at the same time and in any order.  It is shown at the end of
 * each step, in the order of the files and lines.
 */
#ifndef NET_DNS_ZONE_TOOL_REPORT_H
#define NET_DNS_ZONE_TOOL_REPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "net/dns/zone/tool/bundle.h"

#define REPORT_LIMIT    100     /* messages of a kind, unless told otherwise */
#define REPORT_TEXT_MAX 3000    /* octets of a message: names can be long */

typedef enum Severity {
    SEVERITY_WARNING,
    SEVERITY_ERROR,
    SEVERITIES,
} Severity;

typedef struct Message {
    Severity severity;
    ZonePlace place;            /* line 0: of the file, or of all */
    uint32_t column;            /* 0: of the line */
    uint64_t number;            /* in the order in which they came */
    char *text;
} Message;

typedef struct Report {
    pthread_mutex_t lock;
    FILE *out;                  /* NULL: they are counted and kept only */
    char **file;                /* [0] is the zone itself, without a place */
    size_t files;
    Message *message;
    size_t messages;
    size_t room;
    size_t shown;               /* of the messages */
    uint64_t limit;             /* of each severity */
    uint64_t count[SEVERITIES];
} Report;

/**
 * report_init: @zone is what messages without a file begin with
 * @limit: how many messages of each severity are shown
 */
void report_init(Report *report, FILE *out, const char *zone, uint64_t limit);

void report_destroy(Report *report);

/** report_file: the index of a path in the table of files. */
uint16_t report_file(Report *report, const char *path);

/** report_at: one message. */
void report_at(Report *report, Severity severity, ZonePlace place,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

/** report_column: one message with the column in the line. */
void report_column(Report *report, Severity severity, ZonePlace place,
                   uint32_t column, const char *text);

/** report_show: what has come since the last time. */
void report_show(Report *report);

/** report_show_rest: that, and how many were not shown; at the very end. */
void report_show_rest(Report *report);

/** report_failed: was there an error? */
bool report_failed(Report *report);

/** report_is_full: are there as many errors as are shown? */
bool report_is_full(Report *report);

#endif /* NET_DNS_ZONE_TOOL_REPORT_H */

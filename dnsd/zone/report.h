/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages about a zone: lines "FILE:LINE: error: ..."
 *
 * Threads report at the same time and in any order.  The messages are shown at
 * the end of each step, in the order of files and lines.
 */
#ifndef DNSD_ZONE_REPORT_H
#define DNSD_ZONE_REPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "dnsd/zone/bundle.h"

#define REPORT_LIMIT    100     /* default, for each severity */
#define REPORT_TEXT_MAX 3000    /* octets of a message; names may be long */

typedef enum Severity {
    SEVERITY_WARNING,
    SEVERITY_ERROR,
    SEVERITIES,
} Severity;

typedef struct Message {
    Severity severity;
    ZonePlace place;            /* line 0: the file; or the whole zone */
    uint32_t column;            /* 0: the whole line */
    uint64_t number;            /* in the order of arrival */
    char *text;
} Message;

typedef struct Report {
    pthread_mutex_t lock;
    FILE *out;                  /* NULL: only count and keep the messages */
    char **file;                /* [0] is the zone itself */
    size_t files;
    Message *message;
    size_t messages;
    size_t room;
    size_t shown;               /* messages */
    uint64_t limit;             /* for each severity */
    uint64_t count[SEVERITIES];
} Report;

/**
 * report_init: begin a report
 * @zone: the start of messages without a file
 * @limit: how many messages of each severity are shown
 */
void report_init(Report *report, FILE *out, const char *zone, uint64_t limit);

void report_destroy(Report *report);

/** report_file: the index of a path in the table of files */
uint16_t report_file(Report *report, const char *path);

/** report_at: add a message */
void report_at(Report *report, Severity severity, ZonePlace place,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

/** report_column: add a message with a column of the line */
void report_column(Report *report, Severity severity, ZonePlace place,
                   uint32_t column, const char *text);

/**
 * report_take: move the messages of @from behind those of @report
 *
 * The result is that of reporting all of them here, in this order.  Their files
 * are those of @report.
 */
void report_take(Report *report, Report *from);

/** report_show: show the messages since the last call */
void report_show(Report *report);

/** report_show_rest: show the rest, and how many were omitted; at the end */
void report_show_rest(Report *report);

/** report_failed: was an error reported? */
bool report_failed(Report *report);

/** report_is_full: has the number of errors reached the limit? */
bool report_is_full(Report *report);

#endif /* DNSD_ZONE_REPORT_H */

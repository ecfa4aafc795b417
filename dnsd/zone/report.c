/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages about a zone */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "dnsd/zone/report.h"

void report_init(Report *report, FILE *out, const char *zone, uint64_t limit)
{
    *report = (Report) { .out = out, .limit = limit };
    pthread_mutex_init(&report->lock, NULL);
    report_file(report, zone);
}

void report_destroy(Report *report)
{
    for (size_t i = 0; i < report->messages; i++) {
        free(report->message[i].text);
    }
    for (size_t i = 0; i < report->files; i++) {
        free(report->file[i]);
    }
    free(report->message);
    free(report->file);
    pthread_mutex_destroy(&report->lock);
}

/* The caller holds the lock.  Returns: 0, "the zone", without memory. */
static uint16_t find_or_add(Report *report, const char *path)
{
    char **file;

    for (size_t i = report->files; i-- > 0;) {
        if (!strcmp(report->file[i], path)) {
            return i;
        }
    }
    if (report->files == UINT16_MAX) {
        return 0;
    }
    file = realloc(report->file, (report->files + 1) * sizeof(*file));
    if (!file) {
        return 0;
    }
    report->file = file;
    file[report->files] = strdup(path);
    return file[report->files] ? report->files++ : 0;
}

uint16_t report_file(Report *report, const char *path)
{
    uint16_t index;

    pthread_mutex_lock(&report->lock);
    index = find_or_add(report, path);
    pthread_mutex_unlock(&report->lock);
    return index;
}

/* --- messages ------------------------------------------------------------- */

/* The caller holds the lock. */
static void add(Report *report, const Message *message, const char *text)
{
    if (report->messages == report->room) {
        size_t room = report->room ? 2 * report->room : 64;
        Message *more = realloc(report->message, room * sizeof(*more));

        if (!more) {
            return;
        }
        report->message = more;
        report->room = room;
    }
    report->message[report->messages] = *message;
    report->message[report->messages].text = strdup(text);
    if (report->message[report->messages].text) {
        report->messages++;
    }
}

void report_column(Report *report, Severity severity, ZonePlace place,
                   uint32_t column, const char *text)
{
    pthread_mutex_lock(&report->lock);
    if (report->count[severity]++ < report->limit) {
        add(report, &(Message) {
            .severity = severity,
            .place = place,
            .column = column,
            .number = report->messages,
        }, text);
    }
    pthread_mutex_unlock(&report->lock);
}

void report_at(Report *report, Severity severity, ZonePlace place,
               const char *format, ...)
{
    char text[REPORT_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    report_column(report, severity, place, 0, text);
}

void report_take(Report *report, Report *from)
{
    for (size_t i = 0; i < from->messages; i++) {
        const Message *m = &from->message[i];

        report_column(report, m->severity, m->place, m->column, m->text);
        from->count[m->severity]--;
    }
    pthread_mutex_lock(&report->lock);
    for (Severity severity = 0; severity < SEVERITIES; severity++) {
        report->count[severity] += from->count[severity];
    }
    pthread_mutex_unlock(&report->lock);
    report_destroy(from);
}

static uint64_t errors_of(Report *report)
{
    uint64_t errors;

    pthread_mutex_lock(&report->lock);
    errors = report->count[SEVERITY_ERROR];
    pthread_mutex_unlock(&report->lock);
    return errors;
}

bool report_failed(Report *report)
{
    return errors_of(report) > 0;
}

bool report_is_full(Report *report)
{
    return errors_of(report) >= report->limit;
}

/* --- showing -------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const Message *a = left, *b = right;

    if (a->place.file != b->place.file) {
        return a->place.file < b->place.file ? -1 : 1;
    }
    if (a->place.line != b->place.line) {
        return a->place.line < b->place.line ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

static void show(const Report *report, const Message *m)
{
    fputs(report->file[m->place.file], report->out);
    if (m->place.line) {
        fprintf(report->out, ":%" PRIu32, m->place.line);
    }
    if (m->column) {
        fprintf(report->out, ":%" PRIu32, m->column);
    }
    fprintf(report->out, ": %s: %s\n", m->severity == SEVERITY_ERROR ?
            "error" : "warning", m->text);
}

static void show_rest(const Report *report, Severity severity,
                      const char *what)
{
    if (report->count[severity] > report->limit) {
        fprintf(report->out, "%s: %" PRIu64 " more %s are not shown; "
                "--messages says how many are\n", report->file[0],
                report->count[severity] - report->limit, what);
    }
}

void report_show(Report *report)
{
    pthread_mutex_lock(&report->lock);
    if (report->messages > report->shown) {
        qsort(report->message + report->shown,
              report->messages - report->shown, sizeof(Message), compare);
    }
    for (; report->out && report->shown < report->messages; report->shown++) {
        show(report, &report->message[report->shown]);
    }
    pthread_mutex_unlock(&report->lock);
}

void report_show_rest(Report *report)
{
    report_show(report);
    if (report->out) {
        show_rest(report, SEVERITY_ERROR, "errors");
        show_rest(report, SEVERITY_WARNING, "warnings");
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log of a daemon */
#include <glib.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define LOG_LINE_MAX    4096u   /* octets, including the newline */

static const char *const names[] = {
    [LOG_ERR] = "error",
    [LOG_WARNING] = "warning",
    [LOG_NOTICE] = "notice",
    [LOG_DEBUG] = "debug",
};

static const char *program_name = "vmmnet";
static bool has_journal;
static atomic_int wanted = LOG_NOTICE;

/* JOURNAL_STREAM may be that of a parent, whose standard error is another one. */
static bool log_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat at;

    return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
           !fstat(STDERR_FILENO, &at) && at.st_dev == dev && at.st_ino == ino;
}

static void log_glib(const char *domain, GLogLevelFlags flags,
                     const char *text, void *opaque)
{
    base_log(flags & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL) ? LOG_ERR :
             flags & G_LOG_LEVEL_WARNING ? LOG_WARNING :
             flags & G_LOG_LEVEL_MESSAGE ? LOG_NOTICE : LOG_DEBUG, "%s", text);
}

void base_log_begin(const char *program)
{
    program_name = program;
    has_journal = log_is_journal();
    g_log_set_default_handler(log_glib, NULL);
}

void base_log(int level, const char *format, ...)
{
    char line[LOG_LINE_MAX];
    va_list args;
    int at, len;

    if (!base_log_has(level)) {
        return;
    }
    /* The journal takes the level from a prefix of the line, sd-daemon(3). */
    at = has_journal ? snprintf(line, sizeof(line), "<%d>", level)
                     : snprintf(line, sizeof(line), "%s: ", program_name);
    va_start(args, format);
    len = vsnprintf(line + at, sizeof(line) - at - 1, format, args);
    va_end(args);
    if (len < 0) {
        return;
    }
    len = MIN(at + len, (int)sizeof(line) - 2);
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0) {
        return;                 /* there is no place to report it */
    }
}

bool base_log_has(int level)
{
    return level <= atomic_load_explicit(&wanted, memory_order_relaxed);
}

const char *base_log_level(void)
{
    return names[atomic_load(&wanted)];
}

bool base_log_set_level(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i] && !strcmp(names[i], name)) {
            atomic_store(&wanted, i);
            return true;
        }
    }
    return false;
}

/* --- lines that others can cause ------------------------------------------ */

/* "until" of the time 0: a zero lies long before any clock begins. */
#define LOG_TIME_ZERO ((int64_t)1 << 62)

static bool log_take(BaseLogLimit *limit, const BaseLogRate *rate, int64_t now)
{
    int64_t full = now - rate->burst * rate->each;
    int64_t until = MAX(limit->until - LOG_TIME_ZERO, full);

    if (until + rate->each > now) {
        return false;
    }
    limit->until = until + rate->each + LOG_TIME_ZERO;
    return true;
}

bool base_log_may(BaseLogLimit *limit, const BaseLogRate *rate, int64_t now)
{
    bool may = log_take(limit, rate, now);

    limit->left_out += !may;
    return may;
}

uint64_t base_log_left_out(BaseLogLimit *limit, const BaseLogRate *rate,
                           int64_t now)
{
    uint64_t left_out = 0;

    if (limit->left_out && log_take(limit, rate, now)) {
        left_out = limit->left_out;
        limit->left_out = 0;
    }
    return left_out;
}

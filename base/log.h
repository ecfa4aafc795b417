/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of a daemon: lines to standard error, which under systemd is the
 * journal
 *
 * A line has one of syslog's levels: LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_DEBUG.
 * Those above the level that is wanted are left out.  The level changes while
 * the daemon runs, by "log LEVEL" at its control socket (base/control.h).
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

/**
 * base_log_begin: set the program's name, which is before each line that does
 * not go to the journal
 *
 * Messages of GLib (g_warning() and its like) become lines of this log, too.
 */
void base_log_begin(const char *program);

/** base_log: write a line at once; for any thread, but not per packet */
void base_log(int level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** base_log_has: are lines of this level written? */
bool base_log_has(int level);

/* base_debug: a line that is only made if it is wanted */
#define base_debug(...) \
    do { \
        if (base_log_has(LOG_DEBUG)) { \
            base_log(LOG_DEBUG, __VA_ARGS__); \
        } \
    } while (0)

/** base_log_level: "error", "warning", "notice" or "debug" */
const char *base_log_level(void);

/** base_log_set_level: by its name; false: it is none of these */
bool base_log_set_level(const char *name);

/* --- lines that others can cause ------------------------------------------ */

typedef struct BaseLogRate {
    int64_t each;               /* ns, for a line */
    unsigned burst;             /* lines at once */
} BaseLogRate;

/** A token bucket for lines of a kind.  All zero: full */
typedef struct BaseLogLimit {
    int64_t until;
    uint64_t left_out;          /* lines, since the last one */
} BaseLogLimit;

/**
 * base_log_may: whether a line may be logged at @now, which is nanoseconds of a
 * clock that is not set; if not, it is counted
 */
bool base_log_may(BaseLogLimit *limit, const BaseLogRate *rate, int64_t now);

/**
 * base_log_left_out: lines that were left out, for a line that says so
 *
 * Returns: 0 if there were none, or that line has to wait; else it forgets them
 */
uint64_t base_log_left_out(BaseLogLimit *limit, const BaseLogRate *rate,
                           int64_t now);

#endif /* BASE_LOG_H */

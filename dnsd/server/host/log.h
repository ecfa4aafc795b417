/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to standard error, which under systemd is the journal */
#ifndef DNSD_SERVER_HOST_LOG_H
#define DNSD_SERVER_HOST_LOG_H

#include <stdbool.h>

typedef enum DnsdLogLevel {
    DNSD_ERROR = 3,             /* the numbers of syslog */
    DNSD_WARNING = 4,
    DNSD_NOTICE = 5,
    DNSD_DEBUG = 7,
} DnsdLogLevel;

/** dnsd_log: write a line at once; for any thread, but not per query */
void dnsd_log(DnsdLogLevel level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Set by the option --trace, before there are threads */
extern bool dnsd_is_traced;

/* dnsd_trace: log a change of a state, if that is wanted */
#define dnsd_trace(...) \
    do { \
        if (dnsd_is_traced) { \
            dnsd_log(DNSD_DEBUG, __VA_ARGS__); \
        } \
    } while (0)

#endif /* DNSD_SERVER_HOST_LOG_H */

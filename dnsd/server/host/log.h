/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to standard error, which under systemd is the journal */
#ifndef DNSD_SERVER_HOST_LOG_H
#define DNSD_SERVER_HOST_LOG_H

typedef enum DnsdLogLevel {
    DNSD_ERROR = 3,             /* the numbers of syslog */
    DNSD_WARNING = 4,
    DNSD_NOTICE = 5,
} DnsdLogLevel;

/** dnsd_log: write a line at once; for any thread, but not per query */
void dnsd_log(DnsdLogLevel level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* DNSD_SERVER_HOST_LOG_H */

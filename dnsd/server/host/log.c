/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to standard error */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dnsd/server/host/log.h"

#define LINE_MAX_LEN    4096

bool dnsd_is_traced;

void dnsd_log(DnsdLogLevel level, const char *format, ...)
{
    char line[LINE_MAX_LEN];
    va_list args;
    int at, len;

    /* The journal takes the level from a prefix of the line, sd-daemon(3). */
    at = getenv("JOURNAL_STREAM")
         ? snprintf(line, sizeof(line), "<%d>", level)
         : snprintf(line, sizeof(line), "vmmnet-dnsd: ");
    va_start(args, format);
    len = vsnprintf(line + at, sizeof(line) - at - 1, format, args);
    va_end(args);
    if (len < 0) {
        return;
    }
    len = len < (int)sizeof(line) - at - 1 ? at + len
                                           : (int)sizeof(line) - 2;
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0) {
        return;                 /* there is no place to report it */
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of the protocol, and of the state file (docs/hostd.md) */
#ifndef HOSTD_LINE_H
#define HOSTD_LINE_H

#include "hostd/core/registry.h"

#define HOSTD_LINE_MAX          1024u   /* octets, with the line's end */

typedef enum HostdVerb {
    HOSTD_NONE,                 /* it is none of those below */
    HOSTD_REGISTER,             /* UUID PIDFILE */
    HOSTD_ADDRESS6,             /* ADDR DEV */
    HOSTD_END,
    HOSTD_FORGET,               /* UUID */
    HOSTD_SHOW,
    HOSTD_TAKE,                 /* UUID */
    HOSTD_YIELD,                /* UUID */
} HostdVerb;

typedef struct HostdLine {
    HostdVerb verb;
    char uuid[HOSTD_UUID_LEN + 1];      /* lower case */
    char pid_file[HOSTD_LINE_MAX];
    HostdAddress address;
} HostdLine;

/**
 * hostd_line_parse: read a line
 * @text: @len octets, without the line's end; hostile
 *
 * Words are separated by one blank. What follows a UUID in "register" is the
 * pid file's name, with blanks that are in it; it may be UTF-8, the rest is
 * ASCII.
 *
 * Returns: false with @errp, which names the word, if it cannot be read;
 * @line->verb tells in any case which line it is
 */
bool hostd_line_parse(HostdLine *line, const char *text, size_t len,
                      GError **errp);

/** hostd_line_verb: the word for it */
const char *hostd_line_verb(HostdVerb verb);

#endif /* HOSTD_LINE_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of the protocol, and of the state file (docs/hostd.md) */
#ifndef HOSTD_LINE_H
#define HOSTD_LINE_H

#include "hostd/core/registry.h"

#define HOSTD_LINE_MAX          1024u   /* octets, including the newline */

typedef enum HostdVerb {
    HOSTD_NONE,                 /* an unknown verb */
    HOSTD_REGISTER,             /* UUID PIDFILE */
    HOSTD_ADDRESS6,             /* ADDR DEV */
    HOSTD_END,
    HOSTD_FORGET,               /* UUID */
    HOSTD_SHOW,                 /* [json] */
    HOSTD_METRICS,
    HOSTD_TAKE,                 /* UUID */
    HOSTD_YIELD,                /* UUID */
} HostdVerb;

typedef struct HostdLine {
    HostdVerb verb;
    char uuid[HOSTD_UUID_LEN + 1];      /* lower case */
    char pid_file[HOSTD_LINE_MAX];
    HostdAddress address;
    bool as_json;
} HostdLine;

/**
 * hostd_line_parse: parse a line
 * @text: @len octets, without the newline; not trusted
 *
 * Words are separated by one space. In "register", the rest of the line after
 * the UUID is the name of the pid file, which may contain spaces and UTF-8;
 * everything else is ASCII.
 *
 * Returns: false with @errp, which names the word, if the line is invalid;
 * @line->verb is set in any case
 */
bool hostd_line_parse(HostdLine *line, const char *text, size_t len,
                      GError **errp);

/** hostd_line_verb: the verb as text */
const char *hostd_line_verb(HostdVerb verb);

#endif /* HOSTD_LINE_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON strings, RFC 8259, and error messages */
#ifndef DNSD_ZONE_JSON_H
#define DNSD_ZONE_JSON_H

#include <stdbool.h>
#include <stdio.h>

/** json_string: write a string (base/json.h) */
void json_string(FILE *out, const char *text);

/**
 * reject: print "vmmnet-zone COMMAND: ..." to standard error, or {"error":
 * "..."}
 *
 * Returns: EXIT_CANNOT.
 */
int reject(bool json, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* DNSD_ZONE_JSON_H */

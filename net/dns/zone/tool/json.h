/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings in JSON, RFC 8259, and refusals */
#ifndef NET_DNS_ZONE_TOOL_JSON_H
#define NET_DNS_ZONE_TOOL_JSON_H

#include <stdbool.h>
#include <stdio.h>

/**
 * json_string: in quotes, with its escapes
 *
 * Octets that are not ASCII, which paths can have, are taken for Latin-1, so
 * that the output is JSON whatever they are.
 */
void json_string(FILE *out, const char *text);

/**
 * refuse: "vmmnet-zone COMMAND: ..." to standard error, or {"error": "..."}
 *
 * Returns: EXIT_CANNOT.
 */
int reject(const char *command, bool json, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* NET_DNS_ZONE_TOOL_JSON_H */

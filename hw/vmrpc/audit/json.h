/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc audit: writes the members of a JSON object into a bounded buffer
 *
 * A member that does not fit is left out as a whole, so what stands is valid.
 */
#ifndef HW_VMRPC_AUDIT_JSON_H
#define HW_VMRPC_AUDIT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct VmrpcJson {
    char *text;                 /* no NUL at the end */
    size_t len;
    size_t size;                /* bytes of @text that may be used */
    bool full;                  /* something did not fit */
} VmrpcJson;

/** vmrpc_json_raw: @text as it is; false if it does not fit */
bool vmrpc_json_raw(VmrpcJson *j, const char *text);

/**
 * vmrpc_json_string: @text as a JSON string, in quotes
 *
 * Any octets may come.  Quotes, backslashes and control characters are escaped;
 * what is not UTF-8 becomes U+FFFD, an octet each.
 */
bool vmrpc_json_string(VmrpcJson *j, const char *text);

/** vmrpc_json_number: @value in decimal digits */
bool vmrpc_json_number(VmrpcJson *j, uint64_t value);

/** vmrpc_json_add_string: a comma and "KEY":"TEXT"; nothing if @text is NULL */
void vmrpc_json_add_string(VmrpcJson *j, const char *key, const char *text);

/** vmrpc_json_add_number: a comma and "KEY":VALUE */
void vmrpc_json_add_number(VmrpcJson *j, const char *key, uint64_t value);

#endif /* HW_VMRPC_AUDIT_JSON_H */

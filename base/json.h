/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON text, RFC 8259
 *
 * A key is NULL for an element of an array, and for the value that is not within
 * another one.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/out.h"

typedef struct BaseJson {
    BaseOut out;
    bool has_value;             /* in the array or object that is open */
} BaseJson;

/** base_json_open, base_json_close: an array ('[', ']') or object ('{', '}') */
void base_json_open(BaseJson *j, const char *key, char bracket);
void base_json_close(BaseJson *j, char bracket);

void base_json_number(BaseJson *j, const char *key, uint64_t value);
void base_json_bool(BaseJson *j, const char *key, bool value);

/** base_json_text: as base_json_string() */
void base_json_text(BaseJson *j, const char *key, const char *value);

/**
 * base_json_string: @text as a JSON string, in quotes, with escapes
 *
 * Text that is not UTF-8, as a path may be, is read as Latin-1, so that the
 * result is always valid JSON.
 */
void base_json_string(const BaseOut *out, const char *text);

#endif /* BASE_JSON_H */

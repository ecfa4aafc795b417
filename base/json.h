/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON text, RFC 8259 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

/**
 * base_json_string: @text as a JSON string, in quotes, with escapes
 *
 * Text that is not UTF-8, as a path may be, is read as Latin-1, so that the
 * result is always valid JSON.  Returns: to be freed
 */
char *base_json_string(const char *text);

#endif /* BASE_JSON_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON text */
#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

char *base_json_string(const char *text)
{
    bool is_utf8 = g_utf8_validate(text, -1, NULL);
    GString *out = g_string_new("\"");

    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\') {
            g_string_append_c(out, '\\');
            g_string_append_c(out, *at);
        } else if (*at < 0x20 || *at == 0x7f || (*at > 0x7f && !is_utf8)) {
            g_string_append_printf(out, "\\u%04x", *at);
        } else {
            g_string_append_c(out, *at);
        }
    }
    g_string_append_c(out, '"');
    return g_string_free(out, false);
}

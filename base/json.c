/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON text */
#include <glib.h>
#include <inttypes.h>

#include "base/json.h"

void base_json_string(const BaseOut *out, const char *text)
{
    bool is_utf8 = g_utf8_validate(text, -1, NULL);
    const unsigned char *at = (const unsigned char *)text, *plain = at;

    base_out_text(out, "\"");
    for (; *at; at++) {
        bool is_escaped = *at == '"' || *at == '\\';

        if (!is_escaped && *at >= 0x20 && *at != 0x7f &&
            (*at < 0x7f || is_utf8)) {
            continue;
        }
        out->put(out->opaque, (const char *)plain, at - plain);
        base_out_printf(out, is_escaped ? "\\%c" : "\\u%04x", *at);
        plain = at + 1;
    }
    out->put(out->opaque, (const char *)plain, at - plain);
    base_out_text(out, "\"");
}

static void json_key(BaseJson *j, const char *key)
{
    if (j->has_value) {
        base_out_text(&j->out, ", ");
    }
    j->has_value = true;
    if (key) {
        base_json_string(&j->out, key);
        base_out_text(&j->out, ": ");
    }
}

void base_json_open(BaseJson *j, const char *key, char bracket)
{
    json_key(j, key);
    base_out_printf(&j->out, "%c", bracket);
    j->has_value = false;
}

void base_json_close(BaseJson *j, char bracket)
{
    base_out_printf(&j->out, "%c", bracket);
    j->has_value = true;
}

void base_json_number(BaseJson *j, const char *key, uint64_t value)
{
    json_key(j, key);
    base_out_printf(&j->out, "%" PRIu64, value);
}

void base_json_bool(BaseJson *j, const char *key, bool value)
{
    json_key(j, key);
    base_out_text(&j->out, value ? "true" : "false");
}

void base_json_text(BaseJson *j, const char *key, const char *value)
{
    json_key(j, key);
    base_json_string(&j->out, value);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc audit: writes the members of a JSON object into a bounded buffer
 */
#include "hw/vmrpc/audit/json.h"

#include <string.h>

#include <glib.h>

static bool put(VmrpcJson *j, const char *text, size_t len)
{
    if (len > j->size - j->len) {
        j->full = true;
        return false;
    }
    memcpy(j->text + j->len, text, len);
    j->len += len;
    return true;
}

bool vmrpc_json_raw(VmrpcJson *j, const char *text)
{
    return put(j, text, strlen(text));
}

/* Needs no escape: the letters of nearly all names. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Octets of the character that @text begins with; 0: it is not UTF-8. */
static size_t utf8_len(const char *text, size_t len)
{
    gunichar c = g_utf8_get_char_validated(text, MIN(len, 6));

    return c == (gunichar)-1 || c == (gunichar)-2 ? 0
                                                  : g_utf8_skip[(guchar)*text];
}

/* One character that is not plain; *@used: its octets in @text. */
static bool put_escaped(VmrpcJson *j, const char *text, size_t len,
                        size_t *used)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char c = *text;

    *used = 1;
    if (c < 0x80) {
        const char escape[] = { '\\', 'u', '0', '0', digits[c >> 4],
                                digits[c & 15] };

        return c == '"' || c == '\\' ? put(j, "\\", 1) && put(j, text, 1)
                                     : put(j, escape, sizeof(escape));
    }
    *used = utf8_len(text, len);
    if (*used) {
        return put(j, text, *used);
    }
    *used = 1;
    return put(j, "\\ufffd", 6);
}

bool vmrpc_json_string(VmrpcJson *j, const char *text)
{
    const char *end = text + strlen(text);
    bool ok = put(j, "\"", 1);

    while (ok && text < end) {
        size_t len = 0;

        while (is_plain(text[len])) {
            len++;
        }
        ok = put(j, text, len);
        text += len;
        if (ok && text < end) {
            ok = put_escaped(j, text, end - text, &len);
            text += len;
        }
    }
    return ok && put(j, "\"", 1);
}

bool vmrpc_json_number(VmrpcJson *j, uint64_t value)
{
    char digits[20];
    size_t i = sizeof(digits);

    do {
        digits[--i] = '0' + value % 10;
        value /= 10;
    } while (value);
    return put(j, digits + i, sizeof(digits) - i);
}

static bool put_key(VmrpcJson *j, const char *key)
{
    return put(j, ",\"", 2) && vmrpc_json_raw(j, key) && put(j, "\":", 2);
}

void vmrpc_json_add_string(VmrpcJson *j, const char *key, const char *text)
{
    size_t before = j->len;

    if (text && !(put_key(j, key) && vmrpc_json_string(j, text))) {
        j->len = before;
    }
}

void vmrpc_json_add_number(VmrpcJson *j, const char *key, uint64_t value)
{
    size_t before = j->len;

    if (!put_key(j, key) || !vmrpc_json_number(j, value)) {
        j->len = before;
    }
}

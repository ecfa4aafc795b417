/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON strings, RFC 8259, and error messages */
#include <stdarg.h>

#include "base/json.h"
#include "dnsd/zone/commands.h"
#include "dnsd/zone/json.h"

#define TEXT_MAX    4096

static void json_put(void *out, const char *text, size_t len)
{
    fwrite(text, 1, len, out);
}

void json_string(FILE *out, const char *text)
{
    base_json_string(&(BaseOut) { json_put, out }, text);
}

int reject(bool json, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (json) {
        fputs("{\"error\": ", stdout);
        json_string(stdout, text);
        puts("}");
        return args_flush(EXIT_CANNOT);
    }
    return args_cannot("%s", text);
}

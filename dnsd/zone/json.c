/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON strings, RFC 8259, and error messages */
#include <stdarg.h>

#include "dnsd/zone/commands.h"
#include "dnsd/zone/json.h"

#define TEXT_MAX    4096

void json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\') {
            fprintf(out, "\\%c", *at);
        } else if (*at < 0x20 || *at > 0x7e) {
            fprintf(out, "\\u%04x", *at);
        } else {
            fputc(*at, out);
        }
    }
    fputc('"', out);
}

int reject(const char *command, bool json, const char *format, ...)
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
    fprintf(stderr, PROGRAM " %s: %s\n", command, text);
    return EXIT_CANNOT;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/out.h"

void base_out_printf(const BaseOut *out, const char *format, ...)
{
    char text[1024];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (len > 0) {
        out->put(out->opaque, text, (size_t)len < sizeof(text)
                                    ? (size_t)len : sizeof(text) - 1);
    }
}

void base_out_text(const BaseOut *out, const char *text)
{
    out->put(out->opaque, text, strlen(text));
}

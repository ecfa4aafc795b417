/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include <stddef.h>

/** Where text goes, part by part */
typedef struct BaseOut {
    void (*put)(void *opaque, const char *text, size_t len);
    void *opaque;
} BaseOut;

/** base_out_printf: at most 1023 octets */
void base_out_printf(const BaseOut *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** base_out_text: text of any length */
void base_out_text(const BaseOut *out, const char *text);

#endif /* BASE_OUT_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decimal numbers in text, and in messages */
#ifndef DNSD_SERVER_CORE_NUMBER_H
#define DNSD_SERVER_CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DnsdNumber {
    DNSD_NUMBER_RIGHT,
    DNSD_NUMBER_NONE,           /* not only digits */
    DNSD_NUMBER_RANGE,
} DnsdNumber;

/** dnsd_number_read: parse a number of digits only, from @min to @max */
static inline DnsdNumber dnsd_number_read(const char *text, uint32_t min,
                                          uint32_t max, uint32_t *number)
{
    uint64_t value = 0;

    if (!*text) {
        return DNSD_NUMBER_NONE;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9') {
            return DNSD_NUMBER_NONE;
        }
        value = value * 10 + (*text - '0');
        value = value < UINT32_MAX ? value : UINT32_MAX;
    }
    if (value < min || value > max) {
        return DNSD_NUMBER_RANGE;
    }
    *number = value;
    return DNSD_NUMBER_RIGHT;
}

/** dnsd_plural: the ending of a noun behind a number, as in "2 zones" */
static inline const char *dnsd_plural(size_t number)
{
    return number == 1 ? "" : "s";
}

#endif /* DNSD_SERVER_CORE_NUMBER_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decimal numbers in text */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

typedef enum NumberFault {
    NUMBER_RIGHT,
    NUMBER_NONE,                /* not only digits */
    NUMBER_RANGE,
} NumberFault;

/** number_read: parse a number of digits only, from @min to @max */
static inline NumberFault number_read(const char *text, uint32_t min,
                                      uint32_t max, uint32_t *number)
{
    uint64_t value = 0;

    if (!*text) {
        return NUMBER_NONE;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9') {
            return NUMBER_NONE;
        }
        value = value * 10 + (*text - '0');
        value = value < UINT32_MAX ? value : UINT32_MAX;
    }
    if (value < min || value > max) {
        return NUMBER_RANGE;
    }
    *number = value;
    return NUMBER_RIGHT;
}

#endif /* BASE_NUMBER_H */

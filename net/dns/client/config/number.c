/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decimal numbers in untrusted text */

#include "net/dns/client/config/number.h"

bool dnsc_number_parse(const char *text, unsigned long max,
                       unsigned long *value)
{
    *value = 0;
    if (!*text) {
        return false;
    }
    for (; *text; text++) {
        unsigned digit = (unsigned char)*text - '0';

        if (digit > 9 || *value > (max - digit) / 10) {
            return false;
        }
        *value = *value * 10 + digit;
    }
    return *value <= max;
}

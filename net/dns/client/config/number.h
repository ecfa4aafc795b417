/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decimal numbers in untrusted text */

#ifndef VMMNET_DNS_CLIENT_NUMBER_H
#define VMMNET_DNS_CLIENT_NUMBER_H

#include <stdbool.h>

/* Is the whole text digits, and the number at most max? */
bool dnsc_number_parse(const char *text, unsigned long max,
                       unsigned long *value);

#endif

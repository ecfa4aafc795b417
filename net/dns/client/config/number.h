/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decimal numbers in text that is not ours
 */

#ifndef VMMNET_DNS_CLIENT_NUMBER_H
#define VMMNET_DNS_CLIENT_NUMBER_H

#include <stdbool.h>

/* The whole text is digits, and the number is max at most. */
bool dnsc_number_parse(const char *text, unsigned long max,
                       unsigned long *value);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers in messages */
#ifndef DNSD_SERVER_CORE_NUMBER_H
#define DNSD_SERVER_CORE_NUMBER_H

#include <stddef.h>

/** dnsd_plural: the ending of a noun behind a number, as in "2 zones" */
static inline const char *dnsd_plural(size_t number)
{
    return number == 1 ? "" : "s";
}

#endif /* DNSD_SERVER_CORE_NUMBER_H */

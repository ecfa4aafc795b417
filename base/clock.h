/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <time.h>

#include "base/units.h"

/** base_clock: a clock of the system, in nanoseconds */
static inline int64_t base_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

#endif /* BASE_CLOCK_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units of time: `5 * SECOND` is one of our clocks, which count nanoseconds */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

#define MS              1000000ll
#define SECOND          1000000000ll

/* For those that count in other units */
#define US_PER_S        INT64_C(1000000)
#define MS_PER_S        1000u

#endif /* BASE_UNITS_H */

// SPDX-License-Identifier: GPL-2.0-or-later
/* The code of the tracepoints */
#define CREATE_TRACE_POINTS
#include "transport/trace.h"

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/trace-net_handoff.h"

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints an agent's bindings and counters
 *
 * The output is made in pieces, each with bounded work, and shows the state at
 * the time of mip6_show_new().
 */
#ifndef HA_SHOW_H
#define HA_SHOW_H

#include "ha/agent/agent.h"

typedef enum Mip6ShowFormat {
    MIP6_SHOW_TEXT,
    MIP6_SHOW_JSON,
    MIP6_SHOW_METRICS,          /* Prometheus' text format; no bindings */
} Mip6ShowFormat;

typedef struct Mip6Show Mip6Show;

/** mip6_show_new: @now is the agent's clock */
Mip6Show *mip6_show_new(const Mip6Agent *a, int64_t now, Mip6ShowFormat format);

void mip6_show_free(Mip6Show *s);

/** mip6_show_more: append the next piece. Returns: false after the last one */
bool mip6_show_more(Mip6Show *s, GString *out);

#endif /* HA_SHOW_H */

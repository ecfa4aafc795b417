/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of an agent: what happens to bindings and prefixes
 *
 * Whoever can send Binding Updates or router advertisements could fill the log.
 * So each kind of line has a limit, and a line says how many were left out.
 */
#ifndef HA_NEWS_H
#define HA_NEWS_H

#include "base/log.h"
#include "ha/agent/agent.h"

/* Kinds of lines, for the limits. */
typedef enum Mip6HaNewsClass {
    MIP6_HA_NEWS_REFUSALS,
    MIP6_HA_NEWS_BINDINGS,
    MIP6_HA_NEWS_PREFIXES,
    MIP6_HA_NEWS_CLASSES
} Mip6HaNewsClass;

typedef struct Mip6HaNews {
    BaseLogLimit limit[MIP6_HA_NEWS_CLASSES];
} Mip6HaNews;

/**
 * mip6_ha_news_tell: log it, unless there is too much
 * @link: for MIP6_AGENT_PREFIXES: the prefixes as they are
 */
void mip6_ha_news_tell(Mip6HaNews *n, int64_t now, const Mip6AgentNews *news,
                       const Mip6HaLink *link);

/** mip6_ha_news_tick: say how many lines were left out; call each second */
void mip6_ha_news_tick(Mip6HaNews *n, int64_t now);

#endif /* HA_NEWS_H */

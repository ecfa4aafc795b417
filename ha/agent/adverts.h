/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mobile prefix advertisements to bound mobile nodes (RFC 6275 section 10.6) */
#ifndef HA_ADVERTS_H
#define HA_ADVERTS_H

#include "ha/agent/agent.h"

/** mip6_adverts_begin: @b is bound; it has the current prefixes */
void mip6_adverts_begin(Mip6Agent *a, int64_t now, Mip6AgentBinding *b);

/** mip6_adverts_end: @b has ended */
void mip6_adverts_end(Mip6Agent *a, Mip6AgentBinding *b);

/**
 * mip6_adverts_changed: prefixes have changed; advertise to all mobile nodes
 */
void mip6_adverts_changed(Mip6Agent *a, int64_t now);

/** mip6_adverts_solicited: @b has sent a solicitation with @id */
void mip6_adverts_solicited(Mip6Agent *a, int64_t now, Mip6AgentBinding *b,
                            uint16_t id);

/** mip6_adverts_status: status for an acknowledgement that accepts @b */
uint8_t mip6_adverts_status(const Mip6Agent *a, const Mip6AgentBinding *b);

/** mip6_adverts_tick: send those that are due, at most MIP6_AGENT_TURN */
void mip6_adverts_tick(Mip6Agent *a, int64_t now);

#endif /* HA_ADVERTS_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A home link with its agent, and a VM that is about to leave it
 *
 * The agent has the MAC address router_mac. The guest answers what gets to it,
 * and the agent hears what passes, as nodes of the link do.
 */
#ifndef TESTS_UNIT_MIP6_EARLY_H
#define TESTS_UNIT_MIP6_EARLY_H

#include "mip6-world.h"

extern const uint8_t node_mac[PACKET_ETH_ADDR_LEN];     /* of another node */

/* A VM at home, with an agent that has not been spoken to. */
World *at_home(Mip6AgentDad dad, bool on);

/* A migration has begun, and the update is on its way; or it is accepted. */
World *prepared(Mip6AgentDad dad);
World *bound(void);

/* The home link's router advertises. */
void advertise_home(World *w, bool autonomous);

/* Time passes for the port and for the agent. */
void go(World *w, int64_t ns);

/* Messages about @target; @dst_mac: NULL for a group. Return their length. */
size_t solicitation(uint8_t *frame, const char *src, const char *target,
                    const uint8_t *src_mac, const uint8_t *dst_mac);
size_t advertisement(uint8_t *frame, const char *dst, const char *target,
                     const uint8_t *src_mac, const uint8_t *dst_mac);

/* The guest says that it has its address, to all or to @mac. */
Mip6Verdict guest_claims(World *w, const char *dst, const uint8_t *mac);

/* @mac asks for the guest's address. Returns whether the guest has answered. */
bool asked(World *w, const char *src, const uint8_t *mac, bool unicast);

/* The agent's binding of the guest's address; NULL: it has none. */
const Mip6AgentBinding *registered(const World *w);

/* Does the agent speak for the guest's address? */
bool agent_proxies(void);

/* A packet for the guest comes to the agent, which takes it if it has to. */
void to_agent(World *w, size_t payload);

/* Do frames pass the port as they are? */
bool passes(World *w);

/* Begin the log of what the port sends anew. */
void forget_log(World *w);

#endif /* TESTS_UNIT_MIP6_EARLY_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A home link with its agent, and a VM before its migration to another link
 *
 * The agent has the MAC address router_mac. The guest answers messages that
 * reach it, and the agent receives frames of the link, as a node of the link
 * does.
 */
#ifndef TESTS_UNIT_MIP6_EARLY_H
#define TESTS_UNIT_MIP6_EARLY_H

#include "mip6-world.h"

extern const uint8_t node_mac[PACKET_ETH_ADDR_LEN];     /* of another node */

/* A VM at home; it has not contacted its agent yet. */
World *at_home(Mip6AgentDad dad, bool on);

/*
 * A migration has begun, and the update is sent (prepared) or accepted (bound).
 */
World *prepared(Mip6AgentDad dad);
World *bound(void);

/* The home link's router advertises. */
void advertise_home(World *w, bool autonomous);

/* Advances the time of the port and of the agent. */
void go(World *w, int64_t ns);

/* Messages about @target; @dst_mac: NULL for a group. Return their length. */
size_t solicitation(uint8_t *frame, const char *src, const char *target,
                    const uint8_t *src_mac, const uint8_t *dst_mac);
size_t advertisement(uint8_t *frame, const char *dst, const char *target,
                     const uint8_t *src_mac, const uint8_t *dst_mac);

/* The guest advertises its address, to all nodes or to @mac. */
Mip6Verdict guest_claims(World *w, const char *dst, const uint8_t *mac);

/* @mac solicits the guest's address.  Returns: has the guest answered? */
bool asked(World *w, const char *src, const uint8_t *mac, bool unicast);

/* The agent's binding of the guest's address; NULL: none. */
const Mip6AgentBinding *registered(const World *w);

/* Is the agent the proxy of the guest's address? */
bool agent_proxies(void);

/*
 * A packet for the guest reaches the agent, which forwards it if there is a
 * binding.
 */
void to_agent(World *w, size_t payload);

/* Do frames pass the port unchanged? */
bool passes(World *w);

/* Clears the log of frames from the port. */
void forget_log(World *w);

#endif /* TESTS_UNIT_MIP6_EARLY_H */

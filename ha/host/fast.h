/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fast path: the kernel encapsulates and decapsulates simple packets by
 * itself; see host/bpf/fast.bpf.c
 */
#ifndef HA_FAST_H
#define HA_FAST_H

#include "ha/agent/agent.h"

typedef struct Mip6Fast Mip6Fast;

/* The compiled program; empty if vmmnet-ha was built without it. */
extern const uint8_t mip6_fast_program[];
extern const size_t mip6_fast_program_len;

/**
 * mip6_fast_load: load the program into the kernel
 * @program: @len octets of an object file
 * @agent: the agent's address
 * @head: offset of the IPv6 header in a packet; 0 for a TUN device
 * @bindings: maximum number of bindings
 * @bulk: octets of a node within a millisecond that start bulk mode: its
 *        packets go to the agent, until there is none for 5 ms
 *
 * Needs CAP_BPF and CAP_NET_ADMIN.
 *
 * Returns: NULL with @errp set
 */
Mip6Fast *mip6_fast_load(const void *program, size_t len,
                         const struct in6_addr *agent, uint32_t head,
                         unsigned bindings, uint32_t bulk, GError **errp);

/** mip6_fast_attach: attach the program to the egress of the TUN device */
bool mip6_fast_attach(Mip6Fast *f, int tun_index, GError **errp);

/**
 * mip6_fast_look: attach the program again if somebody has removed it
 *
 * Call it once a second.  A change is logged; meanwhile all packets go to the
 * agent.
 */
void mip6_fast_look(Mip6Fast *f);

/** mip6_fast_free: detach and free; @f may be NULL */
void mip6_fast_free(Mip6Fast *f);

/** mip6_fast_fd: the program's file descriptor, for test runs */
int mip6_fast_fd(const Mip6Fast *f);

/**
 * mip6_fast_let_pass: forward packets of @pass->home according to @pass
 *
 * If the map is full, the agent forwards them instead.
 */
void mip6_fast_let_pass(Mip6Fast *f, const Mip6AgentPass *pass);

/** mip6_fast_stop: stop to forward packets of @home */
void mip6_fast_stop(Mip6Fast *f, const struct in6_addr *home);

/**
 * mip6_fast_passed: number of packets that were forwarded
 * @home: for its current binding; NULL: for all, including ended bindings
 */
Mip6AgentPassed mip6_fast_passed(const Mip6Fast *f,
                                 const struct in6_addr *home);

#endif /* HA_FAST_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fast path: plain packets that the kernel puts into tunnels, and takes out
 * of them, by itself; host/bpf/fast.bpf.c
 */
#ifndef NET_MIP6_HA_FAST_H
#define NET_MIP6_HA_FAST_H

#include "net/mip6/ha/agent/agent.h"

typedef struct Mip6Fast Mip6Fast;

/* The program, compiled; of no octets if vmmnet-ha was built without. */
extern const uint8_t mip6_fast_program[];
extern const size_t mip6_fast_program_len;

/**
 * mip6_fast_load: give a program to the kernel
 * @program: @len octets of an object file
 * @agent: the agent's address
 * @head: octets before a packet's IPv6 header; a TUN device has none
 * @bindings: that can pass at most
 * @bulk: octets of one node within a millisecond, from which on the agent takes
 *        its packets, until none comes for 5 ms
 *
 * Needs CAP_BPF and CAP_NET_ADMIN.
 *
 * Returns: NULL with @errp set, which says why not
 */
Mip6Fast *mip6_fast_load(const void *program, size_t len,
                         const struct in6_addr *agent, uint32_t head,
                         unsigned bindings, uint32_t bulk, GError **errp);

/** mip6_fast_attach: have it see what the host sends by the TUN device */
bool mip6_fast_attach(Mip6Fast *f, int tun_index, GError **errp);

/** mip6_fast_free: no packet passes any more; NULL is nothing */
void mip6_fast_free(Mip6Fast *f);

/** mip6_fast_fd: the program, to be tried without an interface */
int mip6_fast_fd(const Mip6Fast *f);

/**
 * mip6_fast_let_pass: packets of @pass->home pass from now on, as @pass says
 *
 * If there is no room they do not, which is no fault: the agent forwards them.
 */
void mip6_fast_let_pass(Mip6Fast *f, const Mip6AgentPass *pass);

/** mip6_fast_stop: packets of @home do not pass any more */
void mip6_fast_stop(Mip6Fast *f, const struct in6_addr *home);

/**
 * mip6_fast_passed: how many packets have passed
 * @home: of its binding, since it began; NULL: of all, also those that ended
 */
Mip6AgentPassed mip6_fast_passed(const Mip6Fast *f,
                                 const struct in6_addr *home);

#endif /* NET_MIP6_HA_FAST_H */

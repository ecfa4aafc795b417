/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types that the eBPF program shares with its loader, host/fast.c */
#ifndef HA_HOST_BPF_FAST_H
#define HA_HOST_BPF_FAST_H

#include <stdint.h>

/* An IPv6 address in wire order. */
struct mip6_fast_addr {
    uint64_t word[2];
};

/* The only element of the map "settings". */
struct mip6_fast_settings {
    struct mip6_fast_addr agent;
    uint32_t head;              /* offset of the IPv6 header; TUN: 0 */
    uint32_t bulk;              /* octets of a node in 1 ms that are bulk */
};

/* A value of the map "bindings", whose keys are home addresses. */
struct mip6_fast_binding {
    struct mip6_fast_addr home; /* the key */
    struct mip6_fast_addr care_of;
    int64_t expires;            /* ns of CLOCK_BOOTTIME */
    int64_t path_until;
    uint32_t room;              /* maximum length after the outer header */
    uint32_t path_room;         /* the same, until @path_until */
    int64_t span_began;         /* program's: start of the interval, ... */
    int64_t bulk_until;         /* ... and end of bulk mode (by agent) */
    uint32_t span_octets;
    uint32_t reserved;
};

/*
 * Packet counters: the value, for each CPU, of the map "counters", whose keys
 * are home addresses; and of the only element, for each CPU, of the map
 * "totals".
 */
struct mip6_fast_counters {
    uint64_t sent;              /* to mobile nodes */
    uint64_t received;          /* from them */
};

#endif /* HA_HOST_BPF_FAST_H */

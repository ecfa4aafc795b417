/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the eBPF twin of HostVLAN shares with who loads it
 *
 * hostvlan.bpf.c has the maps; control/vmmnet/hostvlan/twin.py and the
 * agreement test fill and read them.
 */
#ifndef NET_HOSTVLAN_BPF_TWIN_H
#define NET_HOSTVLAN_BPF_TWIN_H

#include "vmmnet/hostvlan.h"

/* Elements of an inner map of "tables" are as large as a bucket. */
#define HOSTVLAN_ELEMENT        64u
/* The header comes first, then the buckets, then the records. */
#define HOSTVLAN_FIRST_ELEMENT  (HOSTVLAN_HEADER_SIZE / HOSTVLAN_ELEMENT)

/*
 * The only element of the map "port". The programs use nothing but "mac" and
 * the flags from HOSTVLAN_PORT_L2_CONTROL on.
 */
struct hostvlan_port {
    uint64_t mac;               /* of who is behind the interface */
    uint64_t netns;             /* cookie of the network namespace */
    uint32_t ifindex;           /* in it */
    uint32_t flags;             /* HOSTVLAN_PORT_... */
    char interface[16];         /* its name when it was attached; with a NUL */
};

#define HOSTVLAN_PORT_SEND_TC   1u      /* "send" is judged by tc, not XDP */
#define HOSTVLAN_PORT_REVERSED  2u      /* macvtap, bridge: "send" is egress */
#define HOSTVLAN_PORT_CLSACT    4u      /* the qdisc clsact is ours */
#define HOSTVLAN_PORT_L2_CONTROL 8u     /* frames to switches may be sent */
#define HOSTVLAN_PORT_CHECK_SENDER 16u  /* what is sent must be the MAC's own */
/* HOSTVLAN_OFFER_... that only those may send for whom the table says so. */
#define HOSTVLAN_PORT_GUARDS_SHIFT 5
#define HOSTVLAN_PORT_GUARDS(flags) \
    ((flags) >> HOSTVLAN_PORT_GUARDS_SHIFT & \
     (HOSTVLAN_OFFER_ROUTER | HOSTVLAN_OFFER_DHCP))

enum hostvlan_direction {
    HOSTVLAN_SEND,              /* from who is behind the interface */
    HOSTVLAN_RECEIVE,           /* to it */
    HOSTVLAN_DIRECTIONS
};

/* The only element, one a CPU, of the map "counters". */
struct hostvlan_counters {
    uint64_t frames[HOSTVLAN_DIRECTIONS][HOSTVLAN_REASONS];
};

#endif /* NET_HOSTVLAN_BPF_TWIN_H */

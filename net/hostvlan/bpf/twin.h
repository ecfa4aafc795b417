/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between the eBPF twin of HostVLAN and its loaders
 *
 * hostvlan.bpf.c defines the maps; control/vmmnet/hostvlan/bpf/twin.py and the
 * agreement test fill and read them.
 */
#ifndef NET_HOSTVLAN_BPF_TWIN_H
#define NET_HOSTVLAN_BPF_TWIN_H

#include "vmmnet/hostvlan.h"

/* An element of an inner map of "tables" has the size of a bucket. */
#define HOSTVLAN_ELEMENT        64u
/* The order is: header, buckets, records. */
#define HOSTVLAN_FIRST_ELEMENT  (HOSTVLAN_HEADER_SIZE / HOSTVLAN_ELEMENT)

/*
 * The only element of the map "port". The programs use only "mac" and the flags
 * from HOSTVLAN_PORT_L2_CONTROL on.
 */
struct hostvlan_port {
    uint64_t mac;               /* of the VM or container */
    uint64_t netns;             /* cookie of the network namespace */
    uint32_t ifindex;           /* in that namespace */
    uint32_t flags;             /* HOSTVLAN_PORT_... */
    char interface[16];         /* its name when attached; ends with NUL */
};

#define HOSTVLAN_PORT_SEND_TC   1u      /* "send" is at tc, not XDP */
#define HOSTVLAN_PORT_REVERSED  2u      /* macvtap, bridge: "send" is egress */
#define HOSTVLAN_PORT_CLSACT    4u      /* we created the qdisc clsact */
#define HOSTVLAN_PORT_L2_CONTROL 8u     /* may send layer 2 control frames */
#define HOSTVLAN_PORT_CHECK_SENDER 16u  /* check sender addresses */
#define HOSTVLAN_PORT_DETACHED  128u    /* for the agent: not to be attached again */
/* HOSTVLAN_OFFER_... that need a right in the table. */
#define HOSTVLAN_PORT_GUARDS_SHIFT 5
#define HOSTVLAN_PORT_GUARDS(flags) \
    ((flags) >> HOSTVLAN_PORT_GUARDS_SHIFT & \
     (HOSTVLAN_OFFER_ROUTER | HOSTVLAN_OFFER_DHCP))
/*
 * Eight bits: the newest version of tables that the programs on the interface
 * read. Programs whose loader does not say so, 0, read version 3, or 2 if they
 * count fewer reasons than this header has.
 */
#define HOSTVLAN_PORT_READS_SHIFT 8

enum hostvlan_direction {
    HOSTVLAN_SEND,              /* from the VM or container */
    HOSTVLAN_RECEIVE,           /* to the VM or container */
    HOSTVLAN_DIRECTIONS
};

/* The only element, for each CPU, of the map "counters". */
struct hostvlan_counters {
    uint64_t frames[HOSTVLAN_DIRECTIONS][HOSTVLAN_REASONS];
};

#endif /* NET_HOSTVLAN_BPF_TWIN_H */

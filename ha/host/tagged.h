/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of other VLANs on the home link's interface
 *
 * The kernel gives packet sockets the frames of all VLANs of a trunk, with the
 * tag taken off. Filters keep them from the agent; this counts them. A tag with
 * the ID 0 has only a priority (IEEE 802.1Q), so the frame is of the link.
 */
#ifndef HA_TAGGED_H
#define HA_TAGGED_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The first instructions of a socket filter: go to instruction @tagged, counted
 * from the one after these, if the frame is of another VLAN, else to @untagged.
 */
#define MIP6_HA_TAGGED_FILTER(tagged, untagged) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
             SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 3 + (untagged), 0), \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_VLAN_TAG), \
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xfff), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, (untagged), (tagged))

/**
 * mip6_ha_tagged_open: count frames that are not used because of their tag:
 * neighbour discovery, and with @groups packets to groups beyond the link
 * @index: of the interface
 *
 * Returns: a socket, or -1 with errno set
 */
int mip6_ha_tagged_open(int index, bool groups);

/** mip6_ha_tagged_read: frames since the last call */
uint64_t mip6_ha_tagged_read(int fd);

#endif /* HA_TAGGED_H */

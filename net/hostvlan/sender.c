/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a frame use only its sender's addresses?
 *
 * forged.h has the check, for both data paths. This file provides the table's
 * addresses, as QEMU has copied them.
 */
#include "net/hostvlan/sender.h"

struct hostvlan_own {
    const HostvlanAddresses *table;
};

static inline bool hostvlan_own_ip4(const struct hostvlan_own *own,
                                    uint32_t ip4)
{
    for (unsigned i = 0; i < own->table->num_ip4; i++) {
        if (hostvlan_within4(ip4, own->table->ip4[i],
                             own->table->host_bits4[i])) {
            return true;
        }
    }
    return false;
}

static inline bool hostvlan_own_ip6(const struct hostvlan_own *own,
                                    const uint32_t ip6[4])
{
    for (unsigned i = 0; i < own->table->num_ip6; i++) {
        if (hostvlan_within6(ip6, own->table->ip6[i],
                             own->table->host_bits6[i])) {
            return true;
        }
    }
    return false;
}

#include "net/hostvlan/dhcp.h"
#include "net/hostvlan/forged.h"

enum hostvlan_reason hostvlan_sender_check(const uint8_t *frame, size_t len,
                                           size_t size, uint64_t mac,
                                           const HostvlanAddresses *own,
                                           size_t *fixed)
{
    const struct hostvlan_own table = { .table = own };
    struct hostvlan_sender s = {
        .f = { .data = frame, .len = len, .size = size },
        .mac = mac,
        .own = own && (own->num_ip4 || own->num_ip6) ? &table : NULL,
    };
    enum hostvlan_reason reason = hostvlan_forged(&s);

    *fixed = s.fixed;
    return reason;
}

enum hostvlan_reason hostvlan_sender_dhcp(const uint8_t *frame, size_t len,
                                          size_t size, uint64_t mac,
                                          const HostvlanAddresses *own,
                                          size_t *fixed, size_t *checksum)
{
    const struct hostvlan_own table = { .table = own };
    struct hostvlan_sender s = {
        .f = { .data = frame, .len = len, .size = size },
        .mac = mac,
        .own = own && (own->num_ip4 || own->num_ip6) ? &table : NULL,
    };
    struct hostvlan_frame f = s.f;
    uint32_t found = hostvlan_find_dhcp(&f);
    enum hostvlan_reason reason;

    *checksum = 0;
    if (__builtin_expect(!found, 1)) {
        return HOSTVLAN_PASSED;
    }
    reason = hostvlan_forged_dhcp(&s, found);
    *fixed = s.fixed;
    *checksum = found + HOSTVLAN_UDP_CHECKSUM;
    return reason;
}

bool hostvlan_sender_offload(const uint8_t *vnet, size_t fixed,
                             size_t checksum)
{
    /* struct virtio_net_hdr: flags, gso_type, then four numbers of 16 bits */
    const uint8_t *start = vnet + 6, *offset = vnet + 8;
    unsigned little = (start[1] << 8 | start[0]) + (offset[1] << 8 | offset[0]);
    unsigned big = get_be16(start) + get_be16(offset);

    /*
     * Only a guest without VIRTIO_F_VERSION_1 can be big-endian.  Both orders
     * are checked: no valid frame has such a small offset in the wrong order.
     */
    return !(vnet[0] & 1) ||    /* VIRTIO_NET_HDR_F_NEEDS_CSUM */
           ((little >= fixed || (checksum && little == checksum)) &&
            (big >= fixed || (checksum && big == checksum)));
}

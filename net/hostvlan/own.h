/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sender of a frame, and which addresses are its own
 *
 * Both data paths include this file (see forged.h).
 */
#ifndef NET_HOSTVLAN_OWN_H
#define NET_HOSTVLAN_OWN_H

#include "net/hostvlan/headers.h"

struct hostvlan_sender {
    struct hostvlan_frame f;    /* size is reduced to that of the packet */
    uint64_t mac;               /* source of the frame; the port's address */
    const struct hostvlan_own *own;     /* NULL: IP addresses are not checked */
    uint32_t fixed;             /* octets that no checksum may overwrite */
};

static inline enum hostvlan_reason
hostvlan_forged_mac(const struct hostvlan_sender *s, const uint8_t *mac)
{
    return hostvlan_mac(mac) == s->mac ? HOSTVLAN_PASSED :
                                         HOSTVLAN_FORGED_ADDRESS;
}

static inline enum hostvlan_reason
hostvlan_forged_ip4(const struct hostvlan_sender *s, uint32_t ip4)
{
    return !s->own || hostvlan_own_ip4(s->own, ip4) ? HOSTVLAN_PASSED :
                                                      HOSTVLAN_FORGED_ADDRESS;
}

/* Is it in fe80::/64, with the interface identifier of the MAC address? */
static inline bool hostvlan_is_eui64(const struct hostvlan_sender *s,
                                     const uint32_t ip6[4])
{
    uint64_t mac = s->mac ^ 0x020000000000ull;

    return ip6[0] == 0xfe800000 && ip6[1] == 0 &&
           ip6[2] == (uint32_t)(mac >> 24 << 8 | 0xff) &&
           ip6[3] == (uint32_t)(0xfe000000 | (mac & 0xffffff));
}

static inline enum hostvlan_reason
hostvlan_forged_ip6(const struct hostvlan_sender *s, const uint8_t *addr)
{
    uint32_t ip6[4] = {
        get_be32(addr), get_be32(addr + 4),
        get_be32(addr + 8), get_be32(addr + 12),
    };

    return !s->own || hostvlan_is_eui64(s, ip6) ||
           hostvlan_own_ip6(s->own, ip6) ? HOSTVLAN_PASSED :
                                           HOSTVLAN_FORGED_ADDRESS;
}

#endif /* NET_HOSTVLAN_OWN_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May this frame pass? (the HostVLAN paper, section 3.5)
 *
 * enum hostvlan_reason lists the checks and their order.
 */
#ifndef NET_HOSTVLAN_VERDICT_H
#define NET_HOSTVLAN_VERDICT_H

#include "net/hostvlan/group.h"
#include "net/hostvlan/offers.h"
#include "net/hostvlan/table.h"

/* Frames of a port since its creation, by verdict. */
typedef struct HostvlanCounters {
    uint64_t send[HOSTVLAN_REASONS];    /* by the guest */
    uint64_t receive[HOSTVLAN_REASONS]; /* to the guest */
} HostvlanCounters;

/** hostvlan_reason_name: "passed", "other-tenant", ...; a constant. */
const char *hostvlan_reason_name(enum hostvlan_reason reason);

/**
 * hostvlan_verdict_send: may the guest send this?
 * @table: the table in force; NULL: none
 * @port: the port's MAC address; 0: it has none
 * @l2_control: layer 2 control protocols may pass
 * @frame: from its destination address on
 * @len: octets at @frame: all, or HOSTVLAN_ETH_LEN of a unicast frame, or
 *       HOSTVLAN_LOOK_LEN of a multicast frame
 * @fixed: if the frame passes, set to the number of octets that the verdict
 *         depends on; no checksum offload may write to them
 *
 * IP addresses and offers are not checked: see hostvlan_sender_check() and
 * hostvlan_verdict_offer().
 */
enum hostvlan_reason hostvlan_verdict_send(const HostvlanTable *table,
                                           uint64_t port, bool l2_control,
                                           const uint8_t *frame, size_t len,
                                           size_t *fixed);

/**
 * hostvlan_verdict_offer: may the guest offer the service in this frame?
 * @guards: HOSTVLAN_OFFER_... that need a right in the table; 0: nothing is
 *          checked
 * @len: octets at @frame: all, or HOSTVLAN_LOOK_LEN
 * @size: length of the whole frame
 *
 * The other arguments are as for hostvlan_verdict_send(), which @frame must
 * have passed.
 *
 * Returns: HOSTVLAN_PASSED, HOSTVLAN_RA_GUARD, HOSTVLAN_DHCP_GUARD,
 * HOSTVLAN_DAMAGED, or HOSTVLAN_MALFORMED if the frame may hide an offer.
 */
enum hostvlan_reason hostvlan_verdict_offer(const HostvlanTable *table,
                                            uint64_t port, uint32_t guards,
                                            const uint8_t *frame, size_t len,
                                            size_t size, size_t *fixed);

/**
 * hostvlan_verdict_receive: may the guest receive this?
 * @len: octets at @frame: all, or HOSTVLAN_ETH_LEN of a unicast frame, or
 *       HOSTVLAN_QUERY_LEN of a multicast frame
 * @size: length of the whole frame, for multicast frames
 *
 * The other arguments are as for hostvlan_verdict_send(). The destination is
 * not checked: broadcast, multicast and flooded frames are judged at each port
 * that they are delivered to. IGMP and MLD queries are the only frames that
 * pass from an unknown source, because switches send them.
 */
enum hostvlan_reason hostvlan_verdict_receive(const HostvlanTable *table,
                                              uint64_t port,
                                              const uint8_t *frame, size_t len,
                                              size_t size);

#endif /* NET_HOSTVLAN_VERDICT_H */

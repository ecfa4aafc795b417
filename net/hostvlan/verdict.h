/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May this frame pass? (the HostVLAN paper, section 3.5)
 *
 * enum hostvlan_reason says which checks there are and in which order.
 */
#ifndef NET_HOSTVLAN_VERDICT_H
#define NET_HOSTVLAN_VERDICT_H

#include "net/hostvlan/group.h"
#include "net/hostvlan/offers.h"
#include "net/hostvlan/table.h"

/* Frames of a port since it was made, by what happened to them. */
typedef struct HostvlanCounters {
    uint64_t send[HOSTVLAN_REASONS];    /* by the guest */
    uint64_t receive[HOSTVLAN_REASONS]; /* to the guest */
} HostvlanCounters;

/** hostvlan_reason_name: "passed", "other-tenant", ...; a static string. */
const char *hostvlan_reason_name(enum hostvlan_reason reason);

/**
 * hostvlan_verdict_send: may the guest send this?
 * @table: in force; NULL: none
 * @port: the port's MAC address; 0: it has none
 * @l2_control: layer 2 control protocols may pass
 * @frame: from its destination address on
 * @len: octets that are there: all, or HOSTVLAN_ETH_LEN of a frame to one
 *       station, or HOSTVLAN_LOOK_LEN of one to a group
 * @fixed: filled in when the frame passes: its first octets that were looked
 *         at, and that no checksum offload may write to
 *
 * Does not look at IP addresses, nor at what is offered:
 * hostvlan_sender_check() and hostvlan_verdict_offer() do.
 */
enum hostvlan_reason hostvlan_verdict_send(const HostvlanTable *table,
                                           uint64_t port, bool l2_control,
                                           const uint8_t *frame, size_t len,
                                           size_t *fixed);

/**
 * hostvlan_verdict_offer: may the guest offer what this offers?
 * @guards: HOSTVLAN_OFFER_... that only those may send for whom the table says
 *          so; 0: nothing is looked at
 * @len: octets that are there: all, or HOSTVLAN_LOOK_LEN
 * @size: octets of the whole frame
 *
 * Else as hostvlan_verdict_send(), which @frame has passed.
 *
 * Returns: HOSTVLAN_PASSED, HOSTVLAN_RA_GUARD, HOSTVLAN_DHCP_GUARD,
 * HOSTVLAN_DAMAGED, or HOSTVLAN_MALFORMED for what may hide an offer.
 */
enum hostvlan_reason hostvlan_verdict_offer(const HostvlanTable *table,
                                            uint64_t port, uint32_t guards,
                                            const uint8_t *frame, size_t len,
                                            size_t size, size_t *fixed);

/**
 * hostvlan_verdict_receive: may the guest receive this?
 * @len: octets that are there: all, or HOSTVLAN_ETH_LEN of a frame to one
 *       station, or HOSTVLAN_QUERY_LEN of one to a group
 * @size: octets of the whole frame, where it is to a group
 *
 * As hostvlan_verdict_send(). The destination is not looked at: broadcasts,
 * multicasts and floods are judged by the port they are about to leave by.
 * Only IGMP and MLD queries pass from an unknown source, which a switch is.
 */
enum hostvlan_reason hostvlan_verdict_receive(const HostvlanTable *table,
                                              uint64_t port,
                                              const uint8_t *frame, size_t len,
                                              size_t size);

#endif /* NET_HOSTVLAN_VERDICT_H */

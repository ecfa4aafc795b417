/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May this frame pass? (the HostVLAN paper, section 3.5)
 *
 * enum hostvlan_reason says which checks there are and in which order.
 */
#ifndef NET_HOSTVLAN_VERDICT_H
#define NET_HOSTVLAN_VERDICT_H

#include "net/hostvlan/table.h"

#define HOSTVLAN_ETH_LEN        14u     /* octets that a verdict is about */

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
 * @frame: from its destination address on
 * @len: octets that are there
 *
 * Does not look at IP addresses: hostvlan_sender_check() does.
 */
enum hostvlan_reason hostvlan_verdict_send(const HostvlanTable *table,
                                           uint64_t port, const uint8_t *frame,
                                           size_t len);

/**
 * hostvlan_verdict_receive: may the guest receive this?
 *
 * As hostvlan_verdict_send(). The destination is not looked at: broadcasts,
 * multicasts and floods are judged by the port they are about to leave by.
 */
enum hostvlan_reason hostvlan_verdict_receive(const HostvlanTable *table,
                                              uint64_t port,
                                              const uint8_t *frame,
                                              size_t len);

#endif /* NET_HOSTVLAN_VERDICT_H */

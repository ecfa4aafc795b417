/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev hostvlan, for those who show it (monitor.c) */
#ifndef NET_HOSTVLAN_NETDEV_H
#define NET_HOSTVLAN_NETDEV_H

#include "net/hostvlan/follow.h"
#include "net/hostvlan/sender.h"
#include "net/hostvlan/verdict.h"
#include "net/stage/stage.h"
#include "net/watch/watch.h"
#include "qemu/timer.h"

/* The BQL protects it. */
typedef struct HostvlanPort {
    NetStage *stage;
    char *backend;              /* ID of the netdev behind */
    uint64_t mac;               /* of the option; 0: the NIC's own */
    bool check_sender;
    bool l2_control;            /* the guest may speak to switches */
    uint32_t guards;            /* HOSTVLAN_OFFER_... that not all may send */
    HostvlanFollow follow;
    PathWatch watch;
    struct HostvlanCheck *check;        /* under way; NULL: none */
    bool again;                 /* look once more after it */
    QEMUBH *look;
    QEMUTimer *timer;
    HostvlanCounters counters;
    /*
     * What of the guest's frame was looked at, copied: virtio-net header and
     * the frame's beginning; then the rest where it is.
     */
    uint8_t head[32 + HOSTVLAN_LOOK_LEN];
    struct iovec iov[IOV_MAX];
} HostvlanPort;

/**
 * hostvlan_port_mac: the MAC address that the port stands for
 *
 * Returns: 0 if there is neither the option nor a NIC
 */
uint64_t hostvlan_port_mac(HostvlanPort *port);

/** hostvlan_netdev_foreach: call @func for each port, in the order of making */
void hostvlan_netdev_foreach(void (*func)(HostvlanPort *port, void *opaque),
                             void *opaque);

#endif /* NET_HOSTVLAN_NETDEV_H */

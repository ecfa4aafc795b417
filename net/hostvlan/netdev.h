/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev hostvlan, for monitor.c */
#ifndef NET_HOSTVLAN_NETDEV_H
#define NET_HOSTVLAN_NETDEV_H

#include "net/hostvlan/follow.h"
#include "net/hostvlan/sender.h"
#include "net/hostvlan/verdict.h"
#include "net/stage/stage.h"
#include "net/watch/watch.h"
#include "qemu/timer.h"

/* Protected by the BQL. */
typedef struct HostvlanPort {
    NetStage *stage;
    char *backend;              /* ID of the netdev that it wraps */
    uint64_t mac;               /* of the option; 0: use the NIC's */
    bool check_sender;
    bool l2_control;            /* the guest may send to switches */
    uint32_t guards;            /* HOSTVLAN_OFFER_... that need a right */
    HostvlanFollow follow;
    PathWatch watch;
    struct HostvlanCheck *check;        /* in progress; NULL: none */
    bool again;                 /* look again when it is complete */
    QEMUBH *look;
    QEMUTimer *timer;
    HostvlanCounters counters;
    /*
     * Copy of the checked part of the guest's frame: virtio-net header and
     * start of the frame; the rest stays in guest memory.
     */
    uint8_t head[32 + HOSTVLAN_LOOK_LEN];
    struct iovec iov[IOV_MAX];
} HostvlanPort;

/**
 * hostvlan_port_mac: the MAC address that the port is judged by
 *
 * Returns: 0 if there is neither the option nor a NIC
 */
uint64_t hostvlan_port_mac(HostvlanPort *port);

/** hostvlan_netdev_foreach: call @func for each port, in order of creation */
void hostvlan_netdev_foreach(void (*func)(HostvlanPort *port, void *opaque),
                             void *opaque);

#endif /* NET_HOSTVLAN_NETDEV_H */

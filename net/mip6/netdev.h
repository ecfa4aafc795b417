/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev mip6, for monitor.c */
#ifndef NET_MIP6_NETDEV_H
#define NET_MIP6_NETDEV_H

#include "migration/vmstate.h"
#include "net/departure/departure.h"
#include "net/mip6/port/port.h"
#include "net/stage/gather.h"
#include "qapi/qapi-types-mip6.h"
#include "qapi/qapi-types-net.h"

typedef struct Mip6Netdev {
    NetStage *stage;
    char *backend;
    Mip6Port port;
    /* For each home address; NULL: ipsec=off. */
    Mip6Protect *protect[MIP6_HOME_ADDRESSES];
    int timer;                  /* a timerfd */
    int64_t armed;              /* deadline of @timer; INT64_MAX: none */
    QEMUBH *changed;
    NetStageGather *gather;     /* for decapsulated packets */
    VMChangeStateEntry *vm_state;
    Departure departure;
    VMStateDescription vmsd;
    char *vmsd_name;
    /* The last reported state of each binding. */
    struct {
        Mip6RegistrationState state;
        Mip6Why why;
    } reported[MIP6_HOME_ADDRESSES];
    bool warned_spoofed, warned_dhcp6, warned_off_link, warned_other, warned_mac;
    Mip6Dhcp6State dhcp6;       /* the last reported state */
    bool warned_no_lease;       /* since the last lease */
    Mip6HomeRouter router;      /* the last reported one */
    /* A buffer for migration. */
    uint32_t saved_len;
    uint8_t saved[MIP6_PORT_SAVED_MAX];
} Mip6Netdev;

/** mip6_netdev_foreach: call @func for each netdev of type mip6 */
void mip6_netdev_foreach(void (*func)(Mip6Netdev *m, void *opaque),
                         void *opaque);

/** mip6_netdev_state: the state of registration @b for users */
Mip6RegistrationState mip6_netdev_state(const Mip6Netdev *m,
                                        const Mip6Binding *b);

/** mip6_now: the ports' clock, ns */
int64_t mip6_now(void);

#endif /* NET_MIP6_NETDEV_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The switch in a NIC: its stage, its controller's session, its clock */
#ifndef CVSW_NIC_H
#define CVSW_NIC_H

#include "migration/vmstate.h"
#include "net/net.h"
#include "qapi/qapi-types-common.h"

/* Tell the guest's driver which packets its network takes; 0: as at first. */
typedef void CvswTellMtu(void *device, uint16_t mtu);

/* As the device's properties say. */
typedef struct CvswNicConfig {
    const char *secret;         /* ID of an -object secret */
    bool drop_misses;
    uint32_t flows_max, masks_max;
    uint16_t link_mtu;          /* of the wire's packets; 0: unknown */
    OnOffAuto tunnel_gso;       /* the kernel cuts what is in clear tunnels */
    MACAddr mac;
    CvswTellMtu *tell_mtu;
    void *device;
} CvswNicConfig;

typedef struct CvswNic CvswNic;

/**
 * cvsw_nic_new: put a switch before a netdev
 * @name: of the device, for messages
 * @peers: of the NIC; they become the switch's
 */
CvswNic *cvsw_nic_new(const char *name, const CvswNicConfig *config,
                      NICPeers *peers, Error **errp);

/* Of a CvswNic, for vmstate_register(). */
extern const VMStateDescription cvsw_nic_vmstate;

/** cvsw_nic_free: after the NIC has gone; NULL is welcome */
void cvsw_nic_free(CvswNic *nic);

#endif /* CVSW_NIC_H */

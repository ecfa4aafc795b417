/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The switch in a NIC: stage, controller session, clock */
#ifndef CVSW_NIC_H
#define CVSW_NIC_H

#include "migration/vmstate.h"
#include "net/net.h"
#include "qapi/qapi-types-common.h"

/* Tell the guest's driver the MTU; 0: the device's initial value. */
typedef void CvswTellMtu(void *device, uint16_t mtu);

/* The values of the device's properties. */
typedef struct CvswNicConfig {
    const char *secret;         /* ID of an -object secret */
    bool drop_misses;
    uint32_t flows_max, masks_max;
    uint16_t link_mtu;          /* MTU of the wire; 0: unknown */
    OnOffAuto tunnel_gso;       /* use the kernel's tunnel offloads */
    MACAddr mac;
    CvswTellMtu *tell_mtu;
    void *device;
} CvswNicConfig;

typedef struct CvswNic CvswNic;

/**
 * cvsw_nic_new: put a switch in front of a netdev
 * @name: the device's name, for messages
 * @peers: the NIC's peers; the switch's ends replace them
 */
CvswNic *cvsw_nic_new(const char *name, const CvswNicConfig *config,
                      NICPeers *peers, Error **errp);

/* Describes a CvswNic for vmstate_register(). */
extern const VMStateDescription cvsw_nic_vmstate;

/** cvsw_nic_free: call after the NIC was deleted; @nic may be NULL */
void cvsw_nic_free(CvswNic *nic);

#endif /* CVSW_NIC_H */

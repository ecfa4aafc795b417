/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-net with a switch in it */
#ifndef CVSW_VIRTIO_NET_CVSW_H
#define CVSW_VIRTIO_NET_CVSW_H

#include "hw/net/cvsw/nic.h"
#include "hw/virtio/virtio-net.h"

#define TYPE_VIRTIO_NET_CVSW "virtio-net-cvsw-device"
OBJECT_DECLARE_TYPE(VirtIONetCvsw, VirtIONetCvswClass, VIRTIO_NET_CVSW)

struct VirtIONetCvswClass {
    VirtioDeviceClass parent_class;
    DeviceRealize parent_realize;
    DeviceUnrealize parent_unrealize;
};

struct VirtIONetCvsw {
    VirtIONet parent_obj;
    CvswNic *nic;               /* NULL: no control-secret, or no netdev */
    char *control_secret;
    char *miss;                 /* "normal", "drop" */
    uint32_t flows_max, masks_max;
    uint32_t link_mtu;          /* 0: unknown */
    uint16_t host_mtu;          /* virtio-net's, before a controller sets one */
    OnOffAuto tunnel_gso;
};

#endif /* CVSW_VIRTIO_NET_CVSW_H */

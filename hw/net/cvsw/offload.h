/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-net's header and what net/packet calls it */
#ifndef CVSW_OFFLOAD_H
#define CVSW_OFFLOAD_H

#include "net/packet/segment.h"
#include "net/stage/stage.h"

/* The longest virtio-net header, struct virtio_net_hdr_v1_hash. */
#define CVSW_VNET_MAX   20

/** cvsw_read_offload: copied once, as the guest may change it */
PacketOffload cvsw_read_offload(const NetStageFrame *frame);

/** cvsw_write_offload: fill in a header of zeros, of CVSW_VNET_MAX octets */
void cvsw_write_offload(void *vnet, const PacketOffload *offload);

#endif /* CVSW_OFFLOAD_H */

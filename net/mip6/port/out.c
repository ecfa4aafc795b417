/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends frames of the port itself to the link */
#include "net/mip6/port/internal.h"

const PacketOffload mip6_port_no_offload;

void mip6_port_transmit(void *opaque, const void *frame, size_t len)
{
    Mip6Port *p = opaque;
    struct iovec iov = { (void *)frame, len };

    p->ops->to_link(p->opaque, &iov, 1, &mip6_port_no_offload);
}

size_t mip6_port_protect(Mip6Port *p, const Mip6Binding *b, void *packet,
                         size_t len, size_t room)
{
    if (mip6_port_has_esp(p)) {
        len = mip6_protect_signal(p->config.protect[b - p->binding], packet,
                                  len, room);
        p->dropped[MIP6_DROP_ESP] += !len;
    }
    return len;
}

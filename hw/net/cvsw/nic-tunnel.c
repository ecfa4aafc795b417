/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The switch in a NIC: tunnel offloads of the kernel
 *
 * Theory of operation
 * ===================
 *
 * A tap may be able to send and receive super-frames in tunnels
 * (net/stage/tap.h).  The kernel forwards such a frame as it is, in the best
 * case to another VM on this host, and segments it for a receiver that does not
 * accept it.  But it does not segment it for a packet socket: a virtual switch
 * in user space that reads the tap through a packet socket would lose these
 * frames.  So tunnel-gso=auto uses the offload only while the tap is a port of
 * a bridge or switch in the kernel.  This can change at any time, so the answer
 * is refreshed when it is older than PORT_MS.
 *
 * In the other direction, super-frames in tunnels are always for this NIC.
 * The offload is requested when the first frame was decapsulated: for a NIC
 * without tunnels, the kernel keeps segmenting.
 */
#include "qemu/osdep.h"

#include "hw/net/cvsw/nic-internal.h"
#include "net/stage/tap.h"
#include "net/stage/vnet.h"
#include "qapi/error.h"

/* The answer about the tap is valid for this time, in ms. */
#define PORT_MS         1000

bool cvsw_nic_use_tunnels(CvswNic *nic, OnOffAuto mode, Error **errp)
{
    nic->tunnel_gso = mode;
    if (mode == ON_OFF_AUTO_OFF || net_stage_use_tunnels(nic->stage) ||
        mode == ON_OFF_AUTO_AUTO) {
        return true;
    }
    error_setg(errp, "%s: tunnel-gso=on: netdev '%s' does not support large "
               "segments in tunnels: use a tap with vnet_hdr=on on "
               "Linux 6.17 or newer, or tunnel-gso=auto", nic->name,
               net_stage_backend(nic->stage)->name);
    return false;
}

bool cvsw_nic_wire_cuts(void *opaque)
{
    CvswNic *nic = opaque;
    NetClientState *backend = net_stage_backend(nic->stage);
    uint64_t now;

    if (!backend || net_stage_vnet_len(nic->stage, NET_STAGE_BACKEND, 0) !=
                    NET_STAGE_VNET_TUNNEL) {
        return false;
    }
    if (nic->tunnel_gso == ON_OFF_AUTO_ON) {
        return true;
    }
    now = cvsw_nic_now();
    if (now - nic->port_ms >= PORT_MS) {
        nic->port_ms = now;
        nic->is_port = net_stage_tap_is_port(backend);
    }
    return nic->is_port;
}

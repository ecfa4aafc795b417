/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The switch in a NIC: tunnels that the kernel cuts
 *
 * Theory of operation
 * ===================
 *
 * A tap may be able to take a super-frame in a tunnel, and to give one
 * (net/stage/tap.h).  The kernel forwards it as it is, to another VM on this
 * host at best, and cuts it for who takes none, but not for a packet socket: a
 * virtual switch in user space that has the tap by one would lose such frames.
 * So tunnel-gso=auto leaves the cutting to the kernel only while the tap is a
 * port there.  A tap may become one, or be one no more, at any time; that is
 * looked at again when it was asked long ago.
 *
 * Super-frames that come are for us, whatever forwards them.  The tap is told
 * that we take them when the first frame has come out of a tunnel: a NIC
 * without tunnels leaves the cutting to the kernel.
 */
#include "qemu/osdep.h"

#include "hw/net/cvsw/nic-internal.h"
#include "net/stage/tap.h"
#include "net/stage/vnet.h"
#include "qapi/error.h"

/* The last answer about the tap holds for so long, ms. */
#define PORT_MS         1000

bool cvsw_nic_use_tunnels(CvswNic *nic, OnOffAuto mode, Error **errp)
{
    nic->tunnel_gso = mode;
    if (mode == ON_OFF_AUTO_OFF || net_stage_use_tunnels(nic->stage) ||
        mode == ON_OFF_AUTO_AUTO) {
        return true;
    }
    error_setg(errp, "%s: tunnel-gso=on: netdev '%s' takes no large segments "
               "in tunnels: that needs a tap with vnet_hdr=on, on Linux 6.17 "
               "or newer; tunnel-gso=auto does without", nic->name,
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

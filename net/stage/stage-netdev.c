/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -netdev stage: a stage that passes every frame
 *
 * It is for measuring the cost of a stage, and for tests that a stage changes
 * nothing.
 */
#include "qemu/osdep.h"
#include "net/clients.h"
#include "stage.h"

static const NetStageRoom empty_room = {
    .type = NET_CLIENT_DRIVER_STAGE,
};

int net_init_stage(const Netdev *netdev, const char *name,
                   NetClientState *peer, Error **errp)
{
    const char *backend = netdev->u.stage.netdev;

    return net_stage_new(&empty_room, name, backend, peer, NULL, errp) ? 0 : -1;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Port numbers: 16 bits in OpenFlow 1.0, 32 bits in 1.3
 *
 * The reserved ports are the highest numbers in both, with the same low 16
 * bits.
 */
#ifndef CVSW_OPENFLOW_PORT_H
#define CVSW_OPENFLOW_PORT_H

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/openflow/wire.h"

/** cvsw_of_port_of10: convert a port number of 1.0 to 1.3 */
static inline uint32_t cvsw_of_port_of10(uint16_t port)
{
    return port < OFPP10_MAX ? port : 0xffff0000u | port;
}

/** cvsw_of_port_is_ours: is it one of a NIC's two ports? */
static inline bool cvsw_of_port_is_ours(uint32_t port)
{
    return port == CVSW_PORT_GUEST || port == CVSW_PORT_WIRE;
}

/** cvsw_of_port_is_out: is it valid in OUTPUT? */
static inline bool cvsw_of_port_is_out(uint32_t port)
{
    switch (port) {
    case CVSW_PORT_GUEST:
    case CVSW_PORT_WIRE:
    case CVSW_OUT_IN_PORT:
    case CVSW_OUT_NORMAL:
    case CVSW_OUT_FLOOD:
    case CVSW_OUT_ALL:
    case CVSW_OUT_CONTROLLER:
        return true;
    default:
        return false;
    }
}

#endif /* CVSW_OPENFLOW_PORT_H */

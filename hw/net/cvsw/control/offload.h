/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SET_OFFLOAD: what the guest takes, less what the controller denies it */
#ifndef CVSW_CONTROL_OFFLOAD_H
#define CVSW_CONTROL_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

/**
 * cvsw_offload_change: carry out a SET_OFFLOAD
 * @on, @mask: of the command (vmmnet/cvsw.h)
 * @asked: CVSW_OFFLOAD_... that the guest's driver has asked for now
 * @denied: those that are off by a controller's word; changed
 *
 * An offload that is off stays off when the guest's driver begins anew.
 *
 * Returns: false, with nothing changed, if @mask has a bit that is none, or
 * what is to be on could not be: the guest has not asked for it, or what it
 * needs is off (virtio 1.2 section 5.1.3.1)
 */
bool cvsw_offload_change(uint32_t on, uint32_t mask, uint32_t asked,
                         uint32_t *denied);

#endif /* CVSW_CONTROL_OFFLOAD_H */

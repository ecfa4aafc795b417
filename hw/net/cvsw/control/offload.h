/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SET_OFFLOAD: the guest's offloads minus those that the controller denies */
#ifndef CVSW_CONTROL_OFFLOAD_H
#define CVSW_CONTROL_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

/**
 * cvsw_offload_change: execute a SET_OFFLOAD
 * @on, @mask: fields of the command (vmmnet/cvsw.h)
 * @asked: CVSW_OFFLOAD_... that the guest's driver has negotiated
 * @denied: offloads that the controller has switched off; updated
 *
 * A denied offload stays denied when the guest's driver is reset.
 *
 * Returns: false, with nothing changed, if @mask has an unknown bit, or if an
 * offload cannot be switched on: the guest has not asked for it, or an offload
 * that it depends on is off (virtio 1.2 section 5.1.3.1)
 */
bool cvsw_offload_change(uint32_t on, uint32_t mask, uint32_t asked,
                         uint32_t *denied);

#endif /* CVSW_CONTROL_OFFLOAD_H */

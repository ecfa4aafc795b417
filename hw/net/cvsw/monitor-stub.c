/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query-cvsw for a QEMU without virtio-net-cvsw */
#include "qemu/osdep.h"

#include "qapi/error.h"
#include "qapi/qapi-commands-cvsw.h"

CvswInfoList *qmp_query_cvsw(const char *id, bool has_flows, bool flows,
                             Error **errp)
{
    if (id) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND,
                  "There is no device '%s' with a switch", id);
    }
    return NULL;
}

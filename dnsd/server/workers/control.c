/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datagrams on their way from a worker to the control thread */
#include "dnsd/server/workers/control.h"
#include "dnsd/server/workers/worker.h"

DnsdRequest *dnsd_control_request(DnsdWorker *w, const uint8_t *msg,
                                  size_t len)
{
    DnsdRequest *request = dnsd_request_new(msg, len);

    if (!request) {
        dnsd_count(&w->thread.counters, DNSD_DROP_CONTROL);
    }
    return request;
}

void dnsd_control_send(DnsdWorker *w, DnsdRequest *first)
{
    DnsdRequest *left = dnsd_requests_put_all(w->control, first);

    for (const DnsdRequest *r = left; r; r = r->next) {
        dnsd_count(&w->thread.counters, DNSD_DROP_CONTROL);
    }
    dnsd_requests_free(left);
}

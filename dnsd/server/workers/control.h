/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datagrams on their way from a worker to the control thread */
#ifndef DNSD_SERVER_WORKERS_CONTROL_H
#define DNSD_SERVER_WORKERS_CONTROL_H

#include "dnsd/server/workers/request.h"

struct DnsdWorker;

/**
 * dnsd_control_request: a request for the control thread
 *
 * Returns: the request, which the caller fills in and passes to
 * dnsd_control_send(); NULL if too many are under way, which is counted.
 */
DnsdRequest *dnsd_control_request(struct DnsdWorker *worker,
                                  const uint8_t *msg, size_t len);

/**
 * dnsd_control_send: pass a chain of requests to the control thread
 *
 * Requests that its queue has no room for are counted and freed.
 */
void dnsd_control_send(struct DnsdWorker *worker, DnsdRequest *first);

#endif /* DNSD_SERVER_WORKERS_CONTROL_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests over connections */
#ifndef DNSD_SERVER_WORKERS_TCP_H
#define DNSD_SERVER_WORKERS_TCP_H

#include "dnsd/server/workers/state.h"

/** dnsd_tcp_ready: a connection is readable or writable */
void dnsd_tcp_ready(DnsdWorker *worker, unsigned which, uint32_t events);

/** dnsd_tcp_returned: other threads have completed these requests, or NULL */
void dnsd_tcp_returned(DnsdWorker *worker, DnsdRequest *first);

#endif /* DNSD_SERVER_WORKERS_TCP_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datagrams, in batches with fixed buffers */
#ifndef DNSD_SERVER_WORKERS_UDP_H
#define DNSD_SERVER_WORKERS_UDP_H

#include "dnsd/server/workers/state.h"

/** dnsd_udp_init: returns 0 or -ENOMEM. */
int dnsd_udp_init(DnsdWorker *worker);
void dnsd_udp_destroy(DnsdWorker *worker);

/** dnsd_udp_ready: answer what has arrived, a limited number of batches */
void dnsd_udp_ready(DnsdWorker *worker, const DnsdSocket *s);

#endif /* DNSD_SERVER_WORKERS_UDP_H */

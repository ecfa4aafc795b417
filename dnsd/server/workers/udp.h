/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datagrams, in batches with fixed buffers */
#ifndef DNSD_SERVER_WORKERS_UDP_H
#define DNSD_SERVER_WORKERS_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNSD_UDP_BATCH  64

struct DnsdWorker;
struct DnsdSocket;
typedef struct DnsdBatch DnsdBatch;

typedef struct DnsdUdp {
    DnsdBatch *batch;
} DnsdUdp;

/** dnsd_udp_init: returns 0 or -ENOMEM. */
int dnsd_udp_init(DnsdUdp *udp);
void dnsd_udp_destroy(DnsdUdp *udp);

/** dnsd_udp_ready: answer what has arrived, a limited number of batches */
void dnsd_udp_ready(struct DnsdWorker *worker, const struct DnsdSocket *s);

#endif /* DNSD_SERVER_WORKERS_UDP_H */

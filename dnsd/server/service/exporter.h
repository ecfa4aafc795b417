/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics over HTTP, for Prometheus
 *
 * A few connections at a time, each with limits of octets and time.  It runs in
 * the control thread.
 */
#ifndef DNSD_SERVER_SERVICE_EXPORTER_H
#define DNSD_SERVER_SERVICE_EXPORTER_H

#include "dnsd/server/core/metrics.h"
#include "dnsd/server/host/sockets.h"

#define DNSD_EXPORTER_MAX   16      /* connections */

typedef void DnsdMetricsFn(void *opaque, DnsdText *text);

#define DNSD_HTTP_MAX   4096    /* limit of a request, octets */

typedef enum DnsdHttp {
    DNSD_HTTP_MORE,             /* incomplete */
    DNSD_HTTP_METRICS,          /* GET /metrics */
    DNSD_HTTP_UNKNOWN,          /* 404 */
    DNSD_HTTP_METHOD,           /* 405 */
    DNSD_HTTP_WRONG,            /* 400 */
} DnsdHttp;

/** dnsd_http_parse: parse the request so far; header fields are ignored */
DnsdHttp dnsd_http_parse(const char *text, size_t len);

typedef struct DnsdExporter DnsdExporter;

/** dnsd_metrics_whole: all metrics, in memory of their size; to be freed */
DnsdText dnsd_metrics_whole(DnsdMetricsFn *metrics, void *opaque);

/**
 * dnsd_exporter_new: listen at the address "server.metrics"
 * @epoll: for its sockets; the data.ptr of their events is within the exporter
 *
 * Returns: NULL, and @error has the reason.
 */
DnsdExporter *dnsd_exporter_new(const DnsdListen *at, int epoll,
                                DnsdMetricsFn *metrics, void *opaque,
                                DnsdError *error);
void dnsd_exporter_free(DnsdExporter *e);

/** dnsd_exporter_ready: handle an event; false if it is not for this module */
bool dnsd_exporter_ready(DnsdExporter *e, void *event);

/**
 * dnsd_exporter_tick: close connections that exceed their time; call it once a
 * second
 */
void dnsd_exporter_tick(DnsdExporter *e);

#endif /* DNSD_SERVER_SERVICE_EXPORTER_H */

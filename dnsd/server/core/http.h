/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP requests (RFC 9112) for metrics */
#ifndef DNSD_SERVER_CORE_HTTP_H
#define DNSD_SERVER_CORE_HTTP_H

#include <stddef.h>

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

#endif /* DNSD_SERVER_CORE_HTTP_H */

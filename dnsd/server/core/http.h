/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP requests (RFC 9112) that the control socket accepts */
#ifndef DNSD_SERVER_CORE_HTTP_H
#define DNSD_SERVER_CORE_HTTP_H

#include <stddef.h>

#define DNSD_HTTP_MAX   4096    /* limit of a request, octets */

typedef enum DnsdHttp {
    DNSD_HTTP_MORE,             /* incomplete */
    DNSD_HTTP_METRICS,          /* GET /metrics */
    DNSD_HTTP_RELOAD,           /* POST /reload */
    DNSD_HTTP_REFRESH,          /* POST /refresh/ZONE */
    DNSD_HTTP_RETRANSFER,       /* POST /retransfer/ZONE */
    DNSD_HTTP_UNKNOWN,          /* 404 */
    DNSD_HTTP_METHOD,           /* 405 */
    DNSD_HTTP_WRONG,            /* 400 */
} DnsdHttp;

/** dnsd_http_parse: parse the request so far; header fields are ignored */
DnsdHttp dnsd_http_parse(const char *text, size_t len);

/**
 * dnsd_http_argument: the text behind the last '/' of the path
 *
 * The request is one that dnsd_http_parse() knows.  The result is "" if there
 * is no such text, or no room for it.
 */
void dnsd_http_argument(const char *text, size_t len, char *to, size_t room);

#endif /* DNSD_SERVER_CORE_HTTP_H */

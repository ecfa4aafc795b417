/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few requests of HTTP (RFC 9112) that the control socket takes */
#ifndef NET_DNS_SERVER_CORE_HTTP_H
#define NET_DNS_SERVER_CORE_HTTP_H

#include <stddef.h>

#define DNSD_HTTP_MAX   4096    /* octets of a request */

typedef enum DnsdHttp {
    DNSD_HTTP_MORE,             /* is not whole */
    DNSD_HTTP_METRICS,          /* GET /metrics */
    DNSD_HTTP_RELOAD,           /* POST /reload */
    DNSD_HTTP_REFRESH,          /* POST /refresh/ZONE */
    DNSD_HTTP_UNKNOWN,          /* 404 */
    DNSD_HTTP_METHOD,           /* 405 */
    DNSD_HTTP_WRONG,            /* 400 */
} DnsdHttp;

/** dnsd_http_parse: what the octets so far are; fields are not looked at. */
DnsdHttp dnsd_http_parse(const char *text, size_t len);

/**
 * dnsd_http_argument: what is behind the last '/' of the path of a request
 * that dnsd_http_parse() knows; "" where there is nothing, or no room for it
 */
void dnsd_http_argument(const char *text, size_t len, char *to, size_t room);

#endif /* NET_DNS_SERVER_CORE_HTTP_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of libnss_vmmnet.so.2 for the C library, which has no header */

#ifndef VMMNET_DNS_CLIENT_NSS_H
#define VMMNET_DNS_CLIENT_NSS_H

#include <netdb.h>
#include <nss.h>
#include <stdint.h>

enum nss_status _nss_vmmnet_gethostbyname4_r(const char *name,
    struct gaih_addrtuple **pat, char *buffer, size_t buflen, int *errnop,
    int *herrnop, int32_t *ttlp);
enum nss_status _nss_vmmnet_gethostbyname3_r(const char *name, int af,
    struct hostent *host, char *buffer, size_t buflen, int *errnop,
    int *herrnop, int32_t *ttlp, char **canonp);
enum nss_status _nss_vmmnet_gethostbyname2_r(const char *name, int af,
    struct hostent *host, char *buffer, size_t buflen, int *errnop,
    int *herrnop);
enum nss_status _nss_vmmnet_gethostbyname_r(const char *name,
    struct hostent *host, char *buffer, size_t buflen, int *errnop,
    int *herrnop);
enum nss_status _nss_vmmnet_gethostbyaddr2_r(const void *addr, socklen_t len,
    int af, struct hostent *host, char *buffer, size_t buflen, int *errnop,
    int *herrnop, int32_t *ttlp);
enum nss_status _nss_vmmnet_gethostbyaddr_r(const void *addr, socklen_t len,
    int af, struct hostent *host, char *buffer, size_t buflen, int *errnop,
    int *herrnop);

#endif

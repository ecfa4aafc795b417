/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service argument of getaddrinfo(): socket types, and a port */

#ifndef VMMNET_DNS_CLIENT_SERVICE_H
#define VMMNET_DNS_CLIENT_SERVICE_H

#include <netdb.h>
#include <netinet/in.h>

#define DNSC_SERVICES_MAX 3

typedef struct DnscService {
    int socktype;
    int protocol;
    in_port_t port;             /* network byte order */
} DnscService;

/*
 * Find the socket types that the hints allow and the service has.  service may
 * be NULL.  Returns their number, or a negative EAI_ code.
 */
int dnsc_services(const char *service, const struct addrinfo *hints,
                  DnscService found[DNSC_SERVICES_MAX]);

#endif

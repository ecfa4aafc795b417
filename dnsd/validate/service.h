/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Validates for a VM: DNS over a stream, as net/dns/upstream/checked.h says
 *
 * All functions are called on the thread that runs the loop.
 */
#ifndef DNSD_VALIDATE_SERVICE_H
#define DNSD_VALIDATE_SERVICE_H

#include <netinet/in.h>

#include "net/dns/client/config/list.h"
#include "net/dns/unbound/loop.h"
#include "net/dns/wire/wire.h"

#define VALIDATE_INSECURE_MAX   64

typedef struct ValidateOptions {
    DnscServerList servers;     /* none: those of the file */
    const char *resolv_conf;
    const char *trust_anchor;
    bool has_address6;
    struct in6_addr address6;   /* the source towards IPv6 servers */
    DnsName insecure[VALIDATE_INSECURE_MAX];
    size_t insecures;
} ValidateOptions;

typedef struct ValidateService ValidateService;

/**
 * validate_service_new: begin to follow the servers
 * @options: must outlive the service, as must @loop
 * @mistake: set to why there is none, or NULL: see errno
 *
 * Returns: NULL with errno, as dnsc_validator_new()
 */
ValidateService *validate_service_new(DnscLoop *loop,
                                      const ValidateOptions *options,
                                      const char **mistake);

/** validate_service_free: hang up on all clients; NULL is allowed */
void validate_service_free(ValidateService *service);

/**
 * validate_service_take: serve a client
 * @fd: a stream socket, which the service takes over
 */
void validate_service_take(ValidateService *service, int fd);

#define VALIDATE_COUNTERS(X)                                                  \
    X(questions)                                                              \
    X(secure)                   /* signed, and right */                       \
    X(insecure)                 /* provably not signed */                     \
    X(bogus)                    /* wrongly signed */                          \
    X(indeterminate)            /* without any proof */                       \
    X(unanswered)               /* part of these: no server has answered */

typedef struct ValidateShown {
    size_t clients;
    size_t under_way;           /* questions */
#define VALIDATE_COUNTER_FIELD(name) uint64_t name;
    VALIDATE_COUNTERS(VALIDATE_COUNTER_FIELD)
#undef VALIDATE_COUNTER_FIELD
} ValidateShown;

/**
 * validate_service_show: what it does
 *
 * Returns: the servers that it asks
 */
const DnscServerList *validate_service_show(const ValidateService *service,
                                            ValidateShown *shown);

#endif /* DNSD_VALIDATE_SERVICE_H */

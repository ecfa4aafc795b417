/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Refusals: counted, and logged at a bounded rate, as anybody can cause them
 *
 * For the control thread.
 */
#ifndef DNSD_SERVER_SERVICE_REFUSALS_H
#define DNSD_SERVER_SERVICE_REFUSALS_H

#include "base/log.h"
#include "dnsd/server/core/metrics.h"
#include "dnsd/server/core/prefix.h"
#include "net/dns/wire/wire.h"

typedef enum DnsdRefusal {
    DNSD_REFUSED_TRANSFER,      /* 'allow-transfer' does not have the asker */
    DNSD_REFUSED_NOTIFY,
    DNSD_REFUSED_UPDATE,
    DNSD_REFUSED_BADSIG,        /* RFC 8945 section 5.3 */
    DNSD_REFUSED_BADKEY,
    DNSD_REFUSED_BADTIME,
    DNSD_REFUSED_BADTRUNC,
    DNSD_REFUSALS,
} DnsdRefusal;

typedef struct DnsdRefusals {
    uint64_t count[DNSD_REFUSALS];
    BaseLogLimit limit;
} DnsdRefusals;

/**
 * dnsd_refuse: count a refusal, and log it: ten at once, then one in six seconds
 * @name: of the zone, or of the key for the kinds of RFC 8945
 * @key: of the request, or NULL
 */
void dnsd_refuse(DnsdRefusals *refusals, DnsdRefusal kind,
                 const DnsdAddr *from, const DnsName *name,
                 const DnsName *key);

void dnsd_refusals_metrics(const DnsdRefusals *refusals, DnsdText *text);

/** dnsd_peer_text: "ADDRESS", and " with the key NAME" if there is one */
#define DNSD_PEER_TEXT_MAX  (64 + DNS_NAME_TEXT_MAX)
void dnsd_peer_text(const DnsdAddr *from, const DnsName *key,
                    char text[DNSD_PEER_TEXT_MAX]);

#endif /* DNSD_SERVER_SERVICE_REFUSALS_H */

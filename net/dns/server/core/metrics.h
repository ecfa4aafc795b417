/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters in Prometheus' text format */
#ifndef NET_DNS_SERVER_CORE_METRICS_H
#define NET_DNS_SERVER_CORE_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "net/dns/server/core/counters.h"

/* Text of any length; @len is what it has, or would have */
typedef struct DnsdText {
    char *at;
    size_t room;
    size_t len;
} DnsdText;

typedef struct DnsdNumbers {
    uint64_t sum[DNSD_COUNTS];
    uint64_t kernel_drops;      /* datagrams that found no room */
    uint64_t connections;
    uint64_t resolver_waiting;  /* queries */
    uint64_t reloads, reloads_failed;
    uint64_t threads;
} DnsdNumbers;

typedef enum DnsdZoneState {
    DNSD_ZONE_SERVED,
    DNSD_ZONE_MISSING,          /* no image could be opened */
    DNSD_ZONE_DAMAGED,
} DnsdZoneState;

/** dnsd_text_add: as printf(). */
void dnsd_text_add(DnsdText *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** dnsd_metrics_server: all but zones. */
void dnsd_metrics_server(DnsdText *text, const DnsdNumbers *numbers);

/**
 * dnsd_metrics_states_begin, dnsd_metrics_serials_begin: before zones' lines
 *
 * First all states, then all serials.
 */
void dnsd_metrics_states_begin(DnsdText *text);
void dnsd_metrics_state(DnsdText *text, const char *zone,
                        DnsdZoneState state);
void dnsd_metrics_serials_begin(DnsdText *text);
void dnsd_metrics_serial(DnsdText *text, const char *zone, uint32_t serial);

#endif /* NET_DNS_SERVER_CORE_METRICS_H */

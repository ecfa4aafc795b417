/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters in Prometheus' text format */
#ifndef DNSD_SERVER_CORE_METRICS_H
#define DNSD_SERVER_CORE_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "dnsd/server/core/counters.h"

/* Text; @len is its full length, even if the buffer is shorter */
typedef struct DnsdText {
    char *at;
    size_t room;
    size_t len;
} DnsdText;

typedef struct DnsdNumbers {
    uint64_t sum[DNSD_COUNTS];
    uint64_t kernel_drops;      /* datagrams dropped: buffer full */
    uint64_t connections;
    uint64_t resolver_waiting;  /* queries for the resolver */
    uint64_t reloads, reloads_failed;
    uint64_t threads;
} DnsdNumbers;

/* Zones with metrics of their own: the first ones of the configuration */
#define DNSD_METRICS_ZONES  10000u

typedef enum DnsdZoneState {
    DNSD_ZONE_SERVED,
    DNSD_ZONE_MISSING,          /* its image could not be opened */
    DNSD_ZONE_DAMAGED,
    DNSD_ZONE_EXPIRED,          /* no primary confirmed it in time */
    DNSD_ZONE_STATES,
} DnsdZoneState;

/** dnsd_zone_state_name: "served" or its like */
const char *dnsd_zone_state_name(DnsdZoneState state);

/** dnsd_text_add: append like printf() */
void dnsd_text_add(DnsdText *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** dnsd_metrics_server: all metrics except those of zones */
void dnsd_metrics_server(DnsdText *text, const DnsdNumbers *numbers);

/** dnsd_metrics_type: the lines before a metric */
void dnsd_metrics_type(DnsdText *text, const char *metric, const char *type);

/** dnsd_metrics_counts: all lines of a counter with one label */
void dnsd_metrics_counts(DnsdText *text, const uint64_t *n, const char *metric,
                         const char *label, const char *const *names,
                         unsigned count);

/** dnsd_metrics_rcodes: a counter by the RCODE */
void dnsd_metrics_rcodes(DnsdText *text, const uint64_t n[DNSD_RCODES],
                         const char *metric);

/** dnsd_metrics_zone: the line of a metric for a zone */
void dnsd_metrics_zone(DnsdText *text, const char *metric, const char *zone,
                       uint64_t value);

/** dnsd_metrics_zones: the number of zones in each state */
void dnsd_metrics_zones(DnsdText *text, const uint64_t n[DNSD_ZONE_STATES]);

/**
 * dnsd_metrics_states_begin, dnsd_metrics_serials_begin: the lines before those
 * of zones
 *
 * First come all states, then all serials.
 */
void dnsd_metrics_states_begin(DnsdText *text);
void dnsd_metrics_state(DnsdText *text, const char *zone,
                        DnsdZoneState state);
void dnsd_metrics_serials_begin(DnsdText *text);
void dnsd_metrics_serial(DnsdText *text, const char *zone, uint32_t serial);

#endif /* DNSD_SERVER_CORE_METRICS_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters and gauges in Prometheus' text format */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stdint.h>

#include "base/out.h"

typedef struct BaseMetrics {
    BaseOut out;
    const char *prefix;         /* of each name: "vmmnet_ha_" */
} BaseMetrics;

/** base_metric: the lines before the values of a metric; @help may be NULL */
void base_metric(const BaseMetrics *m, const char *name, const char *type,
                 const char *help);

/**
 * base_metric_value: a value
 * @label: NULL: it has none; @of: the label's value, which may have any octet
 */
void base_metric_value(const BaseMetrics *m, const char *name,
                       const char *label, const char *of, uint64_t value);

/** base_metric_only: a metric that has one value, without a label */
void base_metric_only(const BaseMetrics *m, const char *name, const char *type,
                      const char *help, uint64_t value);

#endif /* BASE_METRICS_H */

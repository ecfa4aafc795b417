/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "base/metrics.h"

void base_metric(const BaseMetrics *m, const char *name, const char *type,
                 const char *help)
{
    if (help) {
        base_out_printf(&m->out, "# HELP %s%s %s\n", m->prefix, name, help);
    }
    base_out_printf(&m->out, "# TYPE %s%s %s\n", m->prefix, name, type);
}

static void metric_escaped(const BaseOut *out, const char *text)
{
    size_t plain;

    while (plain = strcspn(text, "\"\\\n"), text[plain]) {
        out->put(out->opaque, text, plain);
        base_out_printf(out, "\\%c", text[plain] == '\n' ? 'n' : text[plain]);
        text += plain + 1;
    }
    base_out_text(out, text);
}

void base_metric_value(const BaseMetrics *m, const char *name,
                       const char *label, const char *of, uint64_t value)
{
    base_out_printf(&m->out, "%s%s", m->prefix, name);
    if (label) {
        base_out_printf(&m->out, "{%s=\"", label);
        metric_escaped(&m->out, of);
        base_out_text(&m->out, "\"}");
    }
    base_out_printf(&m->out, " %" PRIu64 "\n", value);
}

void base_metric_only(const BaseMetrics *m, const char *name, const char *type,
                      const char *help, uint64_t value)
{
    base_metric(m, name, type, help);
    base_metric_value(m, name, NULL, NULL, value);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes of the path between a mobile node and its home agent */
#include <string.h>

#include "net/mip6/core/probe.h"
#include "base/units.h"

#define WAIT            SECOND          /* for an answer */
#define GAP             (30 * SECOND)   /* between the beginnings of rounds */
#define TRIES           3u

void mip6_probe_init(Mip6Probe *p, const Mip6ProbeOps *ops, void *opaque)
{
    memset(p, 0, sizeof(*p));
    p->ops = ops;
    p->opaque = opaque;
    p->next = INT64_MAX;
    p->begun = INT64_MIN;
}

static bool is_waiting(const Mip6Probe *p)
{
    for (unsigned i = 0; i < MIP6_PROBES; i++) {
        if (p->result[i] == MIP6_PROBE_WAITING) {
            return true;
        }
    }
    return false;
}

void mip6_probe_begin(Mip6Probe *p, int64_t now, unsigned kinds)
{
    if (p->next != INT64_MAX ||
        (p->begun != INT64_MIN && now - p->begun < GAP)) {
        return;
    }
    p->begun = p->next = now;
    p->tries = 0;
    p->token = p->ops->random(p->opaque);
    for (unsigned i = 0; i < MIP6_PROBES; i++) {
        p->has_left[i] = false;
        p->result[i] = kinds & 1u << i ? MIP6_PROBE_WAITING
                                       : MIP6_PROBE_UNTRIED;
    }
}

void mip6_probe_stop(Mip6Probe *p)
{
    p->next = INT64_MAX;
    for (unsigned i = 0; i < MIP6_PROBES; i++) {
        p->result[i] = MIP6_PROBE_UNTRIED;
    }
}

static void finish(Mip6Probe *p)
{
    p->next = INT64_MAX;
    for (unsigned i = 0; i < MIP6_PROBES; i++) {
        if (p->result[i] == MIP6_PROBE_WAITING) {
            p->result[i] = p->has_left[i] ? MIP6_PROBE_SILENT
                                          : MIP6_PROBE_UNTRIED;
        }
    }
    p->ops->done(p->opaque);
}

bool mip6_probe_answer(Mip6Probe *p, Mip6ProbeKind kind, uint32_t token)
{
    if (p->begun == INT64_MIN || token != p->token) {
        return false;
    }
    if (p->result[kind] == MIP6_PROBE_WAITING) {
        p->answered[kind]++;
        p->result[kind] = MIP6_PROBE_ANSWERED;
        if (!is_waiting(p)) {
            finish(p);
        }
    }
    return true;
}

int64_t mip6_probe_deadline(const Mip6Probe *p)
{
    return p->next;
}

void mip6_probe_tick(Mip6Probe *p, int64_t now)
{
    if (p->next > now) {
        return;
    }
    if (p->tries == TRIES) {
        finish(p);
        return;
    }
    p->tries++;
    p->next = now + WAIT;
    for (unsigned i = 0; i < MIP6_PROBES; i++) {
        if (p->result[i] == MIP6_PROBE_WAITING &&
            p->ops->send(p->opaque, i, p->token)) {
            p->has_left[i] = true;
            p->sent[i]++;
        }
    }
}

const char *mip6_probe_name(Mip6ProbeKind kind)
{
    static const char *const names[] = {
        [MIP6_PROBE_ECHO] = "echo",
        [MIP6_PROBE_OPTIONS] = "options",
        [MIP6_PROBE_TUNNEL] = "tunnel",
    };

    return names[kind];
}

const char *mip6_probe_result_name(Mip6ProbeResult result)
{
    static const char *const names[] = {
        [MIP6_PROBE_UNTRIED] = "untried",
        [MIP6_PROBE_WAITING] = "waiting",
        [MIP6_PROBE_ANSWERED] = "answered",
        [MIP6_PROBE_SILENT] = "silent",
    };

    return names[result];
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes of the path between a mobile node and its home agent
 *
 * An update that has no answer, and a tunnel out of which nothing comes, have
 * several causes. A round of probes tells them apart. Times are in ns of a
 * monotonic clock.
 */
#ifndef NET_MIP6_PROBE_H
#define NET_MIP6_PROBE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum Mip6ProbeKind {
    MIP6_PROBE_ECHO,            /* echo request to the agent */
    MIP6_PROBE_OPTIONS,         /* the same behind destination options */
    MIP6_PROBE_TUNNEL,          /* through the tunnel, to the home address */
    MIP6_PROBES
} Mip6ProbeKind;

typedef enum Mip6ProbeResult {
    MIP6_PROBE_UNTRIED,         /* or it could not be sent */
    MIP6_PROBE_WAITING,
    MIP6_PROBE_ANSWERED,
    MIP6_PROBE_SILENT,          /* nothing has come back */
} Mip6ProbeResult;

typedef struct Mip6ProbeOps {
    /* Returns: false if it cannot be sent */
    bool (*send)(void *opaque, Mip6ProbeKind kind, uint32_t token);
    uint32_t (*random)(void *opaque);
    /* A round is complete: each @result is final. */
    void (*done)(void *opaque);
} Mip6ProbeOps;

typedef struct Mip6Probe {
    const Mip6ProbeOps *ops;
    void *opaque;
    /* Readable by all: */
    uint64_t sent[MIP6_PROBES], answered[MIP6_PROBES];
    Mip6ProbeResult result[MIP6_PROBES];        /* of the last round */
    /* Private. */
    uint32_t token;             /* of the round; no stranger knows it */
    unsigned tries;
    bool has_left[MIP6_PROBES]; /* it was sent in this round */
    int64_t next;               /* INT64_MAX: no round is under way */
    int64_t begun;              /* of the last round; INT64_MIN: none */
} Mip6Probe;

void mip6_probe_init(Mip6Probe *p, const Mip6ProbeOps *ops, void *opaque);

/**
 * mip6_probe_begin: begin a round with the next tick
 * @kinds: bit N: try Mip6ProbeKind N
 *
 * Each is sent up to three times, a second apart. There is at most one round in
 * 30 s: further calls have no effect.
 */
void mip6_probe_begin(Mip6Probe *p, int64_t now, unsigned kinds);

/** mip6_probe_stop: end the round without a result */
void mip6_probe_stop(Mip6Probe *p);

/**
 * mip6_probe_answer: the answer to a probe has come
 *
 * Returns: false if it has not the token of the last round
 */
bool mip6_probe_answer(Mip6Probe *p, Mip6ProbeKind kind, uint32_t token);

int64_t mip6_probe_deadline(const Mip6Probe *p);
void mip6_probe_tick(Mip6Probe *p, int64_t now);

/** mip6_probe_name: name for messages and QMP, e.g. "tunnel" */
const char *mip6_probe_name(Mip6ProbeKind kind);

/** mip6_probe_result_name: e.g. "answered" */
const char *mip6_probe_result_name(Mip6ProbeResult result);

#endif /* NET_MIP6_PROBE_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the results of a step in both worlds
 */
#ifndef GUEST_FUZZ_COMPARE_H
#define GUEST_FUZZ_COMPARE_H

#include <sys/types.h>

#include "lockstep.h"

/* Time that the outsourced world may take for an outstanding result. */
#define PATIENCE_MS     4000
#define PORTS_MAX       256

enum { NATIVE, OURS, WORLDS };

/* The state of a step. */
enum progress { NOT_YET, UNDER_WAY, DONE, SKIPPED };

struct port_pair {
    in_port_t port[WORLDS];
};

struct ports {
    struct port_pair pair[PORTS_MAX];
    unsigned num;
};

struct step {
    enum progress progress;
    int type;                   /* SOCK_... of the socket it is about */
    bool interrupted;
    ino_t ours;                 /* the outsourced socket that it began with */
    struct outcome outcome[WORLDS];
};

struct run {
    struct world *world[WORLDS];
    const struct op *ops;
    unsigned num;
    int pending[THREADS];       /* steps under way; -1: none */
    struct ports own, peer;
    struct step step[OPS_MAX];
    uint8_t data[WORLDS][PEER_DATA_MAX];
    struct report *report;
    bool probing;               /* only see whether there is a difference */
    bool over;
};

/*
 * Differences that are known: patterns for fnmatch() with FNM_EXTMATCH, one a
 * line.  Returns 0, or -1 if the file cannot be read.
 */
int compare_load_known(const char *path);

/* Ties the ports that are the same in both worlds. */
void compare_begin(struct run *run);

/* Compares the outcome of a step, and levels streams. */
void compare_step(struct run *run, unsigned step);

/*
 * Reports a difference by its signature, and ends the run unless it is known.
 */
void __attribute__((format(printf, 3, 4)))
compare_differ(struct run *run, unsigned step, const char *format, ...);

/* Ends the run: the worlds are different, as they may; the harness failed. */
void compare_part(struct run *run);
void compare_break(struct run *run);

/*
 * Lets both peers receive all data; false if they differ, which ends the run.
 */
bool compare_drain_peers(struct run *run, unsigned step);

bool compare_is_known(const char *signature);

/* Texts, in @text where there is one, which has 64 bytes. */
const char *compare_type_name(int type);
const char *compare_result_text(const struct outcome *o, char *text);
const char *compare_events_text(uint32_t events, char *text);
const char *compare_fact_text(const struct fact *fact, char *text);

#endif /* GUEST_FUZZ_COMPARE_H */

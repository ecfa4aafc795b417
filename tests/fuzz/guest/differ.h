/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GUEST_FUZZ_DIFFER_H
#define GUEST_FUZZ_DIFFER_H

#include <stdbool.h>
#include <stdint.h>

struct differ_config {
    /* Paths; those of sequences with IPv6 addresses end with a 6. */
    const char *native_netns, *peer_netns;
    const char *port;           /* of virtio-serial: the outer peer */
    char *me, *peer, *peer2;    /* addresses */
    char *me6, *peer6, *peer26;
    uint64_t seed;
    unsigned seconds, steps, count;         /* count 0: until time is over */
    const char *first;          /* sequences as text, to begin with; or NULL */
    const char *replay;         /* the same, instead of those from the seed */
    bool keep;                  /* do not make it smaller */
};

/* Compares until the time is over.  Returns an exit status. */
int differ_main(const struct differ_config *config);

#endif /* GUEST_FUZZ_DIFFER_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do two nodes have one home address?
 *
 * Each of them registers its own care-of address as soon as it finds that the
 * agent has the other's, so the binding goes to and fro. A node that roams comes
 * back to an address, too, but not again and again.
 */
#ifndef HA_CONTEST_H
#define HA_CONTEST_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define MIP6_CONTEST_LEFT       3u      /* so four nodes can be told */

typedef enum Mip6ContestState {
    MIP6_CONTEST_NONE,
    MIP6_CONTESTED,             /* until no node came back for the window */
} Mip6ContestState;

/* All zero: none. */
typedef struct Mip6Contest {
    Mip6ContestState state;
    struct {
        struct in6_addr care_of;
        int64_t until;          /* a return to it counts */
    } left[MIP6_CONTEST_LEFT];
    unsigned next;              /* index of the oldest in @left */
    unsigned returns;           /* to one of @left, each within the window */
    int64_t until;              /* end of the window of the last return */
    int64_t told;               /* time of the last news */
    unsigned moves;             /* to be told */
} Mip6Contest;

/**
 * mip6_contest_moved: the binding goes to another care-of address
 * @window: ns; a return to an address that was left earlier does not count
 *
 * Returns: true when users should be told that it is contested: when the second
 * return shows it, then once a minute
 */
bool mip6_contest_moved(Mip6Contest *c, int64_t now, int64_t window,
                        const struct in6_addr *from, const struct in6_addr *to);

/**
 * mip6_contest_stayed: the binding was refreshed
 *
 * Returns: true when users should be told that the contest is over
 */
bool mip6_contest_stayed(Mip6Contest *c, int64_t now);

#endif /* HA_CONTEST_H */

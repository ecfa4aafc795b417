/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames as a flow's actions find them: what is known of all of them
 *
 * OpenFlow 1.3 refuses an action that sets a field which the match, and the
 * actions in front, do not make sure to be there (1.3.5 section 6.4).
 */
#ifndef CVSW_OPENFLOW_KNOWN_H
#define CVSW_OPENFLOW_KNOWN_H

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/flow/match.h"

/* Numbers are -1 where frames differ. */
typedef struct CvswOfKnown {
    unsigned tags;              /* that each frame has, at least */
    int eth_type, protocol, icmp6_type;
} CvswOfKnown;

/** cvsw_of_known_init: what is known of the frames that meet @match */
void cvsw_of_known_init(CvswOfKnown *known, const CvswMatch *match);

/**
 * cvsw_of_known_allows: can each frame have this done to it?
 *
 * CVSW's own actions and those of OpenFlow 1.0 alone can be done to any.
 */
bool cvsw_of_known_allows(const CvswOfKnown *known, const CvswAction *action);

/** cvsw_of_known_after: what is known of the frames behind @action */
void cvsw_of_known_after(CvswOfKnown *known, const CvswAction *action);

#endif /* CVSW_OPENFLOW_KNOWN_H */

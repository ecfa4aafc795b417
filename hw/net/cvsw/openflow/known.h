/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Header fields that are known for all frames of a flow
 *
 * OpenFlow 1.3 refuses an action that sets a field, unless the match or the
 * actions before it guarantee that the frame has the field (1.3.5 section 6.4).
 */
#ifndef CVSW_OPENFLOW_KNOWN_H
#define CVSW_OPENFLOW_KNOWN_H

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/flow/match.h"

/* Numbers are -1 if they are not the same in all frames. */
typedef struct CvswOfKnown {
    unsigned tags;              /* minimum number of tags */
    int eth_type, protocol, icmp6_type;
} CvswOfKnown;

/** cvsw_of_known_init: what is known about the frames that match @match */
void cvsw_of_known_init(CvswOfKnown *known, const CvswMatch *match);

/**
 * cvsw_of_known_allows: can @action be executed on each frame?
 *
 * CVSW's own actions and the actions that only OpenFlow 1.0 has are always
 * allowed.
 */
bool cvsw_of_known_allows(const CvswOfKnown *known, const CvswAction *action);

/** cvsw_of_known_after: update @known for the effect of @action */
void cvsw_of_known_after(CvswOfKnown *known, const CvswAction *action);

#endif /* CVSW_OPENFLOW_KNOWN_H */

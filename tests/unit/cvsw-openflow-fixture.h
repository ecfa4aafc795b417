/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FLOW_MODs in hexadecimal digits, and what they must come to */
#ifndef TESTS_UNIT_CVSW_OPENFLOW_FIXTURE_H
#define TESTS_UNIT_CVSW_OPENFLOW_FIXTURE_H

#include <glib.h>

#include "hw/net/cvsw/flow/table.h"

/** of_add: append octets to a message, and make its length right */
void of_add(GByteArray *msg, const char *hex);

/** of_put: write octets over those at @at */
void of_put(GByteArray *msg, size_t at, const char *hex);

/**
 * of10: OpenFlow 1.0's FLOW_MOD that adds a flow of all frames that drops
 *
 * Its priority is 32768.  Actions are added behind it.
 */
GByteArray *of10(void);

/**
 * of13: OpenFlow 1.3's
 * @fields: of the match, in hexadecimal digits
 * @instructions: the same
 */
GByteArray *of13(const char *fields, const char *instructions);

/** of13_apply: APPLY_ACTIONS of @actions; the caller's to free */
char *of13_apply(const char *actions);

/** of13_write: the same of WRITE_ACTIONS */
char *of13_write(const char *actions);

/** of13_flow: of13() with APPLY_ACTIONS of @actions */
GByteArray *of13_flow(const char *fields, const char *actions);

/** of_entry: the flow that a FLOW_MOD adds; its actions stay @mod's */
CvswEntry of_entry(CvswFlowMod *mod);

/** of_parse: what is taken, or the test fails */
CvswFlowMod of_parse(const GByteArray *msg);

/**
 * of_takes: it is taken and means, in the words of the dump, this
 *
 * It is also told in both versions, and what is told means the same.  @msg is
 * freed.
 */
void of_takes(GByteArray *msg, const char *match, const char *actions);

/**
 * of_tell: tell a flow in the version that is asked for
 *
 * What is told must mean the flow.
 *
 * Returns: the version that it was told in
 */
unsigned of_tell(CvswFlowMod *mod, unsigned asked);

/** of_told_as: the same of the flow that a FLOW_MOD adds */
unsigned of_told_as(const GByteArray *msg, unsigned asked);

/**
 * of_refuses: it is refused with the error of this type, code, and name
 *
 * The OFPT_ERROR is looked at, too.  @msg is freed.
 */
void of_refuses(GByteArray *msg, unsigned type, unsigned code,
                const char *name);

/**
 * of_hostile: no length anywhere makes the parser read what is not there
 *
 * Each beginning of the message is refused, as is each wrong length in its
 * header; every octet of it takes all values, and what is then taken can be
 * told.  @msg is freed.
 */
void of_hostile(GByteArray *msg);

#endif /* TESTS_UNIT_CVSW_OPENFLOW_FIXTURE_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FLOW_MODs in hexadecimal digits, and their expected results */
#ifndef TESTS_UNIT_CVSW_OPENFLOW_FIXTURE_H
#define TESTS_UNIT_CVSW_OPENFLOW_FIXTURE_H

#include <glib.h>

#include "hw/net/cvsw/flow/table.h"

/** of_add: append octets to a message, and correct its length */
void of_add(GByteArray *msg, const char *hex);

/** of_put: write octets over those at @at */
void of_put(GByteArray *msg, size_t at, const char *hex);

/**
 * of10: OpenFlow 1.0's FLOW_MOD that adds a flow of all frames that drops
 *
 * Its priority is 32768.  Actions are appended to it.
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

/** of_parse: parse a message; the test fails if it is refused */
CvswFlowMod of_parse(const GByteArray *msg);

/**
 * of_takes: the message is accepted, and its dump is as given
 *
 * It is also written in both versions, and these messages mean the same. @msg
 * is freed.
 */
void of_takes(GByteArray *msg, const char *match, const char *actions);

/**
 * of_tell: write a flow in the version @asked, if possible
 *
 * The message must mean the flow.
 *
 * Returns: the version of the message
 */
unsigned of_tell(CvswFlowMod *mod, unsigned asked);

/** of_told_as: the same for the flow that a FLOW_MOD adds */
unsigned of_told_as(const GByteArray *msg, unsigned asked);

/**
 * of_refuses: the message is refused with an error of this type, code, and name
 *
 * The OFPT_ERROR is checked, too.  @msg is freed.
 */
void of_refuses(GByteArray *msg, unsigned type, unsigned code,
                const char *name);

/**
 * of_hostile: no wrong length lets the parser read beyond the message
 *
 * Each prefix of the message is refused, and each wrong length in its header.
 * Each octet is set to all values; an accepted message can be written again.
 * @msg is freed.
 */
void of_hostile(GByteArray *msg);

#endif /* TESTS_UNIT_CVSW_OPENFLOW_FIXTURE_H */

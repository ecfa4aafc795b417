/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Master files, RFC 1035 section 5, with BIND's extensions
 *
 * Records are passed on one by one in the order of the file, and are not kept.
 * The parser only checks that each record has the shape of its type.  It does
 * not check which records a zone may have, or which must be together.
 *
 * Several threads can read one file in pieces: dns_master_split() finds where a
 * piece may begin and its state there, and dns_master_parse() reads the piece.
 * These functions keep no state except in their arguments.
 */
#ifndef DNSD_TEXT_MASTER_H
#define DNSD_TEXT_MASTER_H

#include "dnsd/text/master-types.h"

/**
 * dns_master_read: read a file, and the files that it includes
 *
 * Memory is bounded, as a file is read in pieces.  The path of an included file
 * is relative to the file that includes it.
 *
 * Returns: 0; the result of record() that stopped it; -ECANCELED if error()
 * stopped it; -EINVAL if errors were reported (warnings do not count); a
 * negative errno if a file cannot be read, which is reported as well; or
 * -ENOMEM.
 */
int dns_master_read(const DnsMasterOps *ops, void *opaque,
                    const DnsMasterOptions *options);

/** dns_master_state: set the state at the beginning of a file */
void dns_master_state(DnsMasterState *state, const DnsMasterOptions *options);

/**
 * dns_master_parse: parse a piece of a file in memory
 * @state: the state at the beginning of the piece; on return at its end
 * @text: begins and ends where a record or directive begins
 *
 * Returns: as dns_master_read().
 */
int dns_master_parse(const DnsMasterOps *ops, void *opaque,
                     const DnsMasterOptions *options, DnsMasterState *state,
                     const char *text, size_t len);

/**
 * dns_master_split: find where the next piece may begin
 * @state: the state at the beginning of @text; on return at that place
 * @at_least: octets before the place
 *
 * The place is a line with an explicit owner, and an explicit TTL unless there
 * is a $TTL.  So its meaning depends only on the directives before it, which
 * this function reads, and on the SOA record if that is first.  Other records
 * are skipped, at nearly the speed of memory.  After an $INCLUDE there is no
 * place until the next $TTL, as the included file may contain one.
 *
 * Nothing is reported: dns_master_parse() does that.
 *
 * Returns: octets before the place; @len if there is none.
 */
size_t dns_master_split(const DnsMasterOptions *options,
                        DnsMasterState *state, const char *text, size_t len,
                        size_t at_least);

#endif /* DNSD_TEXT_MASTER_H */

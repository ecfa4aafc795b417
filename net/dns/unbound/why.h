/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps the text of the validator to an Extended DNS Error, RFC 8914 */

#ifndef VMMNET_DNS_UNBOUND_WHY_H
#define VMMNET_DNS_UNBOUND_WHY_H

#include <stddef.h>
#include <time.h>

/*
 * The INFO-CODE that fits a text of libunbound 1.17 best; for an unknown text
 * DNSSEC Bogus (6)
 */
int dnsc_why_ede(const char *why);

/*
 * The text for people, in room octets.  If the date of a signature is wrong,
 * this host's date comes first, as its clock may be at fault.
 */
void dnsc_why_text(const char *why, int ede, time_t now, char *text,
                   size_t room);

#endif

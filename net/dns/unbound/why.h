/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps the text of the validator to an Extended DNS Error, RFC 8914 */

#ifndef VMMNET_DNS_UNBOUND_WHY_H
#define VMMNET_DNS_UNBOUND_WHY_H

/*
 * The INFO-CODE that fits a text of libunbound 1.17 best; for an unknown text
 * DNSSEC Bogus (6)
 */
int dnsc_why_ede(const char *why);

#endif

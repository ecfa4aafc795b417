/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The meaning to a program of an RCODE that is no answer
 */

#ifndef VMMNET_DNS_CLIENT_RCODE_H
#define VMMNET_DNS_CLIENT_RCODE_H

#include "vmmnet/dns.h"

/* Of any RCODE but NOERROR */
VmmnetDnsError dnsc_rcode_error(unsigned rcode);

const char *dnsc_rcode_text(unsigned rcode);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The error for an RCODE */

#ifndef VMMNET_DNS_CLIENT_RCODE_H
#define VMMNET_DNS_CLIENT_RCODE_H

#include "vmmnet/dns.h"

/* For any RCODE except NOERROR */
VmmnetDnsError dnsc_rcode_error(unsigned rcode);

const char *dnsc_rcode_text(unsigned rcode);

#endif

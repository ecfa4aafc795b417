/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The error for an RCODE */

#include "net/dns/client/core/rcode.h"
#include "net/dns/wire/wire.h"

VmmnetDnsError dnsc_rcode_error(unsigned rcode)
{
    switch (rcode) {
    case DNS_RCODE_NXDOMAIN:
        return VMMNET_DNS_NO_NAME;
    case DNS_RCODE_NOTIMP:
    case DNS_RCODE_REFUSED:
    case DNS_RCODE_NOTAUTH:
        return VMMNET_DNS_REFUSED;
    default:
        return VMMNET_DNS_FAILED;
    }
}

const char *dnsc_rcode_text(unsigned rcode)
{
    switch (rcode) {
    case DNS_RCODE_FORMERR:
        return "the server says FORMERR";
    case DNS_RCODE_SERVFAIL:
        return "the server says SERVFAIL";
    case DNS_RCODE_NXDOMAIN:
        return "the server says NXDOMAIN";
    case DNS_RCODE_NOTIMP:
        return "the server says NOTIMP";
    case DNS_RCODE_REFUSED:
        return "the server says REFUSED";
    default:
        return "the server says an RCODE that is no answer";
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons why a transfer from a primary failed */
#include "dnsd/update/xfr/reason.h"

const char *dns_xfr_reason_word(DnsXfrReason reason)
{
    static const char *const words[DNS_XFR_REASONS] = {
        [DNS_XFR_CONNECT] = "connect",
        [DNS_XFR_TIMEOUT] = "timeout",
        [DNS_XFR_CLOSED] = "closed",
        [DNS_XFR_REFUSED] = "refused",
        [DNS_XFR_SIGNATURE] = "signature",
        [DNS_XFR_MALFORMED] = "malformed",
        [DNS_XFR_NO_ZONE] = "no-zone",
        [DNS_XFR_MISFIT] = "misfit",
        [DNS_XFR_TOO_LARGE] = "too-large",
        [DNS_XFR_BEHIND] = "behind",
        [DNS_XFR_LOCAL] = "local",
        [DNS_XFR_DROPPED] = "dropped",
    };

    return words[reason];
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps the text of the validator to an Extended DNS Error
 *
 * libunbound 1.17 knows the code, but its API only has the text.
 */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "net/dns/unbound/why.h"
#include "net/dns/wire/wire.h"

/* The first entry that is found in the text applies. */
static const struct {
    const char *part;
    DnsEde ede;
} known[] = {
    { "signature expired", DNS_EDE_SIGNATURE_EXPIRED },
    { "signature before inception", DNS_EDE_SIGNATURE_NOT_YET_VALID },
    { "not yet valid", DNS_EDE_SIGNATURE_NOT_YET_VALID },
    { "no signatures", DNS_EDE_RRSIGS_MISSING },
    { "No DNSKEY", DNS_EDE_DNSKEY_MISSING },
    { "no DNSKEY", DNS_EDE_DNSKEY_MISSING },
    { "could not fetch DNSKEY", DNS_EDE_DNSKEY_MISSING },
    { "from unknown keys", DNS_EDE_DNSKEY_MISSING },
    { "no keys have", DNS_EDE_DNSKEY_MISSING },
    { "DS hash mismatches", DNS_EDE_DNSKEY_MISSING },
    { "did not match DS", DNS_EDE_DNSKEY_MISSING },
    { "DNSKEY RRset did not", DNS_EDE_DNSKEY_MISSING },
    { "key for validation", DNS_EDE_DNSKEY_MISSING },
    { "proof failed", DNS_EDE_NSEC_MISSING },
    { "no NSEC", DNS_EDE_NSEC_MISSING },
    { "no DNSSEC records", DNS_EDE_NSEC_MISSING },
    { "covering NSEC3 was not opt-out", DNS_EDE_NSEC_MISSING },
    { "no DS", DNS_EDE_NSEC_MISSING },
};

int dnsc_why_ede(const char *why)
{
    size_t i;

    for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strstr(why, known[i].part)) {
            return known[i].ede;
        }
    }
    return DNS_EDE_DNSSEC_BOGUS;
}

void dnsc_why_text(const char *why, int ede, time_t now, char *text,
                   size_t room)
{
    struct tm tm;
    char date[32];

    if ((ede == DNS_EDE_SIGNATURE_EXPIRED ||
         ede == DNS_EDE_SIGNATURE_NOT_YET_VALID) && gmtime_r(&now, &tm) &&
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm)) {
        snprintf(text, room, "this host's clock says %s UTC: %s", date, why);
    } else {
        snprintf(text, room, "%s", why);
    }
}

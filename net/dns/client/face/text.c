/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors, results and names as text
 */

#include <string.h>

#include "net/dns/wire/wire.h"
#include "vmmnet/dns.h"

const char *vmmnet_dns_error_text(VmmnetDnsError error)
{
    static const char *const texts[] = {
        [VMMNET_DNS_OK] = "no error",
        [VMMNET_DNS_NO_NAME] = "there is no such name",
        [VMMNET_DNS_NO_DATA] = "the name has no such records",
        [VMMNET_DNS_BOGUS] = "the answer is forged or wrongly signed",
        [VMMNET_DNS_TIMEOUT] = "no server answered",
        [VMMNET_DNS_REFUSED] = "the servers refuse to answer",
        [VMMNET_DNS_FAILED] = "the servers failed",
        [VMMNET_DNS_UNREACHABLE] = "no server can be reached",
        [VMMNET_DNS_RESOURCES] = "out of memory or descriptors",
        [VMMNET_DNS_CHAIN] = "too many aliases",
    };

    return error < sizeof(texts) / sizeof(texts[0]) ? texts[error] :
           "an error that is not known";
}

const char *vmmnet_dns_security_text(VmmnetDnsSecurity security)
{
    static const char *const texts[] = {
        [VMMNET_DNS_INDETERMINATE] = "indeterminate",
        [VMMNET_DNS_INSECURE] = "insecure",
        [VMMNET_DNS_SECURE] = "secure",
        [VMMNET_DNS_BOGUS_DATA] = "bogus",
    };

    return security < sizeof(texts) / sizeof(texts[0]) ? texts[security] :
           "indeterminate";
}

int vmmnet_dns_name_text(const uint8_t *rdata, size_t len, char *text,
                         size_t size, size_t *used)
{
    char whole[DNS_NAME_TEXT_MAX];
    size_t at = 0;
    DnsName name = { .len = 0 };

    while (at < len && rdata[at]) {
        if (rdata[at] > DNS_LABEL_MAX || at + rdata[at] + 2 > DNS_NAME_MAX) {
            return -1;
        }
        at += rdata[at] + 1;
        name.labels++;
    }
    if (at >= len) {
        return -1;
    }
    name.len = at + 1;
    memcpy(name.wire, rdata, name.len);
    dns_name_to_text(&name, whole);
    if (strlen(whole) >= size) {
        return -1;
    }
    strcpy(text, whole);
    *used = name.len;
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trust anchors: which names they say anything of
 */

#include <string.h>

#include "net/dns/client/config/anchors.h"

bool dnsc_anchors_cover(const char *text, size_t len, const DnsName *name)
{
    const char *end = text + len;
    char owner_text[DNS_NAME_TEXT_MAX];
    DnsName owner;

    while (text < end) {
        const char *next = memchr(text, '\n', end - text);
        size_t n = (next ? next : end) - text, i = 0;

        while (i < n && i < sizeof(owner_text) - 1 && text[i] != ' ' &&
               text[i] != '\t' && text[i] != ';' && text[i] != '$') {
            owner_text[i] = text[i];
            i++;
        }
        owner_text[i] = '\0';
        if (i && !dns_name_from_text(&owner, owner_text) &&
            dns_name_within(name, &owner)) {
            return true;
        }
        text += n + 1;
    }
    return false;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host names, mailbox names, and addresses in the place of names */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dnsd/zone/hostname.h"

static bool is_alphanumeric(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

static bool is_host_label(const uint8_t *label)
{
    unsigned len = *label;

    for (unsigned i = 1; i <= len; i++) {
        if (!is_alphanumeric(label[i]) &&
            (label[i] != '-' || i == 1 || i == len)) {
            return false;
        }
    }
    return true;
}

static bool are_host_labels(const uint8_t *at)
{
    for (; *at; at += 1 + *at) {
        if (!is_host_label(at)) {
            return false;
        }
    }
    return true;
}

static bool is_wildcard(const DnsName *name)
{
    return name->wire[0] == 1 && name->wire[1] == '*';
}

bool name_is_host(const DnsName *name)
{
    return are_host_labels(name->wire);
}

bool name_is_host_owner(const DnsName *name)
{
    /* The global catalog of Active Directory, which BIND allows. */
    static const uint8_t catalog[] = "\2gc\6_msdcs";
    size_t len = sizeof(catalog) - 1;
    const uint8_t *at = name->wire;

    if (is_wildcard(name)) {
        at += 2;
    } else if (name->len > len && !strncasecmp((const char *)at,
                                               (const char *)catalog, len)) {
        at += len;
    }
    return are_host_labels(at);
}

bool name_is_mailbox(const DnsName *name)
{
    return !name->labels || are_host_labels(name->wire + 1 + name->wire[0]);
}

bool name_is_address(const DnsName *name, const DnsName *origin)
{
    unsigned own = name->labels;
    char text[INET6_ADDRSTRLEN + 8] = "";
    const uint8_t *at = name->wire;
    uint8_t addr[16];
    size_t len = 0;

    if (dns_name_within(name, origin) && own > origin->labels) {
        own -= origin->labels;
    }
    if ((own != 4 && own != 1) || (own == 4 && !isdigit(at[1]))) {
        return false;
    }
    for (unsigned i = 0; i < own; i++, at += 1 + *at) {
        if (len + *at + 2 > sizeof(text)) {
            return false;
        }
        len += snprintf(text + len, sizeof(text) - len, "%s%.*s",
                        i ? "." : "", *at, (const char *)at + 1);
    }
    return inet_pton(own == 4 ? AF_INET : AF_INET6, text, addr) == 1;
}

bool name_has_wildcard_inside(const DnsName *name)
{
    const uint8_t *at = name->wire;

    for (at += *at ? 1 + *at : 0; *at; at += 1 + *at) {
        if (*at == 1 && at[1] == '*') {
            return true;
        }
    }
    return false;
}

bool name_is_reverse(const DnsName *name)
{
    DnsName v4, v6;

    dns_name_from_text(&v4, "in-addr.arpa");
    dns_name_from_text(&v6, "ip6.arpa");
    return dns_name_within(name, &v4) || dns_name_within(name, &v6);
}

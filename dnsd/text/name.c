/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domain names in master files */
#include <errno.h>
#include <string.h>

#include "dnsd/text/name.h"

static int fault(DnsLex *lex, const DnsToken *token, const char *why)
{
    return dns_token_fault(lex, token, "is no domain name: %s", why);
}

static int empty_label(DnsLex *lex, const DnsToken *token)
{
    return fault(lex, token, "a label is empty, but only the dot at the end "
                 "may have nothing before or behind it");
}

static int too_long(DnsLex *lex, const DnsToken *token, bool is_label)
{
    return fault(lex, token, is_label ?
                 "a label has at most 63 octets" :
                 "it has at most 255 octets with the origin behind it");
}

/*
 * Read the labels of a token.  Returns: 1 if the name has the final dot; 0 if
 * it does not, so that the origin must follow; or -EINVAL.
 */
static int read_labels(DnsLex *lex, const DnsToken *token, DnsName *name)
{
    const char *at = token->text, *end = at + token->len;
    unsigned start = 0, to = 1;     /* of the label, in name->wire */

    while (at < end) {
        bool escaped = false;
        int c = (uint8_t)*at;

        if (to == DNS_NAME_MAX) {
            return too_long(lex, token, false);
        }
        if (c == '\\') {
            c = dns_lex_octet(&at, end, &escaped);
            if (c < 0) {
                return fault(lex, token, "\\ needs a character or three "
                             "digits up to 255 behind it");
            }
        } else {
            at++;
        }
        if (c == '.' && !escaped) {
            if (to - start == 1) {
                return empty_label(lex, token);
            }
            name->wire[start] = to - start - 1;
            name->labels++;
            start = to;
        } else if (to - start > DNS_LABEL_MAX) {
            return too_long(lex, token, true);
        } else {
            name->wire[to] = c;
        }
        to++;
    }
    if (to - start == 1) {
        name->len = start;
        return 1;
    }
    name->wire[start] = to - start - 1;
    name->labels++;
    name->len = to;
    return 0;
}

/*
 * read_labels() for a token without escapes that makes no fault.  Returns
 * -EINVAL if it may make one.
 */
static int read_plain(const DnsToken *token, DnsName *name)
{
    const char *text = token->text;
    unsigned start = 0, len = token->len;

    if (token->has_escape || len >= DNS_NAME_MAX) {
        return -EINVAL;
    }
    memcpy(name->wire + 1, text, len);
    for (unsigned at = 0; at < len; at++) {
        if (text[at] == '.') {
            if (at == start || at - start > DNS_LABEL_MAX) {
                return -EINVAL;
            }
            name->wire[start] = at - start;
            name->labels++;
            start = at + 1;
        }
    }
    if (start == len) {
        name->len = start;
        return 1;
    }
    if (len - start > DNS_LABEL_MAX) {
        return -EINVAL;
    }
    name->wire[start] = len - start;
    name->labels++;
    name->len = len + 1;
    return 0;
}

static int append(DnsLex *lex, const DnsToken *token, const DnsName *origin,
                  DnsName *name)
{
    if (name->len + origin->len > DNS_NAME_MAX) {
        return too_long(lex, token, false);
    }
    memcpy(name->wire + name->len, origin->wire, origin->len);
    name->len += origin->len;
    name->labels += origin->labels;
    return 0;
}

int dns_name_read(DnsLex *lex, const DnsToken *token, const DnsName *origin,
                  DnsName *name)
{
    int ret;

    name->len = 0;
    name->labels = 0;
    if (token->len == 1 && *token->text == '@') {
        return append(lex, token, origin, name);
    }
    if (token->len == 1 && *token->text == '.') {
        name->wire[name->len++] = 0;
        return 0;
    }
    ret = read_plain(token, name);
    if (ret < 0) {
        name->labels = 0;
        ret = read_labels(lex, token, name);
    }
    if (ret <= 0) {
        return ret ? ret : append(lex, token, origin, name);
    }
    name->wire[name->len++] = 0;
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Canonical order of names, RFC 4034 section 6.1 */
#include <string.h>

#include "net/dns/zone/fold.h"
#include "net/dns/zone/order.h"

/* The offsets of the suffixes of a name, indexed by their labels */
static void find_labels(const DnsName *name, uint8_t start[])
{
    unsigned at = 0;

    for (unsigned i = name->labels; i > 0; i--) {
        start[i] = at;
        at += 1 + name->wire[at];
    }
    start[0] = at;
}

static int compare_labels(const uint8_t *a, const uint8_t *b)
{
    unsigned len = *a < *b ? *a : *b;

    for (unsigned i = 1; i <= len; i++) {
        int differ = zone_lower(a[i]) - zone_lower(b[i]);

        if (differ) {
            return differ;
        }
    }
    return *a - *b;
}

int zone_name_compare(const DnsName *a, const DnsName *b, unsigned *common)
{
    uint8_t at_a[DNS_LABELS_MAX + 1], at_b[DNS_LABELS_MAX + 1];
    unsigned least = a->labels < b->labels ? a->labels : b->labels;

    find_labels(a, at_a);
    find_labels(b, at_b);
    for (*common = 0; *common < least; ++*common) {
        int differ = compare_labels(a->wire + at_a[*common + 1],
                                    b->wire + at_b[*common + 1]);

        if (differ) {
            return differ;
        }
    }
    return a->labels - b->labels;
}

/*
 * 0 ends a label, so that a shorter label comes first.  Octets 0 and 1 within a
 * label become 1 1 and 1 2.
 */
unsigned zone_name_key(const DnsName *name, unsigned above,
                       uint8_t key[ZONE_KEY_MAX])
{
    uint8_t start[DNS_LABELS_MAX + 1];
    uint8_t *to = key;

    find_labels(name, start);
    for (unsigned label = above + 1; label <= name->labels; label++) {
        const uint8_t *at = name->wire + start[label];

        for (unsigned i = 1; i <= *at; i++) {
            if (at[i] <= 1) {
                *to++ = 1;
                *to++ = at[i] + 1;
            } else {
                *to++ = zone_lower(at[i]);
            }
        }
        *to++ = 0;
    }
    return to - key;
}

DnsName zone_name_ancestor(const DnsName *name, unsigned labels)
{
    uint8_t start[DNS_LABELS_MAX + 1];
    DnsName up = { .labels = labels };

    find_labels(name, start);
    up.len = name->len - start[labels];
    memcpy(up.wire, name->wire + start[labels], up.len);
    return up;
}

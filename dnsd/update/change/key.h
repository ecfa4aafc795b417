/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names as octets that sort in canonical order (RFC 4034 section 6.1)
 *
 * The labels from the root on, in lower case, each preceded by an octet 0;
 * octets 0 and 1 in labels are escaped.  So memcmp() gives the order.  The keys
 * of names below a name consist of its key, an octet 0, and more.
 */
#ifndef DNSD_UPDATE_CHANGE_KEY_H
#define DNSD_UPDATE_CHANGE_KEY_H

#include <string.h>

#include "net/dns/wire/wire.h"
#include "net/dns/zone/fold.h"

typedef struct NameKey {
    uint16_t len;
    uint8_t octets[2 * DNS_NAME_MAX];
} NameKey;

/** name_key_init: make the key of an uncompressed name in wire form */
static inline void name_key_init(NameKey *key, const uint8_t *wire)
{
    uint8_t start[DNS_LABELS_MAX + 1];
    unsigned labels = 0, at = 0;

    while (wire[at] && labels < DNS_LABELS_MAX) {
        start[labels++] = at;
        at += 1 + wire[at];
    }
    key->len = 0;
    while (labels-- > 0) {
        const uint8_t *label = wire + start[labels];

        key->octets[key->len++] = 0;
        for (unsigned i = 1; i <= *label; i++) {
            uint8_t c = zone_lower(label[i]);

            if (c <= 1) {
                key->octets[key->len++] = 1;
            }
            key->octets[key->len++] = c <= 1 ? c + 1 : c;
        }
    }
}

static inline int name_key_compare(const NameKey *a, const NameKey *b)
{
    unsigned least = a->len < b->len ? a->len : b->len;
    int differ = memcmp(a->octets, b->octets, least);

    return differ ? differ : a->len - b->len;
}

/** name_key_is_below: is the name below the other?  Equal names are not. */
static inline bool name_key_is_below(const NameKey *key, const NameKey *above)
{
    return key->len > above->len && key->octets[above->len] == 0 &&
           !memcmp(key->octets, above->octets, above->len);
}

#endif /* DNSD_UPDATE_CHANGE_KEY_H */

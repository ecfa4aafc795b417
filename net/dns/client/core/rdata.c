/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDATA of a record in a message, with its names uncompressed
 *
 * Names are compressed in the types of RFC 1035.  Old servers also compress SRV
 * (RFC 3597 section 4 forbids it, but asks receivers to accept it).
 */

#include <errno.h>
#include <string.h>

#include "net/dns/client/core/rdata.h"

typedef struct Layout {
    uint16_t type;
    uint8_t before;             /* octets before the names */
    uint8_t names;
    uint8_t behind;
} Layout;

static const Layout layouts[] = {
    { DNS_TYPE_A, 4, 0, 0 },
    { DNS_TYPE_AAAA, 16, 0, 0 },
    { DNS_TYPE_NS, 0, 1, 0 },
    { DNS_TYPE_CNAME, 0, 1, 0 },
    { DNS_TYPE_SOA, 0, 2, 20 },
    { DNS_TYPE_PTR, 0, 1, 0 },
    { DNS_TYPE_MX, 2, 1, 0 },
    { DNS_TYPE_SRV, 6, 1, 0 },
    { DNS_TYPE_DNAME, 0, 1, 0 },
};

static int put(uint8_t *out, int done, const uint8_t *from, size_t len)
{
    if (out) {
        memcpy(out + done, from, len);
    }
    return done + len;
}

static int copy_names(const DnsCursor *cursor, const DnsRr *rr,
                      const Layout *layout, uint8_t *out)
{
    size_t offset = rr->rdata + layout->before;
    size_t end = rr->rdata + rr->rdlength;
    DnsName name;
    int done, i;

    if (rr->rdlength < layout->before + layout->behind) {
        return -EBADMSG;
    }
    done = put(out, 0, cursor->msg + rr->rdata, layout->before);
    for (i = 0; i < layout->names; i++) {
        if (dns_name_parse(cursor->msg, end, &offset, &name)) {
            return -EBADMSG;
        }
        done = put(out, done, name.wire, name.len);
    }
    if (end - offset != layout->behind) {
        return -EBADMSG;
    }
    return put(out, done, cursor->msg + offset, layout->behind);
}

int dnsc_rdata_copy(const DnsCursor *cursor, const DnsRr *rr, uint8_t *out)
{
    size_t i;

    for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (layouts[i].type == rr->type) {
            return copy_names(cursor, rr, &layouts[i], out);
        }
    }
    return put(out, 0, cursor->msg + rr->rdata, rr->rdlength);
}

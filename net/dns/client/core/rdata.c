/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDATA of a record in a message, with its names uncompressed
 *
 * Names are compressed in the types of RFC 1035.  Some servers also compress
 * others (RFC 3597 section 4 forbids it, but asks receivers to accept it), and a
 * caller does not have the message that a pointer leads to.
 */

#include <errno.h>
#include <string.h>

#include "net/dns/client/core/rdata.h"

#define REST    UINT8_MAX       /* any number of octets, or none */

typedef struct Layout {
    uint16_t type;
    uint8_t before;             /* octets, then */
    uint8_t strings;
    uint8_t names;
    uint8_t behind;             /* octets */
} Layout;

static const Layout layouts[] = {
    { DNS_TYPE_A, 4, 0, 0, 0 },
    { DNS_TYPE_AAAA, 16, 0, 0, 0 },
    { DNS_TYPE_NS, 0, 0, 1, 0 },
    { DNS_TYPE_CNAME, 0, 0, 1, 0 },
    { DNS_TYPE_SOA, 0, 0, 2, 20 },
    { DNS_TYPE_PTR, 0, 0, 1, 0 },
    { DNS_TYPE_MX, 2, 0, 1, 0 },
    { 14, 0, 0, 2, 0 },         /* MINFO */
    { 17, 0, 0, 2, 0 },         /* RP */
    { 18, 2, 0, 1, 0 },         /* AFSDB */
    { 21, 2, 0, 1, 0 },         /* RT */
    { 24, 18, 0, 1, REST },     /* SIG */
    { 26, 2, 0, 2, 0 },         /* PX */
    { 30, 0, 0, 1, REST },      /* NXT */
    { DNS_TYPE_SRV, 6, 0, 1, 0 },
    { 35, 4, 3, 1, 0 },         /* NAPTR */
    { 36, 2, 0, 1, 0 },         /* KX */
    { DNS_TYPE_DNAME, 0, 0, 1, 0 },
    { DNS_TYPE_RRSIG, 18, 0, 1, REST },
    { DNS_TYPE_NSEC, 0, 0, 1, REST },
    { 58, 0, 0, 2, 0 },         /* TALINK */
    { DNS_TYPE_SVCB, 2, 0, 1, REST },
    { DNS_TYPE_HTTPS, 2, 0, 1, REST },
    { 107, 2, 0, 1, 0 },        /* LP */
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

    for (i = 0; i < layout->strings && offset < end; i++) {
        offset += 1 + cursor->msg[offset];
    }
    if (offset > end) {
        return -EBADMSG;
    }
    done = put(out, 0, cursor->msg + rr->rdata, offset - rr->rdata);
    for (i = 0; i < layout->names; i++) {
        if (dns_name_parse(cursor->msg, end, &offset, &name)) {
            return -EBADMSG;
        }
        done = put(out, done, name.wire, name.len);
    }
    if ((layout->behind != REST && end - offset != layout->behind) ||
        end - offset > (size_t)(UINT16_MAX - done)) {
        return -EBADMSG;
    }
    return put(out, done, cursor->msg + offset, end - offset);
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

bool dnsc_rdata_passes(const DnsCursor *cursor, const DnsRr *rr)
{
    return rr->type > DNS_TYPE_DNAME || dnsc_rdata_copy(cursor, rr, NULL) >= 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verdict as a DNS message */
#include <errno.h>
#include <string.h>

#include "base/octets.h"
#include "net/dns/upstream/checked.h"

#define ARCOUNT_AT  10      /* in the header */

/* Of a reply, besides its records */
typedef struct About {
    DnsHeader header;
    DnsEdns edns;
    size_t plain_len;           /* up to the additional section */
} About;

/* Walk over the whole reply.  Returns 0 or -EBADMSG. */
static int look(const DnscQuery *query, const uint8_t *msg, size_t len,
                About *about)
{
    DnsQuestion question;
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    *about = (About) { .plain_len = len };
    if (dns_header_parse(msg, len, &about->header) ||
        (about->header.flags & (DNS_FLAG_QR | DNS_FLAG_TC)) != DNS_FLAG_QR ||
        about->header.flags & DNS_FLAGS_OPCODE || about->header.qdcount != 1 ||
        dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, &question) <= 0 ||
        question.type != query->question.type ||
        question.qclass != query->question.qclass ||
        !dns_name_equal(&question.name, &query->question.name)) {
        return -EBADMSG;
    }
    about->plain_len = cursor.offset;
    while ((ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        if (rr.section != DNS_SECTION_ADDITIONAL) {
            about->plain_len = cursor.offset;
        }
        if (rr.type == DNS_TYPE_OPT &&
            dns_rdata_edns(&cursor, &rr, &about->edns)) {
            return -EBADMSG;
        }
    }
    return ret;
}

static VmmnetDnsSecurity security_of(const About *about)
{
    if (about->edns.has_ede && about->edns.ede >= DNS_EDE_DNSSEC_BOGUS &&
        about->edns.ede <= DNS_EDE_NSEC_MISSING) {
        return VMMNET_DNS_BOGUS_DATA;
    }
    if (about->header.flags & DNS_FLAG_AD) {
        return VMMNET_DNS_SECURE;
    }
    return about->edns.has_ede &&
           about->edns.ede == DNS_EDE_DNSSEC_INDETERMINATE ?
           VMMNET_DNS_INDETERMINATE : VMMNET_DNS_INSECURE;
}

/* The asker's own clients are not told what only the asker wants to know. */
static size_t drop_additional(uint8_t *msg, const About *about)
{
    put_be16(msg + ARCOUNT_AT, 0);
    return about->plain_len;
}

static DnscResult *unanswered(const About *about)
{
    switch (about->edns.has_ede ? about->edns.ede : DNS_EDE_OTHER) {
    case DNS_EDE_NO_REACHABLE_AUTHORITY:
        return dnsc_result_error(VMMNET_DNS_TIMEOUT,
                                 "no server answered in time");
    case DNS_EDE_NETWORK_ERROR:
        return dnsc_result_error(VMMNET_DNS_UNREACHABLE,
                                 "there is no way to any server");
    default:
        return dnsc_result_error(VMMNET_DNS_REFUSED,
                                 "the servers have failed");
    }
}

/* AD is of what is secure only, and bogus data of who wants it. */
static bool is_consistent(const DnscQuery *query, const About *about,
                          VmmnetDnsSecurity security, unsigned rcode)
{
    bool has_data = rcode == DNS_RCODE_NOERROR || rcode == DNS_RCODE_NXDOMAIN;

    if (about->header.flags & DNS_FLAG_AD) {
        return security == VMMNET_DNS_SECURE && has_data;
    }
    return security != VMMNET_DNS_BOGUS_DATA || rcode == DNS_RCODE_SERVFAIL ||
           (has_data && query->flags & DNS_FLAG_CD);
}

int dns_checked_read(const DnscQuery *query, uint8_t *msg, size_t len,
                     DnscResult **result)
{
    VmmnetDnsSecurity security;
    DnscResult *r = NULL;
    unsigned rcode;
    About about;
    int ret;

    if (look(query, msg, len, &about)) {
        return -EBADMSG;
    }
    security = security_of(&about);
    rcode = about.header.flags & DNS_FLAGS_RCODE;
    if (!is_consistent(query, &about, security, rcode)) {
        return -EBADMSG;
    }
    if (rcode == DNS_RCODE_NOERROR || rcode == DNS_RCODE_NXDOMAIN) {
        if (security == VMMNET_DNS_INDETERMINATE) {
            len = drop_additional(msg, &about);
        }
        ret = dnsc_whole_read(msg, len, &r);
        if (ret == -EBADMSG) {
            return ret;
        }
        r = ret ? dnsc_result_error(VMMNET_DNS_RESOURCES, "out of memory") : r;
    } else if (security == VMMNET_DNS_BOGUS_DATA) {
        r = dnsc_whole_refusal(msg, len);
        if (r->refs) {
            r->error = VMMNET_DNS_BOGUS;
        }
    } else {
        *result = unanswered(&about);
        return 0;
    }
    /* A lame reply is none. */
    if (r->whole) {
        r->security = security;
        if (security == VMMNET_DNS_BOGUS_DATA) {
            r->ede = about.edns.ede;
            dnsc_result_set_reason(r, about.edns.ede_text,
                                   about.edns.ede_text_len);
        }
    }
    *result = r;
    return 0;
}

size_t dns_checked_write(const DnscQuery *query, const DnscResult *result,
                         uint8_t buf[DNS_MSG_MAX])
{
    DnsEdns edns = { .udp_size = DNS_UDP_ADVERTISED };
    DnsBuilder b;

    if (result->whole) {
        memcpy(buf, result->whole, result->whole_len);
        dns_msg_set_id(buf, 0);
        return result->whole_len;
    }
    if (result->security == VMMNET_DNS_BOGUS_DATA) {
        edns.has_ede = true;
        edns.ede = result->ede;
        edns.ede_text = result->reason;
        edns.ede_text_len = strnlen(result->reason, DNSC_REASON_MAX - 1);
    } else if (result->error == VMMNET_DNS_TIMEOUT ||
               result->error == VMMNET_DNS_UNREACHABLE) {
        edns.has_ede = true;
        edns.ede = result->error == VMMNET_DNS_TIMEOUT
                   ? DNS_EDE_NO_REACHABLE_AUTHORITY : DNS_EDE_NETWORK_ERROR;
    }
    dns_builder_init(&b, buf, DNS_MSG_MAX, 0,
                     DNS_FLAG_QR | DNS_FLAG_RA | (query->flags & DNS_FLAG_RD) |
                     DNS_RCODE_SERVFAIL);
    dns_builder_question(&b, &query->question);
    dns_builder_edns(&b, &edns);
    return b.len;
}

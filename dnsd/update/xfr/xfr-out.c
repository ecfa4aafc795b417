/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outgoing transfers
 *
 * A source returns the records one after the other (source.c).  Here they are
 * put into messages, as many as fit.  A record that does not fit waits for the
 * next message.
 */
#include <errno.h>
#include <stdlib.h>

#include "dnsd/update/xfr/secondary.h"
#include "dnsd/update/xfr/source.h"
#include "dnsd/update/xfr/xfr-out.h"
#include "net/dns/zone/records.h"

#define OPT_LEN         11      /* without options */

struct DnsXfrOut {
    DnsVersion *version;
    DnsXfrKind kind;
    bool is_udp;
    bool has_begun;             /* the first message was sent */
    bool is_waiting;            /* the source's record was not sent yet */
    bool has_ended;
    bool has_edns;              /* the query has OPT */
    uint16_t id;
    uint16_t flags;
    uint64_t records;           /* in the messages so far */
    DnsQuestion question;
    Tsig tsig;
    XfrSource source;
};

/* --- the query ------------------------------------------------------------ */

/*
 * Read the client's serial in the authority section (RFC 1995 section 3), and
 * whether there is OPT.
 */
static int read_records(DnsXfrOut *out, DnsCursor *cursor, uint32_t *serial)
{
    bool has_serial = out->question.type != DNS_TYPE_IXFR;
    DnsSoa soa;
    DnsRr rr;
    int ret;

    while ((ret = dns_cursor_rr(cursor, &rr)) > 0) {
        out->has_edns |= rr.type == DNS_TYPE_OPT;
        if (!has_serial && rr.section == DNS_SECTION_AUTHORITY &&
            rr.type == DNS_TYPE_SOA) {
            ret = dns_rdata_soa(cursor, &rr, &soa);
            if (ret) {
                return ret;
            }
            *serial = soa.serial;
            has_serial = true;
        }
    }
    return ret ? ret : has_serial ? 0 : -EBADMSG;
}

static uint16_t read_query(DnsXfrOut *out, const uint8_t *query, size_t len,
                           uint32_t *serial)
{
    DnsCursor cursor;
    DnsHeader header;

    if (dns_header_parse(query, len, &header) || header.qdcount != 1 ||
        dns_cursor_init(&cursor, query, len) ||
        dns_cursor_question(&cursor, &out->question) <= 0) {
        return DNS_RCODE_FORMERR;
    }
    out->id = header.id;
    out->flags = DNS_FLAG_QR | DNS_FLAG_AA | (header.flags & DNS_FLAG_RD);
    if ((out->question.type != DNS_TYPE_IXFR &&
         out->question.type != DNS_TYPE_AXFR) ||
        read_records(out, &cursor, serial)) {
        return DNS_RCODE_FORMERR;
    }
    return out->is_udp && out->question.type == DNS_TYPE_AXFR
           ? DNS_RCODE_NOTIMP : DNS_RCODE_NOERROR;
}

/* --- the message ---------------------------------------------------------- */

static uint64_t zone_len(const ZoneView *view)
{
    return view->layer[view->layers - 1]->len;
}

/*
 * For IXFR choose the changes; or the zone, if it is smaller or they are
 * unknown.
 */
static DnsXfrKind choose(DnsXfrOut *out, DnsStore *store, uint32_t serial)
{
    const ZoneView *view = dns_version_view(out->version);
    JournalReader reader;

    if (!dns_serial_newer(dns_soa_serial(out->source.soa), serial)) {
        return DNS_XFR_SOA;
    }
    if (dns_store_history(store, serial, &reader)) {
        return out->is_udp ? DNS_XFR_SOA : DNS_XFR_AS_AXFR;
    }
    if (reader.octets > zone_len(view)) {
        journal_reader_close(&reader);
        return out->is_udp ? DNS_XFR_SOA : DNS_XFR_AS_AXFR;
    }
    xfr_source_changes(&out->source, &reader);
    return DNS_XFR_IXFR;
}

static uint16_t begin(DnsXfrOut *out, DnsStore *store, const uint8_t *query,
                      size_t len)
{
    const ZoneView *view = dns_version_view(out->version);
    const ZoneImage *image = view->layer[view->layers - 1];
    uint32_t serial = 0;
    uint16_t rcode = read_query(out, query, len, &serial);

    if (rcode) {
        return rcode;
    }
    if (!dns_name_equal(&out->question.name, &image->origin) ||
        out->question.qclass != image->rrclass) {
        return DNS_RCODE_NOTAUTH;
    }
    if (xfr_source_begin(&out->source, view)) {
        return DNS_RCODE_SERVFAIL;
    }
    out->kind = out->question.type == DNS_TYPE_IXFR
                ? choose(out, store, serial) : DNS_XFR_AXFR;
    if (out->kind == DNS_XFR_SOA) {
        out->source.state = XFR_LAST;
    } else if (out->kind != DNS_XFR_IXFR) {
        xfr_source_view(&out->source, view);
    }
    return DNS_RCODE_NOERROR;
}

/* --- messages ------------------------------------------------------------- */

/* NS and SOA are frequent in a zone, so their names are compressed. */
static int put_record(DnsXfrOut *out, DnsBuilder *b)
{
    const ZoneRecord *record = out->source.record;
    DnsName name;

    if (out->question.qclass == DNS_CLASS_IN &&
        (record->type == DNS_TYPE_NS || record->type == DNS_TYPE_CNAME ||
         record->type == DNS_TYPE_PTR) &&
        !zone_wire_name(record->rdata, record->rdlength, &name)) {
        return dns_builder_name(b, DNS_SECTION_ANSWER, &out->source.name,
                                record->type, record->ttl, &name);
    }
    return dns_builder_raw(b, DNS_SECTION_ANSWER, &out->source.name,
                           record->type, out->question.qclass, record->ttl,
                           record->rdata, record->rdlength);
}

/* Fill a message.  Returns 1 if the transfer ends with it, 0, or an error. */
static int fill(DnsXfrOut *out, DnsBuilder *b)
{
    size_t empty = b->len;
    int ret;

    for (;;) {
        ret = out->is_waiting ? 1 : xfr_source_next(&out->source);
        if (ret <= 0) {
            return ret ? ret : 1;
        }
        out->is_waiting = put_record(out, b);
        if (out->is_waiting) {
            return b->len == empty ? -EMSGSIZE : 0;
        }
        out->records++;
    }
}

static void begin_message(DnsXfrOut *out, DnsBuilder *b, uint8_t *msg,
                          size_t room)
{
    dns_builder_init(b, msg, room, out->id, out->flags);
    dns_builder_keep_case(b);
    if (!out->has_begun) {
        dns_builder_question(b, &out->question);
    }
}

/* RFC 5936 section 2.2.5: OPT is in the first message.  The room is reserved. */
static void put_opt(const DnsXfrOut *out, DnsBuilder *b)
{
    static const DnsEdns edns = { .udp_size = DNS_UDP_ADVERTISED };

    if (out->has_edns && !out->has_begun) {
        b->size += OPT_LEN;
        dns_builder_edns(b, &edns);
    }
}

/*
 * If a reply is too long for a datagram, the client must use TCP (RFC 1995, 2).
 */
static int send_soa_alone(DnsXfrOut *out, DnsBuilder *b, uint8_t *msg,
                          size_t room)
{
    out->kind = DNS_XFR_SOA;
    out->is_waiting = false;
    out->records = 0;
    out->source.state = XFR_LAST;
    begin_message(out, b, msg, room);
    return fill(out, b);
}

int dns_xfr_out_next(DnsXfrOut *out, uint8_t *msg, size_t room, uint64_t now)
{
    size_t reserve = tsig_room(&out->tsig), size, len;
    DnsBuilder builder;
    int ret;

    if (out->has_ended) {
        return 0;
    }
    size = room > DNS_MSG_MAX ? DNS_MSG_MAX : room;
    if (size < DNS_UDP_MIN + reserve) {
        reserve = size < DNS_UDP_MIN ? size : size - DNS_UDP_MIN;
    }
    size -= reserve;
    if (size < DNS_HEADER_LEN + OPT_LEN) {
        return -EMSGSIZE;
    }
    size -= out->has_edns && !out->has_begun ? OPT_LEN : 0;
    begin_message(out, &builder, msg, size);
    ret = fill(out, &builder);
    if (out->is_udp && (ret == 0 || ret == -EMSGSIZE)) {
        ret = send_soa_alone(out, &builder, msg, size);
    }
    if (ret < 0) {
        return ret;
    }
    put_opt(out, &builder);
    out->has_begun = true;
    out->has_ended = ret;
    len = builder.len;
    ret = tsig_sign_reply(&out->tsig, msg, &len, room, now);
    return ret ? ret : (int)len;
}

/* --- life ----------------------------------------------------------------- */

DnsXfrOut *dns_xfr_out_new(DnsStore *store, const uint8_t *query, size_t len,
                           const Tsig *tsig, bool is_udp, uint16_t *rcode)
{
    DnsXfrOut *out = calloc(1, sizeof(*out));

    if (!out) {
        *rcode = DNS_RCODE_SERVFAIL;
        return NULL;
    }
    out->source.reader = (JournalReader) { .fd = { -1, -1 } };
    out->is_udp = is_udp;
    out->version = dns_store_pin(store);
    out->tsig = tsig ? *tsig : (Tsig) { 0 };
    *rcode = begin(out, store, query, len);
    if (*rcode) {
        dns_xfr_out_free(out);
        return NULL;
    }
    return out;
}

DnsXfrKind dns_xfr_out_kind(const DnsXfrOut *out)
{
    return out->kind;
}

uint32_t dns_xfr_out_serial(const DnsXfrOut *out)
{
    return dns_soa_serial(out->source.soa);
}

uint64_t dns_xfr_out_records(const DnsXfrOut *out)
{
    return out->records;
}

void dns_xfr_out_free(DnsXfrOut *out)
{
    if (out) {
        xfr_source_end(&out->source);
        dns_store_unpin(out->version);
        free(out);
    }
}

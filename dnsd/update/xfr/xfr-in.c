/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Incoming transfers
 *
 * Theory of operation
 *
 * The first record is the primary's SOA.  The second one tells the kind of
 * answer (RFC 1995 section 4): our own SOA begins change sets, any other record
 * is part of the whole zone.  Both kinds end with the first SOA again.
 *
 * Change sets are kept until the last message has been verified, and are then
 * applied one after the other.  Records of AXFR go to the sorter at once.
 * After a refusal or a fault of the primary, IXFR falls back to AXFR, and AXFR
 * fails.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/octets.h"
#include "dnsd/update/change/rdata.h"
#include "dnsd/update/xfr/secondary.h"
#include "dnsd/update/xfr/axfr-image.h"
#include "dnsd/update/xfr/xfr-in.h"

typedef enum XfrInStage {
    FIRST,                      /* expects the first SOA */
    SECOND,                     /* expects the record that tells the kind */
    ZONE,                       /* AXFR */
    GONE,                       /* IXFR: deleted records */
    COME,                       /* IXFR: added records */
    ZONE_ENDS,                  /* ends with this message */
    CHANGES_END,
    DONE,
} XfrInStage;

/* A change set in in->octets */
typedef struct XfrInChange {
    size_t at;
    DnsChanges changes;
} XfrInChange;

struct DnsXfrIn {
    DnsXfrInOptions options;
    uint16_t id;
    XfrInStage stage;
    Tsig tsig;
    bool is_signed;             /* the last message was */
    unsigned messages;
    uint32_t serial;            /* the primary's */
    uint64_t records;
    uint64_t len;               /* their octets */
    AxfrImage *image;
    DnsBuffer octets;
    size_t count;
    XfrInChange *change;
    DnsXfrReason reason;
    const char *why;
    uint8_t rdata[UINT16_MAX];
};

/* --- the query ------------------------------------------------------------ */

DnsXfrIn *dns_xfr_in_new(const DnsXfrInOptions *options, uint16_t id)
{
    DnsXfrIn *in = calloc(1, sizeof(*in));

    if (in) {
        in->options = *options;
        in->id = id;
        in->why = "";
    }
    return in;
}

/* Of the SOA in a query only the serial matters. */
static int put_our_soa(DnsBuilder *b, const DnsXfrIn *in)
{
    uint8_t rdata[2 + 20] = { 0 };

    put_be32(rdata + 2, in->options.serial);
    return dns_builder_raw(b, DNS_SECTION_AUTHORITY, &in->options.zone,
                           DNS_TYPE_SOA, in->options.rrclass, 0, rdata,
                           sizeof(rdata));
}

int dns_xfr_in_query(DnsXfrIn *in, uint8_t *msg, size_t room, uint64_t now)
{
    static const uint16_t type[] = {
        [DNS_XFR_ASK_SOA] = DNS_TYPE_SOA,
        [DNS_XFR_ASK_IXFR] = DNS_TYPE_IXFR,
        [DNS_XFR_ASK_AXFR] = DNS_TYPE_AXFR,
    };
    DnsQuestion question = {
        in->options.zone, type[in->options.ask], in->options.rrclass,
    };
    bool is_ixfr = in->options.ask == DNS_XFR_ASK_IXFR;
    DnsBuilder builder;
    size_t len;
    int ret;

    if (room < DNS_HEADER_LEN) {
        return -EMSGSIZE;
    }
    dns_builder_init(&builder, msg, room > DNS_MSG_MAX ? DNS_MSG_MAX : room,
                     in->id, 0);
    ret = dns_builder_question(&builder, &question);
    ret = ret || !is_ixfr ? ret : put_our_soa(&builder, in);
    len = builder.len;
    if (!ret && in->options.key) {
        ret = tsig_sign_request(&in->tsig, in->options.key, msg, &len, room,
                                now);
    }
    return ret ? ret : (int)len;
}

/* --- results -------------------------------------------------------------- */

static DnsXfrState xfr_in_fail(DnsXfrIn *in, DnsXfrReason reason,
                               const char *why)
{
    in->stage = DONE;
    in->reason = reason;
    in->why = why;
    return DNS_XFR_FAILED;
}

/* AXFR may repair what IXFR failed to do. */
static DnsXfrState fall_back(DnsXfrIn *in, DnsXfrReason reason,
                             const char *why)
{
    xfr_in_fail(in, reason, why);
    return in->options.ask == DNS_XFR_ASK_IXFR ? DNS_XFR_AGAIN
                                               : DNS_XFR_FAILED;
}

static DnsXfrState finish_axfr(DnsXfrIn *in)
{
    int ret = axfr_image_finish(in->image);

    if (ret == -EINVAL || ret == -ENODATA) {
        return xfr_in_fail(in, DNS_XFR_NO_ZONE, ret == -ENODATA
                           ? "the zone has no NS records at its name"
                           : "the records are no zone");
    }
    return ret ? xfr_in_fail(in, DNS_XFR_LOCAL,
                             "the image could not be written")
               : DNS_XFR_IMAGE;
}

DnsXfrState dns_xfr_in_apply(DnsXfrIn *in, DnsStore *store)
{
    for (size_t i = 0; i < in->count; i++) {
        DnsChanges changes = in->change[i].changes;
        int ret;

        changes.octets = in->octets.octets + in->change[i].at;
        ret = dns_store_serial(store) == changes.from ? 0 : -EINVAL;
        ret = ret ? ret : dns_changes_apply(dns_store_begin(store), &changes);
        ret = dns_store_end(store, !ret) || ret;
        if (ret || dns_store_serial(store) != changes.to) {
            dns_store_abandon(store);
            return fall_back(in, DNS_XFR_MISFIT,
                             "the changes do not fit the zone");
        }
    }
    return DNS_XFR_CHANGED;
}

/* Do the change sets lead to the serial of the first SOA (RFC 1995 4)? */
static bool leads_there(const DnsXfrIn *in)
{
    return in->count && in->change[in->count - 1].changes.to == in->serial;
}

/* Called behind the last record, which must be the last of its message. */
static DnsXfrState finish(DnsXfrIn *in)
{
    bool is_zone = in->stage == ZONE_ENDS;

    in->stage = DONE;
    if (in->options.key && !in->is_signed) {
        return xfr_in_fail(in, DNS_XFR_SIGNATURE,
                           "the last message is not signed");
    }
    if (is_zone) {
        return finish_axfr(in);
    }
    return leads_there(in) ? DNS_XFR_CHANGES
           : fall_back(in, DNS_XFR_MISFIT,
                       "the changes do not lead to the serial of its SOA");
}

/* --- records -------------------------------------------------------------- */

static int put_change_record(DnsXfrIn *in, const DnsRr *rr,
                             const ZoneRecord *record)
{
    XfrInChange *change = &in->change[in->count - 1];
    uint8_t head[10];
    int ret = dns_buffer_add(&in->octets, rr->name.wire, rr->name.len);

    put_be16(head, record->type);
    put_be16(head + 2, in->options.rrclass);
    put_be32(head + 4, record->ttl);
    put_be16(head + 8, record->rdlength);
    ret = ret ? ret : dns_buffer_add(&in->octets, head, sizeof(head));
    ret = ret ? ret : dns_buffer_add(&in->octets, record->rdata,
                                     record->rdlength);
    if (in->stage == GONE) {
        change->changes.gone++;
    } else {
        change->changes.come++;
    }
    change->changes.len = in->octets.len - change->at;
    return ret;
}

static int begin_change(DnsXfrIn *in, uint32_t from)
{
    XfrInChange *more = realloc(in->change, (in->count + 1) * sizeof(*more));

    if (!more) {
        return -ENOMEM;
    }
    in->change = more;
    more[in->count++] = (XfrInChange) {
        .at = in->octets.len,
        .changes.from = from,
    };
    in->stage = GONE;
    return 0;
}

/* An SOA in IXFR begins deleted or added records, or is the last record. */
static bool take_ixfr_soa(DnsXfrIn *in, uint32_t serial, int *ret)
{
    if (in->stage == GONE) {
        in->stage = COME;
        in->change[in->count - 1].changes.to = serial;
    } else if (in->stage == COME && serial == in->serial) {
        return true;
    } else {
        *ret = begin_change(in, serial);
    }
    return false;
}

static DnsXfrState take_ixfr(DnsXfrIn *in, const DnsRr *rr,
                             const ZoneRecord *record)
{
    int ret = 0;

    if (record->type == DNS_TYPE_SOA &&
        take_ixfr_soa(in, dns_soa_serial(record), &ret)) {
        in->stage = CHANGES_END;
        return DNS_XFR_MORE;
    }
    ret = ret ? ret : put_change_record(in, rr, record);
    if (ret) {
        return xfr_in_fail(in, DNS_XFR_LOCAL, "there is no memory");
    }
    return in->octets.len > DNS_XFR_CHANGES_MAX
           ? fall_back(in, DNS_XFR_TOO_LARGE, "there are many changes")
           : DNS_XFR_MORE;
}

static DnsXfrState take_axfr(DnsXfrIn *in, const DnsRr *rr,
                             const ZoneRecord *record)
{
    bool is_apex = dns_name_equal(&rr->name, &in->options.zone);
    int ret;

    if (record->type == DNS_TYPE_SOA) {
        if (!is_apex || dns_soa_serial(record) != in->serial) {
            /* Perhaps changes from a serial that was not asked for */
            return fall_back(in, DNS_XFR_NO_ZONE, "there is another SOA");
        }
        in->stage = ZONE_ENDS;
        return DNS_XFR_MORE;
    }
    ret = axfr_image_add(in->image, &rr->name, record);
    return ret ? xfr_in_fail(in, DNS_XFR_LOCAL, "the records cannot be sorted")
               : DNS_XFR_MORE;
}

/* Compare the primary's serial with ours. */
static DnsXfrState compare_serial(const DnsXfrIn *in)
{
    return in->serial == in->options.serial ? DNS_XFR_CURRENT
           : dns_serial_newer(in->serial, in->options.serial)
           ? DNS_XFR_NEWER : DNS_XFR_OLDER;
}

static DnsXfrState take_first(DnsXfrIn *in, const DnsRr *rr,
                              const ZoneRecord *soa)
{
    DnsXfrState state;

    if (soa->type != DNS_TYPE_SOA ||
        !dns_name_equal(&rr->name, &in->options.zone)) {
        return fall_back(in, DNS_XFR_MALFORMED,
                         "it does not begin with the zone's SOA");
    }
    in->serial = dns_soa_serial(soa);
    in->stage = SECOND;
    state = compare_serial(in);
    if (in->options.ask == DNS_XFR_ASK_SOA ||
        (in->options.ask == DNS_XFR_ASK_IXFR && state != DNS_XFR_NEWER)) {
        in->stage = DONE;
        return state;
    }
    in->image = axfr_image_new(in->options.path, &in->options.zone,
                               in->options.rrclass, in->options.stop);
    return in->image && !axfr_image_add(in->image, &rr->name, soa)
           ? DNS_XFR_MORE
           : xfr_in_fail(in, DNS_XFR_LOCAL, "the records cannot be sorted");
}

static DnsXfrState take_record(DnsXfrIn *in, const DnsRr *rr,
                               const ZoneRecord *record)
{
    bool is_soa = record->type == DNS_TYPE_SOA;

    switch (in->stage) {
    case FIRST:
        return take_first(in, rr, record);
    case SECOND:
        if (in->options.ask == DNS_XFR_ASK_IXFR && is_soa &&
            dns_soa_serial(record) == in->options.serial) {
            axfr_image_free(in->image);
            in->image = NULL;
            in->stage = COME;
            return take_ixfr(in, rr, record);
        }
        in->stage = ZONE;
        return take_axfr(in, rr, record);
    case ZONE:
        return take_axfr(in, rr, record);
    case GONE:
    case COME:
        return take_ixfr(in, rr, record);
    default:
        return fall_back(in, DNS_XFR_MALFORMED,
                         "there are records behind the end");
    }
}

/* --- messages ------------------------------------------------------------- */

static bool verify(DnsXfrIn *in, uint8_t *msg, size_t *len, uint64_t now)
{
    TsigVerdict verdict;

    if (!in->options.key) {
        return true;
    }
    verdict = tsig_verify_reply(&in->tsig, msg, len, in->messages, now);
    in->is_signed = verdict == TSIG_GOOD;
    return in->is_signed || verdict == TSIG_NONE;
}

static const char *refusal(uint16_t rcode)
{
    switch (rcode) {
    case DNS_RCODE_REFUSED:
        return "the primary refuses the transfer";
    case DNS_RCODE_NOTAUTH:
        return "the primary does not serve the zone, or not to this key";
    case DNS_RCODE_SERVFAIL:
        return "the primary cannot serve the zone now";
    default:
        return "the primary answers with an error";
    }
}

static const char no_answer[] = "this is no answer to the query";

static DnsXfrState check_header(DnsXfrIn *in, const DnsHeader *header)
{
    uint16_t rcode = header->flags & DNS_FLAGS_RCODE;

    if (header->id != in->id || !(header->flags & DNS_FLAG_QR) ||
        header->flags & DNS_FLAGS_OPCODE) {
        return xfr_in_fail(in, DNS_XFR_MALFORMED, no_answer);
    }
    if (rcode == DNS_RCODE_NOTIMP || rcode == DNS_RCODE_FORMERR) {
        return fall_back(in, DNS_XFR_REFUSED,
                         "the primary has no incremental transfers");
    }
    if (rcode) {
        return fall_back(in, DNS_XFR_REFUSED, refusal(rcode));
    }
    if (header->flags & DNS_FLAG_TC) {
        return fall_back(in, DNS_XFR_MALFORMED, "the answer is truncated");
    }
    if (in->options.ask == DNS_XFR_ASK_SOA && !(header->flags & DNS_FLAG_AA)) {
        return xfr_in_fail(in, DNS_XFR_REFUSED,
                           "the primary does not serve the zone, or not any "
                           "more");
    }
    return DNS_XFR_MORE;
}

/* A record of an answer of either kind */
static DnsXfrState take_answer(DnsXfrIn *in, const uint8_t *msg,
                               const DnsRr *rr)
{
    ZoneRecord record = { rr->type, 0, rr->ttl, in->rdata };
    int rdlength = dns_rdata_take(msg, rr, in->options.rrclass, in->rdata);

    if (rdlength < 0 || rr->rrclass != in->options.rrclass ||
        !dns_name_within(&rr->name, &in->options.zone)) {
        return fall_back(in, DNS_XFR_MALFORMED,
                         "a record is malformed, or not of the zone");
    }
    record.rdlength = rdlength;
    in->records++;
    in->len += rr->name.len + rdlength + 10;
    if (in->options.len_max && in->len > in->options.len_max) {
        return xfr_in_fail(in, DNS_XFR_TOO_LARGE, "the zone is larger than "
                           "'transfer-limit' allows");
    }
    return take_record(in, rr, &record);
}

static DnsXfrState take_records(DnsXfrIn *in, const uint8_t *msg, size_t len)
{
    DnsXfrState state = DNS_XFR_MORE;
    unsigned count = 0;
    DnsCursor cursor;
    DnsRr rr;
    int ret = dns_cursor_init(&cursor, msg, len);

    while (!ret && (ret = dns_cursor_rr(&cursor, &rr)) > 0) {
        ret = 0;
        if (rr.section != DNS_SECTION_ANSWER) {
            break;
        }
        count++;
        state = take_answer(in, msg, &rr);
        if (state != DNS_XFR_MORE) {
            return state;
        }
    }
    if (ret < 0 || !count) {
        return fall_back(in, DNS_XFR_MALFORMED, ret < 0
                         ? "a message is malformed"
                         : "a message has no records");
    }
    return in->stage == ZONE_ENDS || in->stage == CHANGES_END ? finish(in)
                                                              : state;
}

/* Do these states end the answer behind its first record? */
static bool is_serial_alone(DnsXfrState state)
{
    return state == DNS_XFR_CURRENT || state == DNS_XFR_OLDER ||
           state == DNS_XFR_NEWER;
}

bool dns_xfr_in_is_begun(const DnsXfrIn *in)
{
    return in->options.ask == DNS_XFR_ASK_IXFR && in->stage != FIRST;
}

DnsXfrState dns_xfr_in_message(DnsXfrIn *in, uint8_t *msg, size_t len,
                               uint64_t now)
{
    DnsXfrState state;
    DnsHeader header;

    if (in->stage == DONE || dns_header_parse(msg, len, &header)) {
        return xfr_in_fail(in, DNS_XFR_MALFORMED, no_answer);
    }
    if (!verify(in, msg, &len, now)) {
        return xfr_in_fail(in, DNS_XFR_SIGNATURE, in->tsig.error
                           ? tsig_error_name(in->tsig.error)
                           : "the signature is missing or wrong");
    }
    state = check_header(in, &header);
    state = state == DNS_XFR_MORE ? take_records(in, msg, len) : state;
    if (is_serial_alone(state) && in->options.key && !in->is_signed) {
        return xfr_in_fail(in, DNS_XFR_SIGNATURE, "the answer is not signed");
    }
    in->messages++;
    return state;
}

/* --- what is known --------------------------------------------------------- */

const char *dns_xfr_reason_word(DnsXfrReason reason)
{
    static const char *const words[DNS_XFR_REASONS] = {
        [DNS_XFR_CONNECT] = "connect",
        [DNS_XFR_TIMEOUT] = "timeout",
        [DNS_XFR_CLOSED] = "closed",
        [DNS_XFR_REFUSED] = "refused",
        [DNS_XFR_SIGNATURE] = "signature",
        [DNS_XFR_MALFORMED] = "malformed",
        [DNS_XFR_NO_ZONE] = "no-zone",
        [DNS_XFR_MISFIT] = "misfit",
        [DNS_XFR_TOO_LARGE] = "too-large",
        [DNS_XFR_BEHIND] = "behind",
        [DNS_XFR_LOCAL] = "local",
        [DNS_XFR_DROPPED] = "dropped",
    };

    return words[reason];
}

uint32_t dns_xfr_in_serial(const DnsXfrIn *in)
{
    return in->serial;
}

uint64_t dns_xfr_in_dropped(const DnsXfrIn *in)
{
    return in->image ? axfr_image_dropped(in->image) : 0;
}

uint64_t dns_xfr_in_records(const DnsXfrIn *in)
{
    return in->records;
}

uint64_t dns_xfr_in_len(const DnsXfrIn *in)
{
    return in->len;
}

DnsXfrReason dns_xfr_in_reason(const DnsXfrIn *in)
{
    return in->reason;
}

const char *dns_xfr_in_why(const DnsXfrIn *in)
{
    return in->why;
}

void dns_xfr_in_free(DnsXfrIn *in)
{
    if (in) {
        axfr_image_free(in->image);
        tsig_free(&in->tsig);
        dns_buffer_free(&in->octets);
        free(in->change);
        free(in);
    }
}

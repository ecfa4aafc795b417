/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Master files: text that is printed and read again must give the same records,
 * and so must RDATA from the network.  Pieces must give the same as the whole.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "net/dns/wire/fields.h"
#include "dnsd/text/master.h"
#include "dnsd/text/print.h"

#define RECORDS_MAX     100     /* $GENERATE makes many records of few octets */
#define PRINTED_MAX     16      /* of a file: those of a kind take long */
#define STOPPED         1

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char text[DNS_PRINT_RECORD_MAX], again[DNS_PRINT_RECORD_MAX];
static DnsName origin;

typedef struct Sum {
    unsigned records;
    uint32_t hash;              /* of all that is handed out */
} Sum;

static void add(Sum *sum, const void *from, size_t len)
{
    const uint8_t *octets = from;

    for (size_t i = 0; i < len; i++) {
        sum->hash = (sum->hash ^ octets[i]) * 16777619;
    }
}

static int take_same(void *opaque, const DnsMasterRecord *record)
{
    const DnsMasterRecord *expected = opaque;

    g_assert(record->owner->len == expected->owner->len);
    g_assert(!memcmp(record->owner->wire, expected->owner->wire,
                     record->owner->len));
    g_assert(record->type == expected->type && record->ttl == expected->ttl);
    g_assert(record->rdlength == expected->rdlength);
    g_assert(!memcmp(record->rdata, expected->rdata, record->rdlength));
    return STOPPED;
}

static bool no_error(void *opaque, const DnsMasterError *error)
{
    g_error("%s: %s", text, error->text);
    return false;
}

static void check_record(const DnsMasterRecord *record)
{
    static const DnsMasterOps ops = { .record = take_same, .error = no_error };
    const DnsMasterOptions options = {
        .path = "again", .origin = &origin, .rrclass = DNS_CLASS_IN,
    };
    const DnsPrintRecord print = {
        record->owner, record->type, record->rrclass, record->ttl,
        record->rdlength, record->rdata,
    };
    int len = dns_print_record(&print, text, sizeof(text));
    DnsMasterState state;

    g_assert(len > 0 && !memchr(text, '\n', len));
    g_assert(!dns_rdata_check(record->type, record->rrclass, record->rdata,
                              record->rdlength));
    dns_master_state(&state, &options);
    g_assert(dns_master_parse(&ops, (void *)record, &options, &state, text,
                              len) == STOPPED);
}

static int hear_record(void *opaque, const DnsMasterRecord *record)
{
    Sum *sum = opaque;

    if (sum->records < PRINTED_MAX) {
        check_record(record);
    }
    add(sum, record->owner->wire, record->owner->len);
    add(sum, &record->type, sizeof(record->type));
    add(sum, &record->ttl, sizeof(record->ttl));
    add(sum, record->rdata, record->rdlength);
    return ++sum->records == RECORDS_MAX ? STOPPED : 0;
}

static bool hear_error(void *opaque, const DnsMasterError *error)
{
    for (const char *c = error->text; *c; c++) {
        g_assert(*c >= ' ' && *c <= '~');
    }
    return true;
}

static int open_nothing(void *opaque, const char *path)
{
    return -ENOENT;
}

static const DnsMasterOps ops = {
    .record = hear_record, .error = hear_error, .open = open_nothing,
};

static const DnsMasterOptions file = {
    .path = "fuzz", .origin = &origin, .rrclass = DNS_CLASS_IN,
    .errors_max = UINT_MAX,
};

static void read_file(const char *from, size_t len)
{
    Sum whole = { 0 }, pieces = { 0 };
    DnsMasterState state, next;
    bool is_right;

    dns_master_state(&state, &file);
    is_right = !dns_master_parse(&ops, &whole, &file, &state, from, len);
    dns_master_state(&state, &file);
    while (len && is_right) {
        size_t part;

        next = state;
        part = dns_master_split(&file, &next, from, len, 1);
        g_assert(part && part <= len);
        g_assert(!dns_master_parse(&ops, &pieces, &file, &state, from, part));
        g_assert(state.line == next.line);
        state = next;
        from += part;
        len -= part;
    }
    g_assert(!is_right || (whole.records == pieces.records &&
                           whole.hash == pieces.hash));
}

/* Octets as RDATA of a type: printed, read again, printed again */
static void print_rdata(uint16_t type, const uint8_t *rdata, size_t len)
{
    static uint8_t back[DNS_RDATA_MAX], folded[DNS_RDATA_MAX];
    const DnsRdataText how = { type, DNS_CLASS_IN, &origin };
    bool is_right = !dns_rdata_check(type, DNS_CLASS_IN, rdata, len);
    int text_len = dns_rdata_to_text(type, DNS_CLASS_IN, rdata, len, text,
                                     sizeof(text));
    DnsFault fault;
    int ret;

    g_assert(text_len >= 0 && text_len < DNS_RDATA_TEXT_MAX);
    ret = dns_rdata_from_text(&how, text, text_len, back, &fault);
    if (!is_right) {
        g_assert(ret == -EINVAL && fault.line == 1);
        return;
    }
    g_assert(ret == (int)len && !memcmp(back, rdata, len));
    g_assert(dns_rdata_to_text(type, DNS_CLASS_IN, back, len, again,
                               sizeof(again)) == text_len);
    g_assert(!memcmp(text, again, text_len));
    memcpy(folded, rdata, len);
    g_assert(!dns_rdata_canonical(type, DNS_CLASS_IN, folded, len));
    g_assert(!dns_rdata_compare(type, DNS_CLASS_IN, rdata, len, folded, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dns_name_from_text(&origin, "example");
    /* Text begins with a letter, a "$" or a blank; RDATA with its type. */
    if (size > 2 && size - 2 <= DNS_RDATA_MAX && data[0] < 2) {
        uint8_t *rdata = g_memdup2(data + 2, size - 2);

        print_rdata(data[0] << 8 | data[1], rdata, size - 2);
        g_free(rdata);
    } else {
        char *copy = g_memdup2(data, size);

        read_file(copy, size);
        g_free(copy);
    }
    return 0;
}

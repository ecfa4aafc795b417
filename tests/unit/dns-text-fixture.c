/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "dns-text-fixture.h"
#include "net/dns/wire/fields.h"
#include "net/dns/text/print.h"

static int hear_record(void *opaque, const DnsMasterRecord *record)
{
    static char text[DNS_PRINT_RECORD_MAX];
    const DnsPrintRecord print = {
        record->owner, record->type, record->rrclass, record->ttl,
        record->rdlength, record->rdata,
    };
    DnsTextHeard *heard = opaque;

    g_assert_cmpint(dns_rdata_check(record->type, record->rrclass,
                                    record->rdata, record->rdlength), ==, 0);
    g_assert_cmpint(dns_print_record(&print, text, sizeof(text)), ==,
                    strlen(text));
    g_string_append_printf(heard->records, "%s\n", text);
    return ++heard->count == heard->records_max ? 42 : 0;
}

static bool hear_error(void *opaque, const DnsMasterError *error)
{
    DnsTextHeard *heard = opaque;

    g_assert_nonnull(error->text);
    g_string_append_printf(heard->errors, "%s:%u:%u: %s%s\n", error->file,
                           (unsigned)error->line, error->column,
                           error->is_warning ? "warning: " : "", error->text);
    return !heard->errors_max || --heard->errors_max;
}

const DnsMasterOps dns_text_ops = {
    .record = hear_record, .error = hear_error,
};

DnsTextHeard dns_text_heard(void)
{
    return (DnsTextHeard) {
        .records = g_string_new(NULL), .errors = g_string_new(NULL),
    };
}

void dns_text_forget(DnsTextHeard *heard)
{
    g_string_free(heard->records, true);
    g_string_free(heard->errors, true);
}

DnsName dns_text_name(const char *text)
{
    DnsName name;

    g_assert_cmpint(dns_name_from_text(&name, text), ==, 0);
    return name;
}

int dns_text_parse(DnsTextHeard *heard, const char *text)
{
    DnsName origin = dns_text_name("example");
    DnsMasterOptions options = {
        .path = "zone.db", .origin = &origin, .rrclass = DNS_CLASS_IN,
    };
    DnsMasterState state;
    size_t len = strlen(text);
    /*
     * A copy of the exact length, so that a sanitizer finds overruns
     */
    char *copy = g_memdup2(text, len);
    int ret;

    dns_master_state(&state, &options);
    ret = dns_master_parse(&dns_text_ops, heard, &options, &state, copy, len);
    g_free(copy);
    return ret;
}

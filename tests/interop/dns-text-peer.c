/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads master files for a test that has others read them, too
 *
 *   dns-text-peer print FILE ORIGIN     a line for each record
 *   dns-text-peer wire FILE ORIGIN      OWNER TTL TYPE RDATA, hex and numbers
 *   dns-text-peer rdata <LINES          TYPE HEX a line: the text, or "wrong"
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/dns/wire/fields.h"
#include "dnsd/text/master.h"
#include "dnsd/text/number.h"
#include "dnsd/text/print.h"

static char text[DNS_PRINT_RECORD_MAX];

static int print_record(void *opaque, const DnsMasterRecord *record)
{
    const DnsPrintRecord print = {
        record->owner, record->type, record->rrclass, record->ttl,
        record->rdlength, record->rdata,
    };

    g_assert(dns_print_record(&print, text, sizeof(text)) > 0);
    puts(text);
    return 0;
}

static void put_hex(const uint8_t *octets, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        printf("%02x", octets[i]);
    }
}

static int put_wire(void *opaque, const DnsMasterRecord *record)
{
    put_hex(record->owner->wire, record->owner->len);
    printf(" %u %u ", record->ttl, record->type);
    put_hex(record->rdata, record->rdlength);
    putchar('\n');
    return 0;
}

static bool put_error(void *opaque, const DnsMasterError *error)
{
    if (!error->is_warning) {
        fprintf(stderr, "%s:%u:%u: %s\n", error->file, (unsigned)error->line,
                error->column, error->text);
    }
    return true;
}

static int read_file(bool is_wire, const char *path, const char *origin_text)
{
    const DnsMasterOps ops = {
        .record = is_wire ? put_wire : print_record, .error = put_error,
    };
    DnsName origin;
    const DnsMasterOptions options = {
        .path = path, .origin = &origin, .rrclass = DNS_CLASS_IN,
    };

    g_assert(!dns_name_from_text(&origin, origin_text));
    return dns_master_read(&ops, NULL, &options) ? 1 : 0;
}

static int print_rdata(void)
{
    static uint8_t rdata[DNS_RDATA_MAX];
    static char line[2 * DNS_RDATA_MAX + 16];

    while (fgets(line, sizeof(line), stdin)) {
        char *at;
        uint16_t type = strtoul(line, &at, 10);
        size_t len = 0;

        for (at++; dns_hex_digit(*at) >= 0; at += 2) {
            rdata[len++] = dns_hex_digit(at[0]) << 4 | dns_hex_digit(at[1]);
        }
        if (dns_rdata_check(type, DNS_CLASS_IN, rdata, len)) {
            puts("wrong");
            continue;
        }
        g_assert(dns_rdata_to_text(type, DNS_CLASS_IN, rdata, len, text,
                                   sizeof(text)) >= 0);
        puts(text);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "rdata")) {
        return print_rdata();
    }
    g_assert(argc == 4);
    return read_file(!strcmp(argv[1], "wire"), argv[2], argv[3]);
}

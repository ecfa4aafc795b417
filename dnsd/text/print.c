/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Print a record as a line of a master file */
#include <errno.h>

#include "dnsd/text/print.h"
#include "dnsd/text/rdata-internal.h"
#include "dnsd/text/types.h"

size_t dns_print_name(const DnsName *name, char text[DNS_PRINT_NAME_MAX])
{
    DnsPrinter p = { text, text + DNS_PRINT_NAME_MAX, false };

    dns_put_name(&p, name->wire);
    dns_put_char(&p, 0);
    return p.at - text - 1;
}

int dns_print_record(const DnsPrintRecord *record, char *text, size_t room)
{
    DnsPrinter p = { text, text + room, false };
    char rrclass[DNS_MNEMONIC_MAX];

    dns_put_name(&p, record->owner->wire);
    dns_put_char(&p, ' ');
    dns_put_number(&p, record->ttl);
    dns_put_char(&p, ' ');
    dns_put_text(&p, rrclass, dns_class_to_text(record->rrclass, rrclass));
    dns_put_char(&p, ' ');
    dns_put_type(&p, record->type);
    dns_put_char(&p, ' ');
    dns_put_rdata(&p, record->type, record->rrclass, record->rdata,
                  record->rdlength);
    dns_put_char(&p, 0);
    return p.is_full ? -ENOSPC : (int)(p.at - text - 1);
}

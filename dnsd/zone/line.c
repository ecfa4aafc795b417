/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of an image as lines of a master file */
#include "dnsd/zone/line.h"

DnsName line_owner(const ZoneNode *node)
{
    DnsName owner = { .len = node->name_len, .labels = node->labels };

    memcpy(owner.wire, node->name, node->name_len);
    return owner;
}

int line_print(Line *line, const ZoneNode *node, const ZoneRecord *record)
{
    DnsName owner = line_owner(node);
    const DnsPrintRecord printed = {
        .owner = &owner,
        .type = record->type,
        .rrclass = node->image->rrclass,
        .ttl = record->ttl,
        .rdlength = record->rdlength,
        .rdata = record->rdata,
    };

    return dns_print_record(&printed, line->text, sizeof(line->text));
}

void line_rrset(Line *line, const ZoneNode *node, const ZoneRrset *rrset,
                void (*put)(void *opaque, const char *text, size_t len),
                void *opaque)
{
    for (unsigned are_sigs = 0; are_sigs < 2; are_sigs++) {
        ZoneRecords records;
        ZoneRecord record;

        zone_records_first(node, rrset, are_sigs, &records);
        while (zone_records_next(&records, &record, line->rdata)) {
            int len = line_print(line, node, &record);

            if (len > 0) {
                put(opaque, line->text, len);
            }
        }
    }
}

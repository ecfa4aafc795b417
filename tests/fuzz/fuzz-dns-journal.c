/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hostile journal with correct checksums
 *
 * The input is records.  One octet is the length of the record in units of
 * eight, another the position before it.  Then come its fixed part from "kind"
 * on, and its octets.  The rest is the end of the file.
 */
#include <glib.h>
#include <glib/gstdio.h>

#include "dnsd/update/store/record.h"
#include "tests/fixtures/dns-store-fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static StoreBed bed;

static void add_record(GByteArray *file, const uint8_t *data, size_t len)
{
    size_t begin = file->len, whole = (JOURNAL_R_OCTETS + len + 7) & ~7ul;
    uint8_t *at;

    g_byte_array_set_size(file, begin + whole);
    at = file->data + begin;
    memset(at, 0, whole);
    memcpy(at + JOURNAL_R_KIND, data, len);
    put_le32(at, JOURNAL_MARK);
    put_le32(at + JOURNAL_R_LEN, whole);
    journal_record_seal(at, get_le64(at + JOURNAL_R_DURABLE));
}

static GByteArray *make_file(const uint8_t *data, size_t size)
{
    uint8_t begin[JOURNAL_HEADER + JOURNAL_R_OCTETS];
    GByteArray *file = g_byte_array_new();
    DnsName origin = zone_name("example");

    journal_header_put(begin, &origin, DNS_CLASS_IN);
    journal_record_base(begin + JOURNAL_HEADER, 7, 1);
    journal_record_seal(begin + JOURNAL_HEADER, 0);
    g_byte_array_append(file, begin, sizeof(begin));
    while (size) {
        size_t len = MIN(data[0] * 8u, size - 1);

        if (!len) {
            g_byte_array_append(file, data, size);
            break;
        }
        add_record(file, data + 1, len);
        data += 1 + len;
        size -= 1 + len;
    }
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GByteArray) file = make_file(data, size);
    g_autofree char *error = NULL, *path = NULL;

    if (!bed.image) {
        store_bed_make(&bed, "example", NULL, 0);
        store_bed_close(&bed);
        dns_merger_free(bed.merger);
        bed.merger = NULL;
    }
    path = g_strconcat(bed.image, ".jnl", NULL);
    g_assert_true(g_file_set_contents_full(path, (char *)file->data,
                                           file->len,
                                           G_FILE_SET_CONTENTS_NONE, 0600,
                                           NULL));
    error = store_bed_try(&bed);
    if (!error) {
        JournalReader reader;

        if (!dns_store_history(bed.store, 1, &reader)) {
            DnsBuffer buffer = { 0 };
            JournalRecord record;

            while (journal_read_next(&reader, &buffer, &record) > 0) {
                continue;
            }
            dns_buffer_free(&buffer);
            journal_reader_close(&reader);
        }
    }
    store_bed_close(&bed);
    return 0;
}

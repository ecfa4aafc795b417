/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An answer to AXFR or IXFR
 *
 * The first octet chooses the question.  Then come messages, each behind its
 * length.  Unless the answer ends as a change, the zone must be unchanged.
 */
#include <glib.h>
#include <glib/gstdio.h>

#include "base/octets.h"
#include "dnsd/update/xfr/notify.h"
#include "dnsd/update/xfr/xfr-in.h"
#include "tests/fixtures/dns-store-fixture.h"

#define ID 1

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ZoneLine zone[] = {
    { "a.example", DNS_TYPE_A, "192.0.2.1" },
    { "b.example", DNS_TYPE_A, "192.0.2.2" },
};

static StoreBed bed;

static DnsXfrState feed(DnsXfrIn *in, const uint8_t *data, size_t size)
{
    DnsXfrState state = DNS_XFR_MORE;

    while (size > 2 && state == DNS_XFR_MORE) {
        size_t len = MIN(get_be16(data), size - 2);
        g_autofree uint8_t *msg = g_memdup2(data + 2, len);

        if (len >= 4) {
            put_be16(msg, ID);
            msg[2] = 0x80 | (msg[2] & 0x07);
        }
        state = dns_xfr_in_message(in, msg, len, 0);
        data += 2 + len;
        size -= 2 + len;
    }
    return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DnsXfrInOptions options = { .rrclass = DNS_CLASS_IN };
    g_autofree char *path = NULL;
    DnsNotified notified;
    DnsXfrState state;
    DnsXfrIn *in;

    if (!bed.store) {
        store_bed_make(&bed, "example", zone, G_N_ELEMENTS(zone));
    }
    if (!size) {
        return 0;
    }
    dns_notify_parse(data, size, &notified);
    path = g_strconcat(bed.image, ".axfr", NULL);
    options.zone = zone_name("example");
    options.ask = data[0] % 3;
    options.serial = dns_store_serial(bed.store);
    options.path = path;
    in = dns_xfr_in_new(&options, ID);
    state = feed(in, data + 1, size - 1);
    state = state == DNS_XFR_CHANGES ? dns_xfr_in_apply(in, bed.store) : state;
    g_assert_cmpint(dns_store_serial(bed.store) != 1, ==,
                    state == DNS_XFR_CHANGED);
    dns_xfr_in_free(in);
    dns_store_abandon(bed.store);
    if (state == DNS_XFR_IMAGE) {
        g_assert_cmpint(g_unlink(path), ==, 0);
    }
    return 0;
}

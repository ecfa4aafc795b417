/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outcome of one question
 */

#include <stdlib.h>
#include <string.h>

#include "net/dns/client/core/result.h"

static DnscResult no_memory = {
    .error = VMMNET_DNS_RESOURCES,
    .ede = VMMNET_DNS_NO_EDE,
    .canonical = { .len = 1 },
    .reason = "out of memory",
};

DnscResult *dnsc_result_new(size_t count, size_t octets,
                            VmmnetDnsRecord **records, uint8_t **data)
{
    size_t size = sizeof(DnscResult) + count * sizeof(**records) + octets;
    DnscResult *r = calloc(1, size);

    if (!r) {
        return NULL;
    }
    r->refs = 1;
    r->ede = VMMNET_DNS_NO_EDE;
    r->canonical.len = 1;
    r->count = count;
    r->octets = size;
    *records = (VmmnetDnsRecord *)(r + 1);
    r->records = *records;
    *data = (uint8_t *)(*records + count);
    return r;
}

DnscResult *dnsc_result_error(VmmnetDnsError error, const char *reason)
{
    VmmnetDnsRecord *records;
    DnscResult *r;
    uint8_t *data;

    r = dnsc_result_new(0, 0, &records, &data);
    if (!r) {
        return &no_memory;
    }
    r->error = error;
    dnsc_result_set_reason(r, reason, strlen(reason));
    return r;
}

void dnsc_result_set_reason(DnscResult *r, const char *text, size_t len)
{
    size_t i;

    if (len >= sizeof(r->reason)) {
        len = sizeof(r->reason) - 1;
    }
    for (i = 0; i < len; i++) {
        r->reason[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    }
    r->reason[len] = '\0';
}

DnscResult *dnsc_result_ref(DnscResult *r)
{
    if (r->refs) {
        r->refs++;
    }
    return r;
}

void dnsc_result_unref(DnscResult *r)
{
    if (r && r->refs && --r->refs == 0) {
        free(r);
    }
}

bool dnsc_error_is_failure(VmmnetDnsError error)
{
    return error != VMMNET_DNS_OK && error != VMMNET_DNS_NO_NAME &&
           error != VMMNET_DNS_NO_DATA;
}

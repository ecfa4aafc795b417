/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store in a folder of its own */
#include <arpa/inet.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "dns-store-fixture.h"
#include "net/packet/octets.h"

static void publish(void *opaque, const ZoneView *view)
{
    StoreBed *bed = opaque;

    bed->view = view;
    bed->published++;
}

static void retire(void *opaque, void (*release)(void *what), void *what)
{
    release(what);
}

static void take_log(void *opaque, const char *text)
{
    StoreBed *bed = opaque;

    g_free(bed->last_log);
    bed->last_log = g_strdup(text);
}

static const DnsStoreOps ops = { publish, retire, take_log };

char *store_bed_try(StoreBed *bed)
{
    DnsStoreOptions options = {
        .image = bed->image,
        .merger = bed->merger,
        .seal_nodes = bed->seal_nodes,
        .rebase_len = bed->rebase_len,
        .history_max = bed->history_max,
    };
    DnsStoreError error;

    bed->store = dns_store_open(&options, &ops, bed, &error);
    return bed->store ? NULL : g_strdup(error.text);
}

void store_bed_open(StoreBed *bed)
{
    g_autofree char *error = store_bed_try(bed);

    g_assert_cmpstr(error, ==, NULL);
}

void store_bed_close(StoreBed *bed)
{
    if (bed->store) {
        dns_store_close(bed->store);
    }
    bed->store = NULL;
    bed->view = NULL;
}

void store_bed_make(StoreBed *bed, const char *origin, const ZoneLine *lines,
                    size_t count)
{
    g_autofree ZoneLine *all = g_new0(ZoneLine, count + 2);
    ZoneMade made;

    *bed = (StoreBed) {
        .folder = g_dir_make_tmp("dns-store-XXXXXX", NULL),
        .merger = dns_merger_new(),
        .seal_nodes = 8,
        .rebase_len = 1,
    };
    bed->image = g_build_filename(bed->folder, "zone.vzi", NULL);
    all[0] = (ZoneLine) { origin, DNS_TYPE_NS, "ns.example" };
    all[1] = (ZoneLine) { origin, DNS_TYPE_SOA, "1" };
    for (size_t i = 0; i < count; i++) {
        all[2 + i] = lines[i];
    }
    made = zone_make(origin, all, count + 2);
    g_assert_true(g_file_set_contents(bed->image, (char *)made.file, made.len,
                                      NULL));
    g_free(made.file);
    store_bed_open(bed);
}

void store_bed_free(StoreBed *bed)
{
    const char *name;
    GDir *dir;

    store_bed_close(bed);
    dns_merger_free(bed->merger);
    dir = g_dir_open(bed->folder, 0, NULL);
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(bed->folder, name, NULL);

        g_remove(path);
    }
    g_dir_close(dir);
    g_rmdir(bed->folder);
    g_free(bed->folder);
    g_free(bed->image);
    g_free(bed->last_log);
}

ZoneRecord store_record(const ZoneLine *line, uint8_t rdata[DNS_NAME_MAX])
{
    ZoneRecord record = { .type = line->type, .ttl = 300, .rdata = rdata };
    DnsName name;

    switch (line->type) {
    case DNS_TYPE_A:
        g_assert_cmpint(inet_pton(AF_INET, line->rdata, rdata), ==, 1);
        record.rdlength = 4;
        break;
    case DNS_TYPE_TXT:
        rdata[0] = strlen(line->rdata);
        memcpy(rdata + 1, line->rdata, rdata[0]);
        record.rdlength = 1 + rdata[0];
        break;
    case DNS_TYPE_SOA:
        name = zone_name("ns.example");
        memcpy(rdata, name.wire, name.len);
        record.rdlength = name.len;
        name = zone_name("root.example");
        memcpy(rdata + record.rdlength, name.wire, name.len);
        record.rdlength += name.len;
        memset(rdata + record.rdlength, 0, 20);
        packet_put32(rdata + record.rdlength,
                     g_ascii_strtoull(line->rdata, NULL, 10));
        record.rdlength += 20;
        break;
    default:
        name = zone_name(line->rdata);
        memcpy(rdata, name.wire, name.len);
        record.rdlength = name.len;
    }
    return record;
}

static int change(StoreBed *bed, const ZoneLine *line, bool add)
{
    uint8_t rdata[DNS_NAME_MAX];
    ZoneRecord record = store_record(line, rdata);
    DnsEdit *edit = dns_store_begin(bed->store);
    DnsName name = zone_name(line->owner);
    int ret = add ? dns_edit_add(edit, &name, &record)
                  : dns_edit_remove(edit, &name, &record);

    ret = ret ? ret : dns_changes_bump(edit);
    return dns_store_end(bed->store, !ret) ?: ret;
}

int store_bed_add(StoreBed *bed, const ZoneLine *line)
{
    return change(bed, line, true);
}

int store_bed_remove(StoreBed *bed, const ZoneLine *line)
{
    return change(bed, line, false);
}

bool store_bed_has(const StoreBed *bed, const ZoneLine *line)
{
    uint8_t rdata[DNS_NAME_MAX];
    ZoneRecord record = store_record(line, rdata);
    DnsName name = zone_name(line->owner);
    bool has = false;
    ZoneNode node;
    DnsNode *read;

    if (!zone_find_exact(bed->view, name.wire, name.len, &node)) {
        return false;
    }
    read = dns_node_read(&node);
    g_assert_nonnull(read);
    for (size_t i = 0; i < read->count; i++) {
        has |= !dns_record_compare(&read->record[i], &record);
    }
    g_free(read);
    return has;
}

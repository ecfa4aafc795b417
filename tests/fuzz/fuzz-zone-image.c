/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hostile zone image with correct checksums
 *
 * The input is changes to a good image, three octets each: where (two), and the
 * new octet.  Names may be found or not, but all nodes and records can be read,
 * and nothing outside the image is read.
 */
#include <glib.h>
#include <string.h>

#include "net/packet/crc32c.h"
#include "tests/fixtures/zone-fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ZoneLine lines[] = {
    { "example", DNS_TYPE_NS, "ns.example" },
    { "example", DNS_TYPE_SOA, "4711" },
    { "example", 15, "mail.example" },
    { "example", DNS_TYPE_RRSIG, "2" },
    { "alias.example", DNS_TYPE_DNAME, "target.test" },
    { "a.b.c.example", DNS_TYPE_A, "192.0.2.1" },
    { "mail.example", DNS_TYPE_AAAA, "2001:db8::25" },
    { "ns.example", DNS_TYPE_A, "192.0.2.53" },
    { "sub.example", DNS_TYPE_NS, "ns1.sub.example" },
    { "sub.example", DNS_TYPE_NS, "ns.example" },
    { "ns1.sub.example", DNS_TYPE_A, "192.0.2.54" },
    { "*.wild.example", DNS_TYPE_A, "192.0.2.3" },
};

static void read_names(const ZoneNode *node, const ZoneRrset *rrset)
{
    for (unsigned i = 0; i < rrset->targets; i++) {
        ZoneTarget target = zone_rrset_target(rrset, i);
        ZoneNode there;
        DnsName name;

        if (zone_rrset_name(node, rrset, target.at, &name)) {
            g_assert_cmpuint(name.wire[name.len - 1], ==, 0);
        }
        if (target.ref) {
            zone_node_get(node->image, target.ref, &there);
        }
    }
}

/* Reads all octets, so that the sanitizer checks them. */
static void read_octets(const uint8_t *at, size_t len)
{
    g_free(g_memdup2(at, len));
}

static void read_nodes(ZoneImage *image)
{
    ZoneCursor cursor;
    ZoneRrset rrset;
    ZoneNode node;

    for (uint32_t ref = 1; ref; ref = zone_node_next(&node)) {
        if (!zone_node_get(image, ref, &node)) {
            return;
        }
        zone_rrset_first(&node, &cursor);
        while (zone_rrset_next(&cursor, &rrset)) {
            read_octets(rrset.at, rrset.len);
            read_octets(rrset.sigs_at, rrset.sigs_len);
            read_names(&node, &rrset);
        }
    }
}

static void find_names(ZoneImage *image)
{
    static const char *const names[] = {
        "example", "a.b.c.example", "x.alias.example", "www.sub.example",
        "y.x.wild.example", "nothing.example",
    };
    ZoneView view = { .layers = 1, .layer = { image } };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        DnsName name = zone_name(names[i]);
        ZoneFound found;

        zone_find(&view, &name, &found);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ZoneMade good;
    uint8_t *file;
    ZoneImage *image;
    ZoneFault fault;

    if (!good.len) {
        good = zone_make("example", lines, G_N_ELEMENTS(lines));
    }
    file = g_memdup2(good.file, good.len);
    for (; size >= 3; size -= 3, data += 3) {
        file[(data[0] << 8 | data[1]) % good.len] = data[2];
    }
    memset(file + ZONE_H_CHECKSUM, 0, 4);
    put_le32(file + ZONE_H_CHECKSUM, packet_crc32c(0, file, ZONE_PAGE));
    image = zone_image_open(file, good.len, &fault);
    if (image) {
        zone_image_trust(image);
        read_nodes(image);
        image->failed = false;
        find_names(image);
    }
    zone_image_free(image);
    g_free(file);
    return 0;
}

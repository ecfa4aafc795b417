/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A switch's state, from one host to another */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/cvsw-of13-pieces.h"
#include "tests/fixtures/cvsw-openflow-fixture.h"
#include "hw/net/cvsw/openflow/dump.h"
#include "hw/net/cvsw/openflow/group-mod.h"
#include "hw/net/cvsw/openflow/wire.h"
#include "hw/net/cvsw/state/record.h"
#include "hw/net/cvsw/state/state.h"

enum { FLOWS_MAX = 8, MASKS_MAX = 4, EPOCH = 1000, SPI = 4096, OUT = 1,
       IN = 2 };
#define NOW_MS          (UINT64_C(1) << 48)

/* A host: its switch, and its reports. */
typedef struct Host {
    CvswState state;
    GPtrArray *records;         /* GByteArray */
    unsigned removed;
} Host;

static void count_removed(void *opaque, const CvswEntry *entry,
                          CvswRemovedWhy why)
{
    ((Host *)opaque)->removed++;
}

static Host *host_new(void)
{
    Host *h = g_new0(Host, 1);

    h->state.table = cvsw_table_new(FLOWS_MAX, MASKS_MAX, 1, count_removed, h);
    h->state.sas = cvsw_sas_new();
    memcpy(h->state.mac, "\2\0\0\0\0\1", 6);
    h->records = g_ptr_array_new_with_free_func(
        (GDestroyNotify)g_byte_array_unref);
    return h;
}

static void host_free(Host *h)
{
    cvsw_table_free(h->state.table);
    cvsw_sas_free(h->state.sas);
    g_ptr_array_unref(h->records);
    g_free(h);
}

static void add_flow(Host *h, GByteArray *msg, const CvswPast *past)
{
    CvswFlowMod mod = of_parse(msg);

    g_assert_cmpint(cvsw_table_take_over(h->state.table, &mod, past, NOW_MS),
                    ==, CVSW_FLOW_OK);
    g_byte_array_unref(msg);
}

static CvswSasFault set_sa(Host *h, uint32_t number, EspDirection direction)
{
    uint8_t key[20] = { 7 };
    EspSaConfig config = {
        .algorithm = esp_algorithm_by_name("aes-gcm-128"),
        .direction = direction,
        .spi = SPI,
        .esn = true,
        .window = direction == ESP_INBOUND ? 128 : 0,
        .epoch = EPOCH,
        .key = key,
        .key_len = sizeof(key),
    };

    return cvsw_sas_set(h->state.sas, number, &config, NULL);
}

/* Flows of both versions, with and without a past; both directions of ESP. */
static Host *source(void)
{
    static const CvswPast young, old = {
        .age_ms = 5000, .idle_ms = 2000, .packets = 3, .octets = 4000000000000,
    };
    GByteArray *msg;
    Host *h = host_new();

    msg = of13_flow("80000004 00000001" TAGGED IP4 PROTO("06")
                    "80001c02 0050", POP_VLAN OUTPUT_WIRE);
    of_put(msg, 8, "00000000000000ab 0000000000000000 00 00 0004 000a 0064");
    of_put(msg, 44, "0001");
    add_flow(h, msg, &old);
    add_flow(h, of13("", ""), &young);
    msg = of10();
    of_put(msg, 62, "0007");
    of_add(msg, "0001 0008 0064 0000 0000 0008 0002 0000");
    add_flow(h, msg, &old);
    h->state.mtu = 1430;
    h->state.denied = 6;
    g_assert_cmpint(set_sa(h, OUT, ESP_OUTBOUND), ==, CVSW_SAS_OK);
    g_assert_cmpint(set_sa(h, IN, ESP_INBOUND), ==, CVSW_SAS_OK);
    return h;
}

#define ANY             "ffffffff ffffffff 00000000"

static void add_group(Host *h, const char *hex)
{
    g_autoptr(GByteArray) msg = g_byte_array_new();
    g_auto(CvswGroupMod) mod = { 0 };

    g_byte_array_append(msg, (const uint8_t *)"\4\17\0\0\0\0\0\0", 8);
    of_add(msg, hex);
    g_assert_cmpint(cvsw_of_group_mod_parse(&mod, msg->data, msg->len), ==,
                    CVSW_OF_OK);
    g_assert_cmpint(cvsw_table_group_mod(h->state.table, &mod, NOW_MS - 1500),
                    ==, CVSW_GROUP_OK);
}

static CvswGroup *group(Host *h, uint32_t id)
{
    return cvsw_groups_find(cvsw_table_groups(h->state.table), id);
}

/* Group 2 has two buckets, group 1 goes on to it, and a flow to that. */
static Host *grouped(void)
{
    static const CvswPast young;
    Host *h = host_new();

    add_group(h, "0000 0000 00000002" "0020 0000" ANY OUTPUT_WIRE
              "0028 0000" ANY POP_VLAN OUTPUT_WIRE);
    add_group(h, "0000 0200 00000001" "0018 0000" ANY "0016 0008 00000002");
    add_flow(h, of13_flow("", "0016 0008 00000001"), &young);
    group(h, 2)->packets = 3;
    group(h, 2)->octets = 4000000000000;
    group(h, 2)->buckets[1].packets = 2;
    group(h, 2)->buckets[1].octets = 5000000000000;
    return h;
}

static void keep_record(void *opaque, const void *record, size_t len)
{
    Host *h = opaque;
    GByteArray *copy = g_byte_array_new();

    g_assert_cmpuint(len, <=, CVSW_STATE_RECORD_MAX);
    g_byte_array_append(copy, record, len);
    g_ptr_array_add(h->records, copy);
}

static void save(Host *h, bool with_sas)
{
    cvsw_state_save(&h->state, with_sas, NOW_MS, keep_record, h);
}

static uint8_t *record(Host *h, unsigned i)
{
    return ((GByteArray *)g_ptr_array_index(h->records, i))->data;
}

/* Returns: as cvsw_state_end() */
static char *load(Host *to, const Host *from)
{
    CvswStateReader reader = {
        .to = &to->state, .now_ms = NOW_MS, .epoch = EPOCH,
    };
    char *why = NULL;

    for (unsigned i = 0; i < from->records->len && !why; i++) {
        GByteArray *r = g_ptr_array_index(from->records, i);
        /* ASan detects reads beyond the end. */
        g_autofree uint8_t *copy = g_memdup2(r->data, r->len);

        why = cvsw_state_take(&reader, copy, r->len);
    }
    return why ? why : cvsw_state_end(&reader);
}

static void dump_entry(const CvswEntry *entry, void *data)
{
    cvsw_of_dump(data, entry, NOW_MS + 1);
    g_string_append_printf(data, " %u\n", entry->flags & CVSW_FLOW_OPENFLOW10);
}

static void dump_group(const CvswGroup *group, void *data)
{
    cvsw_of_dump_group(data, group);
    cvsw_of_dump_group_stats(data, group, 1, NOW_MS + 1);
}

static char *dump(const Host *h)
{
    GString *text = g_string_new(NULL);

    cvsw_groups_foreach(cvsw_table_groups(h->state.table), dump_group, text);

    cvsw_table_foreach(h->state.table, NULL, dump_entry, text);
    return g_string_free(text, false);
}

static void test_flows(void)
{
    Host *a = source(), *b = host_new();
    g_autofree char *before = dump(a), *after = NULL;

    save(a, true);
    g_assert_cmpint(a->records->len, ==, 6);
    g_assert_cmpstr(load(b, a), ==, NULL);
    after = dump(b);
    g_assert_cmpstr(after, ==, before);
    g_assert_cmpint(b->state.mtu, ==, 1430);
    g_assert_cmphex(b->state.denied, ==, 6);
    /* 2 of 4 idle seconds have passed. */
    g_assert_cmpuint(cvsw_table_expire(b->state.table, NOW_MS), ==,
                     NOW_MS + 2000);
    cvsw_table_expire(b->state.table, NOW_MS + 2000);
    g_assert_cmpint(b->removed, ==, 1);
    host_free(a);
    host_free(b);
}

/* --- ESP ------------------------------------------------------------------ */

typedef struct Packet {
    uint8_t data[128];
    size_t len;
} Packet;

static EspResult seal(Host *h, Packet *p)
{
    struct iovec iov = { "payload", 7 };

    return esp_seal(cvsw_sas_outbound(h->state.sas, OUT), 17, &iov, 1, p->data,
                    sizeof(p->data), &p->len);
}

static EspResult open_packet(Host *h, const Packet *p)
{
    struct iovec iov = { (void *)p->data, p->len };
    uint8_t out[128], next;
    size_t len;

    return esp_open(cvsw_sas_inbound(h->state.sas, SPI, IN), &iov, 1, out,
                    sizeof(out), &len, &next);
}

static uint64_t iv_of(const Packet *p)
{
    return get_be64(p->data + ESP_HEAD_LEN);
}

/* Numbers and window continue; the source encrypts nothing afterwards. */
static void test_esp(void)
{
    Host *a = source(), *b = host_new(), *peer = source();
    Packet seen[3], more, last;

    for (unsigned i = 0; i < G_N_ELEMENTS(seen); i++) {
        g_assert_cmpint(seal(a, &seen[i]), ==, ESP_GOOD);
        g_assert_cmpint(open_packet(peer, &seen[i]), ==, ESP_GOOD);
        g_assert_cmpint(open_packet(a, &seen[i]), ==, ESP_GOOD);
    }
    save(a, true);
    g_assert_cmpint(seal(a, &more), ==, ESP_OVERFLOW);
    g_assert_cmpstr(load(b, a), ==, NULL);
    g_assert_cmpint(open_packet(b, &seen[1]), ==, ESP_REPLAYED);
    g_assert_cmpint(seal(b, &more), ==, ESP_GOOD);
    g_assert_cmpuint(get_be32(more.data + 4), ==, 4);
    g_assert_cmpuint(iv_of(&more) >> 32, ==, EPOCH + 1);
    g_assert_cmpint(open_packet(peer, &more), ==, ESP_GOOD);
    g_assert_cmpint(open_packet(b, &more), ==, ESP_GOOD);
    /*
     * The migration failed: numbers that the other host may have used are
     * skipped.
     */
    cvsw_state_take_back(a->state.sas);
    g_assert_cmpint(seal(a, &last), ==, ESP_GOOD);
    g_assert_cmpuint(get_be32(last.data + 4), ==, 4 + CVSW_STATE_USED_MAX);
    g_assert_cmpuint(iv_of(&last), !=, iv_of(&more));
    g_assert_cmpint(open_packet(peer, &last), ==, ESP_GOOD);
    host_free(a);
    host_free(b);
    host_free(peer);
}

/* Groups come before the flows that name them, with their counters. */
static void test_groups(void)
{
    Host *a = grouped(), *b = host_new();
    g_autofree char *before = dump(a), *after = NULL;

    save(a, true);
    g_assert_cmpint(a->records->len, ==, 4);
    g_assert_cmpstr(load(b, a), ==, NULL);
    after = dump(b);
    g_assert_nonnull(strstr(before, "bucket1:packet_count=2,"
                                    "byte_count=5000000000000"));
    g_assert_cmpstr(after, ==, before);
    host_free(a);
    host_free(b);
}

/* A state without groups is accepted by a version without groups. */
static void test_without_groups(void)
{
    Host *a = source();

    save(a, true);
    g_assert_cmpuint(get_be16(record(a, 0) + NIC_VERSION), ==, 1);
    g_assert_cmpuint(((GByteArray *)g_ptr_array_index(a->records, 0))->len,
                     ==, NIC_LEN);
    host_free(a);
}

/* A snapshot has no keys, and the VM goes on without them. */
static void test_snapshot(void)
{
    Host *a = source(), *b = host_new();
    Packet packet;

    save(a, false);
    g_assert_cmpstr(load(b, a), ==, NULL);
    g_assert_cmpint(cvsw_sas_count(b->state.sas), ==, 0);
    g_assert_cmpint(seal(a, &packet), ==, ESP_GOOD);
    g_assert_cmpuint(get_be32(packet.data + 4), ==, 1);
    host_free(a);
    host_free(b);
}

/* --- hostile streams ------------------------------------------------------ */

static void refuses(Host *a, const char *want)
{
    Host *b = host_new();
    g_autofree char *why = load(b, a);

    g_assert_cmpstr(why, ==, want);
    host_free(b);
}

/* One octet of a record is changed. */
static void test_octets(void)
{
    static const struct {
        unsigned record, at;
        uint8_t value;
        const char *want;
    } all[] = {
        { 0, 0, 9, "a record has the type 9" },
        { 0, NIC_VERSION + 1, 3, "version is 3, not 1 or 2" },
        { 0, NIC_VERSION + 1, 2, "a record of the NIC is truncated" },
        { 0, NIC_MAC + 5, 9, "mac=02:00:00:00:00:01 here is not "
          "02:00:00:00:00:09, which the NIC had" },
        { 0, NIC_DROP_MISSES, 1, "miss=normal here is not drop, which the NIC "
          "had" },
        { 0, NIC_DROP_MISSES, 2, "miss is 2, not 0 or 1" },
        { 0, NIC_DENIED + 3, 0x80, "offloads 0x80 are unknown" },
        { 0, NIC_FLOWS + 3, 9, "flows=8 here has no room for 9 flows" },
        { 0, NIC_FLOWS + 3, 4, "3 of 4 flows and 2 of 2 associations were "
                               "received" },
        { 0, NIC_FLOWS + 3, 2, "flow 3 was not announced" },
        { 0, NIC_SAS, 1, "16777218 associations are more than 4096" },
        { 0, NIC_SAS + 3, 1, "association 2 was not announced" },
        { 1, FLOW_FLAGS, 4, "flow 1: has unknown flags" },
        { 1, FLOW_AGE, 0x80, "flow 1: has an invalid age" },
        { 1, FLOW_IDLE, 1, "flow 1: has an invalid age" },
        { 1, FLOW_MOD + 25, 3, "flow 1: has a command that adds no flow" },
        { 1, FLOW_MOD + 25, 9, "flow 1: OFPFMFC_BAD_COMMAND" },
        { 1, FLOW_MOD + 24, 1, "flow 1: OFPFMFC_BAD_TABLE_ID" },
        { 1, FLOW_MOD, 5, "flow 1: OFPBRC_BAD_VERSION" },
        { 4, SA_NUMBER + 3, 0, "association 0 was not announced" },
        { 4, SA_SPI + 2, 0, "association 1 has an spi that is reserved" },
        { 4, SA_DIRECTION, 3, "association 1 has an invalid direction" },
        { 4, SA_ESN, 2, "association 1 has an esn that is not 0 or 1" },
        { 4, SA_ESN, 0, NULL },
        { 4, SA_ALGORITHM, 'b', "association 1 has an unknown algorithm" },
        { 4, SA_ALGORITHM + 8, '2', "association 1 has an unknown algorithm" },
        { 5, SA_NUMBER + 3, 1, "association 1 is there twice" },
        { 5, SA_WINDOW + 1, 1, "association 2 has an invalid window" },
        { 5, SA_TOP, 1, NULL },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        Host *a = source();

        save(a, true);
        record(a, all[i].record)[all[i].at] = all[i].value;
        refuses(a, all[i].want);
        host_free(a);
    }
}

static void test_group_octets(void)
{
    static const struct {
        unsigned record, at;
        uint8_t value;
        const char *want;
    } all[] = {
        { 0, NIC_VERSION + 1, 1, "a record of the NIC is truncated" },
        { 0, NIC_GROUPS, 1, "16777218 groups are more than 64" },
        { 0, NIC_GROUPS + 3, 1, "group 2 was not announced" },
        { 0, NIC_GROUPS + 3, 3, "2 of 3 groups were received" },
        { 1, GROUP_AGE, 0x80, "group 1: has an invalid age" },
        { 1, GROUP_MOD, 1, "group 1: OFPBRC_BAD_VERSION" },
        { 1, GROUP_MOD + OGM13_COMMAND + 1, 2,
          "group 1: has a command that adds no group" },
        { 1, GROUP_MOD + OGM13_TYPE, 1, "group 1: OFPGMFC_BAD_TYPE" },
        { 1, GROUP_MOD + OGM13_GROUP_ID + 3, 1,
          "group 2: OFPGMFC_GROUP_EXISTS" },
        { 1, GROUP_MOD + OGM13_GROUP_ID + 3, 3,
          "group 2: OFPBAC_BAD_OUT_GROUP" },
        { 1, GROUP_MOD + OFP_HEADER_LENGTH + 1, 0x30,
          "group 1: does not have the counters of its buckets" },
        { 2, GROUP_MOD + OGM13_GROUP_ID + 3, 9,
          "flow 1: a group of it is missing" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        Host *a = grouped();

        save(a, true);
        record(a, all[i].record)[all[i].at] = all[i].value;
        refuses(a, all[i].want);
        host_free(a);
    }
}

static void test_more(void)
{
    Host *a = source();

    save(a, true);
    memset(record(a, 4) + SA_EPOCH, 0xff, 4);
    refuses(a, "association 1 has the last possible epoch");
    memset(record(a, 4) + SA_EPOCH, 0, 4);
    record(a, 5)[SA_ESN] = 0;
    record(a, 5)[SA_TOP] = 1;
    refuses(a, "association 2 has a number of 64 bits without esn");
    g_ptr_array_remove_index(a->records, 2);
    g_ptr_array_insert(a->records, 2, g_byte_array_ref(
        g_ptr_array_index(a->records, 1)));
    refuses(a, "flow 2 is there twice");
    g_ptr_array_remove_index(a->records, 0);
    refuses(a, "flow 1 was not announced");
    g_ptr_array_set_size(a->records, 0);
    refuses(a, "the record of the NIC is missing");
    host_free(a);
}

static void test_masks(void)
{
    static const char *const fields[] = {
        "80000004 00000001", "80000a02 0800", "80000c02 1064",
        "80000606 020000000001", "80000806 020000000001",
    };
    static const CvswPast past;
    Host *a = host_new();

    cvsw_table_free(a->state.table);
    a->state.table = cvsw_table_new(FLOWS_MAX, 8, 1, NULL, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        add_flow(a, of13(fields[i], ""), &past);
    }
    save(a, true);
    refuses(a, "flow 5: masks=4 here has no room for its mask");
    host_free(a);
}

/* Each prefix of each record, and each octet with any bit flipped. */
static void any(Host *a)
{
    save(a, true);
    for (unsigned i = 0; i < a->records->len; i++) {
        GByteArray *r = g_ptr_array_index(a->records, i);
        guint len = r->len;

        for (r->len = 0; r->len < len; r->len++) {
            Host *b = host_new();
            g_autofree char *why = load(b, a);

            g_assert_nonnull(why);
            host_free(b);
        }
        for (guint bit = 0; bit < 8 * len; bit++) {
            Host *b = host_new();
            g_autofree char *why = NULL;

            r->data[bit / 8] ^= 1 << bit % 8;
            why = load(b, a);
            r->data[bit / 8] ^= 1 << bit % 8;
            host_free(b);
        }
    }
    refuses(a, NULL);
    host_free(a);
}

static void test_any(void)
{
    any(source());
    any(grouped());
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/state/flows", test_flows);
    g_test_add_func("/cvsw/state/groups", test_groups);
    g_test_add_func("/cvsw/state/without-groups", test_without_groups);
    g_test_add_func("/cvsw/state/esp", test_esp);
    g_test_add_func("/cvsw/state/snapshot", test_snapshot);
    g_test_add_func("/cvsw/state/octets", test_octets);
    g_test_add_func("/cvsw/state/group-octets", test_group_octets);
    g_test_add_func("/cvsw/state/more", test_more);
    g_test_add_func("/cvsw/state/masks", test_masks);
    g_test_add_func("/cvsw/state/any", test_any);
    return g_test_run();
}

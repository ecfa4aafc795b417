/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A switch's state from a hostile stream
 *
 * Input: records, each behind two octets of its length. A record of the NIC has
 * the version and the address made right if the first octet of the input is
 * even.
 *
 * What is taken can be told, and what is told is taken by another NIC and told
 * as the same once more; flows end when their time has come.
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "hw/net/cvsw/state/record.h"
#include "hw/net/cvsw/state/state.h"

#define NOW_MS          (UINT64_C(1) << 48)
#define FLOWS_MAX       64
#define MASKS_MAX       16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };

static CvswState new_state(void)
{
    CvswState s = {
        .table = cvsw_table_new(FLOWS_MAX, MASKS_MAX, 1, NULL, NULL),
        .sas = cvsw_sas_new(),
    };

    memcpy(s.mac, mac, sizeof(mac));
    return s;
}

static void end_state(CvswState *s)
{
    cvsw_table_free(s->table);
    cvsw_sas_free(s->sas);
}

static CvswStateReader reader_of(CvswState *s)
{
    return (CvswStateReader) { .to = s, .now_ms = NOW_MS, .epoch = 1 };
}

/* Returns: false if it is refused */
static bool take(CvswStateReader *r, const uint8_t *record, size_t len,
                 bool mended)
{
    g_autofree uint8_t *copy = g_memdup2(record, len);
    g_autofree char *why = NULL;

    if (mended && len >= NIC_LEN && copy[0] == RECORD_NIC) {
        put_be16(copy + NIC_VERSION, len == NIC_GROUPS_LEN ?
                 CVSW_STATE_GROUPS : CVSW_STATE_VERSION);
        memcpy(copy + NIC_MAC, mac, sizeof(mac));
    }
    why = cvsw_state_take(r, copy, len);
    g_assert(!why || *why);
    return !why;
}

static bool take_all(CvswState *s, const uint8_t *data, size_t size)
{
    CvswStateReader reader = reader_of(s);
    bool mended = !(data[0] & 1);
    g_autofree char *why = NULL;

    for (data++, size--; size >= 2;) {
        size_t len = MIN(get_be16(data), size - 2);

        if (!take(&reader, data + 2, len, mended)) {
            return false;
        }
        data += 2 + len;
        size -= 2 + len;
    }
    why = cvsw_state_end(&reader);
    return !why;
}

static void keep(void *opaque, const void *record, size_t len)
{
    uint8_t head[2];

    put_be16(head, len);
    g_byte_array_append(opaque, head, sizeof(head));
    g_byte_array_append(opaque, record, len);
}

/* The epochs of associations are later ones at each host. */
static void forget_epochs(GByteArray *told)
{
    for (uint8_t *p = told->data, *end = p + told->len; p < end;
         p += 2 + get_be16(p)) {
        if (p[2] == RECORD_SA) {
            memset(p + 2 + SA_EPOCH, 0, 4);
        }
    }
}

static GByteArray *tell(const CvswState *s)
{
    GByteArray *told = g_byte_array_new();

    cvsw_state_save(s, true, NOW_MS, keep, told);
    return told;
}

static void check_taken(const CvswState *s)
{
    g_autoptr(GByteArray) first = tell(s), second = NULL, stream = NULL;
    CvswState other = new_state();

    other.drop_misses = s->drop_misses;
    forget_epochs(first);
    stream = g_byte_array_new();
    g_byte_array_append(stream, (const uint8_t *)"", 1);
    g_byte_array_append(stream, first->data, first->len);
    g_assert(take_all(&other, stream->data, stream->len));
    second = tell(&other);
    forget_epochs(second);
    g_assert(first->len == second->len);
    g_assert(!memcmp(first->data, second->data, first->len));
    g_assert(cvsw_table_expire(other.table, NOW_MS) > NOW_MS);
    end_state(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CvswState s = new_state();

    if (size > 1 && take_all(&s, data, size)) {
        check_taken(&s);
    }
    end_state(&s);
    return 0;
}

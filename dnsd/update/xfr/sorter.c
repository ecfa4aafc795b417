/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records sorted for an image, in a file if there are many */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dnsd/update/change/buffer.h"
#include "dnsd/update/change/key.h"
#include "dnsd/update/change/records.h"
#include "dnsd/update/xfr/sorter.h"

/* A record in memory and in the file; its length is a multiple of 8 */
typedef struct Entry {
    uint32_t len;
    uint32_t ttl;
    uint16_t type;
    uint16_t rdlength;
    uint16_t key_len;
    uint8_t name_len;
    uint8_t labels;
    uint8_t octets[];           /* key, name, RDATA */
} Entry;

typedef struct Run {
    uint64_t at;                /* in the file */
    uint64_t end;
} Run;

struct DnsSorter {
    size_t memory;
    uint8_t *arena;
    size_t used;
    size_t count;
    size_t room;
    const Entry **entry;        /* in the arena */
    int fd;
    uint64_t file_len;
    size_t runs;
    Run *run;
    const uint8_t *map;
};

/* --- entries -------------------------------------------------------------- */

static ZoneRecord record_of(const Entry *e)
{
    return (ZoneRecord) { e->type, e->rdlength, e->ttl,
                          e->octets + e->key_len + e->name_len };
}

static int compare_entries(const Entry *a, const Entry *b)
{
    unsigned least = a->key_len < b->key_len ? a->key_len : b->key_len;
    int differ = memcmp(a->octets, b->octets, least);
    ZoneRecord x, y;

    differ = differ ? differ : a->key_len - b->key_len;
    if (differ) {
        return differ;
    }
    x = record_of(a);
    y = record_of(b);
    return dns_record_compare(&x, &y);
}

static int compare(const void *a, const void *b)
{
    return compare_entries(*(const Entry *const *)a, *(const Entry *const *)b);
}

static void sort(DnsSorter *s)
{
    qsort(s->entry, s->count, sizeof(*s->entry), compare);
}

/* --- runs ----------------------------------------------------------------- */

static int write_run(DnsSorter *s)
{
    Run *more = realloc(s->run, (s->runs + 1) * sizeof(*more));
    DnsBuffer buffer = { 0 };
    int ret = more ? 0 : -ENOMEM;

    s->run = more ? more : s->run;
    sort(s);
    for (size_t i = 0; i < s->count && !ret; i++) {
        ret = dns_buffer_add(&buffer, s->entry[i], s->entry[i]->len);
    }
    for (size_t at = 0; at < buffer.len && !ret;) {
        ssize_t n = pwrite(s->fd, buffer.octets + at, buffer.len - at,
                           s->file_len + at);

        ret = n < 0 && errno != EINTR ? -errno : 0;
        at += n < 0 ? 0 : n;
    }
    if (!ret) {
        s->run[s->runs++] = (Run) { s->file_len, s->file_len + buffer.len };
        s->file_len += buffer.len;
        s->used = s->count = 0;
    }
    dns_buffer_free(&buffer);
    return ret;
}

static int make_room(DnsSorter *s, size_t len)
{
    size_t room = s->room ? 2 * s->room : 1024;
    const Entry **more;
    int ret = s->memory - s->used < len ? write_run(s) : 0;

    if (ret || s->count < s->room) {
        return ret;
    }
    more = realloc(s->entry, room * sizeof(*more));
    if (!more) {
        return -ENOMEM;
    }
    s->entry = more;
    s->room = room;
    return 0;
}

int dns_sorter_add(DnsSorter *s, const DnsName *name, const ZoneRecord *record)
{
    NameKey key;
    Entry *e;
    size_t len;
    int ret;

    name_key_init(&key, name->wire);
    len = sizeof(*e) + key.len + name->len + record->rdlength;
    len = (len + 7) & ~(size_t)7;
    ret = make_room(s, len);
    if (ret) {
        return ret;
    }
    e = (Entry *)(s->arena + s->used);
    *e = (Entry) {
        .len = len,
        .ttl = record->ttl,
        .type = record->type,
        .rdlength = record->rdlength,
        .key_len = key.len,
        .name_len = name->len,
        .labels = name->labels,
    };
    memcpy(e->octets, key.octets, key.len);
    memcpy(e->octets + key.len, name->wire, name->len);
    if (record->rdlength) {
        memcpy(e->octets + key.len + name->len, record->rdata,
               record->rdlength);
    }
    s->used += len;
    s->entry[s->count++] = e;
    return 0;
}

/* --- merged --------------------------------------------------------------- */

typedef int DnsSorterEach(void *opaque, const DnsName *name,
                          const ZoneRecord *record);

static int hand_out(const Entry *e, DnsSorterEach *each, void *opaque)
{
    DnsName name = { .len = e->name_len, .labels = e->labels };
    ZoneRecord record = record_of(e);

    memcpy(name.wire, e->octets + e->key_len, e->name_len);
    return each(opaque, &name, &record);
}

/* The first remaining entry of a run, or of the memory */
static const Entry *first_of(DnsSorter *s, size_t next, Run **run)
{
    const Entry *first = next < s->count ? s->entry[next] : NULL;

    *run = NULL;
    for (size_t i = 0; i < s->runs; i++) {
        const Entry *e = (const Entry *)(s->map + s->run[i].at);

        if (s->run[i].at < s->run[i].end &&
            (!first || compare_entries(e, first) < 0)) {
            first = e;
            *run = &s->run[i];
        }
    }
    return first;
}

int dns_sorter_each(DnsSorter *s, DnsSorterEach *each, void *opaque)
{
    size_t next = 0;
    const Entry *e;
    Run *run;
    int ret = 0;

    sort(s);
    if (s->file_len) {
        void *map = mmap(NULL, s->file_len, PROT_READ, MAP_PRIVATE, s->fd, 0);

        if (map == MAP_FAILED) {
            return -errno;
        }
        s->map = map;
    }
    while (!ret && (e = first_of(s, next, &run))) {
        ret = hand_out(e, each, opaque);
        if (run) {
            run->at += e->len;
        } else {
            next++;
        }
    }
    return ret;
}

/* --- life ----------------------------------------------------------------- */

DnsSorter *dns_sorter_new(const char *folder, size_t memory)
{
    DnsSorter *s = calloc(1, sizeof(*s));

    if (!s) {
        return NULL;
    }
    /* At least one entry must fit. */
    s->memory = memory < 128 * 1024 ? 128 * 1024 : memory;
    s->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    s->arena = mmap(NULL, s->memory, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s->fd < 0 || s->arena == MAP_FAILED) {
        dns_sorter_free(s);
        return NULL;
    }
    return s;
}

void dns_sorter_free(DnsSorter *s)
{
    if (s) {
        if (s->map) {
            munmap((void *)s->map, s->file_len);
        }
        if (s->fd >= 0) {
            close(s->fd);
        }
        if (s->arena != MAP_FAILED) {
            munmap(s->arena, s->memory);
        }
        free(s->entry);
        free(s->run);
        free(s);
    }
}

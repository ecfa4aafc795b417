/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structures that threads share without a lock, under ThreadSanitizer
 *
 * It reports a plain access that no ordering separates from another thread's.
 * So each test has plain data behind the structure, which the owner overwrites
 * as soon as no reader can have them.
 *
 * ThreadSanitizer makes no load overtake an earlier store, so it shows no
 * missing barrier between the two: weak-memory.cc has such pairs.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dnsd/server/host/fault.h"
#include "dnsd/server/workers/epoch.h"
#include "net/dns/zone/filter.h"
#include "net/hostvlan/guard.h"

#define READERS     2
#define ROUNDS      5000
#define FILES       300
#define PAGE        65536       /* a page of every architecture ends there */

#define CHECK(what) do {                                                    \
        if (!(what)) {                                                      \
            printf("Bail out! line %d: %s\n", __LINE__, #what);             \
            fflush(stdout);                                                 \
            abort();                                                        \
        }                                                                   \
    } while (0)

static atomic_bool stop;

static void run(void *(*reader)(void *), void (*writer)(void))
{
    pthread_t thread[READERS];

    atomic_store(&stop, false);
    for (uintptr_t i = 0; i < READERS; i++) {
        CHECK(!pthread_create(&thread[i], NULL, reader, (void *)i));
    }
    writer();
    atomic_store_explicit(&stop, true, memory_order_relaxed);
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(thread[i], NULL);
    }
}

static bool is_going_on(void)
{
    return !atomic_load_explicit(&stop, memory_order_relaxed);
}

/* --- epoch, view and filter ----------------------------------------------- */

typedef struct View {
    uint64_t hash;              /* of a name that the filter has */
    const ZoneFilter *filter;
} View;

static DnsdEpoch epoch;
static DnsdReaderMark marks[READERS];
static DnsdReaderMark *const mark[READERS] = { &marks[0], &marks[1] };
static _Atomic(const View *) live;
static ZoneFilterBlock blocks[64];
static ZoneFilter filter = { .blocks = 64, .block = blocks };

static void *read_epoch(void *opaque)
{
    DnsdReaderMark *mine = &marks[(uintptr_t)opaque];

    while (is_going_on()) {
        const View *serving = dnsd_epoch_begin(&epoch, mine);
        const View *view = atomic_load(&live);

        CHECK(serving->hash);
        CHECK(view->hash && zone_filter_has(view->filter, view->hash));
        dnsd_epoch_end(mine);
    }
    return NULL;
}

static void wait_for_readers(uint64_t number)
{
    for (unsigned i = 0; i < READERS; i++) {
        while (!dnsd_epoch_is_past(number, mark[i])) {
            sched_yield();
        }
    }
}

static void replace_epoch(void)
{
    static View serving[2], view[2];

    for (unsigned i = 1; i < ROUNDS; i++) {
        View *next = &view[i & 1];
        const View *old = atomic_load(&live);

        /* The one before the last is free: nobody reads it. */
        *next = (View) { i * UINT64_C(0x9e3779b97f4a7c15), &filter };
        zone_filter_add(&filter, next->hash);
        atomic_store(&live, next);
        wait_for_readers(dnsd_epoch_advance(&epoch));
        ((View *)old)->hash = 0;

        serving[i & 1].hash = i;
        old = dnsd_epoch_replace(&epoch, &serving[i & 1], mark, READERS);
        ((View *)old)->hash = 0;
    }
}

static void test_epoch(void)
{
    static View first[2] = { { 1, &filter }, { 1, &filter } };

    zone_filter_add(&filter, 1);
    dnsd_epoch_init(&epoch, &first[0]);
    atomic_init(&live, &first[1]);
    run(read_epoch, replace_epoch);
}

/* --- files that are truncated while they are read ------------------------- */

typedef struct File {
    DnsdMapping mapping;
    atomic_bool failed;
    bool is_late;               /* told of "failed" when it is truncated */
    int guard;                  /* of HostVLAN; -1: mapping is used */
} File;

static _Atomic(File *) file;
static atomic_uint readers;     /* that have the file */

static uint8_t *map_file(int *fd)
{
    uint8_t *base;

    *fd = memfd_create("memory-order", MFD_CLOEXEC);
    CHECK(*fd >= 0 && !ftruncate(*fd, PAGE));
    base = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    CHECK(base != MAP_FAILED);
    memset(base, 1, PAGE);
    return base;
}

/*
 * Reads until it has found zeros; then the file must be known as lost.  For
 * ThreadSanitizer, a handler's mmap() is a write that races with it.
 */
__attribute__((no_sanitize("thread")))
static void read_until_lost(const File *f)
{
    /* volatile: each turn of the loop reads it again. */
    const volatile uint8_t *base = f->mapping.base;

    while (base[PAGE - 1]) {
        continue;
    }
    if (f->guard < 0 && !f->is_late) {
        atomic_thread_fence(memory_order_acquire);
        CHECK(atomic_load_explicit(&f->failed, memory_order_relaxed));
    }
}

static void *read_files(void *opaque)
{
    File *last = NULL;

    hostvlan_guard_arm();
    while (is_going_on()) {
        File *f = atomic_load(&file);

        if (f && f != last) {
            read_until_lost(f);
            last = f;
            atomic_fetch_add(&readers, 1);
        }
    }
    return NULL;
}

static void truncate_files(bool guarded)
{
    static File all[FILES];

    memset(all, 0, sizeof(all));
    for (unsigned i = 0; i < FILES; i++) {
        int fd, other_fd, other;
        uint8_t *base = map_file(&fd), *beside = map_file(&other_fd);

        all[i].mapping.base = base;
        all[i].mapping.len = PAGE;
        all[i].guard = guarded ? hostvlan_guard_add(base, PAGE) : -1;
        CHECK(!guarded || all[i].guard >= 0);
        all[i].is_late = i & 1;
        if (!guarded) {
            dnsd_fault_add(&all[i].mapping);
        }
        if (!guarded && !all[i].is_late) {
            dnsd_fault_tell(&all[i].mapping, &all[i].failed);
        }
        atomic_store(&readers, 0);
        atomic_store(&file, &all[i]);
        CHECK(!ftruncate(fd, 0));
        if (!guarded && all[i].is_late) {
            dnsd_fault_tell(&all[i].mapping, &all[i].failed);
        }
        do {
            /* A table of another size comes and goes meanwhile. */
            other = guarded ? hostvlan_guard_add(beside, PAGE) : -1;
            sched_yield();
            if (guarded) {
                CHECK(!hostvlan_guard_lost(other));
                hostvlan_guard_remove(other);
            }
        } while (atomic_load(&readers) < READERS);
        if (guarded) {
            CHECK(hostvlan_guard_lost(all[i].guard));
            hostvlan_guard_remove(all[i].guard);
        } else {
            CHECK(atomic_load(&all[i].failed));
            dnsd_fault_remove(&all[i].mapping);
        }
        munmap(base, PAGE);
        munmap(beside, PAGE);
        close(fd);
        close(other_fd);
    }
    atomic_store(&file, NULL);
}

static void truncate_images(void)
{
    truncate_files(false);
}

static void truncate_tables(void)
{
    truncate_files(true);
}

static void test_fault(void)
{
    CHECK(!dnsd_fault_init(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
    run(read_files, truncate_images);
}

/* Last: it replaces the handler of SIGBUS. */
static void test_guard(void)
{
    run(read_files, truncate_tables);
}

int main(void)
{
    setlinebuf(stdout);
    puts("1..3");
    test_epoch();
    puts("ok 1 - epoch, view and filter");
    test_fault();
    puts("ok 2 - zone images that are truncated");
    test_guard();
    puts("ok 3 - LNID tables that are truncated");
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped files that others may truncate
 *
 * The signal handler runs in the thread that read the page, at any point.  So
 * it takes no lock and only calls mmap() and write(), which are plain system
 * calls.  Then the load is repeated, and finds zeros.
 *
 * Memory order.  Other threads find the zeros without a signal.  So each
 * handler sets "lost" and "failed" before it maps the zeros, also if another
 * one has begun to.  A reader looks at them after its loads, behind an acquire
 * fence (zone_view_failed()): if it has read zeros, it sees the flag.
 *
 * dnsd_fault_tell() stores "failed" and then loads "lost"; a handler stores
 * "lost" and then loads "failed".  All four are sequentially consistent: with
 * less, both could miss the other's store.  The list is changed under the lock,
 * and a mapping is complete before it is in the list.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dnsd/server/host/fault.h"

/* for changes of the list */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(DnsdMapping *) mappings;
static int wake_fd;
static uintptr_t page_len;

static DnsdMapping *find(uintptr_t address)
{
    DnsdMapping *m = atomic_load(&mappings);

    while (m && address - (uintptr_t)m->base >= m->len) {
        m = atomic_load(&m->next);
    }
    return m;
}

/*
 * Not our mapping: repeat the load without a handler, which kills the process.
 */
static void give_up(void)
{
    const struct sigaction action = { .sa_handler = SIG_DFL };

    sigaction(SIGBUS, &action, NULL);
}

static void page_is_lost(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    DnsdMapping *m = find(address);
    bool was_lost = m && atomic_exchange(&m->lost, true);
    atomic_bool *failed = m ? atomic_load(&m->failed) : NULL;
    uint64_t one = 1;
    int saved = errno;

    if (failed) {
        atomic_store(failed, true);
    }
    if (!m || mmap((void *)(address & -page_len), page_len, PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                   0) == MAP_FAILED) {
        give_up();
        return;
    }
    if (!was_lost && write(wake_fd, &one, sizeof(one)) < 0) {
        errno = saved;          /* it is reported at the next check */
    }
    errno = saved;
}

int dnsd_fault_init(int wake)
{
    struct sigaction action = {
        .sa_sigaction = page_is_lost,
        .sa_flags = SA_SIGINFO | SA_NODEFER,
    };

    wake_fd = wake;
    page_len = sysconf(_SC_PAGESIZE);
    return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

void dnsd_fault_add(DnsdMapping *mapping)
{
    DnsdMapping *next;

    pthread_mutex_lock(&lock);
    next = atomic_load(&mappings);
    mapping->previous = NULL;
    atomic_store(&mapping->next, next);
    if (next) {
        next->previous = mapping;
    }
    atomic_store(&mappings, mapping);
    pthread_mutex_unlock(&lock);
}

void dnsd_fault_tell(DnsdMapping *mapping, atomic_bool *failed)
{
    atomic_store(&mapping->failed, failed);
    if (atomic_load(&mapping->lost)) {
        atomic_store(failed, true);
    }
}

void dnsd_fault_remove(DnsdMapping *mapping)
{
    DnsdMapping *next, *previous;

    pthread_mutex_lock(&lock);
    next = atomic_load(&mapping->next);
    previous = mapping->previous;
    if (next) {
        next->previous = previous;
    }
    atomic_store(previous ? &previous->next : &mappings, next);
    pthread_mutex_unlock(&lock);
}

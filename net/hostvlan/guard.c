/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped files that other processes may truncate while they are read
 *
 * Theory of operation
 *
 * The ranges are in a fixed array, so the signal handler needs no lock and no
 * memory allocation. Each range has a sequence number, which is odd while the
 * range is being changed. A handler skips a range with an odd number: it cannot
 * be the range of the faulting access, because a range in use does not change.
 *
 * Memory order: a sequence lock. The writer's release fence puts the odd
 * number before base and size, and its last store releases them. A handler
 * acquires the number, and its acquire fence puts base and size before the
 * second look at it. It compares the address with the base and size of one
 * such look: with those of two it would zero, or map over, a range that
 * another thread is removing.
 *
 * The handler replaces the whole range by zeros, not only the missing page: a
 * partial table would be inconsistent. The reader repeats its access and reads
 * zeros, which everywhere mean "not in the table" (table.c). "lost" tells the
 * owner to open the file again.
 *
 * Other users of SIGBUS. The kernel reports memory errors with it: to QEMU's
 * main thread in advance (BUS_MCEERR_AO), which blocks the signal and reads it
 * from a signalfd, and to a vCPU thread that accessed the memory
 * (BUS_MCEERR_AR). A thread that reads tables must not block SIGBUS. For a
 * thread in which hostvlan_guard_arm() has unblocked it, the handler therefore
 * does what blocking would have done: a signal from another source is queued
 * again and blocked, so the signalfd gets it; a signal that the thread itself
 * has caused ends the process. All other signals are passed to the previous
 * handler.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "net/hostvlan/guard.h"

typedef struct Range {
    unsigned seq;               /* odd: being changed */
    unsigned lost;
    uintptr_t base, size;       /* base 0: unused */
} Range;

static Range ranges[HOSTVLAN_GUARD_RANGES];
static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;
static bool installed;          /* protected by ranges_lock */
static struct sigaction before; /* never changes once installed */

__thread bool hostvlan_guard_is_armed;
/* hostvlan_guard_arm() has unblocked SIGBUS in this thread. */
static __thread bool was_blocked;

/* --- in the signal handler: no locks, no allocation, no library ---------- */

/* Replaces the range by zeros if it has @addr. */
static bool lose(Range *r, uintptr_t addr)
{
    unsigned seq = __atomic_load_n(&r->seq, __ATOMIC_ACQUIRE);
    uintptr_t base = __atomic_load_n(&r->base, __ATOMIC_RELAXED);
    uintptr_t size = __atomic_load_n(&r->size, __ATOMIC_RELAXED);

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!base || addr - base >= size || seq & 1 ||
        seq != __atomic_load_n(&r->seq, __ATOMIC_RELAXED) ||
        mmap((void *)base, size, PROT_READ,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) {
        return false;
    }
    __atomic_store_n(&r->lost, 1, __ATOMIC_RELEASE);
    return true;
}

static bool lose_range_of(uintptr_t addr)
{
    for (unsigned i = 0; i < HOSTVLAN_GUARD_RANGES; i++) {
        if (lose(&ranges[i], addr)) {
            return true;
        }
    }
    return false;
}

/* The repeated access then ends the process. */
static void end_process(void)
{
    struct sigaction action = { .sa_handler = SIG_DFL };

    sigaction(SIGBUS, &action, NULL);
}

/* Queues and blocks the signal again in this thread, for a signalfd. */
static void put_back(siginfo_t *info, ucontext_t *context)
{
    sigaddset(&context->uc_sigmask, SIGBUS);
    hostvlan_guard_is_armed = false;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGBUS,
            info);
}

/* Was it caused by an access of this thread? Sent signals have codes <= 0. */
static bool is_synchronous(const siginfo_t *info)
{
    return info->si_code > 0 && info->si_code != BUS_MCEERR_AO;
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
    if (was_blocked) {
        if (is_synchronous(info)) {
            end_process();
        } else {
            put_back(info, context);
        }
    } else if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler == SIG_DFL ||
               (before.sa_handler == SIG_IGN && is_synchronous(info))) {
        end_process();
        if (!is_synchronous(info)) {
            raise(signal);
        }
    } else if (before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
    }
}

static void on_sigbus(int signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;

    if (!is_synchronous(info) || !lose_range_of((uintptr_t)info->si_addr)) {
        pass_on(signal, info, context);
    }
    errno = saved_errno;
}

/* --- outside of the signal handler -------------------------------------- */

/* Caller holds ranges_lock. */
static bool install(void)
{
    struct sigaction action = {
        .sa_sigaction = on_sigbus,
        .sa_flags = SA_SIGINFO | SA_RESTART,
    };

    if (!installed) {
        /* Set @before first: the new handler may run at once. */
        installed = sigaction(SIGBUS, NULL, &before) == 0 &&
                    sigaction(SIGBUS, &action, NULL) == 0;
    }
    return installed;
}

/* Caller holds ranges_lock. */
static void change(Range *r, uintptr_t base, uintptr_t size)
{
    __atomic_store_n(&r->seq, r->seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&r->size, size, __ATOMIC_RELAXED);
    __atomic_store_n(&r->lost, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&r->base, base, __ATOMIC_RELAXED);
    __atomic_store_n(&r->seq, r->seq + 1, __ATOMIC_RELEASE);
}

int hostvlan_guard_add(void *base, size_t size)
{
    int found = -1;

    pthread_mutex_lock(&ranges_lock);
    for (int i = 0; install() && i < HOSTVLAN_GUARD_RANGES; i++) {
        if (!ranges[i].base) {
            change(&ranges[i], (uintptr_t)base, size);
            found = i;
            break;
        }
    }
    pthread_mutex_unlock(&ranges_lock);
    return found;
}

void hostvlan_guard_remove(int range)
{
    pthread_mutex_lock(&ranges_lock);
    change(&ranges[range], 0, 0);
    pthread_mutex_unlock(&ranges_lock);
}

bool hostvlan_guard_lost(int range)
{
    return __atomic_load_n(&ranges[range].lost, __ATOMIC_ACQUIRE);
}

void hostvlan_guard_lose(int range)
{
    lose(&ranges[range], __atomic_load_n(&ranges[range].base,
                                         __ATOMIC_RELAXED));
}

void hostvlan_guard_arm_thread(void)
{
    sigset_t bus, old;

    /* Set this first: a pending signal arrives when it is unblocked. */
    hostvlan_guard_is_armed = true;
    pthread_sigmask(SIG_SETMASK, NULL, &old);
    if (sigismember(&old, SIGBUS)) {
        was_blocked = true;
        sigemptyset(&bus);
        sigaddset(&bus, SIGBUS);
        pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
    }
}

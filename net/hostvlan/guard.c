/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped files that may be shortened by others while they are read
 *
 * Theory of operation
 *
 * The ranges are a fixed array, so that the signal handler needs no lock and
 * no memory. Each has a sequence number, odd while the range is being changed:
 * a handler that meets a range in change passes over it, as a range that
 * anybody reads does not change.
 *
 * The handler replaces the whole range by zeros, not only the page that is
 * missing: what is half there would be half a table. The reader repeats its
 * access and finds zeros, which say "not in the table" wherever they are read
 * (table.c), and "lost" tells the owner to open the file anew.
 *
 * Who else wants SIGBUS? The kernel reports broken memory by it: to QEMU's
 * main thread ahead of time (BUS_MCEERR_AO), which reads it off a signalfd
 * and for that blocks it, and to a vCPU that touched it (BUS_MCEERR_AR).
 * A thread that reads tables must not block SIGBUS. So for a thread from
 * which hostvlan_guard_arm() has taken the block, the handler does what the
 * block would have done: a signal from outside is queued again and blocked,
 * and waits for the signalfd; one of the thread's own doing ends the process.
 * Everything else goes to the handler that was there before.
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
    unsigned seq;               /* odd: in change */
    unsigned lost;
    uintptr_t base, size;       /* base 0: free */
} Range;

static Range ranges[HOSTVLAN_GUARD_RANGES];
static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;
static bool installed;          /* under ranges_lock */
static struct sigaction before; /* constant once installed */

__thread bool hostvlan_guard_is_armed;
/* SIGBUS was blocked in this thread until hostvlan_guard_arm(). */
static __thread bool was_blocked;

/* --- in the handler: no locks, no memory, no library -------------------- */

static bool lose(Range *r)
{
    unsigned seq = __atomic_load_n(&r->seq, __ATOMIC_ACQUIRE);
    uintptr_t base = __atomic_load_n(&r->base, __ATOMIC_RELAXED);
    uintptr_t size = __atomic_load_n(&r->size, __ATOMIC_RELAXED);

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!base || seq & 1 || seq != __atomic_load_n(&r->seq, __ATOMIC_RELAXED) ||
        mmap((void *)base, size, PROT_READ,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) {
        return false;
    }
    __atomic_store_n(&r->lost, 1, __ATOMIC_RELEASE);
    return true;
}

static Range *range_of(uintptr_t addr)
{
    for (unsigned i = 0; i < HOSTVLAN_GUARD_RANGES; i++) {
        uintptr_t base = __atomic_load_n(&ranges[i].base, __ATOMIC_ACQUIRE);

        if (base && addr >= base &&
            addr - base < __atomic_load_n(&ranges[i].size, __ATOMIC_RELAXED)) {
            return &ranges[i];
        }
    }
    return NULL;
}

/* The process ends when the access is repeated. */
static void end_process(void)
{
    struct sigaction action = { .sa_handler = SIG_DFL };

    sigaction(SIGBUS, &action, NULL);
}

/* As if this thread still blocked the signal: it waits, for a signalfd. */
static void put_back(siginfo_t *info, ucontext_t *context)
{
    sigaddset(&context->uc_sigmask, SIGBUS);
    hostvlan_guard_is_armed = false;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGBUS,
            info);
}

/* Of the thread, by an access. Signals that are sent have codes up to 0. */
static bool is_own_doing(const siginfo_t *info)
{
    return info->si_code > 0 && info->si_code != BUS_MCEERR_AO;
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
    if (was_blocked) {
        if (is_own_doing(info)) {
            end_process();
        } else {
            put_back(info, context);
        }
    } else if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler == SIG_DFL ||
               (before.sa_handler == SIG_IGN && is_own_doing(info))) {
        end_process();
        if (!is_own_doing(info)) {
            raise(signal);
        }
    } else if (before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
    }
}

static void on_sigbus(int signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    Range *r = is_own_doing(info) ? range_of((uintptr_t)info->si_addr) : NULL;

    if (!r || !lose(r)) {
        pass_on(signal, info, context);
    }
    errno = saved_errno;
}

/* --- outside ------------------------------------------------------------ */

/* Caller holds ranges_lock. */
static bool install(void)
{
    struct sigaction action = {
        .sa_sigaction = on_sigbus,
        .sa_flags = SA_SIGINFO | SA_RESTART,
    };

    if (!installed) {
        /* Before the new one can run, it knows the old one. */
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
    __atomic_store_n(&r->base, base, __ATOMIC_RELEASE);
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
    lose(&ranges[range]);
}

void hostvlan_guard_arm_thread(void)
{
    sigset_t bus, old;

    /* Before the signal can come, which may wait already. */
    hostvlan_guard_is_armed = true;
    pthread_sigmask(SIG_SETMASK, NULL, &old);
    if (sigismember(&old, SIGBUS)) {
        was_blocked = true;
        sigemptyset(&bus);
        sigaddset(&bus, SIGBUS);
        pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of a store and a later load, which a weak memory may turn round
 *
 * Relacy runs the code of epoch.h and fault.c itself in all interleavings of two
 * threads, with C11's atomics of its own: a load may miss the last store unless
 * the orderings forbid it.  A failure prints the interleaving.
 *
 * Sequentially consistent accesses take effect in the order of each thread.  So
 * a weaker order of the epoch's number alone, beside them, goes unnoticed.
 */
#include <atomic>
#include <cstdint>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <relacy/relacy.hpp>

#define ROUNDS      2

/* C's atomics are Relacy's: C++ has no others in <stdatomic.h> before C++23. */
#define _Atomic(type)                   rl::atomic<type>
#define _Alignas(octets)                /* Relacy uses malloc() */
#define atomic_init(p, v)               (p)->store(v, memory_order_relaxed)
#define atomic_load(p)                  (p)->load(memory_order_seq_cst)
#define atomic_load_explicit(p, m)      (p)->load(m)
#define atomic_store(p, v)              (p)->store(v, memory_order_seq_cst)
#define atomic_store_explicit(p, v, m)  (p)->store(v, m)
#define atomic_exchange(p, v)           (p)->exchange(v, memory_order_seq_cst)
#define atomic_fetch_add(p, v)          (p)->fetch_add(v, memory_order_seq_cst)
using namespace rl;
using atomic_uint_least64_t = rl::atomic<uint64_t>;

/* A wait lets the others run. */
#define nanosleep(moment, left)         ((void)(moment), rl::yield(1, $))

/* Relacy makes atomics within a run, so that a global one is a pointer to it. */
#define mappings                        (*the_mappings)

/* The model calls the handler, and takes no lock. */
#undef pthread_mutex_t
#undef pthread_mutex_lock
#undef pthread_mutex_unlock
#define mmap(...)                       nullptr
#define write(...)                      0
#define sigaction                       no_sigaction
#undef sa_handler
#undef sa_sigaction
#undef errno
static int errno;
struct no_sigaction {
    void (*sa_handler)(int);
    void (*sa_sigaction)(int, siginfo_t *, void *);
    int sa_flags;
};

static int no_sigaction(int, const struct no_sigaction *, void *)
{
    return 0;
}

#include "dnsd/server/host/fault.c"
#include "dnsd/server/workers/epoch.h"

/* Data are 1 until the writer frees them. */
typedef rl::var<int> Data;

static void read(const void *data)
{
    RL_ASSERT((*(Data *)data)($) == 1);
}

static void release(const void *data)
{
    (*(Data *)data)($) = 0;
}

struct Epoch : rl::test_suite<Epoch, 2> {
    DnsdEpoch epoch;
    DnsdReaderMark mark;
    Data data[2];

    void before()
    {
        data[0]($) = data[1]($) = 1;
        dnsd_epoch_init(&epoch, &data[0]);
        atomic_init(&mark.seen, 0);
    }
};

/* The writer replaces what dnsd_epoch_begin() returns. */
struct Replace : Epoch {
    void thread(unsigned i)
    {
        DnsdReaderMark *marks[] = { &mark };

        if (i == 0) {
            release(dnsd_epoch_replace(&epoch, &data[1], marks, 1));
            return;
        }
        for (i = 0; i < ROUNDS; i++) {
            read(dnsd_epoch_begin(&epoch, &mark));
            dnsd_epoch_end(&mark);
        }
    }
};

/* It replaces what readers find by themselves, as dynzone.c does a view. */
struct Advance : Epoch {
    rl::atomic<const void *> live;

    void before()
    {
        Epoch::before();
        atomic_init(&live, &data[0]);
    }

    void thread(unsigned i)
    {
        if (i == 0) {
            atomic_store(&live, &data[1]);
            uint64_t number = dnsd_epoch_advance(&epoch);
            while (!dnsd_epoch_is_past(number, &mark)) {
                rl::yield(1, $);
            }
            release(&data[0]);
            return;
        }
        for (i = 0; i < ROUNDS; i++) {
            dnsd_epoch_begin(&epoch, &mark);
            read(atomic_load(&live));
            dnsd_epoch_end(&mark);
        }
    }
};

/* A page is lost while the mapping is told whom to tell. */
struct Tell : rl::test_suite<Tell, 2> {
    rl::atomic<DnsdMapping *> first;
    DnsdMapping mapping;
    atomic_bool failed;
    uint8_t page;

    void before()
    {
        the_mappings = &first;
        atomic_init(&mappings, nullptr);
        mapping.base = &page;
        mapping.len = 1;
        atomic_init(&mapping.lost, false);
        atomic_init(&mapping.failed, nullptr);
        atomic_init(&failed, false);
        dnsd_fault_add(&mapping);
    }

    void thread(unsigned i)
    {
        siginfo_t info = {};

        if (i == 0) {
            dnsd_fault_tell(&mapping, &failed);
            return;
        }
        info.si_addr = &page;
        page_is_lost(SIGBUS, &info, nullptr);
    }

    void after()
    {
        RL_ASSERT(atomic_load(&failed));
    }
};

/* All interleavings; a load may miss the last store where it is allowed to. */
template<typename Test> static bool holds(int number, const char *name)
{
    rl::test_params params;

    params.search_type = rl::sched_full;
    params.output_stream = params.progress_stream = &std::cerr;
    bool is_good = rl::simulate<Test>(params);
    std::cout << (is_good ? "ok " : "not ok ") << number << " - " << name
              << std::endl;
    return is_good;
}

int main()
{
    std::cout << "1..3\n";
    bool is_good = holds<Replace>(1, "dnsd's epoch: replace");

    is_good &= holds<Advance>(2, "dnsd's epoch: advance");
    is_good &= holds<Tell>(3, "lost pages: tell");
    return !is_good;
}

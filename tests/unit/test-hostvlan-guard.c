/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are shortened while they are mapped, and the SIGBUS of others */

#include <glib/gstdio.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fixtures/hostvlan-file.h"
#include "net/hostvlan/follow.h"
#include "net/hostvlan/guard.h"

/* --- files that are shortened --------------------------------------------- */

static void test_truncated(void)
{
    HvFile fx = hv_begin(4096, 4096);
    HostvlanFollow f;

    hv_set_lnids(fx.w, MAC_A, 1, 1);
    hv_set_lnids(fx.w, MAC_B, 2, 1, 2);
    hostvlan_follow_init(&f, fx.path);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), !=, 0);
    hv_resize(fx.w, HOSTVLAN_HEADER_SIZE);
    g_assert_false(hostvlan_table_lost(f.table));
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_A), ==, 0);
    g_assert_cmpuint(hostvlan_table_lookup(f.table, MAC_B), ==, 0);
    g_assert_true(hostvlan_table_lost(f.table));

    /* The file is empty; a new one is used when it comes. */
    g_assert_true(hostvlan_follow_is_due(&f));
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NONE);
    g_assert_error(f.error, HOSTVLAN_TABLE_ERROR, HOSTVLAN_TABLE_ERROR_SIZE);
    g_assert_null(f.table);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_NOTHING);
    hv_close(fx.w);
    fx.w = hv_create(fx.path, 16, 0);
    g_assert_cmpint(hostvlan_follow_look(&f), ==, HOSTVLAN_FOLLOW_TAKEN);
    hostvlan_follow_destroy(&f);
    hv_end(&fx);
}

/* Only the records are gone: the value exists, but its record does not. */
static void test_records_truncated(void)
{
    HvFile fx = hv_begin(64, 4096);
    g_autoptr(HostvlanTable) t = NULL;
    HostvlanLnids lnids;

    hv_set_lnids(fx.w, MAC_B, 2, 0, 2);
    t = hv_open(fx.path);
    hv_resize(fx.w, HOSTVLAN_HEADER_SIZE + 64 * 64);
    g_assert_cmpuint(hv_lnids_of(t, MAC_B, &lnids), ==, 0);
    g_assert_true(hostvlan_table_lost(t));
    hv_end(&fx);
}

/* QEMU's threads block SIGBUS, and it would end the process. */
static void *with_sigbus_blocked(void *opaque)
{
    void (*func)(void) = opaque;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    func();
    return NULL;
}

static void test_truncated_blocked(void)
{
    g_thread_join(g_thread_new("blocked", with_sigbus_blocked,
                               test_truncated));
}

/* --- the SIGBUS of others ------------------------------------------------ */

static sigjmp_buf others_jump;
static volatile sig_atomic_t others_signals;

/* Installed before any table is opened. */
static void others_handler(int signal, siginfo_t *info, void *context)
{
    others_signals++;
    if (info->si_code > 0) {
        siglongjmp(others_jump, 1);
    }
}

/*
 * A page behind the end of a file; volatile, so that the compiler keeps the
 * read.
 */
static volatile char *others_page(void)
{
    g_autofree char *name = NULL;
    int fd = g_file_open_tmp("hostvlan-table-XXXXXX", &name, NULL);
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

    g_unlink(name);
    close(fd);
    g_assert_true(page != MAP_FAILED);
    return page;
}

static void test_others_fault(void)
{
    HvFile fx = hv_begin(16, 64);
    g_autoptr(HostvlanTable) t = hv_open(fx.path);
    volatile char *page = others_page();        /* see there */
    int signals = others_signals;

    if (sigsetjmp(others_jump, 1) == 0) {
        (void)*page;
        g_assert_not_reached();
    }
    g_assert_cmpint(others_signals, ==, signals + 1);
    g_assert_false(hostvlan_table_lost(t));
    munmap((void *)page, 4096);
    hv_end(&fx);
}

/* As without the guard, it ends the process in a thread that has blocked it. */
static void fault_elsewhere(void)
{
    hostvlan_guard_arm();
    (void)*others_page();
}

static void test_others_fault_blocked(void)
{
    if (g_test_subprocess()) {
        HvFile fx = hv_begin(16, 64);
        g_autoptr(HostvlanTable) t = hv_open(fx.path);

        hv_end(&fx);
        g_thread_join(g_thread_new("blocked", with_sigbus_blocked,
                                   fault_elsewhere));
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
}

/* The kernel's early report of broken memory (BUS_MCEERR_AO). */
static void broken_memory(void *where)
{
    siginfo_t info = {
        .si_signo = SIGBUS, .si_code = BUS_MCEERR_AO, .si_addr = where,
    };

    g_assert_cmpint(syscall(SYS_rt_tgsigqueueinfo, getpid(),
                            syscall(SYS_gettid), SIGBUS, &info), ==, 0);
}

/* As without the guard, it stays pending for a signalfd. */
static void signal_waits(void)
{
    struct timespec patience = { .tv_sec = 10 };
    int signals = others_signals;
    siginfo_t info;
    sigset_t set;

    for (int i = 0; i < 2; i++) {
        hostvlan_guard_arm();
        broken_memory(&set);
        g_assert_false(hostvlan_guard_is_armed);
        sigemptyset(&set);
        sigaddset(&set, SIGBUS);
        g_assert_cmpint(sigtimedwait(&set, &info, &patience), ==, SIGBUS);
        g_assert_cmpint(info.si_code, ==, BUS_MCEERR_AO);
        g_assert_true(info.si_addr == &set);
        g_assert_cmpint(others_signals, ==, signals);
    }
    /* Tables are guarded again. */
    test_truncated();
}

static void test_others_signal(void)
{
    HvFile fx = hv_begin(16, 64);
    g_autoptr(HostvlanTable) t = hv_open(fx.path);
    int signals = others_signals;

    g_thread_join(g_thread_new("blocked", with_sigbus_blocked, signal_waits));
    /* If it was not blocked, its handler gets it. */
    g_assert_cmpint(pthread_kill(pthread_self(), SIGBUS), ==, 0);
    g_assert_cmpint(others_signals, ==, signals + 1);
    hv_end(&fx);
}

int main(int argc, char **argv)
{
    struct sigaction action = {
        .sa_sigaction = others_handler,
        .sa_flags = SA_SIGINFO,
    };

    sigaction(SIGBUS, &action, NULL);
    hv_test_init(&argc, &argv);
    g_test_add_func("/hostvlan/table/truncated", test_truncated);
    g_test_add_func("/hostvlan/table/records-truncated",
                    test_records_truncated);
    g_test_add_func("/hostvlan/table/truncated-blocked",
                    test_truncated_blocked);
    g_test_add_func("/hostvlan/guard/others-fault", test_others_fault);
    g_test_add_func("/hostvlan/guard/others-fault-blocked",
                    test_others_fault_blocked);
    g_test_add_func("/hostvlan/guard/others-signal", test_others_signal);
    return g_test_run();
}

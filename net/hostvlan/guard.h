/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped files that may be shortened by others while they are read
 *
 * Reading a mapping behind the end of its file is a SIGBUS. A range that is
 * guarded here becomes a range of zeros instead, all of it, and is lost.
 */
#ifndef NET_HOSTVLAN_GUARD_H
#define NET_HOSTVLAN_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* At a time, in one process. */
#define HOSTVLAN_GUARD_RANGES   512

/**
 * hostvlan_guard_add: guard a mapping
 * @base: beginning of a page
 * @size: octets
 *
 * The first call takes over the process's handler of SIGBUS; signals about
 * anything else go where they would have gone.
 *
 * Returns: the range's number for the functions below; -1 if all
 * HOSTVLAN_GUARD_RANGES are in use or the handler cannot be installed.
 */
int hostvlan_guard_add(void *base, size_t size);

/**
 * hostvlan_guard_remove: before the mapping is taken away
 *
 * No thread may read it any more.
 */
void hostvlan_guard_remove(int range);

/** hostvlan_guard_lost: has it become zeros? From any thread. */
bool hostvlan_guard_lost(int range);

/** hostvlan_guard_lose: make it zeros now, whatever the file is. */
void hostvlan_guard_lose(int range);

extern __thread bool hostvlan_guard_is_armed;

void hostvlan_guard_arm_thread(void);

/**
 * hostvlan_guard_arm: before this thread reads a guarded range
 *
 * A SIGBUS that a thread blocks kills the process when it is the thread's own
 * doing. QEMU's threads block it, so that it is taken off for good here, once
 * a thread.
 */
static inline void hostvlan_guard_arm(void)
{
    if (__builtin_expect(!hostvlan_guard_is_armed, 0)) {
        hostvlan_guard_arm_thread();
    }
}

#endif /* NET_HOSTVLAN_GUARD_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped files that other processes may truncate while they are read
 *
 * Reading a mapping after the end of its file causes SIGBUS. A range that is
 * guarded by these functions is replaced by zeros instead, and is then lost.
 */
#ifndef NET_HOSTVLAN_GUARD_H
#define NET_HOSTVLAN_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Maximum number of ranges in a process at the same time. */
#define HOSTVLAN_GUARD_RANGES   512

/**
 * hostvlan_guard_add: guard a mapping
 * @base: start of a page
 * @size: octets
 *
 * The first call replaces the process's handler of SIGBUS; signals about other
 * memory are passed on to the previous handler.
 *
 * Returns: the range's number for the functions below; -1 if all
 * HOSTVLAN_GUARD_RANGES are in use or the handler cannot be installed.
 */
int hostvlan_guard_add(void *base, size_t size);

/**
 * hostvlan_guard_remove: call before the mapping is unmapped
 *
 * No thread may read the range any more.
 */
void hostvlan_guard_remove(int range);

/** hostvlan_guard_lost: was it replaced by zeros? Any thread may call this. */
bool hostvlan_guard_lost(int range);

/** hostvlan_guard_lose: replace it by zeros now. */
void hostvlan_guard_lose(int range);

extern __thread bool hostvlan_guard_is_armed;

void hostvlan_guard_arm_thread(void);

/**
 * hostvlan_guard_arm: call in a thread before it reads a guarded range
 *
 * If a thread blocks SIGBUS and causes it by an access, the kernel kills the
 * process. QEMU's threads block it, so this function unblocks it permanently;
 * it does so once in each thread.
 */
static inline void hostvlan_guard_arm(void)
{
    if (__builtin_expect(!hostvlan_guard_is_armed, 0)) {
        hostvlan_guard_arm_thread();
    }
}

#endif /* NET_HOSTVLAN_GUARD_H */

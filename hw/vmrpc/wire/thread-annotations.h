/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which function needs which lock: attributes for clang's -Wthread-safety
 *
 * The unit test vmrpc-locks runs that check.  Other compilers see nothing.
 * https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
 */
#ifndef HW_VMRPC_THREAD_ANNOTATIONS_H
#define HW_VMRPC_THREAD_ANNOTATIONS_H

#ifdef __clang__
#define VMMNET_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define VMMNET_THREAD_SAFETY(attribute)
#endif

/* A type whose objects can be held, @kind in messages: "mutex" */
#define VMMNET_CAPABILITY(kind) VMMNET_THREAD_SAFETY(capability(kind))

/* A variable or a member that needs @lock for each access */
#define VMMNET_GUARDED_BY(lock) VMMNET_THREAD_SAFETY(guarded_by(lock))

/* The caller of the function must hold @lock; must not hold it. */
#define VMMNET_REQUIRES(lock) VMMNET_THREAD_SAFETY(requires_capability(lock))
#define VMMNET_EXCLUDES(lock) VMMNET_THREAD_SAFETY(locks_excluded(lock))

/* The function takes @lock; releases it. */
#define VMMNET_ACQUIRE(lock) VMMNET_THREAD_SAFETY(acquire_capability(lock))
#define VMMNET_RELEASE(lock) VMMNET_THREAD_SAFETY(release_capability(lock))

/* After a call of the function, the check assumes that @lock is held. */
#define VMMNET_ASSUME(lock) VMMNET_THREAD_SAFETY(assert_capability(lock))

/* The function is not checked: it implements a lock. */
#define VMMNET_NOT_CHECKED VMMNET_THREAD_SAFETY(no_thread_safety_analysis)

#endif /* HW_VMRPC_THREAD_ANNOTATIONS_H */

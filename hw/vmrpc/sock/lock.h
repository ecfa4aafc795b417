/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: locks that clang checks (thread-annotations.h)
 */
#ifndef HW_VMRPC_LOCK_H
#define HW_VMRPC_LOCK_H

#include <pthread.h>

#include "hw/vmrpc/wire/thread-annotations.h"

/* A mutex whose holder the check knows */
typedef struct VMMNET_CAPABILITY("mutex") VmrpcMutex {
    pthread_mutex_t mutex;
} VmrpcMutex;

static inline void vmrpc_mutex_lock(VmrpcMutex *m) VMMNET_ACQUIRE(*m);
static inline void vmrpc_mutex_unlock(VmrpcMutex *m) VMMNET_RELEASE(*m);

static inline VMMNET_NOT_CHECKED void vmrpc_mutex_lock(VmrpcMutex *m)
{
    pthread_mutex_lock(&m->mutex);
}

static inline VMMNET_NOT_CHECKED void vmrpc_mutex_unlock(VmrpcMutex *m)
{
    pthread_mutex_unlock(&m->mutex);
}

/*
 * The lock of a server, for the check only: the object does not exist.  It
 * stands for the locks of all servers, as a callback and a function of a socket
 * have no server to name.
 */
extern struct VMMNET_CAPABILITY("mutex") VmrpcServerLock vmrpc_server_lock;

/* A member that needs the server's lock for each access */
#define VMRPC_GUARDED   VMMNET_GUARDED_BY(vmrpc_server_lock)

/* The caller of the function must hold the server's lock; must not hold it. */
#define VMRPC_LOCKED    VMMNET_REQUIRES(vmrpc_server_lock)
#define VMRPC_UNLOCKED  VMMNET_EXCLUDES(vmrpc_server_lock)

#endif /* HW_VMRPC_LOCK_H */

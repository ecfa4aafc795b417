/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between the series of QEMU that vmmnet is built on
 *
 * Rooms use the newest names.  This header gives older series the same names,
 * and is the only file that asks for QEMU's version.  It is for faces: cores
 * have no QEMU header.  No series from 11.0 on is in qemu/series: what is here
 * for those follows what a trial build of 11.1-rc2 needed; it has not been
 * compiled.
 */

#ifndef VMMNET_QEMU_COMPAT_H
#define VMMNET_QEMU_COMPAT_H

#include "migration/misc.h"
#include "net/net.h"

#define QEMU_AT_LEAST(major, minor) \
    (QEMU_VERSION_MAJOR * 100 + QEMU_VERSION_MINOR >= (major) * 100 + (minor))

/* --- headers that moved --------------------------------------------------- */

#if __has_include("system/memory.h")
#include "system/address-spaces.h"
#include "system/memory.h"
#else
#include "exec/address-spaces.h"
#include "exec/memory.h"
#endif

#if __has_include("hw/core/qdev-properties.h")
#include "hw/core/qdev-properties.h"
#include "hw/core/qdev.h"
#else
#include "hw/qdev-core.h"
#include "hw/qdev-properties.h"
#endif

#if __has_include("hw/core/boards.h")
#include "hw/core/boards.h"
#else
#include "hw/boards.h"
#endif

#if __has_include("qemu/aio-wait.h")
#include "qemu/aio-wait.h"
#else
#include "block/aio-wait.h"
#endif

/* --- QOM ------------------------------------------------------------------ */

/* What a class_init function gets with its class. */
#if QEMU_AT_LEAST(10, 1)
typedef const void QomClassData;
#else
typedef void QomClassData;
#endif

/* --- character devices ---------------------------------------------------- */

#if !QEMU_AT_LEAST(10, 2)
#define CharFrontend CharBackend
#endif

/* --- accelerators --------------------------------------------------------- */

#if __has_include("accel/accel-ops.h")
#include "accel/accel-cpu-ops.h"
#include "accel/accel-ops.h"
#else
#include "qemu/accel.h"
#include "system/accel-ops.h"
#endif

#if QEMU_AT_LEAST(10, 1)
#define ACCEL_INIT_ARGUMENTS AccelState *accel, MachineState *ms
#define ACCEL_SET_HANDLE_INTERRUPT(ops) \
    ((ops)->handle_interrupt = generic_handle_interrupt)
#else
#define ACCEL_INIT_ARGUMENTS MachineState *ms
#define ACCEL_SET_HANDLE_INTERRUPT(ops)
#endif

#if !QEMU_AT_LEAST(10, 2)
#define qemu_process_cpu_events     qemu_wait_io_event
#endif

/* --- migration ------------------------------------------------------------ */

#if !QEMU_AT_LEAST(11, 0)
#define MIG_EVENT_SETUP     MIG_EVENT_PRECOPY_SETUP
#define MIG_EVENT_DONE      MIG_EVENT_PRECOPY_DONE
#define MIG_EVENT_FAILED    MIG_EVENT_PRECOPY_FAILED
/* No event: they tell DONE of it, too. */
#define MIG_EVENT_POSTCOPY_START    MIG_EVENT_MAX
#endif

/* Defines @name, for VMStateDescription.post_save, which calls @function. */
#if QEMU_AT_LEAST(11, 0)
#define DEFINE_POST_SAVE(name, function) \
    static void name(void *opaque) { function(opaque); }
#else
#define DEFINE_POST_SAVE(name, function) \
    static int name(void *opaque) { function(opaque); return 0; }
#endif

/* --- offloads ------------------------------------------------------------- */

/*
 * A function for NetClientInfo.set_offload has the parameters OFFLOAD_PARAMS
 * after the client: OFFLOADS points to what was asked for, OFFLOAD_ARGS passes
 * it on.
 */
#if QEMU_AT_LEAST(10, 2)
#define OFFLOAD_PARAMS  const NetOffloads *asked_offloads
#define OFFLOAD_ARGS    asked_offloads
#define OFFLOADS        asked_offloads

static inline void compat_set_offload(NetClientState *nc, const NetOffloads *o)
{
    qemu_set_offload(nc, o);
}
#else
typedef struct NetOffloads {
    bool csum;
    bool tso4;
    bool tso6;
    bool ecn;
    bool ufo;
    bool uso4;
    bool uso6;
} NetOffloads;

#define OFFLOAD_PARAMS  int csum, int tso4, int tso6, int ecn, int ufo, \
                        int uso4, int uso6
#define OFFLOAD_ARGS    csum, tso4, tso6, ecn, ufo, uso4, uso6
#define OFFLOADS        (&(NetOffloads) { OFFLOAD_ARGS })

static inline void compat_set_offload(NetClientState *nc, const NetOffloads *o)
{
    qemu_set_offload(nc, o->csum, o->tso4, o->tso6, o->ecn, o->ufo, o->uso4,
                     o->uso6);
}
#endif

/* --- virtio --------------------------------------------------------------- */

/* To interrupt the guest, in the main loop or in an IOThread. */
#if QEMU_AT_LEAST(10, 1)
#define virtio_notify_anywhere virtio_notify
#else
#define virtio_notify_anywhere virtio_notify_irqfd
#endif

#endif /* VMMNET_QEMU_COMPAT_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The object vmmnet-handoff: moves the VM's addresses when the VM migrates
 *
 * Theory of operation
 *
 * Some addresses of a VM are addresses of the host (address6 of virtio-vmrpc),
 * so moving them needs privileges that QEMU does not have: vmmnet-hostd has
 * them. libvirt runs no hook at the switch-over, so QEMU itself asks.
 *
 * An address must not be on two hosts at once. The source yields the address
 * when the VM is stopped for the last part of its state, and waits for the
 * answer for a short time that a guest tolerates. The destination takes the
 * address when the VM starts to run there, which is after that. If the
 * migration fails before that, the source continues and takes the address back
 * (net/departure/state.h). A source that got no answer in time says so in the
 * migration stream, and the destination then waits a little before it takes.
 *
 * Taking does not block: the guest's sockets get the address as soon as the
 * host has it (hw/vmrpc). While vmmnet-hostd does not answer, QEMU repeats the
 * request. But a VM that is started without an incoming migration takes its
 * addresses before its devices are created, because the devices fail without
 * them.
 *
 * For a VM that was paused before the migration, no handler reports a stop;
 * QEMU then uses the notification that the state is about to be completed.
 */
#include "qemu/osdep.h"

#include "migration/vmstate.h"
#include "net/departure/departure.h"
#include "net/handoff/talk.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qemu/uuid.h"
#include "qom/object_interfaces.h"
#include "system/runstate.h"
#include "vmmnet/qemu-compat.h"
#include "trace.h"

#define TYPE_VMMNET_HANDOFF     "vmmnet-handoff"
#define DEFAULT_PATH            "/run/vmmnet/hostd.sock"
#define YIELD_MS                200
#define TAKE_MS                 5000    /* time limit for an answer */
#define RETRY_MS                1000
#define LATE_MS                 2000    /* delay if the source is late */

typedef enum HandoffState {
    HANDOFF_WAITING,            /* the VM has not run here yet */
    HANDOFF_TAKING,
    HANDOFF_HELD,
    HANDOFF_YIELDED,
    HANDOFF_ERROR,
} HandoffState;

static const char *const state_names[] = {
    [HANDOFF_WAITING] = "waiting",
    [HANDOFF_TAKING] = "taking",
    [HANDOFF_HELD] = "held",
    [HANDOFF_YIELDED] = "yielded",
    [HANDOFF_ERROR] = "error",
};

OBJECT_DECLARE_SIMPLE_TYPE(VmmnetHandoff, VMMNET_HANDOFF)

struct VmmnetHandoff {
    Object parent;

    char *vm, *path;
    HandoffTalk *talk;          /* NULL: the object is incomplete */
    HandoffState state;
    char *error;                /* NULL: no error */
    bool wanted;                /* the VM runs here, or will */
    bool left;                  /* it migrates to another host */
    bool late;                  /* the last yield has no answer yet */
    bool source_was_late;       /* the source's yield had no answer */
    QEMUTimer *timer;           /* for the next attempt */
    VMChangeStateEntry *vmstate;
    NotifierWithReturn precopy;
    Departure departure;
};

/* Without its name, because the object has none while it is finalized. */
static const char *id_of(const VmmnetHandoff *h)
{
    const char *id = object_get_canonical_path_component(OBJECT(h));

    return id ? id : TYPE_VMMNET_HANDOFF;
}

static void set_state(VmmnetHandoff *h, HandoffState state)
{
    h->state = state;
    trace_vmmnet_handoff_state(id_of(h), state_names[state]);
}

/* Reports an error, but the same error only once. */
static void set_error(VmmnetHandoff *h, const char *error)
{
    if (error && g_strcmp0(error, h->error)) {
        warn_report("%s: %s", id_of(h), error);
    }
    g_free(h->error);
    h->error = g_strdup(error);
}

/* --- answers -------------------------------------------------------------- */

static void take(VmmnetHandoff *h);

static void follow_fd(VmmnetHandoff *h, IOHandler *readable)
{
    int fd = handoff_talk_fd(h->talk);

    if (fd >= 0) {
        qemu_set_fd_handler(fd, readable, NULL, readable ? h : NULL);
    }
}

/* @answer is not HANDOFF_NOTHING. */
static void handle_answer(VmmnetHandoff *h, HandoffAnswer answer,
                          const GError *err)
{
    timer_del(h->timer);
    set_error(h, err ? err->message : NULL);
    if (answer == HANDOFF_DONE) {
        set_state(h, h->wanted ? HANDOFF_HELD : HANDOFF_YIELDED);
        return;
    }
    set_state(h, HANDOFF_ERROR);
    if (answer == HANDOFF_LOST && h->wanted) {
        timer_mod(h->timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + RETRY_MS);
    }
}

static void readable(void *opaque)
{
    VmmnetHandoff *h = opaque;
    int fd = handoff_talk_fd(h->talk);
    g_autoptr(GError) err = NULL;
    HandoffAnswer answer;

    /* Close it after the answer. */
    qemu_set_fd_handler(fd, NULL, NULL, NULL);
    answer = handoff_talk_answer(h->talk, &err);
    if (answer == HANDOFF_NOTHING) {
        follow_fd(h, readable);
    } else {
        handle_answer(h, answer, err);
    }
}

static void ask_again(void *opaque)
{
    VmmnetHandoff *h = opaque;

    if (h->state == HANDOFF_TAKING) {
        set_error(h, "vmmnet-hostd does not answer");
        follow_fd(h, NULL);
        handoff_talk_hang_up(h->talk);
    }
    take(h);
}

/* --- requests ------------------------------------------------------------- */

static void take(VmmnetHandoff *h)
{
    int64_t now = qemu_clock_get_ms(QEMU_CLOCK_REALTIME);
    g_autoptr(GError) err = NULL;

    h->wanted = true;
    h->left = h->late = false;
    follow_fd(h, NULL);
    if (h->source_was_late) {
        h->source_was_late = false;
        timer_mod(h->timer, now + LATE_MS);
        return;
    }
    if (!handoff_talk_ask(h->talk, HANDOFF_TAKE, &err)) {
        set_error(h, err->message);
        set_state(h, HANDOFF_ERROR);
        timer_mod(h->timer, now + RETRY_MS);
        return;
    }
    set_state(h, HANDOFF_TAKING);
    follow_fd(h, readable);
    timer_mod(h->timer, now + TAKE_MS);
}

/*
 * Waits for the answer; the VM does not run.
 * @consequence: what happens without an answer within @ms, for the message
 */
static void ask_and_wait(VmmnetHandoff *h, HandoffVerb verb, unsigned ms,
                         const char *consequence)
{
    g_autoptr(GError) err = NULL;
    HandoffAnswer answer;

    h->wanted = verb == HANDOFF_TAKE;
    timer_del(h->timer);
    follow_fd(h, NULL);
    answer = handoff_talk_settle(h->talk, verb, ms, &err);
    h->late = answer == HANDOFF_NOTHING && verb == HANDOFF_YIELD;
    if (answer != HANDOFF_NOTHING) {
        handle_answer(h, answer, err);
        return;
    }
    trace_vmmnet_handoff_late(id_of(h), ms);
    g_prefix_error(&err, "%s: ", consequence);
    set_error(h, err->message);
    set_state(h, HANDOFF_ERROR);
    follow_fd(h, readable);     /* a late answer is still of use */
}

static void yield(VmmnetHandoff *h)
{
    if (h->wanted) {
        ask_and_wait(h, HANDOFF_YIELD, YIELD_MS,
                     "the VM's addresses may stay on this host as well");
    }
}

/* --- events of the VM ----------------------------------------------------- */

static void vm_state_changed(void *opaque, bool running, RunState state)
{
    VmmnetHandoff *h = opaque;

    if (running) {
        take(h);
    } else if (state == RUN_STATE_FINISH_MIGRATE) {
        h->left = h->wanted;
        yield(h);
    } else if (state == RUN_STATE_SHUTDOWN) {
        yield(h);
    }
}

static int precopy_changed(NotifierWithReturn *notifier, void *data,
                           Error **errp)
{
    VmmnetHandoff *h = container_of(notifier, VmmnetHandoff, precopy);
    const PrecopyNotifyData *event = data;

    /* Not for a snapshot: the VM stays here. */
    if (event->reason == PRECOPY_NOTIFY_COMPLETE &&
        runstate_check(RUN_STATE_FINISH_MIGRATE) && h->wanted) {
        h->left = true;
        yield(h);
    }
    return 0;
}

static void departure_turn(void *opaque, DepartureTurn turn)
{
    VmmnetHandoff *h = opaque;

    /* For a VM that stays paused; one that runs has taken it. */
    if (turn == DEPARTURE_TURN_STAYS && h->left && !runstate_is_running()) {
        take(h);
    }
}

/* --- state for the destination -------------------------------------------- */

static bool is_late(void *opaque)
{
    VmmnetHandoff *h = opaque;

    return h->late;
}

static int source_is_late(void *opaque, int version_id)
{
    VmmnetHandoff *h = opaque;

    h->late = false;
    h->source_was_late = true;
    return 0;
}

static const VMStateDescription vmstate_handoff = {
    .name = TYPE_VMMNET_HANDOFF,
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = is_late,
    .post_load = source_is_late,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(late, VmmnetHandoff),
        VMSTATE_END_OF_LIST()
    }
};

/* --- the object ----------------------------------------------------------- */

static void handoff_complete(UserCreatable *uc, Error **errp)
{
    VmmnetHandoff *h = VMMNET_HANDOFF(uc);
    g_autoptr(GError) err = NULL;
    g_autofree char *vm = NULL;
    QemuUUID uuid;

    if (!h->vm || qemu_uuid_parse(h->vm, &uuid) < 0) {
        error_setg(errp, "vm=%s is not the UUID of a VM, such as "
                   "0a7c1f3e-0000-4000-8000-00000000000a",
                   h->vm ? h->vm : "");
        return;
    }
    vm = qemu_uuid_unparse_strdup(&uuid);
    h->talk = handoff_talk_new(h->path, vm);
    if (!handoff_talk_try(h->talk, &err)) {
        error_setg(errp, "%s", err->message);
        g_clear_pointer(&h->talk, handoff_talk_free);
        return;
    }
    h->timer = timer_new_ms(QEMU_CLOCK_REALTIME, ask_again, h);
    h->vmstate = qemu_add_vm_change_state_handler(vm_state_changed, h);
    h->precopy.notify = precopy_changed;
    precopy_add_notifier(&h->precopy);
    departure_follow(&h->departure, departure_turn, h);
    vmstate_register(NULL, VMSTATE_INSTANCE_ID_ANY, &vmstate_handoff, h);
    if (runstate_is_running()) {
        take(h);
    } else if (runstate_check(RUN_STATE_PRELAUNCH)) {
        ask_and_wait(h, HANDOFF_TAKE, TAKE_MS,
                     "the VM's addresses may not be here yet");
    }
}

static void handoff_finalize(Object *obj)
{
    VmmnetHandoff *h = VMMNET_HANDOFF(obj);

    if (h->talk) {
        vmstate_unregister(NULL, &vmstate_handoff, h);
        departure_unfollow(&h->departure);
        precopy_remove_notifier(&h->precopy);
        qemu_del_vm_change_state_handler(h->vmstate);
        yield(h);
        follow_fd(h, NULL);
        timer_free(h->timer);
        handoff_talk_free(h->talk);
    }
    g_free(h->error);
    g_free(h->path);
    g_free(h->vm);
}

static void set_once(VmmnetHandoff *h, char **property, const char *name,
                     const char *value, Error **errp)
{
    if (h->talk) {
        error_setg(errp, "%s cannot be changed any more", name);
        return;
    }
    g_free(*property);
    *property = g_strdup(value);
}

static char *get_vm(Object *obj, Error **errp)
{
    return g_strdup(VMMNET_HANDOFF(obj)->vm);
}

static void set_vm(Object *obj, const char *value, Error **errp)
{
    VmmnetHandoff *h = VMMNET_HANDOFF(obj);

    set_once(h, &h->vm, "vm", value, errp);
}

static char *get_path(Object *obj, Error **errp)
{
    return g_strdup(VMMNET_HANDOFF(obj)->path);
}

static void set_path(Object *obj, const char *value, Error **errp)
{
    VmmnetHandoff *h = VMMNET_HANDOFF(obj);

    set_once(h, &h->path, "path", value, errp);
}

static char *get_state(Object *obj, Error **errp)
{
    return g_strdup(state_names[VMMNET_HANDOFF(obj)->state]);
}

static char *get_error(Object *obj, Error **errp)
{
    const char *error = VMMNET_HANDOFF(obj)->error;

    return g_strdup(error ? error : "");
}

static void handoff_init(Object *obj)
{
    VMMNET_HANDOFF(obj)->path = g_strdup(DEFAULT_PATH);
}

static void handoff_class_init(ObjectClass *oc, QomClassData *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = handoff_complete;
    object_class_property_add_str(oc, "vm", get_vm, set_vm);
    object_class_property_set_description(oc, "vm",
        "UUID that the VM is registered with at vmmnet-hostd");
    object_class_property_add_str(oc, "path", get_path, set_path);
    object_class_property_set_description(oc, "path",
        "UNIX socket of vmmnet-hostd");
    object_class_property_add_str(oc, "state", get_state, NULL);
    object_class_property_set_description(oc, "state",
        "waiting, taking, held, yielded or error");
    object_class_property_add_str(oc, "error", get_error, NULL);
    object_class_property_set_description(oc, "error",
        "the last error; empty: none");
}

static const TypeInfo handoff_info = {
    .name = TYPE_VMMNET_HANDOFF,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(VmmnetHandoff),
    .instance_init = handoff_init,
    .instance_finalize = handoff_finalize,
    .class_init = handoff_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    }
};

static void handoff_register_types(void)
{
    type_register_static(&handoff_info);
}

type_init(handoff_register_types);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The switch in a NIC: start, stop and migration of the VM
 *
 * Theory of operation
 * ===================
 *
 * A switch works only while its VM runs.  While the VM is stopped, no frame
 * arrives, no flow expires and no registration is sent.  So a saved state stays
 * complete.
 *
 * Saving the state (state/state.h) also gives away the sequence numbers of the
 * security associations: the source seals no more packets.  If the migration
 * fails before the VM runs at the destination (net/departure/state.h), the VM
 * continues on the source, with sequence numbers after those that the
 * destination may have used.  If a user continues the VM on the source by hand
 * after that, it has no ESP.
 *
 * A snapshot, a background snapshot too, contains no security associations,
 * because it can be loaded more than once, and each time the same sequence
 * numbers would be used.  If the controller sets a key again that the NIC had
 * before the snapshot, the new association has different IVs (esp.c: IVs).
 *
 * On the destination, a NIC registers again at once: sessions do not migrate.
 */
#include "qemu/osdep.h"

#include <openssl/crypto.h>

#include "hw/net/cvsw/nic-internal.h"
#include "hw/net/cvsw/state/state.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "vmmnet/qemu-compat.h"
#include "trace.h"

static CvswState state_of(const CvswNic *nic)
{
    CvswState state = {
        .table = nic->run->table,
        .sas = nic->run->sas,
        .drop_misses = nic->run->drop_misses,
        .mtu = nic->commanded.mtu,
        .denied = nic->denied,
    };

    memcpy(state.mac, nic->mac.a, sizeof(state.mac));
    return state;
}

/* --- saving --------------------------------------------------------------- */

static void put_record(void *opaque, const void *record, size_t len)
{
    QEMUFile *f = opaque;

    qemu_put_be16(f, len);
    qemu_put_buffer(f, record, len);
}

static int put_state(QEMUFile *f, void *pv, size_t size,
                     const VMStateField *field, JSONWriter *vmdesc)
{
    CvswNic *nic = pv;
    CvswState state = state_of(nic);
    bool is_snapshot = departure_is_snapshot();

    cvsw_state_save(&state, !is_snapshot, cvsw_nic_now(), put_record, f);
    nic->is_saved |= !is_snapshot;
    qemu_put_be16(f, 0);        /* no more records */
    trace_cvsw_save(nic->name, cvsw_table_stats(state.table).entries,
                    cvsw_sas_count(state.sas));
    return 0;
}

/* --- loading -------------------------------------------------------------- */

/* Returns: NULL, or the fault; see cvsw_state_take() */
static char *read_records(CvswStateReader *reader, QEMUFile *f)
{
    uint8_t record[CVSW_STATE_RECORD_MAX];
    char *why = NULL;
    size_t len;

    while (!why && (len = qemu_get_be16(f))) {
        if (len > sizeof(record)) {
            why = g_strdup_printf("a record has %zu octets", len);
        } else if (qemu_get_buffer(f, record, len) != len) {
            why = g_strdup("a record is truncated");
        } else {
            why = cvsw_state_take(reader, record, len);
        }
    }
    OPENSSL_cleanse(record, sizeof(record));
    return why ? why : cvsw_state_end(reader);
}

static void forbid_epoch(uint32_t number, const EspSaConfig *config, EspSa *sa,
                         void *data)
{
    CvswNic *nic = data;

    nic->epoch_min = MAX(nic->epoch_min, config->epoch + 1);
}

/* The loaded state replaces all that the NIC has. */
static void begin_with(CvswNic *nic, CvswState *state)
{
    CvswTable *old_table = nic->run->table;
    CvswSas *old_sas = nic->run->sas;

    cvsw_sas_foreach(old_sas, forbid_epoch, nic);
    nic->run->table = nic->commanded.table = state->table;
    nic->run->sas = nic->commanded.sas = state->sas;
    state->table = old_table;
    state->sas = old_sas;
    nic->commanded.mtu = state->mtu;
    nic->denied = state->denied;
    nic->is_loaded = true;
    nic->is_saved = nic->has_left = false;
    trace_cvsw_load(nic->name, cvsw_table_stats(nic->run->table).entries,
                    cvsw_sas_count(nic->run->sas));
}

static int get_state(QEMUFile *f, void *pv, size_t size,
                     const VMStateField *field)
{
    CvswNic *nic = pv;
    CvswState state = state_of(nic);
    CvswStateReader reader = {
        .to = &state,
        .now_ms = cvsw_nic_now(),
        .epoch = qemu_clock_get_ms(QEMU_CLOCK_HOST) / 1000,
    };
    g_autofree char *why = NULL;

    state.table = cvsw_nic_new_table(nic);
    state.sas = cvsw_sas_new();
    why = read_records(&reader, f);
    if (why) {
        error_report("%s: the incoming state of the switch: %s",
                     nic->name, why);
    } else {
        begin_with(nic, &state);
    }
    cvsw_table_free(state.table);
    cvsw_sas_free(state.sas);
    return why ? -EINVAL : 0;
}

static const VMStateInfo cvsw_state_info = {
    .name = "cvsw-state",
    .get = get_state,
    .put = put_state,
};

/*
 * This is a separate section, because virtio's loader would read a subsection
 * of virtio-net as one of its own.
 */
const VMStateDescription cvsw_nic_vmstate = {
    .name = "virtio-net-cvsw",
    .version_id = CVSW_STATE_VERSION,
    .minimum_version_id = CVSW_STATE_VERSION,
    .fields = (const VMStateField[]) {
        {
            .name = "switch",
            .info = &cvsw_state_info,
            .flags = VMS_SINGLE,
        },
        VMSTATE_END_OF_LIST()
    },
};

/* --- start and stop ------------------------------------------------------- */

static void take_back(CvswNic *nic)
{
    if (nic->is_saved) {
        trace_cvsw_take_back(nic->name);
        cvsw_state_take_back(nic->run->sas);
        nic->is_saved = false;
    }
}

/* The virtio device is loaded after its switch: only now it can be notified. */
static void arrive(CvswNic *nic)
{
    nic->is_loaded = false;
    cvsw_nic_set_mtu(nic, nic->commanded.mtu);
    net_stage_deny(nic->stage, nic->denied);
    cvsw_session_begin(nic->session, cvsw_nic_now());
}

static void vm_state(void *opaque, bool running, RunState state)
{
    CvswNic *nic = opaque;

    if (running && !nic->has_left) {
        take_back(nic);
    }
    if (running && nic->is_loaded) {
        arrive(nic);
    }
    cvsw_nic_tick(nic);
}

static void departs(void *opaque, DepartureTurn turn)
{
    CvswNic *nic = opaque;

    if (turn == DEPARTURE_TURN_LEFT) {
        nic->has_left = true;
    } else if (turn == DEPARTURE_TURN_STAYS) {
        nic->has_left = false;
        take_back(nic);
    }
}

void cvsw_nic_watch(CvswNic *nic)
{
    nic->vm_state = qemu_add_vm_change_state_handler(vm_state, nic);
    departure_follow(&nic->departure, departs, nic);
}

void cvsw_nic_unwatch(CvswNic *nic)
{
    if (nic->vm_state) {
        qemu_del_vm_change_state_handler(nic->vm_state);
        departure_unfollow(&nic->departure);
    }
}

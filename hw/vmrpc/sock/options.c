/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the options that a guest has set on a socket
 *
 * Most options are four bytes long, and a socket has few of them.  They are
 * kept one behind the other, without gaps.  The record of a migration
 * (VmrpcSavedOption) has room for the longest, and would be most of the memory
 * of an idle socket.
 */
#include "hw/vmrpc/sock/options.h"

#include <string.h>

/* In front of each value, which is padded to its alignment. */
typedef struct Head {
    uint32_t level;
    uint32_t name;
    uint32_t len;
} Head;

static guint record_size(const Head *head)
{
    return sizeof(*head) + ((head->len + 3u) & ~3u);
}

static Head *head_at(const GByteArray *options, guint offset)
{
    return (Head *)(options->data + offset);
}

/* Takes the option out, if it is there; returns how many others there are. */
static unsigned forget(GByteArray *options, int level, int name)
{
    unsigned others = 0;

    for (guint i = 0; i < options->len; ) {
        const Head *head = head_at(options, i);
        guint size = record_size(head);

        if (head->level == (uint32_t)level && head->name == (uint32_t)name) {
            g_byte_array_remove_range(options, i, size);
        } else {
            i += size;
            others++;
        }
    }
    return others;
}

void vmrpc_options_remember(GByteArray **options, unsigned taken, int level,
                            int name, const void *value, uint32_t len)
{
    Head head = { .level = level, .name = name, .len = len };
    guint end;

    if (!*options) {
        *options = g_byte_array_new();
    }
    if (forget(*options, level, name) + taken >= VMRPC_SAVED_OPTIONS) {
        return;
    }
    end = (*options)->len;
    g_byte_array_set_size(*options, end + record_size(&head));
    memcpy((*options)->data + end, &head, sizeof(head));
    memcpy((*options)->data + end + sizeof(head), value, len);
}

unsigned vmrpc_options_num(const GByteArray *options)
{
    unsigned num = 0;

    for (guint i = 0; options && i < options->len; num++) {
        i += record_size(head_at(options, i));
    }
    return num;
}

uint32_t vmrpc_options_save(const GByteArray *options, VmrpcSavedOption *saved)
{
    uint32_t num = 0;

    for (guint i = 0; options && i < options->len; num++) {
        const Head *head = head_at(options, i);

        saved[num].level = head->level;
        saved[num].name = head->name;
        saved[num].len = head->len;
        memcpy(saved[num].value, head + 1, head->len);
        i += record_size(head);
    }
    return num;
}

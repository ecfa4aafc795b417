/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open images, in memory or mapped, with a reference count */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dnsd/update/store/layer.h"

/* --- layers --------------------------------------------------------------- */

DnsLayer *dns_layer_copy(const ZoneOut *out, uint64_t len)
{
    DnsLayer *layer = calloc(1, sizeof(*layer));
    ZoneFault fault;

    if (!layer) {
        return NULL;
    }
    layer->refs = 1;
    layer->memory = aligned_alloc(ZONE_PAGE, len);
    if (layer->memory) {
        memcpy(layer->memory, out->base, len);
        layer->image = zone_image_open(layer->memory, len, &fault);
    }
    if (!layer->image) {
        dns_layer_unref(layer);
        return NULL;
    }
    zone_image_trust(layer->image);
    return layer;
}

static int map_file(DnsLayer *layer, int fd)
{
    struct stat st;

    if (fstat(fd, &st)) {
        return -errno;
    }
    if (!st.st_size) {
        return -ENODATA;
    }
    layer->map_len = st.st_size;
    layer->map = mmap(NULL, layer->map_len, PROT_READ, MAP_SHARED, fd, 0);
    if (layer->map == MAP_FAILED) {
        layer->map = NULL;
        return -errno;
    }
    if (layer->ops) {
        layer->mapping = layer->ops->add(layer->map, layer->map_len);
        return layer->mapping ? 0 : -ENOMEM;
    }
    return 0;
}

DnsLayer *dns_layer_open(const char *path, const DnsMapOps *ops,
                         ZoneFault *fault)
{
    DnsLayer *layer = calloc(1, sizeof(*layer));
    int fd, ret;

    if (!layer) {
        return NULL;
    }
    layer->refs = 1;
    layer->ops = ops;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ret = fd < 0 ? -errno : map_file(layer, fd);
    if (fd >= 0) {
        close(fd);
    }
    if (!ret) {
        layer->image = zone_image_open(layer->map, layer->map_len, fault);
        ret = layer->image ? 0 : -EBADMSG;
    }
    if (ret) {
        dns_layer_unref(layer);
        errno = -ret;
        return NULL;
    }
    if (layer->mapping) {
        ops->tell(layer->mapping, &layer->image->failed);
    }
    layer->position = layer->image->serial;
    return layer;
}

DnsLayer *dns_layer_ref(DnsLayer *layer)
{
    layer->refs++;
    return layer;
}

void dns_layer_unref(DnsLayer *layer)
{
    if (layer && !--layer->refs) {
        if (layer->mapping) {
            layer->ops->remove(layer->mapping);
        }
        zone_image_free(layer->image);
        free(layer->memory);
        if (layer->map) {
            munmap(layer->map, layer->map_len);
        }
        free(layer);
    }
}

/* --- output for images ---------------------------------------------------- */

static int grow_map(ZoneOut *out, uint64_t room, int flags, int fd)
{
    void *base = out->base
                 ? mremap(out->base, out->room, room, MREMAP_MAYMOVE)
                 : mmap(NULL, room, PROT_READ | PROT_WRITE, flags, fd, 0);

    if (base == MAP_FAILED) {
        return -errno;
    }
    out->base = base;
    out->room = room;
    return 0;
}

int dns_memory_out_grow(ZoneOut *out, uint64_t room)
{
    return grow_map(out, room, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void dns_memory_out_clean(ZoneOut *out, uint64_t len)
{
    memset(out->base, 0, len);
}

void dns_memory_out_free(ZoneOut *out)
{
    if (out->base) {
        munmap(out->base, out->room);
    }
    out->base = NULL;
    out->room = 0;
}

static int file_grow(ZoneOut *out, uint64_t room)
{
    DnsFileOut *file = (DnsFileOut *)((char *)out - offsetof(DnsFileOut, out));
    int ret;

    /* Reserve disk space, so that a full disk is an error and not a signal. */
    ret = posix_fallocate(file->fd, 0, room);
    return ret ? -ret : grow_map(out, room, MAP_SHARED, file->fd);
}

int dns_file_out_open(DnsFileOut *file, const char *path)
{
    *file = (DnsFileOut) { .out.grow = file_grow };
    file->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return file->fd < 0 ? -errno : 0;
}

int dns_file_out_close(DnsFileOut *file, uint64_t len)
{
    int ret = len && (ftruncate(file->fd, len) || fsync(file->fd)) ? -errno
                                                                   : 0;

    dns_memory_out_free(&file->out);
    close(file->fd);
    return ret;
}
